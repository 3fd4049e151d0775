"""What a column's values are (integer, number, date, category …), detected or parsed without guessing.

Codes with leading zeros stay text, and a value that does not fit is refused with its row; the rules
follow the frictionless-data advice that types are declared, and inferred only as a proposal.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import InputError
from sfumato.schema.times import DAY, days_in, has_clock, times_in
from sfumato.schema.written import Written

Weights = npt.NDArray[np.int64]
PLAIN = Written()
PROBE = 100  # values that are looked at before all are


class Kind(StrEnum):
    """The type of a column, as written in a schema file.

    >>> Kind("integer").ordered, Kind.CATEGORY.ordered
    (True, False)
    """

    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    TIMESTAMP = "timestamp"
    ORDINAL = "ordinal"
    CATEGORY = "category"
    TEXT = "text"

    @property
    def numeric(self) -> bool:
        """Whether values have distances (numbers, dates and times)."""
        return self in {Kind.INTEGER, Kind.NUMBER, Kind.DATE, Kind.TIMESTAMP}

    @property
    def ordered(self) -> bool:
        """Whether values have an order, so that a range of them makes sense."""
        return self.numeric or self is Kind.ORDINAL


def is_missing(series: pl.Series, marks: tuple[str, ...]) -> pl.Series:
    """Return which values are missing: nulls, and texts among the declared marks.

    >>> is_missing(pl.Series(["3", "?", None]), ("?",)).to_list()
    [False, True, True]
    """
    missing = series.is_null()
    written = marks if series.dtype == pl.String else tuple(mark for mark in marks if mark)
    if written:
        texts = _as_csv(series)
        for mark in written:
            missing = missing | (texts == mark).fill_null(value=True)
    return missing


def _as_csv(series: pl.Series) -> pl.Series:
    """Return the values as a CSV file would hold them, whole decimals without their `.0`."""
    texts = series.cast(pl.String)
    return texts.str.strip_suffix(".0") if series.dtype.is_float() else texts


def detect(series: pl.Series, marks: tuple[str, ...] = ("",), weights: Weights | None = None) -> Kind:
    """Return the kind the values suggest; half or more numbers among texts count as a number column.

    Where values were counted before, `weights` says how often each occurs.

    >>> detect(pl.Series(["1", "2"])), detect(pl.Series(["02139", "10115"])), detect(pl.Series(["2.5", "x", "1"]))
    (<Kind.INTEGER: 'integer'>, <Kind.CATEGORY: 'category'>, <Kind.NUMBER: 'number'>)
    """
    if series.dtype.is_integer():
        return Kind.INTEGER
    if series.dtype.is_float() or series.dtype.is_decimal():
        return Kind.NUMBER
    if series.dtype in (pl.Date, pl.Datetime):
        return Kind.DATE if series.dtype == pl.Date else Kind.TIMESTAMP
    if series.dtype != pl.String:
        return Kind.CATEGORY
    missing = is_missing(series, marks)
    if not missing.any():
        return _detect_text(series, weights)
    return _detect_text(series.filter(~missing), None if weights is None else weights[~missing.to_numpy()])


def _detect_text(values: pl.Series, weights: Weights | None) -> Kind:
    if values.is_empty():
        return Kind.CATEGORY
    whole = values.cast(pl.Int64, strict=False)
    if whole.null_count() == 0:
        padded = values.str.starts_with("0") & (values.str.len_bytes() > 1)
        return Kind.CATEGORY if padded.any() else Kind.INTEGER
    numbers = values.cast(pl.Float64, strict=False)
    others, every = numbers.null_count(), len(values)
    if weights is not None:
        others, every = int(weights[numbers.is_null().to_numpy()].sum()), int(weights.sum())
    if others * 2 <= every:
        if values.filter(whole.is_null()).str.contains(r"^[+-]?\d{19,}$").any():
            return Kind.CATEGORY  # beyond 64 bits: a number would be rounded
        return Kind.INTEGER if whole.null_count() == numbers.null_count() else Kind.NUMBER
    return _detect_times(values)


def _detect_times(values: pl.Series) -> Kind:
    for kind, numbers in ((Kind.DATE, days_in), (Kind.TIMESTAMP, times_in)):
        if all(numbers(part).null_count() == 0 for part in (values.head(PROBE), values)):
            return kind
    return Kind.CATEGORY


def parse(
    series: pl.Series, kind: Kind, missing: pl.Series, written: Written = PLAIN
) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Return the numbers of a numeric column (days since 1970 for dates, microseconds for times); 0 where missing.

    >>> parse(pl.Series("age", ["31", "x"]), Kind.INTEGER, pl.Series([False, False]))
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'age' row 2: 'x' is not an integer; declare the column as a category, \
declare 'x' as a missing mark, or clean the row
    """
    values = numbers_in(series, kind, written)
    if values.null_count():
        _refuse_first(series, values.is_null() & ~missing, kind, written)
        values = values.fill_null(0)
    numbers = values.to_numpy()
    if kind is Kind.NUMBER and not np.isfinite(numbers).all():
        numbers = np.where(missing.to_numpy(), 0.0, numbers)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if len(wrong):
            raise InputError(
                f"column '{series.name}' row {wrong[0] + 1}: {numbers[wrong[0]]} is not a finite number; "
                "clean the row or leave the cell empty"
            )
    return numbers


