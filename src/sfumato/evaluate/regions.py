"""What the cells of a released column may be: each distinct label read once, as runs of values.

The text forms are those `tabular.recode` writes; a generalised cell stands for every value under it
(Samarati & Sweeney 1998), so one region serves loss measures and counting queries alike.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import InputError
from sfumato.hierarchy import SUPPRESSED
from sfumato.hierarchy.calendar import days_of
from sfumato.schema import Role, Schema
from sfumato.schema.kinds import Kind, is_missing, parse
from sfumato.table import Table
from sfumato.table.coding import Column, code
from sfumato.table.distinct import distinct

Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Runs = list[tuple[float, float]]
Cell = tuple[Runs, bool]
INTEGER = re.compile(r"[+-]?[0-9]+")
SET_MEMBER = re.compile(r'(?:"((?:[^"]|"")*)"|([^",]+))(?:, *|\Z)')


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of one released column, and which of them each row shows.

    A region is a list of runs, each from `low` to `high` with both ends in it, and a flag for a missing
    value that may be among them; region r owns runs `starts[r]` to `starts[r + 1]`. Runs lie on the
    column's scale: numbers, days since 1970, or the place of a category among the column's levels.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
    >>> sex = code(pl.Series("sex", ["F", "M", "X"]), Attribute("sex", Role.QUASI, Kind.CATEGORY))
    >>> regions = read_regions(sex, Table(pl.DataFrame({"sex": ["{F, M}", "X", "{F, M}"]})))
    >>> regions.index.tolist(), regions.low.tolist(), regions.high.tolist()
    ([0, 1, 0], [0.0, 2.0], [1.0, 2.0])
    """

    column: Column
    index: Index
    starts: Index
    low: Floats
    high: Floats
    missing: Flags

    @property
    def count(self) -> int:
        """The number of regions."""
        return len(self.missing)

    @property
    def owners(self) -> Index:
        """The region that each run belongs to."""
        return np.repeat(np.arange(self.count), np.diff(self.starts))

    @property
    def grain(self) -> float:
        """The size of a single value: 1 on a grid of points, 0 on a continuous scale."""
        return 0.0 if is_continuous(self.column) else 1.0

    @cached_property
    def sizes(self) -> Floats:
        """The points in each region, or its length on a continuous scale; a missing value is one point."""
        lengths = np.bincount(self.owners, weights=self.high - self.low + self.grain, minlength=self.count)
        sizes: Floats = lengths + self.grain * self.missing
        return sizes


def coded(original: Table, settled: Schema, name: str) -> Column:
    """Return an original column as its released form is read against: coded as the settled schema declares it.

    >>> people = Table(pl.DataFrame({"age": [31, 47], "job": ["cook", "smith"]}))
    >>> coded(people, Schema.from_roles(quasi=["age"], other="keep").settled(people), "job")
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'job' is neither a quasi-identifier nor sensitive; declare its role to measure it
    """
    series = original.column(name)
    if name not in (*settled.names(Role.QUASI), *settled.names(Role.SENSITIVE)):
        raise InputError(f"column '{name}' is neither a quasi-identifier nor sensitive; declare its role to measure it")
    return code(series, settled.columns[name])


def is_worded(column: Column) -> bool:
    """Return whether the column is released as sets or hierarchy nodes, not as ranges."""
    return column.attribute.hierarchy is not None or not column.kind.ordered


def is_continuous(column: Column) -> bool:
    """Return whether values between two neighbours are possible."""
    return column.kind is Kind.NUMBER and column.attribute.hierarchy is None


def domain(column: Column) -> tuple[float, float]:
    """Return the ends of the column's scale: public bounds where declared, else what was observed.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
    >>> domain(code(pl.Series([31, 47]), Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(16, 94))))
    (16.0, 94.0)
    """
    attribute = column.attribute
    if len(column.levels) == 0:
        raise InputError(f"column '{column.name}' holds no value at all; leave it out")
    if attribute.hierarchy is not None or not column.kind.numeric:
        return 0.0, float(len(column.levels) - 1)
    if attribute.bounds is not None and attribute.public:
        low, high = (_days(bound) if isinstance(bound, dt.date) else float(bound) for bound in attribute.bounds)
        return low, high
    return float(column.levels[0]), float(column.levels[-1])


