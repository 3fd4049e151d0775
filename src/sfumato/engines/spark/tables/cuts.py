"""A coarse split of a table's space: a small tree of cuts, found on a sample and followed by every row on the cluster.

The widest column is cut at its median, as Mondrian does (LeFevre, DeWitt & Ramakrishnan 2006) and k-d trees before it
(Bentley 1975); a column with a hierarchy is cut between the children of one node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.engines.spark.expressions import up_to
from sfumato.table.coding import Column

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

PART = "__sfumato_part"
Int64s = npt.NDArray[np.int64]
Width = Callable[[Column, Int64s], float]


@dataclass(frozen=True, eq=False)
class Tree:
    """One part (no column), or a cut: rows up to `value` of `column` go left."""

    column: Column | None = None
    value: object = None
    left: Tree | None = None
    right: Tree | None = None

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

    def without(self, bad: set[int], first: int = 0) -> Tree:
        """The tree in which every cut that made one of the bad parts is taken back."""
        if self.left is None or self.right is None:
            return self
        middle = first + self.left.leaves
        if (self.left.leaves == 1 and first in bad) or (self.right.leaves == 1 and middle in bad):
            return Tree()
        return Tree(self.column, self.value, self.left.without(bad, first), self.right.without(bad, middle))


def cut_tree(columns: Sequence[Column], weights: Int64s, parts: int, width: Width) -> Tree:
    """Return a tree of at most `parts` parts of like weight over the sampled rows that the columns hold."""
    return _cut(columns, weights, np.arange(len(weights)), parts, width)


def mondrian_width(column: Column, codes: Int64s) -> float:
    """Return the share of a column's scale that some codes span."""
    return float(column.positions[codes.max()] - column.positions[codes.min()])


def _cut(columns: Sequence[Column], weights: Int64s, rows: Int64s, parts: int, width: Width) -> Tree:
    if parts < 2 or len(rows) < 2:
        return Tree()
    share = (parts // 2) / parts
    widths = [width(column, column.codes[rows].astype(np.int64)) for column in columns]
    for place in np.argsort(widths)[::-1].tolist():
        column = columns[place]
        last = _last_left(column, column.codes[rows].astype(np.int64), weights[rows], share)
        if last is not None:
            left = column.codes[rows] <= last
            return Tree(
                column,
                column.value(last),
                _cut(columns, weights, rows[left], parts // 2, width),
                _cut(columns, weights, rows[~left], parts - parts // 2, width),
            )
    return Tree()


def _last_left(column: Column, codes: Int64s, weights: Int64s, share: float) -> int | None:
    """Return the last code that goes left in the allowed cut nearest to `share` of the weight, if there is one."""
    found, inverse = np.unique(codes, return_inverse=True)
    if len(found) < 2:
        return None
    running = np.cumsum(np.bincount(inverse, weights=weights))[:-1] / weights.sum()
    allowed = np.array(list(_allowed(column, found)))
    distance = np.where(allowed, np.abs(running - share), np.inf)
    return int(found[np.argmin(distance)])


def _allowed(column: Column, found: Int64s) -> Iterator[bool]:
    """Yield whether the column may be cut after each code but the last."""
    depth = int(column.shared[found[0] + 1 : found[-1] + 1].min())
    for before, after in zip(found[:-1].tolist(), found[1:].tolist(), strict=True):
        yield int(column.shared[before + 1 : after + 1].min()) == depth
