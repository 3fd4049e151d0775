"""Whether a regression says the same of each candidate: the mean overlap of its confidence intervals.

The overlap is that of Karr, Kohnen, Oganian, Reiter & Sanil 2006, as `sfumato.evaluate.regression` measures it.
"""

from __future__ import annotations

from sfumato.errors import ParameterError
from sfumato.evaluate.formula import Formula
from sfumato.evaluate.regression import OriginalRegression
from sfumato.schema import Schema
from sfumato.table import Table

SENTENCE = (
    "{name}: mean overlap of the coefficients' 95 % intervals on release and original (1 the same, 0 nothing in "
    "common), {method}, {rows} original rows"
)


class RegressionOverlap:
    """The mean overlap of a regression's intervals; the original is fitted once, before any candidate.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> says = RegressionOverlap("sex~age")
    >>> says.fit(people, schema)
    >>> says(people, schema, people), says.name
    (1.0, 'overlap sex ~ age')
    """

    def __init__(self, formula: str) -> None:
        self.formula = str(Formula.parse(formula))
        self._fitted: OriginalRegression | None = None

    def fit(self, original: Table, schema: Schema) -> None:
        """Fit the original; a model that it cannot tell is refused."""
        self._fitted = OriginalRegression.of(original, schema, self.formula)

    def __call__(self, original: Table, schema: Schema, released: Table) -> float:
        if self._fitted is None:
            self.fit(original, schema)
        overlap = None if self._fitted is None else self._fitted.compare(released).mean_overlap
        if overlap is None:
            raise ParameterError(f"'{self.formula}' has no coefficient that the original tells; name another model")
        return overlap

    @property
    def name(self) -> str:
        """What its column is called."""
        return f"overlap {self.formula}"

    @property
    def sentence(self) -> str:
        """What the column means; empty where the original was not fitted."""
        if self._fitted is None:
            return ""
        found = self._fitted
        return SENTENCE.format(name=self.name, method=found.target.method, rows=found.fitted.rows)
