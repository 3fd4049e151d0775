"""Types of columns: detected without guessing, parsed without losing a value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.schema.kinds import Kind, detect, is_missing, parse

EPOCH = dt.date(1970, 1, 1)


@pytest.mark.parametrize(
    "values, kind",
    [
        (["1", "-2", "0"], Kind.INTEGER),
        (["1", "", "3"], Kind.INTEGER),
        (["1.5", "-2e3"], Kind.NUMBER),
        (["1", "2.5"], Kind.NUMBER),
        (["02139", "10115"], Kind.CATEGORY),
        (["0", "10"], Kind.INTEGER),
        (["1969-12-31", "2000-02-29"], Kind.DATE),
        (["1969-12-31", ""], Kind.DATE),
        (["", "", "", "7"], Kind.INTEGER),
        (["2001-02-29", "2000-02-29"], Kind.CATEGORY),
        (["31.12.1999", "01.01.2000"], Kind.CATEGORY),
        (["x", "y"], Kind.CATEGORY),
        (["", ""], Kind.CATEGORY),
        ([None, None], Kind.CATEGORY),
        (["true", "false"], Kind.CATEGORY),
        (["1", "x", "y"], Kind.CATEGORY),
        (["1", "2", "x"], Kind.INTEGER),
        (["9223372036854775807", "-9223372036854775808"], Kind.INTEGER),
        (["9223372036854775808", "1"], Kind.CATEGORY),
        (["1e300", "-1e300"], Kind.NUMBER),
    ],
)
def test_detect_text(values: list[str | None], kind: Kind) -> None:
    assert detect(pl.Series(values, dtype=pl.String)) is kind


@pytest.mark.parametrize(
    "series, kind",
    [
        (pl.Series([1, None]), Kind.INTEGER),
        (pl.Series([1], dtype=pl.UInt8), Kind.INTEGER),
        (pl.Series([1.0]), Kind.NUMBER),
        (pl.Series([Decimal("1.10")]), Kind.NUMBER),
        (pl.Series([EPOCH]), Kind.DATE),
        (pl.Series([dt.datetime(1969, 7, 20, 20, 17, tzinfo=dt.UTC)]), Kind.TIMESTAMP),
        (pl.Series([True, False]), Kind.CATEGORY),
        (pl.Series([None, None]), Kind.CATEGORY),
        (pl.Series(["x"], dtype=pl.Categorical), Kind.CATEGORY),
    ],
)
def test_detect_stored_types(series: pl.Series, kind: Kind) -> None:
    assert detect(series) is kind


def test_declared_marks_do_not_hide_a_number_column() -> None:
    assert detect(pl.Series(["?", "?", "?", "7"]), ("", "?")) is Kind.INTEGER
    assert detect(pl.Series(["?", "?", "?", "7"])) is Kind.CATEGORY


@pytest.mark.parametrize(
    "series, marks, missing",
    [
        (pl.Series(["", " ", None, "?"]), ("",), [True, False, True, False]),
        (pl.Series(["", "?", None]), ("?",), [False, True, True]),
        (pl.Series(["", "x"]), (), [False, False]),
        (pl.Series([-9, 3, None]), ("", "-9"), [True, False, True]),
        (pl.Series([-9.0, 3.5, None]), ("-9", "3.5"), [True, True, True]),
        (pl.Series([0, None]), ("",), [False, True]),
    ],
)
def test_a_mark_means_the_same_in_every_file_format(
    series: pl.Series, marks: tuple[str, ...], missing: list[bool]
) -> None:
    assert is_missing(series, marks).to_list() == missing


def parsed(series: pl.Series, kind: Kind, marks: tuple[str, ...] = ("",)) -> list[object]:
    return list(parse(series, kind, is_missing(series, marks)).tolist())


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_integers_survive_as_text_and_as_numbers(values: list[int]) -> None:
    assert parsed(pl.Series("n", [str(value) for value in values]), Kind.INTEGER) == values
    assert parsed(pl.Series("n", values, dtype=pl.Int64), Kind.INTEGER) == values


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_survive_as_text(values: list[float]) -> None:
    assert parsed(pl.Series("x", [repr(value) for value in values]), Kind.NUMBER) == values


@given(values=st.lists(st.dates(), min_size=1, max_size=20))
def test_dates_become_days_since_1970_also_before_it(values: list[dt.date]) -> None:
    days = [(value - EPOCH).days for value in values]
    assert parsed(pl.Series("d", [value.isoformat() for value in values]), Kind.DATE) == days
    assert parsed(pl.Series("d", values), Kind.DATE) == days


@given(values=st.lists(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)), min_size=1, max_size=20))
def test_times_become_the_day_they_lie_in(values: list[dt.datetime]) -> None:
    series = pl.Series("d", values, dtype=pl.Datetime("us"))
    assert parsed(series, Kind.DATE) == [(value.date() - EPOCH).days for value in values]


def test_missing_values_parse_as_zero() -> None:
    assert parsed(pl.Series("n", ["5", "?", None, ""]), Kind.INTEGER, ("", "?")) == [5, 0, 0, 0]
    assert parsed(pl.Series("x", ["5", "NaN", "inf"]), Kind.NUMBER, ("NaN", "inf")) == [5, 0, 0]


@pytest.mark.parametrize(
    "values, kind, sentence",
    [
        (["1", "2", "x"], Kind.INTEGER, "column 'c' row 3: 'x' is not an integer"),
        (["1", "2.5"], Kind.INTEGER, "row 2: '2.5' is not an integer"),
        ([1.0, 2.5], Kind.INTEGER, "row 2: '2.5' is not an integer"),
        ([1.0, float("nan")], Kind.INTEGER, "row 2: 'nan' is not an integer"),
        (["9223372036854775808"], Kind.INTEGER, "row 1: '9223372036854775808' is not an integer"),
        (["1", " 2"], Kind.INTEGER, "row 2: ' 2' is not an integer"),
        (["1", "", "1,5"], Kind.NUMBER, "row 3: '1,5' is not a number"),
        (["1", "nan"], Kind.NUMBER, "row 2: nan is not a finite number"),
        ([1.0, float("-inf"), float("nan")], Kind.NUMBER, "row 2: -inf is not a finite number"),
        (["", "inf"], Kind.NUMBER, "row 2: inf is not a finite number"),
        (["2026-01-31", "2026-02-30"], Kind.DATE, "row 2: '2026-02-30' is not a date like 2026-01-31"),
        ([20260131], Kind.DATE, "column 'c' row 1: '20260131' is not a date like 2026-01-31"),
        ([1.5], Kind.DATE, "column 'c' row 1: '1.5' is not a date"),
        ([EPOCH], Kind.INTEGER, "column 'c' holds dates"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_row(values: list[object], kind: Kind, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        parsed(pl.Series("c", values), kind)
    assert "\n" not in str(caught.value)


def test_an_integer_beyond_64_bits_is_not_called_no_integer() -> None:
    with pytest.raises(InputError, match="row 2: '18446744073709551615' is not an integer of 64 bits"):
        parsed(pl.Series("c", [1, 2**64 - 1], dtype=pl.UInt64), Kind.INTEGER)


def test_kinds_that_have_distances_have_an_order() -> None:
    assert all(kind.ordered for kind in Kind if kind.numeric)
    assert [kind for kind in Kind if kind.ordered and not kind.numeric] == [Kind.ORDINAL]
    assert np.array([kind.numeric for kind in (Kind.CATEGORY, Kind.TEXT)]).sum() == 0
