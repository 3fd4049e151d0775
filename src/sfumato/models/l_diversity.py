"""l-diversity: every class has at least l well-represented sensitive values (Machanavajjhala et al. 2007)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from sfumato.core.parameters import Name, OneOf, Option, Real
from sfumato.models.base import Model
from sfumato.models.criteria import DISTINCT, ENTROPY, RECURSIVE, Criterion
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.measures import l_distinct, l_entropy, l_recursive
from sfumato.release.card import MeasuredModel
from sfumato.table.coding import Column

CARD_NAMES = {
    "distinct": "distinct l-diversity",
    "entropy": "entropy l-diversity",
    "recursive": "recursive (c, l)-diversity",
}
PROMISES = {  # what each kind says of the rows that share a combination
    "distinct": "{column} has at least {asked} different values",
    "entropy": "{column} is as varied as at least {asked} equally frequent values",
    "recursive": (
        "the most frequent value of {column} is less frequent than {c} times all values from number {asked} on, by "
        "frequency, taken together"
    ),
}


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
    OPTIONS: ClassVar = {
        "l": Option("Every class has at least l well-represented values in each sensitive column."),
        "kind": Option("What well-represented means.", name="l_kind"),
        "c": Option("The c of recursive (c, l)-diversity."),
    }
    called: ClassVar = "l-diversity"
    asks: ClassVar = "l"
    at_least: ClassVar = True
    card_names: ClassVar = tuple(CARD_NAMES.values())
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = True
    kept_in_series: ClassVar = True
    evenness_monotone: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls(2, "disease"), cls(2.5, "disease", kind="entropy"), cls(3, "income", kind="recursive")

    @property
    def name(self) -> str:
        return CARD_NAMES[self.kind]

    @property
    def distinct_values(self) -> float:
        return self.l

    @property
    def sentence(self) -> str:
        return f"Among the {{units}} that share {{one}}, {PROMISES[self.kind]}."

    @classmethod
    def from_card(cls, entry: MeasuredModel, parameters: Mapping[str, Any]) -> Self:
        kinds = {name: kind for kind, name in CARD_NAMES.items()}
        return super().from_card(entry, {**parameters, "l_kind": kinds[entry.model]})

    def parameters(self) -> dict[str, float | str]:
        recursive = {"c": self.c} if self.kind == "recursive" else {}
        return {"l": int(self.l) if self.l == int(self.l) else self.l, "l_kind": self.kind, **recursive}

    def class_value(self, one: ClassCounts) -> float:
        counts = one.pinned
        if self.kind == "distinct":
            return len(counts)
        if self.kind == "entropy":
            shares = [count / sum(counts) for count in counts]
            return math.exp(-sum(share * math.log(share) for share in shares)) if counts else 0.0
        return sum(counts[0] < self.c * sum(counts[place:]) for place in range(len(counts)))

    def measure(self, groups: Groups) -> float:
        histograms = groups.sensitive[self.column]
        if self.kind == "distinct":
            return l_distinct(histograms)
        return l_entropy(histograms) if self.kind == "entropy" else l_recursive(histograms, self.c)

    def measure_unseen_persons(self, groups: Groups) -> float:
        """The fewest values of a class: no kind of l is larger, whoever has them."""
        return l_distinct(groups.sensitive[self.column])

    def criterion(self, column: Column) -> Criterion:
        code = {"distinct": DISTINCT, "entropy": ENTROPY, "recursive": RECURSIVE}[self.kind]
        return Criterion(code, self.l, self.c, skip=column.unknown)
