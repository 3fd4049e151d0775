"""A release beside the people it was made from: what each published cell may stand for, on one scale with their values.

A cell that is a range, a set, a label or `*` covers values; how far a value lies outside is Gower's distance (1971,
"A General Coefficient of Similarity and Some of Its Properties"), with numbers and days measured in ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.audit.gate.distinct_rows import DistinctRows
from sfumato.audit.linkage.fitting import Fits, fit
from sfumato.core.calendar import day_of, time_of
from sfumato.core.cells import MISSING_MARKS, Cell, column_text, limit_columns, number, read
from sfumato.errors import InputError
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.series.published import code_texts
from sfumato.table import Table
from sfumato.table.coded import Coded, Held, spread
from sfumato.table.coding import listed_texts

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Distances = npt.NDArray[np.int32]
Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
SCALE = 10_000  # the distance between the two ends of a column, or between two words
MISSING = -1
WORDED = frozenset({Kind.CATEGORY, Kind.ORDINAL, Kind.TEXT})


@dataclass(frozen=True, eq=False)
class Facts:
    """What every column knows: its name and role, the texts released, the text of each row, and what texts tell."""

    name: str
    role: Role
    texts: Sequence[str]
    rows: Codes  # the text of each released row
    values: Codes  # the code of each person's value, MISSING where there is none
    exact: Booleans  # which texts are single values
    nothing: Booleans  # which texts are a missing value alone
    lenient: Booleans  # which texts a missing value may stand behind

    @cached_property
    def counts(self) -> Integers:
        """How often each text is released."""
        return np.bincount(self.rows, minlength=len(self.texts))

    def settle(self, found: Distances, value: int) -> Distances:
        """Return distances once missing values are told from others: such a value is near to its like alone."""
        if value == MISSING:
            return np.where(self.lenient, 0, SCALE).astype(np.int32)
        return np.where(self.nothing, SCALE, found).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column on the line of numbers or days; cells are runs of ranks, doubled so that a gap has a middle."""

    facts: Facts
    line: Floats  # the people's different values, in their order
    low: Integers
    high: Integers
    ends: Floats  # the limits of each text as numbers, one row each; NaN where it has none

    def distances(self, value: int) -> Distances:
        """How far a person's value lies from each text."""
        gap = np.maximum(np.maximum(self.low - 2 * value, 2 * value - self.high), 0)
        return self.facts.settle(gap * SCALE // max(1, 2 * len(self.line) - 2), value)

    @cached_property
    def guesses(self) -> Floats:
        """The value that an attacker reads from each text: the middle of a range."""
        return np.asarray(self.ends.mean(axis=1), dtype=np.float64)

    @cached_property
    def tolerance(self) -> float:
        """How near to the truth a guess must be: a twentieth of the span of nine people in ten."""
        known = self.line[self.facts.values[self.facts.values != MISSING]]
        return 0.0 if len(known) == 0 else float(np.diff(np.quantile(known, [0.05, 0.95]))[0]) / 20

    def is_guessed(self, text: int, value: int) -> bool:
        """Whether what a text tells is right about a person."""
        if value == MISSING:
            return bool(self.facts.nothing[text])
        return bool(abs(self.guesses[text] - self.line[value]) <= self.tolerance)


@dataclass(frozen=True, eq=False)
class Words:
    """A column of words; a text covers runs of them, in the order of a hierarchy or of declared categories."""

    facts: Facts
    fits: Fits

    @cached_property
    def _owners(self) -> Integers:
        return np.repeat(np.arange(len(self.fits.starts) - 1), np.diff(self.fits.starts))

    def distances(self, value: int) -> Distances:
        """No distance to texts that cover a person's value, a whole one to others."""
        found = np.full(len(self.facts.texts), SCALE, dtype=np.int32)
        found[self._owners[(self.fits.low <= value) & (value <= self.fits.high)]] = 0
        return self.facts.settle(found, value)

    @cached_property
    def guesses(self) -> Integers:
        """The value that an attacker reads from each text: one of those that it covers, the middle one."""
        middle = np.full(len(self.facts.texts), MISSING, dtype=np.int64)
        lengths = np.diff(self.fits.starts)
        place = self.fits.starts[:-1] + lengths // 2
        some = lengths > 0
        middle[some] = (self.fits.low[place[some]] + self.fits.high[place[some]]) // 2
        return middle

    def is_guessed(self, text: int, value: int) -> bool:
        """Whether what a text tells is right about a person."""
        if value == MISSING:
            return bool(self.facts.nothing[text])
        return not self.facts.nothing[text] and bool(self.guesses[text] == value)


Column = Numbers | Words


@dataclass(frozen=True, eq=False)
class View:
    """The columns that a release shares with people, who stand in one line: those of the data, then a control group.

    >>> release = Table(pl.DataFrame({"age": ["[20-29]", "35"], "sex": ["F", "M"]}))
    >>> view = View.of(release, Table(pl.DataFrame({"age": [21, 35], "sex": ["F", "F"]})))
    >>> view.names, view.distances(0).tolist(), view.distances(1).tolist()
    (['age', 'sex'], [[0, 10000], [0, 10000]], [[10000, 0], [0, 10000]])
    """

    columns: Sequence[Column]
    rows: int
    people: int
    control: int

    @classmethod
    def of(cls, release: Table, original: Table, schema: Schema | None = None, control: Table | None = None) -> View:
        """Return the columns that the tables share, read once."""
        shared = [name for name in original.names if limit_columns(release.names, name)]
        if not shared or release.rows == 0 or original.rows == 0:
            raise InputError("the release and the original share no column with rows; there is nothing to attack")
        known = {} if schema is None else schema.columns
        columns = []
        for name in shared:
            people = [table.held(name) for table in (original, control) if table is not None]
            shown = Shown.of(release, name, known.get(name))
            columns.append(_column(name, shown, Listed.of(people, known.get(name)), known.get(name)))
        return cls(columns, release.rows, original.rows, 0 if control is None else control.rows)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.facts.name for column in self.columns]

    def without(self, column: int) -> View:
        """The same view with one column left out."""
        kept = [*self.columns[:column], *self.columns[column + 1 :]]
        return View(kept, self.rows, self.people, self.control)

    @cached_property
    def distinct(self) -> DistinctRows:
        """The different released rows."""
        return DistinctRows.of([column.facts.rows for column in self.columns])

    @cached_property
    def kinds(self) -> Sequence[Codes]:
        """The text of each different released row, column by column."""
        return [column.facts.rows[self.distinct.first] for column in self.columns]

    def distances(self, person: int, rows: Sequence[int] | None = None) -> Distances:
        """How far different rows (or those that are named) are from a person, one line for each column."""
        shown = self.kinds if rows is None else [column.facts.rows[list(rows)] for column in self.columns]
        found = np.empty((len(self.columns), len(shown[0])), dtype=np.int32)
        for line, texts, column in zip(found, shown, self.columns, strict=True):
            np.take(column.distances(int(column.facts.values[person])), texts, out=line)
        return found


