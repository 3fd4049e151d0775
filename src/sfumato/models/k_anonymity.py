"""k-anonymity: every class has at least k units (Samarati & Sweeney 1998; Sweeney 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.core.parameters import Whole
from sfumato.models.base import Model
from sfumato.models.groups import Groups
from sfumato.models.measures import smallest


@dataclass(frozen=True)
class KAnonymity(Model):
    """Each person looks like at least k-1 others on the quasi-identifiers (Sweeney 2002).

    >>> import numpy as np
    >>> KAnonymity(2).holds(KAnonymity(2).measure(Groups.of(np.array([0, 0, 1]))))
    False
    """

    k: int

    RULES: ClassVar = {"k": Whole(2)}
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = True
    at_least: ClassVar = True

    @property
    def name(self) -> str:
        return "k-anonymity"

    @property
    def asked(self) -> float:
        return self.k

    @property
    def least_units(self) -> int:
        return self.k

    def parameters(self) -> dict[str, float | str]:
        return {"k": self.k}

    def measure(self, groups: Groups) -> float:
        return smallest(groups)

    def holds(self, measured: float) -> bool:
        return measured >= self.k
