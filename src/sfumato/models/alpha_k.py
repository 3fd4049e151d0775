"""(α, k)-anonymity: at least k units, and no sensitive value above the share α (Wong, Li, Fu & Wang 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.core.parameters import Name, Option, Real, Whole
from sfumato.models.base import Model
from sfumato.models.criteria import SHARE, Criterion
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.measures import alpha, l_distinct, smallest
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
    suppression_monotone: ClassVar = True
    evenness_monotone: ClassVar = True

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
        if one.units < self.k:
            return 1.0
        missing = int(one.counts.sum() - one.value_counts.sum()) / one.units
        return max(missing, float(max(one.value_counts, default=0)) / max(1, one.known_units))

    def measure(self, groups: Groups) -> float:
        """The largest share of a value; 1 when a class is smaller than k, since then nothing is promised."""
        return 1.0 if smallest(groups) < self.k else alpha(groups, groups.sensitive[self.column])

    def measure_unseen_persons(self, groups: Groups) -> float:
        """One over the fewest values of a class: some value is held by as many; 1 where a class is smaller than k."""
        return 1.0 if smallest(groups) < self.k else 1 / max(1, l_distinct(groups.sensitive[self.column]))

    def criterion(self, column: Column) -> Criterion:
        return Criterion(SHARE, self.alpha, 0.0, skip=column.unknown)
