"""k-anonymity: every class has at least k units (Samarati & Sweeney 1998; Sweeney 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.core.parameters import Option, Whole
from sfumato.models.base import Model
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.measures import smallest
from sfumato.table.coding import Column


@dataclass(frozen=True)
class KAnonymity(Model):
    """Each person looks like at least k-1 others on the quasi-identifiers (Sweeney 2002).

    >>> import numpy as np
    >>> KAnonymity(2).holds(KAnonymity(2).measure(Groups.of(np.array([0, 0, 1]))))
    False
    """

    k: int

    RULES: ClassVar = {"k": Whole(2)}
    OPTIONS: ClassVar = {"k": Option("Every class has at least k rows (k persons with --person).")}
    called: ClassVar = "k-anonymity"
    asks: ClassVar = "k"
    at_least: ClassVar = True
    card_names: ClassVar = ("k-anonymity",)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = True
    kept_in_series: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(3),)

    @property
    def sentence(self) -> str:
        return "Every combination of {quasi} is shared by at least {asked} {units}."

    @property
    def least_units(self) -> int:
        return self.k

    def class_value(self, one: ClassCounts) -> float:
        return one.units

    def measure(self, groups: Groups) -> float:
        return smallest(groups)

    def measure_unseen_persons(self, groups: Groups) -> float:
        """The rows of the smallest class: it has no more persons."""
        return smallest(groups)

    def criterion(self, column: Column) -> None:
        """Return None: `least_units` says it all."""
