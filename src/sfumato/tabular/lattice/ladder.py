"""One quasi-identifier's ladder: what each of its codes becomes on every level of generalisation.

A ladder always ends in one node that covers every value, the missing one too, so leaving a column out
and generalising it to the top are the same thing (LeFevre, DeWitt & Ramakrishnan 2005, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.calendar import CLOCK_STEPS, MICROSECOND, days_of, times_of
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
    """Nodes side by side: their labels, the first value under each, and how far each label reaches, if past values."""

    labels: list[str]
    starts: Int64s
    reach: Floats | None = None


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
        return [_days_reach(level) for level in _levels(build.dates(days))]
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
        labels = [CLOCK_STEPS[step](wall_time(value)) for value in values[starts].tolist()]
        levels.append(LadderLevel(labels, starts, _times_reach(labels)))
    return [*levels, LadderLevel([SUPPRESSED], np.zeros(1, dtype=np.int64))]


def _intervals(values: npt.NDArray[Any], texts: list[str]) -> list[LadderLevel]:
    """Return what `hierarchy.builders.intervals` would, without a label per value: there may be millions."""
    levels = []
    for width in build.growing_widths(values[0].item(), values[-1].item()):
        starts = np.flatnonzero(np.diff(values // width, prepend=np.nan))
        reach = None
        if values.dtype.kind == "i":
            reach = np.full(len(starts), float(width - 1))
            labels = [build.aligned_interval(value, width, 0) for value in values[starts].tolist()]
        else:
            lasts = np.append(starts[1:], len(values)) - 1
            pairs = zip(starts.tolist(), lasts.tolist(), strict=True)
            labels = [range_text(texts[low], texts[high], whole=False) for low, high in pairs]
        levels.append(LadderLevel(labels, starts, reach))
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


def _times_reach(labels: list[str]) -> Floats:
    """Return the microseconds from the first to the last of each hour, day or period."""
    spans = [times_of(label) for label in labels]
    return np.array([0.0 if span is None else (span[1] - span[0]) / MICROSECOND for span in spans])


def _days_reach(level: LadderLevel) -> LadderLevel:
    """Return a level of days or periods with the days that each label reaches beyond its first."""
    periods = [days_of(label) for label in level.labels]
    reach = [0.0 if days is None else float((days[1] - days[0]).days) for days in periods]
    return level._replace(reach=np.array(reach))


def _losses(level: LadderLevel, column: Column) -> Floats:
    """Return the normalised certainty penalty of each node's label; a missing value alone loses nothing.

    It is what the measure of a release finds: a share of the values for words, a share of the scale for ranges.
    """
    missing = np.zeros(int(column.has_missing))
    values = len(column.levels)
    if not values:
        return missing
    ends = np.append(level.starts[1:], values)
    if column.attribute.hierarchy is not None or not column.kind.ordered:
        sizes = ends - level.starts
        return np.concatenate([missing, np.where(sizes > 1, sizes, 0) / values])
    low, high = column.domain
    half = max(high / 2 - low / 2, np.finfo(np.float64).tiny)  # so that the widest scale stays finite
    places = np.asarray(column.levels, dtype=np.float64) if column.kind.numeric else np.arange(values, dtype=np.float64)
    reach = places[ends - 1] / 2 - places[level.starts] / 2 if level.reach is None else level.reach / 2
    return np.concatenate([missing, np.minimum(1.0, reach / half)])
