"""The nodes of a hierarchy as the cuts need them: which codes a node holds, and what a cell that shows it loses.

A cell's loss is NCP (Xu et al. 2006), as `evaluate.utility` counts it: the share of the leaves that it may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.table.coding import Column

Int32s = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


class Nodes(NamedTuple):
    """For each code and number of levels below the top, of the node that holds it: its last code, and its loss.

    Level 0 is the whole column, which is shown as `*`.

    >>> from sfumato.hierarchy import Hierarchy
    >>> from sfumato.schema import Attribute, Role
    >>> tree = Hierarchy.from_rows([("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "gut", "*")])
    >>> ill = Column(Attribute("ill", Role.QUASI, hierarchy=tree), np.arange(3), tree.leaves, has_missing=False)
    >>> Nodes.of(ill).lasts.tolist(), Nodes.of(ill).losses.round(3)[0].tolist()
    ([[2, 2, 1], [2, 2, 1], [2, 2, 2]], [1.0, 1.0, 0.667])
    """

    lasts: Int32s
    losses: Floats

    @classmethod
    def of(cls, column: Column, levels: int | None = None) -> Nodes:
        """Return the nodes of a column with a hierarchy, down to its own lowest level or to `levels` of them."""
        count = levels or levels_of(column)
        lasts = np.empty((column.size, count), dtype=np.int32)
        losses = np.empty((column.size, count))
        for level in range(count):
            starts = np.flatnonzero(column.shared < level) if level else np.zeros(1, dtype=np.int64)
            starts = np.union1d([0], starts)
            sizes = np.diff(starts, append=column.size)
            lasts[:, level] = np.repeat(starts + sizes - 1, sizes)
            shares = np.where(sizes > 1, sizes, 0) / len(column.levels) if level else np.ones(1)
            losses[:, level] = np.repeat(shares, sizes)
        return cls(lasts, losses)


def levels_of(column: Column) -> int:
    """Return how many levels nodes of a column's hierarchy lie on, the whole column among them."""
    return int(column.shared.max(initial=0)) + 1


def stacked(columns: Sequence[Column]) -> tuple[Nodes | None, list[int]]:
    """Return the nodes of all columns that have a hierarchy, one below the other, and where each column's start.

    Last codes count from the top of the stack. Without any hierarchy there are no nodes.
    """
    trees = [column for column in columns if column.attribute.hierarchy is not None]
    if not trees:
        return None, [0] * len(columns)
    levels = max(map(levels_of, trees))
    sizes = [column.size if column.attribute.hierarchy is not None else 0 for column in columns]
    starts = [sum(sizes[:place]) for place in range(len(columns))]
    lasts, losses = np.empty((sum(sizes), levels), dtype=np.int32), np.empty((sum(sizes), levels))
    for column, start in zip(columns, starts, strict=True):
        if column.attribute.hierarchy is not None:
            nodes = Nodes.of(column, levels)
            lasts[start : start + column.size] = nodes.lasts + start
            losses[start : start + column.size] = nodes.losses
    return Nodes(lasts, losses), starts
