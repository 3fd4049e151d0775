"""What the cells of a released column may be: each distinct label read once, as runs of values.

The text forms are those of `table.cells`; a generalised cell stands for every value under it
(Samarati & Sweeney 1998), so one region serves loss measures and counting queries alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core import cells
from sfumato.core.calendar import day_of, time_of
from sfumato.core.cells import Cell
from sfumato.errors import InputError
from sfumato.schema import Role, Schema
from sfumato.schema.kinds import Kind, is_missing, parse
from sfumato.schema.times import bound_number
from sfumato.table import Table
from sfumato.table.coded import Coded
from sfumato.table.coded import cells as as_cells
from sfumato.table.coding import Column, code, code_held
from sfumato.table.distinct import distinct

Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Runs = list[tuple[float, float]]
Region = tuple[Runs, bool]


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


def code_original(original: Table, settled: Schema, name: str) -> Column:
    """Return an original column as its released form is read against: coded as the settled schema declares it.

    >>> people = Table(pl.DataFrame({"age": [31, 47], "job": ["cook", "smith"]}))
    >>> code_original(people, Schema.from_roles(quasi=["age"], other="keep").settled(people), "job")
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'job' is neither a quasi-identifier nor sensitive; declare its role to measure it
    """
    held = original.held(name)
    if name not in (*settled.names(Role.QUASI), *settled.names(Role.SENSITIVE)):
        raise InputError(f"column '{name}' is neither a quasi-identifier nor sensitive; declare its role to measure it")
    return code_held(held, settled.columns[name], code)


def is_worded(column: Column) -> bool:
    """Return whether the column is released as sets or hierarchy nodes, not as ranges."""
    return column.attribute.hierarchy is not None or not column.kind.ordered


def is_continuous(column: Column) -> bool:
    """Return whether values between two neighbours are possible."""
    return column.kind in {Kind.NUMBER, Kind.TIMESTAMP} and column.attribute.hierarchy is None


def domain(column: Column) -> tuple[float, float]:
    """Return the ends of the column's scale: public bounds where declared, else what was observed.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
    >>> domain(code(pl.Series([31, 47]), Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(16, 94))))
    (16.0, 94.0)
    """
    return column.domain


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
    low, high, missing = (f"{name}_{part}" for part in cells.LIMITS)
    if name not in released.names and low in released.names:
        flags = released.column(missing) if missing in released.names else None
        return _from_limits(column, released.column(low), released.column(high), flags)
    held = released.held(name)
    if isinstance(held, Coded) and held.words.dtype == pl.String:
        return _from_words(column, held)
    series = as_cells(held)
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


def _from_words(column: Column, held: Coded) -> Regions:
    """Return the regions of a column of few texts, each of them read once."""
    try:
        regions = _from_labels(column, held.words)
    except InputError:
        return _from_labels(column, held.series())  # refuses by the number of the row
    return replace(regions, index=regions.index[held.places])


def _from_labels(column: Column, texts: pl.Series) -> Regions:
    words = texts.drop_nulls().unique(maintain_order=True).to_list()
    index = texts.cast(pl.Enum(words)).to_physical().cast(pl.Int64).fill_null(len(words)).to_numpy()
    read = _word_reader(column) if is_worded(column) else _range_reader(column)
    regions = []
    for label in [*words, None] if texts.null_count() else words:
        region = read(label)
        if region is None:
            row = (texts.index_of(label) or 0) + 1
            raise InputError(
                f"column '{texts.name}' row {row}: '{label}' cannot be read; wanted {_wanted_cells(column)}"
            )
        regions.append(region)
    runs = np.array([run for found, _ in regions for run in found], dtype=np.float64).reshape(-1, 2)
    starts = np.cumsum([0, *(len(found) for found, _ in regions)])
    missing = np.array([joined for _, joined in regions], dtype=np.bool_)
    return Regions(column, index, starts, runs[:, 0].copy(), runs[:, 1].copy(), missing)


def _range_reader(column: Column) -> Callable[[str | None], Region | None]:
    """Return a reader of single values and ranges: the region of a label, or None where there is no sense in it."""
    marks = {*column.attribute.missing, column.missing_mark}
    places = {str(level): float(place) for place, level in enumerate(column.levels)}
    known = places if column.kind is Kind.ORDINAL else None

    def value(text: str, *, single: bool) -> float | None:
        if known is not None:
            return known.get(text)
        if column.kind in {Kind.DATE, Kind.TIMESTAMP}:
            found = day_of(text) if column.kind is Kind.DATE else time_of(text)
            return None if found is None else float(bound_number(found))
        number = None if day_of(text) or time_of(text) else cells.number(text)
        if number is None or (column.kind is Kind.INTEGER and isinstance(number, float) and not single):
            return None
        return float(round(number) if column.kind is Kind.INTEGER else number)  # integers may be shown by their mean

    def read_region(label: str | None) -> Region | None:
        cell = cells.read(label, marks, known)
        if cell.everything:
            return [domain(column)], column.has_missing
        if not cell.named:
            return [], cell.missing
        cell = _on_calendar(cell, column.kind)
        ends = cell.ends or (cell.words[0], cell.words[0]) if cell.ends or len(cell.words) == 1 else ("", "")
        low, high = (value(end, single=ends[0] == ends[1]) for end in ends)
        return None if low is None or high is None or low > high else ([(low, high)], cell.missing)

    def read_loosely(label: str | None) -> Region | None:
        """Read words that are not quoted as they should be, and a word with a missing one as `low?`."""
        region = read_region(label)
        if region is not None or known is None or label is None:
            return region
        place = known.get(label, known.get(label.removesuffix("?")))
        return None if place is None else ([(place, place)], label not in known)

    return read_loosely


def _on_calendar(cell: Cell, kind: Kind) -> Cell:
    """Return a period as the range of its days or times, in a column of them."""
    if kind is Kind.TIMESTAMP:
        return cell.on_clock()
    return cell.on_calendar() if kind is Kind.DATE else cell


def _word_reader(column: Column) -> Callable[[str | None], Region | None]:
    """Return a reader of categories, sets of them, masked codes and hierarchy nodes.

    A label of the hierarchy is its leaves, and a node named like a leaf is both. A sensitive column is released as it
    was, without quotes, so a value in it that looks like a set is both too: the true value is never outside.
    """
    marks = {*column.attribute.missing, column.missing_mark}
    places = _places(column)
    as_it_was = column.attribute.role is Role.SENSITIVE
    nodes = places if column.attribute.hierarchy is not None else {}

    def read_region(label: str | None) -> Region | None:
        cell = cells.read(label, marks)
        if cell.everything:
            return [domain(column)], column.has_missing
        if label in nodes:
            return _runs(nodes[label]), cell.missing
        if cell.ends or not all(word in places for word in cell.words):
            cell = Cell()
        masked = [word for mask in cell.masks for word in places if cells.is_under_mask(mask, word)]
        found = {place for word in (*cell.words, *masked) for place in places[word]}
        if label is not None and (as_it_was or not (found or cell.missing)):
            found |= places.get(label, set())
        return (_runs(found), cell.missing) if found or cell.missing else None

    return read_region


def _places(column: Column) -> dict[str, set[int]]:
    """Return the levels that each label stands for."""
    hierarchy = column.attribute.hierarchy
    if hierarchy is None:
        return {str(level): {place} for place, level in enumerate(column.levels)}
    places: dict[str, set[int]] = {}
    for label, _, first, end in hierarchy.nodes():
        places.setdefault(label, set()).update(range(first, end))
    return places


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


def _wanted_cells(column: Column) -> str:
    if column.attribute.hierarchy is not None:
        return "a label of the hierarchy, or *"
    example = {
        Kind.INTEGER: "an integer, a range like [20-29], or *",
        Kind.NUMBER: "a number, a range like [1.5..2.5], or *",
        Kind.DATE: "a date, a range like [2026-01-01..2026-01-31], or *",
        Kind.TIMESTAMP: "a timestamp, a range like [2026-01-01 08:00:00..2026-01-31 17:30:00], or *",
        Kind.ORDINAL: "a category, a range like [low..high], or *",
    }
    return example.get(column.kind, "a value of the original column, a set like {F, M}, or *")
