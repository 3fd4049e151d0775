"""One quasi-identifier's ladder: what each of its codes becomes on every level of generalisation.

A ladder always ends in one node that covers every value, the missing one too, so leaving a column out
and generalising it to the top are the same thing (LeFevre, DeWitt & Ramakrishnan 2005, section 3).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.calendar import CLOCK_STEPS, days_of, times_of
from sfumato.core.cells import SUPPRESSED, literal, range_text
from sfumato.errors import SchemaError
from sfumato.hierarchy import Hierarchy
from sfumato.hierarchy import builders as build
from sfumato.schema import Kind
from sfumato.schema.times import DAY, EPOCH, MIDNIGHT, bound_number, wall_time
from sfumato.table.coding import Column

Floats = npt.NDArray[np.float64]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int64]
ROUND = 10  # the ends of a scale of one or two numbers are multiples of this


class LadderLevel(NamedTuple):
    """Nodes side by side: their labels, the first value under each, and the edges of labels that are ranges.

    Edges are declared bounds or round numbers, days and times, never a row's own value: that row may be suppressed.
    """

    labels: list[str]
    starts: Int64s
    edges: tuple[Numbers, Numbers] | None = None


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
    edges: tuple[tuple[Numbers, Numbers], ...] = ()  # of a column of numbers, days or times without a hierarchy

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
        ranged = hierarchy is None and column.kind.numeric and len(column.levels) > 0
        return cls(
            column,
            nodes=(*(_nodes(level, column) for level in levels), np.zeros(column.size, dtype=np.int32)),
            labels=(*((*mark, *level.labels) for level in levels), (root,)),
            losses=(*(_losses(level, column) for level in levels), np.ones(1)),
            edges=(*(_edges(level, column) for level in levels), _whole_scale(column)) if ranged else (),
        )

    @property
    def top(self) -> int:
        """The highest level, where every value shows the same label."""
        return len(self.nodes) - 1

    @property
    def allowed(self) -> tuple[int, int]:
        """The lowest and the highest level that the schema lets a release show; refused if there is no such level."""
        attribute = self.column.attribute
        for key in ("min_level", "max_level"):
            level = getattr(attribute, key)
            if level is not None and level > self.top:
                raise SchemaError(
                    f"column '{self.column.name}': {key} is {level}, and its levels go from 0 to {self.top}; "
                    "give one of these"
                )
        high = attribute.max_level
        return attribute.min_level or 0, self.top if high is None else high

    def level_name(self, level: int) -> str:
        """Return what a level shows, in words: values as they are, labels like its first one, or one for everything.

        >>> import polars as pl
        >>> from sfumato.schema import Attribute, Role
        >>> from sfumato.table.coding import code
        >>> ladder = Ladder.of(code(pl.Series("age", [16, 94]), Attribute("age", Role.QUASI, Kind.INTEGER)))
        >>> [ladder.level_name(level) for level in (0, 1, 5)]
        ['values', 'like [15-19]', '*']
        """
        if level == self.top:
            return self.labels[level][0]
        if level == 0:
            return "values"
        return f"like {self.labels[level][min(int(self.column.has_missing), len(self.labels[level]) - 1)]}"

    def limits(self, level: int) -> tuple[Numbers, Numbers, npt.NDArray[np.bool_]]:
        """The edges of each node of a level, low above high for a missing value alone, and whether one is missing."""
        low, high = self.edges[level]
        missing = np.zeros(len(self.labels[level]), dtype=np.bool_)
        if self.column.has_missing:
            missing[0] = True
            if level < self.top:
                low, high = np.concatenate([[1], low]), np.concatenate([[0], high])
        return low, high, missing


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
        return [_days_edges(level) for level in _levels(build.dates(days))]
    if column.kind is Kind.TIMESTAMP:
        return [finest, *_periods(np.asarray(column.levels, dtype=np.int64))]
    return [finest, *_intervals(np.asarray(column.levels), _bounds(column))]


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
        levels.append(LadderLevel(labels, starts, _times_edges(labels)))
    return [*levels, LadderLevel([SUPPRESSED], np.zeros(1, dtype=np.int64))]


def _intervals(values: npt.NDArray[Any], bounds: tuple[float, float] | None) -> list[LadderLevel]:
    """Return what `hierarchy.builders.intervals` would, without a label per value: there may be millions.

    Widths fit the declared bounds, or without them the values. Decimals end at declared bounds where an interval
    reaches past them.
    """
    levels = []
    ends = values[[0, -1]] if bounds is None else np.array(bounds, dtype=values.dtype)
    for width in build.growing_widths(*ends.tolist()):
        starts = np.flatnonzero(np.diff(values // width, prepend=np.nan))
        if values.dtype.kind == "i":
            lows = values[starts] // width * width
            edges: tuple[Numbers, Numbers] = lows, lows + width - 1
            labels = [build.aligned_interval(value, width, 0) for value in values[starts].tolist()]
        else:
            lasts = values[np.append(starts[1:], len(values)) - 1]
            found = zip(values[starts].tolist(), lasts.tolist(), strict=True)
            pairs = [_decimal_ends(first, last, width, bounds) for first, last in found]
            labels = [range_text(low, high, whole=False) for low, high in pairs]
            edges = np.array([float(low) for low, _ in pairs]), np.array([float(high) for _, high in pairs])
        levels.append(LadderLevel(labels, starts, edges))
    return [*levels, LadderLevel([SUPPRESSED], np.zeros(1, dtype=np.int64))]


def _decimal_ends(first: float, last: float, width: float, bounds: tuple[float, float] | None) -> tuple[str, str]:
    """Return the edges around some decimals as texts, inside the declared bounds if there are any."""
    low, high = build.decimal_edges(first, last, width)
    if bounds is None:
        return low, high
    return str(bounds[0]) if float(low) < bounds[0] else low, str(bounds[1]) if float(high) > bounds[1] else high


def _bounds(column: Column) -> tuple[float, float] | None:
    """Return the bounds that were declared, as numbers; what was learnt from rows is none."""
    attribute = column.attribute
    if attribute.bounds is None or not attribute.public:
        return None
    low, high = map(bound_number, attribute.bounds)
    return low, high


def _whole_scale(column: Column) -> tuple[Numbers, Numbers]:
    """Return the ends of a column's scale: declared, or rounded outwards, calendars to decades."""
    values = np.asarray(column.levels)
    low, high = values[0].item(), values[-1].item()
    bounds = _bounds(column)
    if bounds is not None:
        low, high = bounds
    elif column.kind is Kind.DATE:
        low, high = _decade(EPOCH + dt.timedelta(days=low))[0], _decade(EPOCH + dt.timedelta(days=high))[1]
    elif column.kind is Kind.TIMESTAMP:
        days = (_decade(wall_time(low).date())[0], _decade(wall_time(high).date())[1])
        low, high = days[0] * DAY, (days[1] + 1) * DAY - 1
    else:
        width = (build.growing_widths(low, high) or [ROUND])[-1]
        if column.kind is Kind.INTEGER:
            low, high = low // width * width, high // width * width + width - 1
        else:
            low, high = map(float, build.decimal_edges(low, high, width))
    return np.array([low], dtype=values.dtype), np.array([high], dtype=values.dtype)


