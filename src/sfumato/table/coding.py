"""Columns as small integers: every value a code, in an order that generalisation can cut.

Codes follow the values' order (numbers, dates, ordinals), the hierarchy's leaves, or the alphabet;
a missing value is a value of its own and takes code 0.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.calendar import HOUR, day_of
from sfumato.errors import InputError, suggestion
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute
from sfumato.schema.kinds import Kind, is_missing, numbers_in, parse
from sfumato.schema.times import EPOCH, bound_number, days_in, wall_time
from sfumato.table.coded import Coded, Held, cells

Codes = npt.NDArray[np.int32]
DENSE_SPAN = 1 << 20


@dataclass(frozen=True, eq=False)
class Column:
    """One coded column: `codes` per row, and `levels`, the values in code order after the missing one.

    >>> from sfumato.schema import Role
    >>> column = code(pl.Series("age", ["31", "", "29"]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> column.codes.tolist(), column.levels.tolist(), column.has_missing
    ([3, 0, 1], [29, 30, 31], True)
    """

    attribute: Attribute
    codes: Codes
    levels: Sequence[str] | npt.NDArray[np.int64] | npt.NDArray[np.float64]
    has_missing: bool
    scale: tuple[float, float] | None = None  # the lowest and highest number of all, where these rows are a part

    @property
    def name(self) -> str:
        """The column's name."""
        return self.attribute.name

    @property
    def kind(self) -> Kind:
        """The column's type, settled."""
        return self.attribute.kind or Kind.CATEGORY

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self.levels) + self.has_missing

    @property
    def unknown(self) -> int:
        """How many codes stand for no value: 1 where code 0 is a missing one that was not declared a value, else 0."""
        return int(self.has_missing and not self.attribute.missing_is_value)

    @property
    def missing_mark(self) -> str:
        """What stands for a missing value in the release."""
        return self.attribute.missing[0] if self.attribute.missing else ""

    @cached_property
    def positions(self) -> npt.NDArray[np.float64]:
        """Where each code lies on a scale of length 1; a missing value lies a whole scale away."""
        if self.kind.numeric and self.attribute.hierarchy is None:
            values = np.asarray(self.levels, dtype=np.float64)
        else:
            values = np.arange(len(self.levels), dtype=np.float64)
        if len(values) and max(-values[0], values[-1]) > np.finfo(np.float64).max / 2:
            values = values / 2  # so that the span stays finite
        low, high = (self.scale or (values[0], values[-1])) if len(values) else (0.0, 0.0)
        scaled = (values - low) / (high - low) if high > low else np.zeros(len(values))
        return np.concatenate([[-1.0], scaled]) if self.has_missing else scaled

    @property
    def domain(self) -> tuple[float, float]:
        """The ends of the column's scale: public bounds where declared, else the lowest and highest value of all."""
        attribute = self.attribute
        if len(self.levels) == 0:
            raise InputError(f"column '{self.name}' holds no value at all; leave it out")
        if attribute.hierarchy is not None or not self.kind.numeric:
            return 0.0, float(len(self.levels) - 1)
        if attribute.bounds is not None and attribute.public:
            low, high = (float(bound_number(bound)) for bound in attribute.bounds)
            return low, high
        return self.scale or (float(self.levels[0]), float(self.levels[-1]))

    @cached_property
    def shared(self) -> Codes:
        """How many tree levels each code shares with the one before it; all 0 without a hierarchy."""
        if self.attribute.hierarchy is None:
            return np.zeros(self.size, dtype=np.int32)
        inner = self.attribute.hierarchy.shared
        return np.concatenate([[0], inner]).astype(np.int32) if self.has_missing else inner

    def value(self, code: int) -> object:
        """The value behind a code; None for the missing one."""
        position = code - self.has_missing
        return None if position < 0 else self.as_value(self.levels[position])

    def as_value(self, level: str | np.int64 | np.float64) -> object:
        """The value that a level, or another number on the column's scale, stands for."""
        if self.attribute.hierarchy is None and self.kind in {Kind.DATE, Kind.TIMESTAMP}:
            return wall_time(int(level)) if self.kind is Kind.TIMESTAMP else EPOCH + dt.timedelta(days=int(level))
        return level.item() if isinstance(level, np.generic) else level

    def text(self, code: int) -> str:
        """The value behind a code as it is written in a release."""
        value = self.value(code)
        return self.missing_mark if value is None else str(value)


def code(series: pl.Series, attribute: Attribute, rows: int | None = None) -> Column:
    """Return the column coded as its attribute declares, refusing values outside what is declared.

    Where the series holds distinct values only, `rows` is how many rows they stand for; codes are those of all rows.

    >>> from sfumato.schema import Role
    >>> code(pl.Series("sex", ["F", "X"]), Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("F", "M")))
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'sex' row 2: 'X' is not among the declared categories; there are 'F', 'M'
    """
    hierarchy = attribute.hierarchy
    if hierarchy is not None:
        marks = tuple(mark for mark in attribute.missing if mark not in hierarchy.leaves)  # a listed mark is a value
        words = listed_texts(series, attribute)
        return _code_words(words, is_missing(words, marks), attribute, hierarchy.leaves)
    missing = is_missing(series, attribute.missing)
    has_missing = bool(missing.any())
    if attribute.kind is not None and attribute.kind.numeric:
        return _code_numbers(series, missing, attribute, rows or len(series))
    texts = _texts(series)
    if attribute.categories is not None:
        return _code_words(texts, missing, attribute, attribute.categories)
    seen = texts.filter(~missing) if has_missing else texts
    return _code_words(texts, missing, attribute, seen.unique().sort().to_list())


def compared_texts(series: pl.Series) -> pl.Series:
    """Return texts as sensitive values are compared: in Unicode's composed form (NFC), without blanks around them.

    >>> compared_texts(pl.Series([" flu", "cafe\u0301"])).to_list() == ["flu", "caf\u00e9"]
    True
    """
    return _texts(series).str.normalize("NFC").str.strip_chars()


def code_sensitive(series: pl.Series, attribute: Attribute, rows: int | None = None) -> Column:
    """Return what `code` does, where texts that differ only by blanks or by composition in Unicode are one value.

    >>> from sfumato.schema import Role
    >>> code_sensitive(pl.Series("ill", ["flu", " flu", "  "]), Attribute("ill", Role.SENSITIVE)).codes.tolist()
    [1, 1, 0]
    """
    if series.dtype not in (pl.String, pl.Categorical, pl.Enum) or (attribute.kind and attribute.kind.numeric):
        return code(series, attribute, rows)
    listed = attribute.categories if attribute.hierarchy is None else attribute.hierarchy.leaves
    words = pl.Series("word", listed or (), dtype=pl.String)
    plain = compared_texts(series).replace(compared_texts(words), words)
    marks = (*attribute.missing, *compared_texts(pl.Series(attribute.missing, dtype=pl.String)))
    return code(plain.alias(series.name), replace(attribute, missing=tuple(dict.fromkeys(marks))), rows)


def code_held(
    held: Held,
    attribute: Attribute,
    coder: Callable[[pl.Series, Attribute, int | None], Column],
    rows: int | None = None,
) -> Column:
    """Return the column as `coder` (`code` or `code_sensitive`) codes its cells, looking once at each different text.

    >>> from sfumato.schema import Role
    >>> code_held(Coded.of(pl.Series("sex", ["M", "F", "M"])), Attribute("sex", Role.QUASI), code).codes.tolist()
    [1, 0, 1]
    """
    if not isinstance(held, Coded) or rows is not None:
        return coder(cells(held), attribute, rows)
    try:
        words = coder(held.words, attribute, len(held))
    except InputError:
        return coder(held.series(), attribute, rows)  # refuses by the number of the row
    return replace(words, codes=words.codes[held.places])


def merged_variants(series: pl.Series) -> int:
    """Return how many texts of a column are variants of others, by blanks around them or composition in Unicode.

    >>> merged_variants(pl.Series(["flu", " flu", "gout"]))
    1
    """
    if series.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return 0
    found = series.drop_nulls().unique()
    return len(found) - compared_texts(found).n_unique()


def only_observed(column: Column) -> Column:
    """Return the column with codes for the values that occur, and no others.

    >>> from sfumato.schema import Role
    >>> ages = code(pl.Series("age", [29, 31]), Attribute("age", Role.SENSITIVE, Kind.INTEGER))
    >>> only_observed(ages).codes.tolist(), ages.codes.tolist()
    ([0, 1], [0, 2])
    """
    present = np.bincount(column.codes, minlength=column.size) > 0
    if present.all():
        return column
    renumber = (np.cumsum(present) - 1).astype(np.int32)
    kept = np.flatnonzero(present[int(column.has_missing) :])
    levels = column.levels[kept] if isinstance(column.levels, np.ndarray) else [column.levels[i] for i in kept.tolist()]
    attribute = column.attribute
    if attribute.hierarchy is not None:
        pruned = Hierarchy(tuple(attribute.hierarchy.paths[i] for i in kept))
        attribute = replace(attribute, bounds=None, hierarchy=pruned, hierarchy_file=None)
    return Column(attribute, renumber[column.codes], levels, column.has_missing and bool(present[0]))


def _texts(series: pl.Series) -> pl.Series:
    return series if series.dtype == pl.String else series.cast(pl.String)


def listed_texts(series: pl.Series, attribute: Attribute) -> pl.Series:
    """Return values as a hierarchy or a domain lists them: hours, days, numbers in plain form; what is none stays.

    >>> from sfumato.schema import Role
    >>> day = Attribute("day", Role.QUASI, Kind.DATE, format="%d.%m.%Y")
    >>> listed_texts(pl.Series(["31.12.2024", "unknown"]), day).to_list()
    ['2024-12-31', 'unknown']
    """
    if series.dtype == pl.Datetime or attribute.kind is Kind.TIMESTAMP:
        return _listed_times(series, attribute)
    texts = _texts(series)
    written = attribute.written
    rule = written.calendar() if attribute.kind is Kind.DATE else written.numbers()
    if rule is not None and series.dtype == pl.String and attribute.kind is not None and attribute.kind.numeric:
        plain = rule.texts(series)
        plain = days_in(plain).cast(pl.Int32).cast(pl.Date).cast(pl.String) if attribute.kind is Kind.DATE else plain
        return plain.zip_with(plain.is_not_null(), texts)
    whole = series.dtype.is_float() and attribute.kind is not Kind.NUMBER and bool((series == series.round()).all())
    return _texts(series.cast(pl.Int64)) if whole else texts


def _listed_times(series: pl.Series, attribute: Attribute) -> pl.Series:
    """Return times as the first leaf is written: by hours, by days, or in full."""
    listed = attribute.categories if attribute.hierarchy is None else attribute.hierarchy.leaves
    first = listed[0] if listed else ""
    times = numbers_in(series, Kind.TIMESTAMP, attribute.written).cast(pl.Datetime("us"))
    if HOUR.fullmatch(first):
        shown = times.dt.strftime("%Y-%m-%d %Hh")
    elif attribute.kind is Kind.DATE or day_of(first):
        shown = times.cast(pl.Date).cast(pl.String)
    else:
        shown = times.dt.strftime("%Y-%m-%d %H:%M:%S%.6f").str.strip_suffix(".000000")
    return shown.zip_with(shown.is_not_null(), _texts(series))


def _code_words(texts: pl.Series, missing: pl.Series, attribute: Attribute, words: Sequence[str]) -> Column:
    has_missing = bool(missing.any())
    if has_missing:
        texts = texts.set(missing, None)
    physical = texts.cast(pl.Enum(list(words)), strict=False).to_physical()
    wrong = physical.is_null() & ~missing if physical.null_count() else None
    if wrong is not None and wrong.any():
        row = int(wrong.arg_max() or 0)
        where = "in the hierarchy" if attribute.hierarchy is not None else "among the declared categories"
        raise InputError(
            f"column '{attribute.name}' row {row + 1}: '{texts[row]}' is not {where}{suggestion(texts[row], words)}"
        )
    codes = physical.cast(pl.Int32)
    codes = (codes + 1).fill_null(0) if has_missing else codes
    return Column(attribute, codes.to_numpy(), list(words), has_missing)


def _code_numbers(series: pl.Series, missing: pl.Series, attribute: Attribute, rows: int) -> Column:
    kind = attribute.kind or Kind.NUMBER
    numbers = parse(series, kind, missing, attribute.written)
    has_missing = bool(missing.any())
    absent = missing.to_numpy() if has_missing else None
    present = numbers if absent is None else numbers[~absent]
    _refuse_outside(series, numbers, absent, attribute)
    if len(present) == 0:
        return Column(attribute, np.zeros(len(numbers), dtype=np.int32), np.empty(0, dtype=np.int64), has_missing)
    low, high = present.min(), present.max()
    if kind is not Kind.NUMBER and int(high) - int(low) < min(DENSE_SPAN, 4 * rows + 1024):
        levels = np.arange(int(high) - int(low) + 1) + low
        codes = (numbers - low).astype(np.int32)
    else:
        levels = np.unique(present)
        codes = np.searchsorted(levels, numbers).astype(np.int32)
    if absent is not None:
        codes += 1
        codes[absent] = 0
    return Column(attribute, codes, levels, has_missing)


def _refuse_outside(
    series: pl.Series,
    numbers: npt.NDArray[np.int64] | npt.NDArray[np.float64],
    absent: npt.NDArray[np.bool_] | None,
    attribute: Attribute,
) -> None:
    if attribute.bounds is None or not attribute.public:
        return
    low, high = (bound_number(limit) for limit in attribute.bounds)
    outside = (numbers < low) | (numbers > high)
    if absent is not None:
        outside &= ~absent
    if outside.any():
        row = int(np.argmax(outside))
        raise InputError(
            f"column '{attribute.name}' row {row + 1}: {series[row]} lies outside the declared bounds "
            f"[{attribute.bounds[0]}, {attribute.bounds[1]}]; correct the row or the bounds"
        )
