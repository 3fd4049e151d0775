"""Noisy answers on a generalised table: what a query gives, and how much one row was thought to move it.

The three ways to count are those of `evaluate.workload` (Pereira 2014, chapter 3); sums and means weigh the same boxes
by a sensitive number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from sfumato.audit.composition.neighbours import Classes, Index
from sfumato.core.parameters import OneOf, Real, Validated, Whole
from sfumato.errors import SchemaError
from sfumato.evaluate.regions import Regions, read_regions
from sfumato.evaluate.workload import COUNTING, Boxes, Counting, Floats, Queries
from sfumato.schema import Role, Schema
from sfumato.table import Table
from sfumato.tabular.base import PartitionAnonymizer
from sfumato.tabular.recode import recode

Asked = Literal["count", "sum", "mean"]


@dataclass(frozen=True)
class Claim(Validated):
    """Answers with Laplace noise for ε, as if one row moved them by what it moves on exact rows.

    >>> Claim(epsilon=0.1).words
    'counts (inclusion) on the anonymised table with Laplace noise: ε-differential privacy with ε=0.1'
    """

    epsilon: float
    query: Counting = "inclusion"
    answer: Asked = "count"
    trials: int = 1000
    seed: int = 0

    RULES: ClassVar = {
        "epsilon": Real(0, above=True),
        "query": COUNTING,
        "answer": OneOf(("count", "sum", "mean")),
        "trials": Whole(0),
        "seed": Whole(0),
    }

    @property
    def words(self) -> str:
        """The claim in words."""
        return (
            f"{self.answer}s ({self.query}) on the anonymised table with Laplace noise: "
            f"ε-differential privacy with ε={self.epsilon:g}"
        )

    def parameters(self) -> dict[str, Any]:
        """The parameters by name, as the evidence keeps them."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Numbers:
    """The sensitive number that sums and means are of: each row's value, its bounds, and the fewest rows of a class."""

    values: Floats
    low: float
    high: float
    least: int

    @classmethod
    def of(cls, table: Table, schema: Schema, least: int) -> Numbers:
        """Return the first sensitive column of numbers; its bounds are the declared ones, else the observed."""
        for name in schema.names(Role.SENSITIVE):
            if table.column(name).dtype.is_numeric():
                values = table.column(name).cast(pl.Float64).fill_null(0).to_numpy()
                bounds = schema.columns[name].bounds
                low, high = (values.min(), values.max()) if bounds is None else bounds
                return cls(values, float(str(low)), float(str(high)), least)
        raise SchemaError("sums and means need a sensitive column of numbers; declare one")

    def sensitivity(self, answer: Asked) -> float:
        """What one row moves a sum by at most on exact rows, or the mean of a class."""
        return max(abs(self.low), abs(self.high)) if answer == "sum" else (self.high - self.low) / self.least


@dataclass(frozen=True, eq=False)
class Shown:
    """A release as queries see it: the box of every class, with how many rows and how much of the number it has."""

    regions: Sequence[Regions]
    counts: Floats
    sums: Floats | None

    @classmethod
    def of(cls, anonymizer: PartitionAnonymizer, classes: Classes, numbers: Numbers | None) -> Shown:
        """Return what is shown of each class: labels that the algorithm chose, else ranges tight around its rows."""
        partition, problem = classes.partition, classes.problem
        examples, labels = partition.points.examples, partition.classes
        coarse = partition.coarse
        if coarse is None:
            coarse = {
                column.name: recode(column, column.codes[examples], labels, partition.count, anonymizer.ranges)
                for column in problem.quasi
            }
        cells = Table(
            pl.DataFrame([part.rows(np.arange(partition.count)) for parts in coarse.values() for part in parts])
        )
        there = classes.labels >= 0
        held = classes.labels[there]
        sums: Floats | None = None
        if numbers is not None:
            sums = np.bincount(held, weights=numbers.values[there], minlength=partition.count).astype(np.float64)
        return cls([read_regions(column, cells) for column in problem.quasi], classes.sizes.astype(np.float64), sums)

    def boxes(self, numbers: Index) -> Queries:
        """Return the boxes of some classes as queries: on each column from the lowest value to the highest."""
        ends = [_ends(regions) for regions in self.regions]
        low, high = (
            np.stack(
                [pair[side][regions.index[numbers]] for pair, regions in zip(ends, self.regions, strict=True)], axis=1
            )
            for side in (0, 1)
        )
        return Queries(low, high)

    def answers(self, queries: Queries, claim: Claim, numbers: Numbers | None) -> Floats:
        """Return the exact answers to queries; the mean of no rows is the middle of the bounds."""
        cells = np.stack([regions.index for regions in self.regions], axis=1)
        counts = Boxes(self.regions, cells, self.counts).answers(queries, claim.query)
        if numbers is None or self.sums is None:
            return counts
        sums = Boxes(self.regions, cells, self.sums).answers(queries, claim.query)
        if claim.answer == "sum":
            return sums
        means: Floats = np.where(counts > 0, sums / np.maximum(counts, 1e-9), (numbers.low + numbers.high) / 2)
        return means


def _ends(regions: Regions) -> tuple[Floats, Floats]:
    """Return the lowest and highest value of every region; one without values has its ends crossed."""
    low, high = np.full(regions.count, np.inf), np.full(regions.count, -np.inf)
    np.minimum.at(low, regions.owners, regions.low)
    np.maximum.at(high, regions.owners, regions.high)
    return low, high