def _decade(day: dt.date) -> tuple[int, int]:
    """Return the first and the last day of a day's decade, in days since 1970."""
    first, last = days_of(f"{day.year // 10 * 10:04}s") or (day, day)
    return (first - EPOCH).days, (last - EPOCH).days


def _edges(level: LadderLevel, column: Column) -> tuple[Numbers, Numbers]:
    """Return the edges of a level's labels; single values are their own."""
    values = np.asarray(column.levels)
    return (values, values) if level.edges is None else level.edges


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


def _times_edges(labels: list[str]) -> tuple[Int64s, Int64s]:
    """Return the first and the last microsecond of each hour, day or period, since 1970."""
    spans = [times_of(label) or (MIDNIGHT, MIDNIGHT) for label in labels]
    low, high = (np.array([bound_number(span[end]) for span in spans], dtype=np.int64) for end in (0, 1))
    return low, high


def _days_edges(level: LadderLevel) -> LadderLevel:
    """Return a level of days or periods with the first and the last day of each label, since 1970."""
    spans = [days_of(label) for label in level.labels]
    if not all(spans):  # single days, or everything
        return level
    low, high = (np.array([bound_number(span[end]) for span in spans if span], dtype=np.int64) for end in (0, 1))
    return level._replace(edges=(low, high))


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
    if level.edges is None:
        reach = places[ends - 1] / 2 - places[level.starts] / 2
    else:
        reach = level.edges[1] / 2 - level.edges[0] / 2
    return np.concatenate([missing, np.minimum(1.0, reach / half)])
