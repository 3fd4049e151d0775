"""A coarse split of a table's space: small trees of cuts, found on a sample and followed by every row on the cluster.

The widest column is cut at its median, as Mondrian does (LeFevre, DeWitt & Ramakrishnan 2006) and k-d trees before it
(Bentley 1975); a column with a hierarchy is cut between the children of one node. Cuts that would leave a part which
breaks a model are taken back, so that the search in each part has something to find. Trees over turned axes cross the
borders of the first, an old remedy for what a tree misses there (Silpa-Anan & Hartley 2008).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.engines.spark.expressions import up_to
from sfumato.engines.spark.tables.whole_table import UNITS, WholeTable
from sfumato.models.criteria import flatten
from sfumato.models.groups import ClassCounts
from sfumato.table.coding import Codes, Column

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

PART = "__sfumato_part"
Int64s = npt.NDArray[np.int64]
Points = npt.NDArray[np.float64]
Width = Callable[[Column, Int64s], float]
Cuts: TypeAlias = "int | tuple[int, float, Cuts, Cuts]"


@dataclass(frozen=True, eq=False)
class CutTree:
    """One part (no column), or a cut: rows up to `value` of `column` go left."""

    column: Column | None = None
    value: object = None
    left: CutTree | None = None
    right: CutTree | None = None

    @property
    def leaves(self) -> int:
        """The number of parts."""
        return 1 if self.left is None or self.right is None else self.left.leaves + self.right.leaves

    def parts(self, frame: DataFrame, first: int = 0) -> Expression:
        """The number of each row's part, from `first` on, as a Spark expression."""
        from pyspark.sql import functions

        if self.left is None or self.right is None or self.column is None:
            return functions.lit(first)
        goes_left = up_to(frame, self.column.attribute, self.value)
        return functions.when(goes_left, self.left.parts(frame, first)).otherwise(
            self.right.parts(frame, first + self.left.leaves)
        )

    def without(self, bad: set[int], first: int = 0) -> CutTree:
        """The tree in which every cut that made one of the bad parts is taken back."""
        if self.left is None or self.right is None:
            return self
        middle = first + self.left.leaves
        if (self.left.leaves == 1 and first in bad) or (self.right.leaves == 1 and middle in bad):
            return CutTree()
        return CutTree(self.column, self.value, self.left.without(bad, first), self.right.without(bad, middle))


def cut_tree(columns: Sequence[Column], weights: Int64s, parts: int, width: Width) -> CutTree:
    """Return a tree of at most `parts` parts of like weight over the sampled rows that the columns hold."""
    return _cut_columns(columns, weights, np.arange(len(weights)), parts, width)


def mondrian_width(column: Column, codes: Int64s) -> float:
    """Return the share of a column's scale that some codes span."""
    return float(column.positions[codes.max()] - column.positions[codes.min()])


