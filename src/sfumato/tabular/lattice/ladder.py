"""One quasi-identifier's ladder: what each of its codes becomes on every level of generalisation.

A ladder always ends in one node that covers every value, the missing one too, so leaving a column out
and generalising it to the top are the same thing (LeFevre, DeWitt & Ramakrishnan 2005, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.calendar import CLOCK_STEPS
from sfumato.core.cells import SUPPRESSED, literal, range_text
from sfumato.hierarchy import Hierarchy
from sfumato.hierarchy import builders as build
from sfumato.schema import Kind
from sfumato.schema.times import wall_time
from sfumato.table.coding import Column

Floats = npt.NDArray[np.float64]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


class LadderLevel(NamedTuple):
    """Nodes side by side: their labels, and the first value under each."""

    labels: list[str]
    starts: Int64s


@dataclass(frozen=True, eq=False)
class Ladder:
    """A column's levels: the node of each code, the nodes' labels, and the share of the scale each covers.

    >>> import polars as pl
    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
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
        hierarchy = column.attribute.hierarchy
        levels = plain_levels(column) if hierarchy is None else _levels(hierarchy)
        root = SUPPRESSED
        if len(levels) > 1 and len(levels[-1].labels) == 1:
            root = SUPPRESSED if column.has_missing else levels[-1].labels[0]
            levels.pop()
        mark = (literal(column.missing_mark),) if column.has_missing else ()
        return cls(
            column,
            nodes=(*(_nodes(level, column) for level in levels), np.zeros(column.size, dtype=np.int32)),
            labels=(*((*mark, *level.labels) for level in levels), (root,)),
            losses=(*(_losses(level, column) for level in levels), np.ones(1)),
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


def plain_levels(column: Column) -> list[LadderLevel]:
    """Return intervals for numbers, calendar steps for dates, runs for ordered words, values alone for the rest.

    >>> import polars as pl
    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
    >>> ages = code(pl.Series("age", [16, 94]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> [level.labels[0] for level in plain_levels(ages)]
    ['16', '[15-19]', '[10-19]', '[0-19]', '[0-39]', '*']
    """
    shift = int(column.has_missing)
    texts = [column.text(code) for code in range(shift, column.size)]
    finest = LadderLevel([literal(text) for text in texts], np.arange(len(texts)))
    if not texts or not column.kind.ordered:
        return [finest]
    if column.kind is Kind.ORDINAL:
        return _levels(build.ordered(texts))
    if column.kind is Kind.DATE:
        days: list[Any] = [column.value(code) for code in range(shift, column.size)]
        return _levels(build.dates(days))
    if column.kind is Kind.TIMESTAMP:
        return [finest, *_periods(np.asarray(column.levels, dtype=np.int64))]
    return [finest, *_intervals(np.asarray(column.levels), texts)]


def _periods(values: npt.NDArray[np.int64]) -> list[LadderLevel]:
    """Return hours, days, months, quarters, years and decades, each named once: there may be millions of times."""
    moments = values.astype("datetime64[us]")
    months = moments.astype("datetime64[M]").astype(np.int64)
    places = {
        "hour": moments.astype("datetime64[h]").astype(np.int64),
        "day": moments.astype("datetime64[D]").astype(np.int64),
        "month": months,
        "quarter": months // 3,
        "year": months // 12,
        "decade": (months // 12 + 1970) // 10,
    }
    levels = []
    for step, place in places.items():
        starts = np.flatnonzero(np.diff(place, prepend=place[0] - 1))
        levels.append(LadderLevel([CLOCK_STEPS[step](wall_time(value)) for value in values[starts].tolist()], starts))
    return [*levels, LadderLevel([SUPPRESSED], np.zeros(1, dtype=np.int64))]


def _intervals(values: npt.NDArray[Any], texts: list[str]) -> list[LadderLevel]:
    """Return what `hierarchy.builders.intervals` would, without a label per value: there may be millions."""
    levels = []
    for width in build.growing_widths(values[0].item(), values[-1].item()):
        starts = np.flatnonzero(np.diff(values // width, prepend=np.nan))
        if values.dtype.kind == "i":
            labels = [build.aligned_interval(value, width, 0) for value in values[starts].tolist()]
        else:
            lasts = np.append(starts[1:], len(values)) - 1
            pairs = zip(starts.tolist(), lasts.tolist(), strict=True)
            labels = [range_text(texts[low], texts[high], whole=False) for low, high in pairs]
        levels.append(LadderLevel(labels, starts))
    return [*levels, LadderLevel([SUPPRESSED], np.zeros(1, dtype=np.int64))]


def _levels(hierarchy: Hierarchy) -> list[LadderLevel]:
    found: list[list[tuple[str, int]]] = [[] for _ in hierarchy.paths[0]]
    for label, level, first, _ in hierarchy.nodes():
        found[level].append((label if level else literal(label), first))
    return [LadderLevel([label for label, _ in nodes], np.array([first for _, first in nodes])) for nodes in found]


def _nodes(level: LadderLevel, column: Column) -> Int32s:
    shift = int(column.has_missing)
    lengths = np.diff(level.starts, append=column.size - shift)
    numbers = np.repeat(np.arange(shift, len(level.labels) + shift, dtype=np.int32), lengths)
    return np.concatenate([np.zeros(shift, dtype=np.int32), numbers])


def _losses(level: LadderLevel, column: Column) -> Floats:
    """Return the share of the scale between each node's first and last value; a missing value alone loses nothing."""
    shift = int(column.has_missing)
    positions = column.positions[shift:]
    lasts = np.append(level.starts[1:], len(positions)) - 1
    shares = positions[lasts] - positions[level.starts] if len(positions) else np.empty(0)
    return np.concatenate([np.zeros(shift), shares])
