"""A model and an anonymizer as a stranger's package would bring them: no compiled test, nothing of ours inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.core.parameters import Name, OneOf, Option, Whole
from sfumato.models import ClassCounts, Model
from sfumato.table.distinct import Numbering
from sfumato.tabular import PartitionAnonymizer
from sfumato.tabular.base import Partition
from sfumato.tabular.problem import Problem


@dataclass(frozen=True)
class Repeated(Model):
    """Every sensitive value of a class occurs in it at least `times` times."""

    times: int
    column: str

    RULES: ClassVar = {"times": Whole(1), "column": Name()}
    OPTIONS: ClassVar = {"times": Option("Every sensitive value of a class occurs so often.", name="repeats")}
    called: ClassVar = "repeated"
    asks: ClassVar = "times"
    at_least: ClassVar = True
    card_names: ClassVar = ("repetition",)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = True
    kept_in_series: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(2, "disease"),)

    @property
    def sentence(self) -> str:
        return "Among the {units} that share {one}, each value of {column} is met {asked} times or more."

    def class_value(self, one: ClassCounts) -> float:
        return min(int(count) for count in one.counts if count)


@dataclass(frozen=True)
class Together(PartitionAnonymizer):
    """One class for all: poor, and always right."""

    ranges: str = "text"
    keep_order: bool = False

    RULES: ClassVar = {"ranges": OneOf(("text", "columns")), "keep_order": OneOf((False, True))}
    OPTIONS: ClassVar = {"keep_order": Option("Leave rows in their order.")}
    algorithm: ClassVar = "together"
    aliases: ClassVar = ("all-in-one",)

    def partition(self, problem: Problem) -> Partition:
        rows = problem.table.rows
        labels = np.zeros(rows, dtype=np.int64)
        return Partition(Numbering(np.arange(rows), np.ones(rows, dtype=np.int64)), labels, 1)
