"""Noisy answers on a generalised table: what a query gives, and how much one row was thought to move it.

The three ways to count are those of `evaluate.workload` (Pereira 2014, chapter 3); sums and means weigh the same boxes
by a sensitive number. Answers that differ by d, with Laplace noise of scale s each, have densities that differ by a
factor of e^(d/s) (Dwork, McSherry, Nissim & Smith 2006): the worst box is the evidence.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from sfumato.audit.composition.neighbours import Change, Classes, Index
from sfumato.core.cells import range_text, set_text
from sfumato.core.parameters import OneOf, Real, Validated, Whole
from sfumato.errors import SchemaError
from sfumato.evaluate.regions import Regions, read_regions
from sfumato.evaluate.workload import COUNTING, Boxes, Counting, Floats, Queries
from sfumato.schema import Kind, Role, Schema
from sfumato.schema.times import EPOCH, time_text
from sfumato.table import Table
from sfumato.table.coding import Column
from sfumato.tabular.base import PartitionAnonymizer
from sfumato.tabular.recode import recode

Asked = Literal["count", "sum", "mean"]
LARGEST_POWER = 700.0


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


@dataclass(frozen=True, eq=False)
class NeighbourAnswers:
    """Queries for the boxes gone, then the new ones, their answers before and after one row went or came.

    `place` is the query that counts, the one whose answers differ most; `dropped` are rows that were left out of both
    tables.
    """

    row: int
    change: Change
    queries: Queries
    before: Floats
    after: Floats
    place: int = 0
    dropped: tuple[int, ...] = ()

    @classmethod
    def nothing(cls, row: int, change: Change) -> NeighbourAnswers:
        """Return the comparison of two releases that have the same classes."""
        none = np.empty((0, 0))
        return cls(row, change, Queries(none, none), np.zeros(1), np.zeros(1))

    @classmethod
    def of(
        cls, row: int, change: Change, sides: tuple[Shown, Shown], claim: Claim, numbers: Numbers | None
    ) -> NeighbourAnswers:
        """Return the answers of both releases to every box that one of them lacks."""
        gone, new = sides[0].boxes(change.gone), sides[1].boxes(change.new)
        queries = Queries(np.concatenate([gone.low, new.low]), np.concatenate([gone.high, new.high]))
        before, after = (side.answers(queries, claim, numbers) for side in sides)
        return cls(row, change, queries, before, after, int(np.argmax(np.abs(before - after))))

    @property
    def difference(self) -> float:
        """By how much the answer changed."""
        return float(abs(self.before[self.place] - self.after[self.place]))

    def evidence(self, columns: Sequence[Column], rows: int, scale: float) -> dict[str, Any]:
        """Return the evidence: the row, the box, its answers, the ratio of densities, the classes gone and new."""
        words = [_box(columns, self.queries, place) for place in range(self.queries.count)]
        bound = scale * self.difference
        before, after = float(self.before[self.place]), float(self.after[self.place])
        ratio = math.exp(min(bound, LARGEST_POWER))
        where = ", ".join(f"{name} {text}" for name, text in words[self.place].items())
        which = f"without row {self.row + 1}" if self.row < rows else "with one row more"
        return {
            "row": self.row + 1,
            "added": self.row >= rows,
            "rows dropped from both": [row + 1 for row in self.dropped],
            "box": words[self.place],
            "before": before,
            "after": after,
            "density ratio": ratio,
            "least epsilon": bound,
            "classes gone": words[: len(self.change.gone)],
            "classes new": words[len(self.change.gone) :],
            "reason": f"{which} the answer for {where} is {after:g} in place of {before:g}: densities differ by a "
            f"factor of {ratio:.4g}, so ε is at least {bound:.3g}",
        }


def _box(columns: Sequence[Column], queries: Queries, place: int) -> dict[str, str]:
    ends = zip(columns, queries.low[place], queries.high[place], strict=True)
    return {column.name: _side(column, low, high) for column, low, high in ends}


def _side(column: Column, low: float, high: float) -> str:
    """Return one side of a box as it would be published."""
    if low > high:
        return "missing"
    tree = column.attribute.hierarchy
    if tree is not None:
        return tree.label(int(low), int(high))
    if column.kind is Kind.NUMBER:
        return range_text(str(float(low)), str(float(high)), whole=False)
    if column.kind is Kind.INTEGER:
        return range_text(str(int(low)), str(int(high)), whole=True)
    if column.kind in {Kind.DATE, Kind.TIMESTAMP}:
        timed = column.kind is Kind.TIMESTAMP
        ends = [time_text(end) if timed else (EPOCH + dt.timedelta(days=int(end))).isoformat() for end in (low, high)]
        return range_text(*ends, whole=False)
    words = [str(level) for level in column.levels[int(low) : int(high) + 1]]
    return range_text(words[0], words[-1], whole=False) if column.kind is Kind.ORDINAL else set_text(words)
