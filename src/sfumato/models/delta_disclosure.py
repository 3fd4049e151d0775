"""δ-disclosure privacy: sensitive values are about as frequent as in the table (Brickell & Shmatikov 2008)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from sfumato.core.parameters import Name, OneOf, Option, Real
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.criteria import RATIO, Criterion
from sfumato.models.groups import ClassCounts, Groups
from sfumato.models.measures import delta, delta_of_all
from sfumato.table.coding import Column


@dataclass(frozen=True)
class DeltaDisclosure(Model):
    """|ln(share in a class / share in the table)| is at most δ for every value (Brickell & Shmatikov 2008).

    By the letter a value that a class lacks breaks it, whatever δ is. With `absent="allowed"`, as other tools have it,
    such values are left out, and a class may rule values out.

    >>> DeltaDisclosure(0.5, "disease").parameters()
    {'delta_disclosure': 0.5, 'absent': 'allowed'}
    """

    delta: float
    column: str
    absent: Literal["allowed", "refused"] = "allowed"

    RULES: ClassVar = {"delta": Real(0, above=True), "column": Name(), "absent": OneOf(("allowed", "refused"))}
    OPTIONS: ClassVar = {
        "delta": Option(
            "Shares of sensitive values in a class differ from those in the table by at most the factor e^δ.",
            name="delta_disclosure",
        ),
        "absent": Option("Whether a class may lack values of the table; by the paper's letter it may not."),
    }
    called: ClassVar = "delta-disclosure"
    asks: ClassVar = "delta"
    at_least: ClassVar = False
    card_names: ClassVar = ("δ-disclosure privacy",)
    merge_monotone: ClassVar = False  # a class that lacks a value dilutes it in another, where it was frequent enough
    suppression_monotone: ClassVar = False  # the table's own shares move

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls(1.2, "disease"), cls(1.5, "disease", absent="refused")

    @property
    def sentence(self) -> str:
        which, lacking = "that occurs", "; values that do not occur among them are ruled out"
        if self.absent == "refused":
            which, lacking = "occurs and", ""
        low, high = (f"{math.exp(end):.4g}" for end in (-self.delta, self.delta))
        return (
            f"Among the {{units}} that share {{one}}, each value of {{column}} {which} has between {low} and {high} "
            f"times its share in the whole table{lacking}."
        )

    def class_value(self, one: ClassCounts) -> float:
        if one.column is None:
            raise ParameterError(f"δ-disclosure privacy needs the counts of column '{self.column}'")
        worst = 0.0
        for count, before in zip(one.counts.tolist(), one.reference.tolist(), strict=True):
            if count:
                worst = max(worst, abs(math.log(count / one.units / before)))
            elif before and self.absent == "refused":
                return math.inf
        return worst

    def measure(self, groups: Groups) -> float:
        histograms = groups.sensitive[self.column]
        return delta(histograms) if self.absent == "allowed" else delta_of_all(histograms)

    def criterion(self, column: Column) -> Criterion:
        del column
        return Criterion(RATIO, self.delta, float(self.absent == "refused"))
