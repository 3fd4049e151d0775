"""Spread: the numbers of a sensitive column differ by at least e in every class (Zhang, Koudas, Srivastava & Yu 2007).

It is the second half of their (k, e)-anonymity: a class whose incomes all lie within 100 tells them nearly exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.core.parameters import Name, Option, Real
from sfumato.errors import ParameterError
from sfumato.models import Model
from sfumato.models.groups import ClassCounts


@dataclass(frozen=True)
class Spread(Model):
    """From the lowest to the highest number of a class it is at least `spread`.

    >>> Spread(100, "income").parameters()
    {'spread': 100}
    """

    spread: float
    column: str

    RULES: ClassVar = {"spread": Real(0, above=True), "column": Name()}
    OPTIONS: ClassVar = {"spread": Option("The numbers of each sensitive column differ by at least this in a class.")}
    called: ClassVar = "spread"
    asks: ClassVar = "spread"
    at_least: ClassVar = True
    card_names: ClassVar = ("spread",)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(10, "income"),)

    @property
    def sentence(self) -> str:
        return "Among the {units} that share {one}, {column} spans at least {asked}."

    def class_value(self, one: ClassCounts) -> float:
        """Return how far the numbers of one class lie apart; a missing number counts for nothing."""
        column = one.column
        if column is None or not column.kind.numeric:
            raise ParameterError(f"spread speaks of numbers; column '{self.column}' has none")
        numbers = np.asarray(column.levels, dtype=np.float64)[one.counts[int(column.has_missing) :] > 0]
        return float(np.ptp(numbers)) if len(numbers) else 0.0
