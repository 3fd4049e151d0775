"""l-diversity: every class has at least l well-represented sensitive values (Machanavajjhala et al. 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sfumato.core.parameters import Name, OneOf, Real
from sfumato.models.base import Model
from sfumato.models.criteria import DISTINCT, ENTROPY, RECURSIVE, SLACK, Criterion
from sfumato.models.groups import Groups
from sfumato.models.measures import l_distinct, l_entropy, l_recursive
from sfumato.table.coding import Column


@dataclass(frozen=True)
class LDiversity(Model):
    """No class gives its members' sensitive value away: distinct, entropy or recursive (c, l)-diversity.

    >>> LDiversity(3, "disease", kind="recursive", c=2).name
    'recursive (c, l)-diversity'
    """

    l: float
    column: str
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float = 2.0

    RULES: ClassVar = {
        "l": Real(1, above=True),
        "column": Name(),
        "kind": OneOf(("distinct", "entropy", "recursive")),
        "c": Real(0, above=True),
    }
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = True
    at_least: ClassVar = True

    @property
    def name(self) -> str:
        return f"{self.kind} {'(c, l)' if self.kind == 'recursive' else 'l'}-diversity"

    @property
    def asked(self) -> float:
        return self.l

    @property
    def sensitive(self) -> str | None:
        return self.column

    @property
    def least_units(self) -> int:
        return 1

    def parameters(self) -> dict[str, float | str]:
        recursive = {"c": self.c} if self.kind == "recursive" else {}
        return {"l": int(self.l) if self.l == int(self.l) else self.l, "l_kind": self.kind, **recursive}

    def measure(self, groups: Groups) -> float:
        histograms = groups.sensitive[self.column]
        if self.kind == "distinct":
            return l_distinct(histograms)
        return l_entropy(histograms) if self.kind == "entropy" else l_recursive(histograms, self.c)

    def holds(self, measured: float) -> bool:
        return measured >= self.l * (1 - SLACK)

    def criterion(self, column: Column) -> Criterion:
        del column
        code = {"distinct": DISTINCT, "entropy": ENTROPY, "recursive": RECURSIVE}[self.kind]
        return Criterion(code, self.l, self.c)