def _texts(series: pl.Series, attribute: Attribute | None) -> pl.Series:
    """Return a column as text, with numbers, days and times in plain form where it is declared how they are written."""
    plain = series if attribute is None or attribute.kind is None else listed_texts(series, attribute)
    return plain.cast(pl.String).fill_null("")


@dataclass(frozen=True, eq=False)
class Listed:
    """The values of people: different ones as texts, and which of them each person has.

    >>> listed = Listed.of([pl.Series([30, 20, 30]), pl.Series(["20"])], None)
    >>> listed.texts.to_list(), listed.people.tolist()
    (['20', '30', '20'], [1, 0, 1, 2])
    """

    texts: pl.Series
    people: Codes

    @classmethod
    def of(cls, columns: Sequence[Held], attribute: Attribute | None) -> Listed:
        """Return the values of several columns, one after the other; a column may list a text again."""
        texts: list[pl.Series] = []
        codes: list[Codes] = []
        for column in columns:
            different = _plain(column.words if isinstance(column, Coded) else column).unique().sort()
            codes.append(spread(column, partial(_places, different=different)) + np.int32(sum(map(len, texts))))
            texts.append(_texts(different, attribute))
        return cls(pl.concat(texts), np.concatenate(codes))


def _plain(values: pl.Series) -> pl.Series:
    """Return numbers, days and times as they are, everything else as text."""
    return values if values.dtype.is_numeric() or values.dtype.is_temporal() else values.cast(pl.String)


def _places(values: pl.Series, different: pl.Series) -> Codes:
    """Return where each value stands among the different ones; a null stands first there."""
    plain = _plain(values)
    if plain.dtype != pl.String:
        return different.search_sorted(plain).to_numpy().astype(np.int32)
    named = different.drop_nulls()
    place = plain.cast(pl.Enum(named)).to_physical().cast(pl.Int32).fill_null(-1) + (len(different) - len(named))
    return place.to_numpy()