def read_regions(column: Column, released: Table) -> Regions:
    """Return the regions of a released column, read against the original column as coded.

    Reads one column of text, or the `x_min`, `x_max` and `x_missing` of `ranges="columns"`.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
    >>> age = code(pl.Series("age", [31, 47]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> read_regions(age, Table(pl.DataFrame({"age": ["[31-47]", "31 to 47"]})))
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'age' row 2: '31 to 47' cannot be read; wanted an integer, a range \
like [20-29], or *
    """
    name = column.name
    if name not in released.names and f"{name}_min" in released.names:
        flags = released.column(f"{name}_missing") if f"{name}_missing" in released.names else None
        return _from_limits(column, released.column(f"{name}_min"), released.column(f"{name}_max"), flags)
    series = released.column(name)
    if column.kind.numeric and column.attribute.hierarchy is None and series.dtype != pl.String:
        if column.kind is Kind.INTEGER and series.dtype.is_float():
            series = series.round()  # the mean of integers, shown at the nearest one
        return _from_limits(column, series, series, None)
    return _from_labels(column, series.cast(pl.String))


def exact_regions(column: Column) -> Regions:
    """Return every code of the original column as a region of its own.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
    >>> exact_regions(code(pl.Series([7, None, 9]), Attribute("age", Role.QUASI, Kind.INTEGER))).low.tolist()
    [7.0, 8.0, 9.0]
    """
    numeric = column.kind.numeric and column.attribute.hierarchy is None
    values = np.asarray(column.levels if numeric else range(len(column.levels)), dtype=np.float64)
    missing = np.arange(column.size) < int(column.has_missing)
    return Regions(column, column.codes.astype(np.int64), _starts(~missing), values, values, missing)


def _from_limits(column: Column, low: pl.Series, high: pl.Series, flags: pl.Series | None) -> Regions:
    low, high = (series.cast(pl.String) if series.dtype == pl.Null else series for series in (low, high))
    absent = is_missing(low, column.attribute.missing)
    ends = [parse(series, column.kind, absent).astype(np.float64) for series in (low, high)]
    if (ends[0] > ends[1]).any():
        row = int(np.argmax(ends[0] > ends[1]))
        raise InputError(f"column '{low.name}' row {row + 1}: {low[row]} lies above {high[row]} in '{high.name}'")
    empty = absent.to_numpy()
    missing = empty if flags is None else empty | (flags.cast(pl.String) == "true").fill_null(value=False).to_numpy()
    coded = [np.unique(end, return_inverse=True)[1] for end in ends]
    state = empty.astype(np.int64) + 2 * missing
    shown = distinct([*coded, state], [*(int(codes.max(initial=0)) + 1 for codes in coded), 4])
    first = shown.examples
    there = first[~empty[first]]
    return Regions(column, shown.ids, _starts(~empty[first]), ends[0][there], ends[1][there], missing[first])


def _from_labels(column: Column, texts: pl.Series) -> Regions:
    words = texts.drop_nulls().unique(maintain_order=True).to_list()
    index = texts.cast(pl.Enum(words)).to_physical().cast(pl.Int64).fill_null(len(words)).to_numpy()
    read = _word_reader(column) if is_worded(column) else _range_reader(column)
    cells = []
    for label in [*words, None] if texts.null_count() else words:
        cell = read(label)
        if cell is None:
            row = (texts.index_of(label) or 0) + 1
            raise InputError(f"column '{texts.name}' row {row}: '{label}' cannot be read; wanted {_wanted(column)}")
        cells.append(cell)
    runs = np.array([run for found, _ in cells for run in found], dtype=np.float64).reshape(-1, 2)
    starts = np.cumsum([0, *(len(found) for found, _ in cells)])
    missing = np.array([joined for _, joined in cells], dtype=np.bool_)
    return Regions(column, index, starts, runs[:, 0].copy(), runs[:, 1].copy(), missing)


