"""β-likeness: no sensitive value becomes much likelier in a class than it is in the table (Cao & Karras 2012)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from sfumato.core.parameters import Name, OneOf, Option, Real
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.criteria import GAIN, SLACK, Criterion
from sfumato.models.groups import ClassCounts, Counts, Groups, Shares
from sfumato.models.measures import beta, beta_enhanced
from sfumato.release.card import MeasuredModel
from sfumato.table.coding import Column

CARD_NAMES = {"basic": "basic β-likeness", "enhanced": "enhanced β-likeness"}


@dataclass(frozen=True)
class BetaLikeness(Model):
    """A value of share p in the table has at most the share p·(1 + β) in any class (Cao & Karras 2012).

    `enhanced` (their definition 3) also asks for at most p·(1 − ln p), so that frequent values stay below certainty;
    `basic` (definition 2) lets a value of share 1 / (1 + β) or more become certain.

    >>> BetaLikeness(1, "disease").allowed(0.5), BetaLikeness(1, "disease", kind="basic").allowed(0.5)
    (0.8465735902799727, 1.0)
    """

    beta: float
    column: str
    kind: Literal["enhanced", "basic"] = "enhanced"

    RULES: ClassVar = {"beta": Real(0, above=True), "column": Name(), "kind": OneOf(("enhanced", "basic"))}
    OPTIONS: ClassVar = {
        "beta": Option(
            "No sensitive value's share in a class exceeds its share in the table by more than this factor of it.",
            name="beta_likeness",
        ),
        "kind": Option("Which β-likeness: enhanced also keeps frequent values from certainty.", name="likeness"),
    }
    called: ClassVar = "beta-likeness"
    asks: ClassVar = "beta"
    at_least: ClassVar = False
    card_names: ClassVar = tuple(CARD_NAMES.values())
    merge_monotone: ClassVar = True  # the share in two classes together lies between those in each
    suppression_monotone: ClassVar = False  # the table's own shares move

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls(1.5, "disease"), cls(1, "income", kind="basic")

    @property
    def name(self) -> str:
        return CARD_NAMES[self.kind]

    @property
    def sentence(self) -> str:
        further = ", and at most 1 − ln p times where that is less" if self.kind == "enhanced" else ""
        return (
            "Among the {units} that share {one}, a value of {column} whose share in the whole table is p has at most "
            f"{1 + self.beta:g} times that share{further}."
        )

    @classmethod
    def from_card(cls, entry: MeasuredModel, parameters: Mapping[str, Any]) -> Self:
        kinds = {name: kind for kind, name in CARD_NAMES.items()}
        return super().from_card(entry, {**parameters, "likeness": kinds[entry.model]})

    def allowed(self, share: float) -> float:
        """The largest share in a class of a value that has a share in the table."""
        most = min(self.beta, -math.log(share)) if self.kind == "enhanced" else self.beta
        return min(1.0, share * (1 + most))

    def class_value(self, one: ClassCounts) -> float:
        """The least β that the class has; infinite where the enhanced limit of a frequent value is broken."""
        if one.column is None:
            raise ParameterError(f"β-likeness needs the counts of column '{self.column}'")
        return self._largest_gain(one.counts, one.units, one.reference)

    def holds_in_parts(self, whole: ClassCounts, size: int) -> bool:
        """Whether every part satisfies it: a value has at most all of its units in one, or fills it."""
        return size >= self.least_units and self.holds(
            self._largest_gain(np.minimum(whole.counts, size), size, whole.reference)
        )

    def _largest_gain(self, counts: Counts, units: int, reference: Shares) -> float:
        least = 0.0
        for count, before in zip(counts.tolist(), reference.tolist(), strict=True):
            gain = (count / units - before) / before if count else 0.0
            if self.kind == "enhanced" and gain > max(0.0, -math.log(before)) + SLACK:
                return math.inf
            least = max(least, gain)
        return least

    def measure(self, groups: Groups) -> float:
        histograms = groups.sensitive[self.column]
        return beta(histograms) if self.kind == "basic" else beta_enhanced(histograms)

    def criterion(self, column: Column) -> Criterion:
        del column
        return Criterion(GAIN, self.beta, float(self.kind == "enhanced"))
