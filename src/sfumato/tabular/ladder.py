"""One quasi-identifier's ladder: what each of its codes becomes on every level of generalisation.

A ladder always ends in one node that covers every value, the missing one too, so leaving a column out
and generalising it to the top are the same thing (LeFevre, DeWitt & Ramakrishnan 2005, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato import hierarchy_builders as build
from sfumato.coding import Column
from sfumato.hierarchy import SUPPRESSED, Hierarchy
from sfumato.kinds import Kind

Floats = npt.NDArray[np.float64]
Int32s = npt.NDArray[np.int32]
MOST_INTERVALS = 50_000  # beyond so many values one label per value and level is no longer small


@dataclass(frozen=True, eq=False)
class Ladder:
    """A column's levels: the node of each code, the nodes' labels, and the share of the scale each covers.

    >>> import polars as pl
    >>> from sfumato.attribute import Attribute
    >>> from sfumato.coding import code
    >>> from sfumato.roles import Role
    >>> ladder = Ladder.of(code(pl.Series("sex", ["F", "M", None]), Attribute("sex", Role.QUASI, Kind.CATEGORY)))
    >>> ladder.labels
    (('', 'F', 'M'), ('*',))
    >>> ladder.losses[0].tolist(), ladder.losses[1].tolist()
    ([0.0, 0.0, 0.0], [1.0])
    """

    column: Column
    nodes: tuple[Int32s, ...]
    labels: tuple[tuple[str, ...], ...]
    losses: tuple[Floats, ...]

    @classmethod
    def of(cls, column: Column) -> Ladder:
        """Return the ladder of the column's hierarchy, or of the plainest one its type allows."""
        levels = _levels(column)
        root = SUPPRESSED
        if len(levels) > 1 and len(levels[-1]) == 1:
            root = SUPPRESSED if column.has_missing else levels[-1][0][0]
            levels.pop()
        shift = int(column.has_missing)
        nodes = [_nodes(level, column.size, shift) for level in levels]
        losses = [_losses(level, column, shift) for level in levels]
        mark = (column.missing_mark,) * shift
        return cls(
            column,
            nodes=(*nodes, np.zeros(column.size, dtype=np.int32)),
            labels=(*((*mark, *(label for label, _, _ in level)) for level in levels), (root,)),
            losses=(*losses, np.ones(1)),
        )

    @property
    def top(self) -> int:
        """The highest level, where every value shows the same label."""
        return len(self.nodes) - 1

    def limits(self, level: int) -> tuple[Int32s, Int32s, npt.NDArray[np.bool_]]:
        """The lowest and highest code under each node of a level, missing ones apart, and whether one is missing."""
        from sfumato.tabular.recode_kernel import extents

        every = np.arange(self.column.size, dtype=np.int32)
        return extents(every, self.nodes[level].astype(np.int64), len(self.labels[level]), self.column.has_missing)


def _levels(column: Column) -> list[list[tuple[str, int, int]]]:
    """Return each level's nodes as (label, first leaf, one past the last leaf)."""
    if not len(column.levels):
        return [[]]
    hierarchy = column.attribute.hierarchy or plain_hierarchy(column)
    levels: list[list[tuple[str, int, int]]] = [[] for _ in hierarchy.paths[0]]
    for label, level, first, last in hierarchy.nodes():
        levels[level].append((label, first, last))
    return levels


def plain_hierarchy(column: Column) -> Hierarchy:
    """Return intervals for numbers, calendar steps for dates, runs for ordered words, `*` above anything else.

    >>> import polars as pl
    >>> from sfumato.attribute import Attribute
    >>> from sfumato.coding import code
    >>> from sfumato.roles import Role
    >>> ages = code(pl.Series("age", [16, 94]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> plain_hierarchy(ages).paths[0]
    ('16', '[15-19]', '[10-19]', '[0-19]', '[0-39]', '*')
    """
    values: list[Any] = [column.value(code) for code in range(int(column.has_missing), column.size)]
    numeric = column.kind.numeric and len(values) <= MOST_INTERVALS
    if column.kind is Kind.DATE and numeric:
        return build.dates(values)
    if numeric:
        return build.intervals(values, build.growing_widths(values[0], values[-1]))
    words = [str(value) for value in values]
    return build.ordered(words) if column.kind is Kind.ORDINAL else build.flat(words)


def _nodes(level: list[tuple[str, int, int]], size: int, shift: int) -> Int32s:
    nodes = np.zeros(size, dtype=np.int32)
    for number, (_, first, last) in enumerate(level, start=shift):
        nodes[first + shift : last + shift] = number
    return nodes


def _losses(level: list[tuple[str, int, int]], column: Column, shift: int) -> Floats:
    positions = column.positions[shift:]
    shares = [positions[last - 1] - positions[first] for _, first, last in level]
    return np.array([*([0.0] * shift), *shares])
