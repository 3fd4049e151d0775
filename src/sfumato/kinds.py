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


class Kind(StrEnum):
    """The type of a column, as written in a schema file.

    >>> Kind("integer").ordered, Kind.CATEGORY.ordered
    (True, False)
    """

    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    ORDINAL = "ordinal"
    CATEGORY = "category"
    TEXT = "text"

    @property
    def numeric(self) -> bool:
        """Whether values have distances (numbers and dates)."""
        return self in {Kind.INTEGER, Kind.NUMBER, Kind.DATE}

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
    if series.dtype == pl.String:
        for mark in marks:
            missing = missing | (series == mark).fill_null(value=True)
    return missing


def detect(series: pl.Series, marks: tuple[str, ...] = ("",)) -> Kind:
    """Return the kind the values suggest; half or more numbers among texts count as a number column.

    >>> detect(pl.Series(["1", "2"])), detect(pl.Series(["02139", "10115"])), detect(pl.Series(["2.5", "x", "1"]))
    (<Kind.INTEGER: 'integer'>, <Kind.CATEGORY: 'category'>, <Kind.NUMBER: 'number'>)
    """
    if series.dtype.is_integer():
        return Kind.INTEGER
    if series.dtype.is_float() or series.dtype.is_decimal():
        return Kind.NUMBER
    if series.dtype in (pl.Date, pl.Datetime):
        return Kind.DATE
    if series.dtype != pl.String:
        return Kind.CATEGORY
    values = series.filter(~is_missing(series, marks)) if series.null_count() or any(marks) else series
    return _detect_text(values)


def _detect_text(values: pl.Series) -> Kind:
    if values.is_empty():
        return Kind.CATEGORY
    whole = values.cast(pl.Int64, strict=False)
    if whole.null_count() == 0:
        padded = values.str.starts_with("0") & (values.str.len_bytes() > 1)
        return Kind.CATEGORY if padded.any() else Kind.INTEGER
    numbers = values.cast(pl.Float64, strict=False)
    if numbers.null_count() * 2 <= len(values):
        return Kind.INTEGER if whole.null_count() == numbers.null_count() else Kind.NUMBER
    if values.str.to_date("%Y-%m-%d", strict=False).null_count() == 0:
        return Kind.DATE
    return Kind.CATEGORY


def parse(series: pl.Series, kind: Kind, missing: pl.Series) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Return the numbers of a numeric column (days since 1970 for dates); 0 where missing.

    >>> parse(pl.Series("age", ["31", "x"]), Kind.INTEGER, pl.Series([False, False]))
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'age' row 2: 'x' is not an integer; declare the column as a category, \
declare 'x' as a missing mark, or clean the row
    """
    if kind is Kind.DATE:
        values = _dates(series)
    else:
        values = series.cast(pl.Int64 if kind is Kind.INTEGER else pl.Float64, strict=False)
        if kind is Kind.INTEGER and series.dtype.is_float():
            values = values.set((series != series.round()).fill_null(value=False), None)
    if values.null_count():
        _refuse_first(series, values.is_null() & ~missing, kind)
        values = values.fill_null(0)
    numbers = values.to_numpy()
    if kind is Kind.NUMBER and not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise InputError(
            f"column '{series.name}' row {row + 1}: {numbers[row]} is not a finite number; "
            "clean the row or leave the cell empty"
        )
    return numbers


def _dates(series: pl.Series) -> pl.Series:
    if series.dtype == pl.String:
        series = series.str.to_date("%Y-%m-%d", strict=False)
    elif series.dtype not in (pl.Date, pl.Datetime):
        raise InputError(f"column '{series.name}' holds {series.dtype}, not dates; declare its type")
    return series.cast(pl.Date).cast(pl.Int32).cast(pl.Int64)


def _refuse_first(series: pl.Series, wrong: pl.Series, kind: Kind) -> None:
    row = wrong.arg_max()
    if row is None or not wrong[row]:
        return
    wanted = {Kind.INTEGER: "an integer", Kind.NUMBER: "a number", Kind.DATE: "a date like 2026-01-31"}[kind]
    value = series[row]
    raise InputError(
        f"column '{series.name}' row {row + 1}: '{value}' is not {wanted}; declare the column as a category, "
        f"declare '{value}' as a missing mark, or clean the row"
    )