def _range_reader(column: Column) -> Callable[[str | None], Cell | None]:
    """Return a reader of single values and ranges: the region of a label, or None where there is no sense in it."""
    marks = {*column.attribute.missing, column.missing_mark, None}
    value = _value_reader(column)
    joint = "-" if column.kind is Kind.INTEGER else ".."

    def single(label: str) -> float | None:
        found = value(label)
        if found is None and column.kind is Kind.INTEGER:
            number = _number(label)  # the mean of integers, shown at the nearest one
            return None if number is None else float(round(number))
        return found

    def stretch(label: str) -> tuple[float, float] | None:
        if label[:1] == "[" and label[-1:] == "]":
            ends = ((value(left), value(right)) for left, right in _splits(label[1:-1], joint))
            return next(((a, b) for a, b in ends if a is not None and b is not None and a <= b), None)
        period = days_of(label) if column.kind is Kind.DATE else None
        return None if period is None else (_days(period[0]), _days(period[1]))

    def read(label: str | None) -> Cell | None:
        if label is None or label in marks:
            return [], True
        if label == SUPPRESSED:
            return [domain(column)], column.has_missing
        for text, joined in ((label, False), (label.removesuffix("?"), True)):
            point = single(text)
            run = stretch(text) if point is None else (point, point)
            if run is not None:
                return [run], joined
        return None

    return read


def _value_reader(column: Column) -> Callable[[str], float | None]:
    if column.kind is Kind.ORDINAL:
        places = {str(level): float(place) for place, level in enumerate(column.levels)}
        return places.get
    return {Kind.INTEGER: _integer, Kind.DATE: _date}.get(column.kind, _number)


def _integer(text: str) -> float | None:
    return float(text) if INTEGER.fullmatch(text) else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _date(text: str) -> float | None:
    try:
        return _days(dt.date.fromisoformat(text))
    except ValueError:
        return None


def _days(date: dt.date) -> float:
    return float((date - dt.date(1970, 1, 1)).days)


def _splits(text: str, joint: str) -> Iterator[tuple[str, str]]:
    """Yield every way to cut a text at `joint`: a minus may also be a sign, dots part of a name."""
    place = text.find(joint)
    while place >= 0:
        yield text[:place], text[place + len(joint) :]
        place = text.find(joint, place + 1)


def _word_reader(column: Column) -> Callable[[str | None], Cell | None]:
    """Return a reader of categories, sets of them, and hierarchy nodes.

    A label that can be read in two ways (a value that looks like a set, a node named as a leaf) is all of
    them together, so that the true value is never outside.
    """
    marks = {*column.attribute.missing, column.missing_mark}
    places = _places(column)

    def read(label: str | None) -> Cell | None:
        if label == SUPPRESSED:
            return [domain(column)], column.has_missing
        readings = [[label or ""], _members(label or "")]
        words = {word for words in readings if all(word in places or word in marks for word in words) for word in words}
        missing = label is None or not marks.isdisjoint(words)
        found = {place for word in words for place in places.get(word, ())}
        return (_runs(found), missing) if found or missing else None

    return read


def _places(column: Column) -> dict[str, set[int]]:
    """Return the levels that each label stands for."""
    hierarchy = column.attribute.hierarchy
    if hierarchy is None:
        return {str(level): {place} for place, level in enumerate(column.levels)}
    places: dict[str, set[int]] = {}
    for label, _, first, end in hierarchy.nodes():
        places.setdefault(label, set()).update(range(first, end))
    return places


def _members(label: str) -> list[str]:
    """Return the words of a set such as `{F, "a, b"}`; none where the label is not one."""
    if label[:1] != "{" or label[-1:] != "}":
        return []
    body, words, place = label[1:-1], [], 0
    while place < len(body):
        match = SET_MEMBER.match(body, place)
        if match is None:
            return []
        words.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        place = match.end()
    return words


def _runs(places: Iterable[int]) -> Runs:
    """Return the places as runs of neighbours."""
    runs: Runs = []
    for place in sorted(places):
        if runs and runs[-1][1] == place - 1:
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((place, place))
    return runs


def _starts(there: Flags) -> Index:
    """Return where each region's runs begin when it has one run or none."""
    return np.concatenate([[0], np.cumsum(there)])


def _wanted(column: Column) -> str:
    if column.attribute.hierarchy is not None:
        return "a label of the hierarchy, or *"
    example = {
        Kind.INTEGER: "an integer, a range like [20-29], or *",
        Kind.NUMBER: "a number, a range like [1.5..2.5], or *",
        Kind.DATE: "a date, a range like [2026-01-01..2026-01-31], or *",
        Kind.ORDINAL: "a category, a range like [low..high], or *",
    }
    return example.get(column.kind, "a value of the original column, a set like {F, M}, or *")
