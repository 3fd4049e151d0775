"""(α, k)-anonymity: at least k units, and no sensitive value above the share α (Wong, Li, Fu & Wang 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.parameters import Name, Real, Whole
from sfumato.models.base import Model
from sfumato.models.criteria import SHARE, SLACK, Criterion
from sfumato.models.groups import Groups
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
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = False  # taking one row away raises the others' shares
    at_least: ClassVar = False

    @property
    def name(self) -> str:
        return "(α, k)-anonymity"

    @property
    def asked(self) -> float:
        return self.alpha

    @property
    def sensitive(self) -> str | None:
        return self.column

    @property
    def least_units(self) -> int:
        return self.k

    def parameters(self) -> dict[str, float | str]:
        return {"alpha": self.alpha, "k": self.k}

    def measure(self, groups: Groups) -> float:
        """The largest share of a value; 1 when a class is smaller than k, since then nothing is promised."""
        return 1.0 if smallest(groups) < self.k else alpha(groups, groups.sensitive[self.column])

    def holds(self, measured: float) -> bool:
        return measured <= self.alpha + SLACK

    def criterion(self, column: Column) -> Criterion:
        del column
        return Criterion(SHARE, self.alpha, 0.0)
