"""Highest risk: nobody is picked out of a class with more than a given probability (El Emam 2013, chapter 16).

A prosecutor, who knows that a person is in the table, finds the person's row in a class of f with probability 1/f.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.core.parameters import Option, Real
from sfumato.models.base import Model
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.measures import smallest
from sfumato.table.coding import Column


def least_class(risk: float) -> int:
    """Return the fewest units of a class in which each is picked out with at most this probability.

    >>> least_class(0.1), least_class(0.09)
    (10, 12)
    """
    return math.ceil(1 / risk - 1e-9)


@dataclass(frozen=True)
class HighestRisk(Model):
    """The prosecutor's risk of every row is at most `risk` (El Emam 2013): k-anonymity with k = 1/risk, rounded up.

    It bounds the journalist's and the marketer's risks too, as long as the table's people are in the population.

    >>> HighestRisk(0.09).least_units
    12
    """

    risk: float

    RULES: ClassVar = {"risk": Real(0, 1, above=True)}
    OPTIONS: ClassVar = {
        "risk": Option("Nobody is picked out with a higher probability than this.", name="highest_risk")
    }
    called: ClassVar = "highest-risk"
    asks: ClassVar = "risk"
    at_least: ClassVar = False
    card_names: ClassVar = ("highest prosecutor risk",)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = True
    kept_in_series: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls(0.3), cls(0.5)

    @property
    def sentence(self) -> str:
        return (
            "Every combination of {quasi} is shared by so many {units} that one of them is picked out with a "
            "probability of at most {asked_percent}."
        )

    @property
    def least_units(self) -> int:
        return least_class(self.risk)

    def class_value(self, one: ClassCounts) -> float:
        return 1 / one.units

    def measure(self, groups: Groups) -> float:
        return 1 / smallest(groups)

    def measure_unseen_persons(self, groups: Groups) -> float:
        """One over the rows of the smallest class: it has no more persons."""
        return 1 / smallest(groups)

    def criterion(self, column: Column) -> None:
        """Return None: `least_units` says it all."""