def numbers_in(series: pl.Series, kind: Kind, written: Written = PLAIN) -> pl.Series:
    """Return the number in every cell of a numeric column, null where there is none.

    Dates are days since 1970, timestamps microseconds since 1970 by the clock of their zone.

    >>> numbers_in(pl.Series("age", ["31", "x", None]), Kind.INTEGER).to_list()
    [31, None, None]
    >>> numbers_in(pl.Series("wage", ["1.234,5", "1.5"]), Kind.NUMBER, Written(decimal=",", thousands=".")).to_list()
    [1234.5, None]
    """
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        return _calendar_numbers(series, kind, written)
    if series.dtype.is_temporal():
        raise InputError(f"column '{series.name}' holds dates; declare its type as date or timestamp, not {kind}")
    marks = written.numbers() if series.dtype == pl.String else None
    plain = series if marks is None else marks.texts(series)
    values = plain.cast(pl.Int64 if kind is Kind.INTEGER else pl.Float64, strict=False)
    if kind is Kind.INTEGER and series.dtype.is_float():
        values = values.set((series != series.round()).fill_null(value=False), None)
    return values


def _calendar_numbers(series: pl.Series, kind: Kind, written: Written) -> pl.Series:
    form = None if series.dtype.is_temporal() else written.calendar()
    plain = series if form is None else form.texts(series.cast(pl.String))
    if kind is Kind.TIMESTAMP:
        return times_in(plain, written.zone)
    if form is not None and written.clocked:  # the format says that there is a time of day, which a date leaves out
        return times_in(plain, written.zone) // DAY
    return days_in(plain, written.zone)


def _refuse_first(series: pl.Series, wrong: pl.Series, kind: Kind, written: Written) -> None:
    row = wrong.arg_max()
    if row is None or not wrong[row]:
        return
    value = series[row]
    timed = kind is Kind.DATE and has_clock(str(value))
    remedy = "declare the column as a timestamp" if timed else "declare the column as a category"
    raise InputError(
        f"column '{series.name}' row {row + 1}: '{value}' is not {wanted(series, kind, written)}; {remedy}, "
        f"declare '{value}' as a missing mark, or clean the row"
    )


def wanted(series: pl.Series, kind: Kind, written: Written) -> str:
    """Return in words what a cell of a numeric column should hold.

    >>> wanted(pl.Series(["x"]), Kind.DATE, Written(format="%d.%m.%Y"))
    'a date written %d.%m.%Y'
    """
    if kind in {Kind.DATE, Kind.TIMESTAMP} and written.format is not None:
        return f"a {kind} written {written.format}"
    if kind is Kind.NUMBER and (marks := [mark for mark in (written.decimal, written.thousands) if mark]):
        return f"a number with the marks {' and '.join(map(repr, marks))}"
    whole = "an integer of 64 bits" if series.dtype.is_integer() else "an integer"
    words = {Kind.INTEGER: whole, Kind.NUMBER: "a number", Kind.DATE: "a date like 2026-01-31"}
    return words.get(kind, "a timestamp like 2026-01-31 14:30:00")
