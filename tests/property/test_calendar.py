"""Every engine's calendar is NumPy's, on every day from year 1 to 9999; letters change their case alike everywhere."""

# ruff: noqa: S608  # our own words

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import numpy.typing as npt
import psycopg
import pytest
from slow_expressions import CALLS, position_of

from sfumato.dp.questions.calendar import FIRST_DAY, LAST_DAY
from sfumato.dp.questions.expression import Call, ColumnReference, Domain
from sfumato.dp.questions.texts import apply
from sfumato.dp.rows.calendar import calendar_sql
from sfumato.dp.rows.dialect import DUCKDB, POSTGRES, Dialect
from sfumato.engines.spark.queries import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[[str], list[tuple[Any, ...]]]
Whole = npt.NDArray[np.int64]
BLOCK = 1000  # days whose values are summed
CYCLE = (-146_097, 0)  # 400 years, after which the calendar comes again
PARTS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "ISODOW", "DOY")
PERIODS = ("WEEK", "MONTH", "QUARTER", "YEAR")
MONTHS = (1, -13, 1200)
DAY = ColumnReference("d", Domain.DATE)
CALLED = (
    *(Call("EXTRACT", (DAY,), Domain.NUMBER, (part,)) for part in PARTS),
    *(Call("DATE_TRUNC", (DAY,), Domain.DATE, (period,)) for period in PERIODS),
    *(Call("SHIFT", (DAY,), Domain.DATE, (months, "month")) for months in MONTHS),
)


def starts(days: Whole, unit: str) -> Whole:
    """Return the first day of the month or year of days."""
    return days.astype("M8[D]").astype(f"M8[{unit}]").astype("M8[D]").astype(np.int64)


def expected(days: Whole) -> list[Whole]:
    """Return what every call gives; 0 where it is missing."""
    month, year = starts(days, "M"), starts(days, "Y")
    months = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
    monday = days - (days + 3) % 7
    thursday = monday + 3
    quarter = (months // 3 * 3).astype("M8[M]").astype("M8[D]").astype(np.int64)
    weekday = days - monday + 1
    parts = [months // 12 + 1970, months % 12 // 3 + 1, months % 12 + 1]
    parts += [(thursday - starts(thursday, "Y")) // 7 + 1, days - month + 1, weekday % 7, weekday, days - year + 1]
    return [*parts, monday, month, quarter, year, *(shifted(days, months, by) for by in MONTHS)]


def shifted(days: Whole, months: Whole, by: int) -> Whole:
    """Return days some months later, the last of a month where it is shorter; 0 where that is off the calendar."""
    begin = (months + by).astype("M8[M]").astype("M8[D]").astype(np.int64)
    last = (months + by + 1).astype("M8[M]").astype("M8[D]").astype(np.int64) - 1
    found = np.minimum(begin + days - starts(days, "M"), last)
    return np.where((found >= FIRST_DAY) & (found <= LAST_DAY), found, 0)


def sums(values: list[Whole], days: Whole) -> list[tuple[int, ...]]:
    edges = np.arange(0, len(days), BLOCK)
    columns = [np.add.reduceat(v * w, edges) for v in values for w in (np.ones_like(days), (days - FIRST_DAY) % 97)]
    return [tuple(map(int, row)) for row in zip(*columns, strict=True)]


def compare(run: Run, dialect: Dialect, series: str, first: int, last: int) -> None:
    """Compare sums over blocks of days from `first` to `last`, plain ones and weighted by the days' places."""
    values = [f"CAST(COALESCE({calendar_sql(call, ['d'], dialect)}, 0) AS BIGINT)" for call in CALLED]
    kept = f"SELECT d, {', '.join(f'{value} AS v{i}' for i, value in enumerate(values))} FROM ({series}) AS days"
    added = ", ".join(f"SUM(v{i}), SUM(v{i} * mod(d - ({FIRST_DAY}), 97))" for i in range(len(values)))
    block = f"floor((d - ({first})) / {BLOCK}e0)"
    found = run(f"SELECT {block}, {added} FROM ({kept}) AS made GROUP BY 1 ORDER BY 1")
    days = np.arange(first, last + 1)
    assert [tuple(map(int, row[1:])) for row in found] == sums(expected(days), days)


def test_the_calendar_of_numpy_is_that_of_python() -> None:
    days = np.array(
        [*range(FIRST_DAY, FIRST_DAY + 800), *range(-40_000, 40_000, 37), *range(LAST_DAY - 800, LAST_DAY + 1)]
    )
    for call, found in zip(CALLED, expected(days), strict=True):
        for number, value in zip(days, found, strict=True):
            slow = position_of(CALLS[call.function](dt.date(1970, 1, 1) + dt.timedelta(int(number)), *call.options))
            assert value == (slow or 0), (call.text, number)


def test_duckdb_has_our_calendar() -> None:
    series = f"SELECT range AS d FROM range({FIRST_DAY}, {LAST_DAY + 1})"
    compare(lambda sql: duckdb.execute(sql).fetchall(), DUCKDB, series, FIRST_DAY, LAST_DAY)


@pytest.mark.parametrize("days", [CYCLE, pytest.param((FIRST_DAY, LAST_DAY), marks=pytest.mark.long)])
def test_postgresql_has_our_calendar(postgres: str, days: tuple[int, int]) -> None:
    with psycopg.connect(postgres) as connection:
        series = f"SELECT CAST(d AS BIGINT) AS d FROM generate_series({days[0]}, {days[1]}) AS d"
        compare(lambda sql: connection.execute(sql.encode()).fetchall(), POSTGRES, series, *days)


@pytest.mark.long
def test_spark_has_our_calendar(spark: SparkSession) -> None:
    series = f"SELECT id AS d FROM range({FIRST_DAY}, {LAST_DAY + 1})"
    compare(lambda sql: [tuple(row) for row in spark.sql(sql).collect()], SPARK, series, FIRST_DAY, LAST_DAY)


@pytest.mark.parametrize("function", ["LOWER", "UPPER"])
def test_letters_have_the_partners_of_their_names(function: str) -> None:
    """A letter's other case is found by its name in Unicode, for every character there is."""
    for letter in map(chr, [*range(1, 0xD800), *range(0xE000, 0x110000)]):
        assert apply(function, letter, ()) == CALLS[function](letter)


@pytest.mark.parametrize("function", ["lower", "upper"])
def test_what_an_engine_changes_by_itself_is_what_the_list_changes(function: str, postgres: str) -> None:
    letters = [chr(code) for code in [*range(1, 0xD800), *range(0xE000, 0x110000)]]
    test = DUCKDB.matches("x", DUCKDB.plain[function])
    own = f"SELECT x, {function}(x) FROM (SELECT unnest($letters) AS x) WHERE {test}"
    found = duckdb.execute(own, {"letters": letters}).fetchall()
    with psycopg.connect(postgres) as connection:
        test = POSTGRES.matches("x", POSTGRES.plain[function])
        own = f'SELECT x, {function}(x COLLATE "C") FROM unnest(CAST(%s AS text[])) AS x WHERE {test}'
        by_server = connection.execute(own.encode(), [letters]).fetchall()
    assert len(found) > 45_000
    assert len(by_server) == 127
    assert all(other == apply(function.upper(), letter, ()) for letter, other in [*found, *by_server])
