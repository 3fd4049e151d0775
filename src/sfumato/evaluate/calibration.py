"""Three calibrations of Laplace noise for counts on a k-anonymous table; none of them is a proof.

Pereira 2014, chapter 5, tables 11, 14 and 15: counting on a k-anonymised table and adding noise of scale 1/ε is not
ε-differentially private, since one person less can make whole classes vanish. Each calibration guesses how much a count
can change; private-mondrian and safepub are the answers with a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.evaluate.workload import Counting, Workload
from sfumato.random import Source, discrete_laplace
from sfumato.table import Table

NOT_A_PROOF = "This calibration is not a proof: the release is not known to be differentially private."
PUBLISHED = {54: 0.528, 27: 0.309, 3000: 27.172, 500: 4.568, 430: 3.998, 330: 2.963}
"""Mean relative errors by sensitivity, at k=10, ε=0.1 on the dissertation's census (its tables 11, 14 and 15)."""


@dataclass(frozen=True)
class Calibration:
    """A guessed sensitivity, what it takes for granted, and that it proves nothing.

    >>> theoretical(10, 3).caveat == NOT_A_PROOF
    True
    """

    name: str
    sensitivity: int
    assumes: str
    caveat: str = NOT_A_PROOF

    def noisy(self, answers: npt.NDArray[np.float64], epsilon: float, source: Source) -> npt.NDArray[np.float64]:
        """Return answers with Laplace noise of scale sensitivity/ε, each with noise of its own."""
        scale = self.sensitivity / Fraction(str(epsilon))
        noisy: npt.NDArray[np.float64] = answers + discrete_laplace(len(answers), scale, source)
        return noisy


def theoretical(k: int, columns: int, *, half: bool = False) -> Calibration:
    """Return 2·d·(k-1), Mondrian's bound on a class without duplicates, or half of it (section 5.1).

    >>> theoretical(10, 3).sensitivity, theoretical(10, 3, half=True).sensitivity
    (54, 27)
    """
    assumes = "One person changes one class, and no two people are alike on the quasi-identifiers."
    if half:
        assumes += " Classes have at most half the size that they may have."
    whole = 2 * _positive(columns, "columns") * (_positive(k, "k") - 1)
    return Calibration("theoretical, halved" if half else "theoretical", whole // 2 if half else whole, assumes)


def hybrid(largest_class: int, most_changed: int) -> Calibration:
    """Return the largest class times the most classes that one person changed in an experiment (section 5.2).

    >>> hybrid(35, 113).sensitivity
    3955
    """
    assumes = "No person changes more classes, and no class grows larger, than in the experiment on this very table."
    found = _positive(largest_class, "largest class") * _positive(most_changed, "number of changed classes")
    return Calibration("hybrid", found, assumes)


def experimental(workload: Workload, released: Table, how: Counting, *, relaxed: bool = False) -> Calibration:
    """Return the largest relative error of the table's answers, or mean + 2 sd, times the mean answer (section 5.3).

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.census_10k(2000))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["salary"])
    >>> workload = Workload.draw(people, schema, count=100)
    >>> table = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10)]).table
    >>> relaxed, largest = (experimental(workload, table, "overlap", relaxed=flag) for flag in (True, False))
    >>> relaxed.sensitivity <= largest.sensitivity
    True
    """
    answers = workload.answers(released, how)
    errors = workload.relative_errors(answers)
    share = float(errors.mean() + 2 * errors.std()) if relaxed else float(errors.max())
    name = "experimental, mean + 2 sd" if relaxed else "experimental, largest error"
    assumes = (
        f"A count changes by at most {share:.0%} of itself, the error that anonymising brought to these very queries."
    )
    return Calibration(name, max(1, round(share * float(answers.mean()))), assumes)


def errors_beside(
    calibrations: Sequence[Calibration],
    workload: Workload,
    released: Table,
    *,
    how: Counting,
    epsilon: float,
    source: Source,
) -> list[dict[str, float | str | None]]:
    """Return a row for each calibration: sensitivity, our mean relative error, and the dissertation's where it has one.

    >>> sorted(PUBLISHED)
    [27, 54, 330, 430, 500, 3000]
    """
    answers = workload.answers(released, how)
    return [
        {
            "calibration": one.name,
            "sensitivity": one.sensitivity,
            "error": workload.mean_error(one.noisy(answers, epsilon, source)),
            "published": PUBLISHED.get(one.sensitivity),
            "caveat": one.caveat,
        }
        for one in calibrations
    ]


def _positive(value: int, name: str) -> int:
    if value < 1:
        raise ParameterError(f"the {name} is {value}; give an integer of at least 1")
    return value
