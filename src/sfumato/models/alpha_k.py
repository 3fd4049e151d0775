"""(α, k)-anonymity: at least k units, and no sensitive value above the share α (Wong, Li, Fu & Wang 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.core.parameters import Name, Option, Real, Whole
from sfumato.models.base import Model
from sfumato.models.criteria import SHARE, Criterion
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.measures import alpha, smallest
from sfumato.table.coding import Column


@dataclass(frozen=True)
class AlphaK(Model):
    """No value of a sensitive column may be guessed with more than confidence alpha in classes of k.

    >>> AlphaK(0.5, 10, "disease").parameters()
    {'alpha': 0.5, 'k': 10}
    """

    alpha: float
    k: int
    column: str

    RULES: ClassVar = {"alpha": Real(0, 1, above=True), "k": Whole(2), "column": Name()}
    OPTIONS: ClassVar = {
        "alpha": Option("No sensitive value has more than this share of a class (needs --k)."),
        "k": Option("Every class has at least k rows (k persons with --person)."),
    }
    called: ClassVar = "alpha-k"
    asks: ClassVar = "alpha"
    at_least: ClassVar = False
    card_names: ClassVar = ("(α, k)-anonymity",)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = False  # taking one row away raises the others' shares

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(0.5, 3, "disease"),)

    @property
    def sentence(self) -> str:
        return (
            "Every combination of {quasi} is shared by at least {k} {units}, and no value of {column} makes up more "
            "than {asked_percent} of them."
        )

    @property
    def least_units(self) -> int:
        return self.k

    def class_value(self, one: ClassCounts) -> float:
        return 1.0 if one.units < self.k else float(max(one.counts)) / one.units

    def measure(self, groups: Groups) -> float:
        """The largest share of a value; 1 when a class is smaller than k, since then nothing is promised."""
        return 1.0 if smallest(groups) < self.k else alpha(groups, groups.sensitive[self.column])

    def criterion(self, column: Column) -> Criterion:
        del column
        return Criterion(SHARE, self.alpha, 0.0)
