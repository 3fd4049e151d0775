"""Average risk: people are picked out with at most a given probability on average (El Emam 2013, chapters 16 and 19).

The average over all rows of 1/f, f being the size of the row's class, is the number of classes divided by that of rows.
It is also the share of people whom a marketer can expect to match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Option, Real
from sfumato.models.base import Model
from sfumato.models.criteria import SLACK
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.highest_risk import least_class
from sfumato.table.coding import Column


@dataclass(frozen=True)
class AverageRisk(Model):
    """The prosecutor's risk is at most `risk` on average over all rows, and so is the marketer's (El Emam 2013).

    It belongs to the whole table. Searches of a lattice test it as it is; those that find classes one by one keep it in
    every class (`least_units`), which suffices and asks for more.

    >>> groups = Groups.of(np.array([0, 0, 0, 1]))
    >>> AverageRisk(0.5).measure(groups), AverageRisk(0.5).failing(groups).tolist()
    (0.5, [False, True])
    """

    risk: float

    RULES: ClassVar = {"risk": Real(0, 1, above=True)}
    OPTIONS: ClassVar = {
        "risk": Option("People are picked out with at most this probability on average.", name="average_risk")
    }
    called: ClassVar = "average-risk"
    asks: ClassVar = "risk"
    at_least: ClassVar = False
    card_names: ClassVar = ("average prosecutor risk",)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = False  # without a large class the average is higher
    of_table: ClassVar = True
    sparing_monotone: ClassVar = True  # classes that hold one that stayed are fewer, with the same rows or more

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls(0.2), cls(0.5)

    @property
    def sentence(self) -> str:
        return (
            "On average over all {units}, one of those that share a combination of {quasi} is picked out with a "
            "probability of at most {asked_percent}; a single one may be at a higher risk."
        )

    @property
    def least_units(self) -> int:
        return least_class(self.risk)

    def class_value(self, one: ClassCounts) -> float:
        return 1 / one.units

    def measure(self, groups: Groups) -> float:
        return groups.count / int(groups.units.sum())

    def leaves_out(self, groups: Groups, failing: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return the failing classes and the smallest others, as few as must go so that the rest has the average.

        Leaving out a smaller class lowers the average more and costs fewer units, so no other choice is cheaper.
        """
        kept = np.flatnonzero(~failing)
        order = kept[np.argsort(groups.units[kept], kind="stable")]
        units = groups.units[order]
        left = units.sum() - np.concatenate([[0], np.cumsum(units)])
        holds = len(order) - np.arange(len(order) + 1) <= (self.risk + SLACK) * left
        gone = failing.copy()
        gone[order[: int(holds.argmax())]] = True
        return gone

    def measure_unseen_persons(self, groups: Groups) -> float:
        """Classes by rows: they have no more persons than rows."""
        return self.measure(groups)

    def criterion(self, column: Column) -> None:
        """Return None: `least_units` is enough for every class."""