def _cut_columns(columns: Sequence[Column], weights: Int64s, rows: Int64s, parts: int, width: Width) -> CutTree:
    if parts < 2 or len(rows) < 2:
        return CutTree()
    share = (parts // 2) / parts
    widths = [width(column, column.codes[rows].astype(np.int64)) for column in columns]
    for place in np.argsort(widths)[::-1].tolist():
        column = columns[place]
        last = _last_left(column, column.codes[rows].astype(np.int64), weights[rows], share)
        if last is not None:
            left = column.codes[rows] <= last
            return CutTree(
                column,
                column.value(last),
                _cut_columns(columns, weights, rows[left], parts // 2, width),
                _cut_columns(columns, weights, rows[~left], parts - parts // 2, width),
            )
    return CutTree()


def _last_left(column: Column, codes: Int64s, weights: Int64s, share: float) -> int | None:
    """Return the last code that goes left in the allowed cut nearest to `share` of the weight, if there is one."""
    found, inverse = np.unique(codes, return_inverse=True)
    if len(found) < 2:
        return None
    running = np.cumsum(np.bincount(inverse, weights=weights))[:-1] / weights.sum()
    allowed = np.array(list(_allowed_cuts(column, found)))
    distance = np.where(allowed, np.abs(running - share), np.inf)
    return int(found[np.argmin(distance)])


def _allowed_cuts(column: Column, found: Int64s) -> Iterator[bool]:
    """Yield whether the column may be cut after each code but the last."""
    depth = int(column.shared[found[0] + 1 : found[-1] + 1].min())
    for before, after in zip(found[:-1].tolist(), found[1:].tolist(), strict=True):
        yield int(column.shared[before + 1 : after + 1].min()) == depth


def split_table(counts: DataFrame, whole: WholeTable, parts: int, width: Width) -> CutTree:
    """Return the cuts that make about `parts` parts of the counted rows, each satisfying every model."""
    tree = cut_tree(whole.quasi(whole.sample), whole.weights, parts, width)
    while tree.leaves > 1:
        bad = _parts_that_fail(counts.withColumn(PART, tree.parts(counts)), whole, tree.leaves)
        if not bad:
            break
        tree = tree.without(bad)
    return tree


def _parts_that_fail(counts: DataFrame, whole: WholeTable, leaves: int) -> set[int]:
    """Return the parts that break a model, or that no row has."""
    from sfumato.models.criteria_kernel import criterion_holds

    units = np.zeros(leaves, dtype=np.int64)
    every = whole.units_by(counts, PART, None)
    units[every[PART].to_numpy()] = every[UNITS].to_numpy()
    least = max(model.least_units for model in whole.models)
    bad = set(np.flatnonzero(units < max(1, least)).tolist())
    for name, known in whole.sensitive.items():
        found = whole.units_by(counts, PART, name)
        codes = known.code_series(found[name]).codes
        asked = [model for model in whole.models if model.sensitive == name]
        tests = [
            model.criterion(known.column) if whole.schema.person is None else model.criterion_of_persons(known.column)
            for model in asked
        ]
        criteria = flatten([(test, 0) for test in tests if test is not None], [known.reference])
        for part in range(leaves):
            here = (found[PART] == part).to_numpy()
            held = _histogram(codes[here], found[UNITS].filter(pl.Series(here)), known.column.size)
            one = ClassCounts(int(units[part]), int(units[part]), held, known.reference, known.column)
            flow = np.zeros(len(held) + 1)
            fast = all(
                criterion_holds(criteria, i, held.copy(), one.units, one.known_units, flow)
                for i in range(len(criteria.kind))
            )
            if not (fast and all(model.satisfied(one) for model in asked if not model.compiled)):
                bad.add(part)
    return bad


def _histogram(codes: Codes, units: pl.Series, size: int) -> npt.NDArray[np.int64]:
    return np.bincount(codes, weights=units.to_numpy(), minlength=size).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SkewTree:
    """Axes, and the cuts along them: each cut is (axis, value, its left tree, its right tree), and a leaf its number.

    >>> points = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]])
    >>> tree = SkewTree.of(points, np.ones(4, dtype=np.int64), 2, seed=0)
    >>> np.bincount(tree.leaf(points)).tolist()
    [2, 2]
    """

    axes: Points
    cuts: Cuts

    @classmethod
    def of(cls, points: Points, weights: Int64s, leaves: int, seed: int) -> SkewTree:
        """Return a tree of at most `leaves` leaves of like weight; the seed turns the axes, nothing else."""
        drawn = np.random.default_rng(seed).normal(size=(points.shape[1], points.shape[1]))
        axes = np.linalg.qr(drawn)[0]
        return cls(axes, _cut_points(points @ axes, weights, leaves, 0))

    def leaf(self, points: Points) -> Int64s:
        """Return the number of the leaf of every point."""
        found = np.zeros(len(points), dtype=np.int64)
        _follow(self.cuts, points @ self.axes, np.arange(len(points)), found)
        return found


def _cut_points(points: Points, weights: Int64s, leaves: int, first: int) -> Cuts:
    if leaves < 2 or len(points) < 2:
        return first
    axis = int(np.argmax(points.std(axis=0)))
    order = np.argsort(points[:, axis], kind="stable")
    running = np.cumsum(weights[order])
    middle = int(np.searchsorted(running, running[-1] * (leaves // 2) / leaves))
    value = float(points[order[min(middle, len(order) - 1)], axis])
    left = points[:, axis] <= value
    if left.all():
        return first
    half = leaves // 2
    return (
        axis,
        value,
        _cut_points(points[left], weights[left], half, first),
        _cut_points(points[~left], weights[~left], leaves - half, first + half),
    )


def _follow(cuts: Cuts, points: Points, rows: Int64s, found: Int64s) -> None:
    if isinstance(cuts, int):
        found[rows] = cuts
        return
    axis, value, left, right = cuts
    goes = points[rows, axis] <= value
    _follow(left, points, rows[goes], found)
    _follow(right, points, rows[~goes], found)