class Shown(NamedTuple):
    """The different texts of a released column in their order, and which of them each row shows.

    >>> Shown.of(Table(pl.DataFrame({"age": ["[20-29]", "19", "[20-29]"]})), "age", None)
    Shown(texts=('19', '[20-29]'), rows=array([1, 0, 1], dtype=int32))
    """

    texts: tuple[str, ...]
    rows: Codes

    @classmethod
    def of(cls, release: Table, name: str, attribute: Attribute | None) -> Shown:
        """Return what a release shows of a column; limits in two columns are ranges."""
        parts = limit_columns(release.names, name)
        held = release.held(name) if parts == [name] else column_text(release.select(parts), name)
        values = held.words if isinstance(held, Coded) else held
        texts, places = code_texts(_texts(column_text(pl.DataFrame([values]), name), attribute))
        codes = places.astype(np.int32)
        return cls(texts, codes[held.places] if isinstance(held, Coded) else codes)


def _column(name: str, shown: Shown, listed: Listed, attribute: Attribute | None) -> Column:
    marks = MISSING_MARKS if attribute is None else (*MISSING_MARKS, *attribute.missing)
    (texts, rows), values = shown, listed.texts
    words = set(values.to_list()) - set(marks)
    cells = _read_cells(texts, words, marks, attribute)
    role = Role.OTHER if attribute is None else attribute.role
    nothing = np.array([cell == Cell(missing=True) for cell in cells])
    lenient = np.array([cell.missing or cell.everything for cell in cells])
    single = np.array([len(cell.words) == 1 and not cell.missing for cell in cells])
    if _are_numbers(cells, words, attribute):
        return _numbers(Facts(name, role, texts, rows, _NONE, single, nothing, lenient), cells, listed)
    told = ~values.is_in(list(marks))
    fits = fit(texts, values.filter(told), attribute)
    codes = np.full(len(values), MISSING, dtype=np.int32)
    codes[told.to_numpy()] = fits.codes
    known = codes[listed.people]
    return Words(Facts(name, role, texts, rows, known, single & _of_one(fits), nothing, lenient), fits)


_NONE = np.zeros(0, dtype=np.int32)


def _read_cells(texts: Sequence[str], words: set[str], marks: Sequence[str], attribute: Attribute | None) -> list[Cell]:
    """Return the texts read; a month is all of its days in a column of days, a day all of its times in one of times."""
    cells = [read(text, marks, None if attribute is None else attribute.categories) for text in texts]
    kind = None if attribute is None else attribute.kind
    if kind is Kind.TIMESTAMP or (kind is None and any(map(time_of, words))):
        return [cell.on_clock() for cell in cells]
    if kind is Kind.DATE or (kind is None and any(map(day_of, words))):
        return [cell.on_calendar() for cell in cells]
    return cells


def _are_numbers(cells: Sequence[Cell], words: set[str], attribute: Attribute | None) -> bool:
    """Return whether all cells and all values are numbers or days, and nothing says that they are names."""
    named = attribute is not None and (attribute.hierarchy is not None or attribute.kind in WORDED)
    if named or any(cell.limits is None for cell in cells if cell.named):
        return False
    return all(number(word) is not None for word in words)


def _numbers(facts: Facts, cells: Sequence[Cell], listed: Listed) -> Numbers:
    told = [number(word) for word in listed.texts.to_list()]
    line = np.unique(np.array([found for found in told if found is not None], dtype=np.float64))
    codes = [MISSING if found is None else int(np.searchsorted(line, found)) for found in told]
    known = np.array(codes, dtype=np.int32)[listed.people]
    nan = (np.nan, np.nan)
    ends = np.array([cell.limits if cell.limits is not None else nan for cell in cells], dtype=np.float64)
    everything = np.array([cell.everything for cell in cells])
    low = 2 * np.searchsorted(line, ends[:, 0], "left")
    high = 2 * np.searchsorted(line, ends[:, 1], "right") - 2
    between = high < low  # no value lies in the cell: it stands in the gap
    low, high = np.where(between, low - 1, low), np.where(between, low - 1, high)
    low, high = np.where(everything, 0, low), np.where(everything, 2 * len(line), high)
    facts = Facts(facts.name, facts.role, facts.texts, facts.rows, known, facts.exact, facts.nothing, facts.lenient)
    return Numbers(facts, line, low, high, ends)


def _of_one(fits: Fits) -> Booleans:
    """Return which texts cover a single value, or none that anybody has."""
    many = np.zeros(len(fits.starts) - 1, dtype=np.bool_)
    owners = np.repeat(np.arange(len(many)), np.diff(fits.starts))
    many[owners[fits.high > fits.low]] = True
    return ~many & (np.diff(fits.starts) <= 1)
