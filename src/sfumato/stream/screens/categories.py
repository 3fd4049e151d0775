"""What becomes of a category that is none of the declared ones: the first of them stands for it, in its place.

The declared categories are public, so the first of them is a public default; dropping the record would tell of it
(Dwork & Roth 2014, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfumato.stream.runtime.batch import Batch, Columns
from sfumato.stream.screens.base import OnBad, Screened


@dataclass(frozen=True)
class CategoryScreen:
    """Turns the categories of one column into their codes, in declared order.

    >>> screen = CategoryScreen("colour", ("red", "blue"))
    >>> screen(Batch(3, texts={"colour": ["blue", "mauve", None]}), 0).values.tolist()
    [1.0, 0.0, 0.0]
    """

    column: str
    categories: tuple[str, ...]
    on_bad: OnBad = field(default_factory=OnBad)

    @property
    def wanted(self) -> Columns:
        """The column to read."""
        return Columns((), (self.column,))

    @property
    def released(self) -> tuple[str, ...]:
        """The column that rows leave under."""
        return (self.column,)

    def __call__(self, batch: Batch, first: int) -> Screened:  # noqa: ARG002  # no record is ever refused by its number
        """Return the codes of a batch."""
        codes = {category: float(code) for code, category in enumerate(self.categories)}
        return Screened(np.array([codes.get(text or "", 0.0) for text in batch.texts[self.column]], dtype=np.float64))
