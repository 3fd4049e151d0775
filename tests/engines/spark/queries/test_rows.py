"""Rows on Spark: the same integers as DuckDB gives for the same cells, whatever they hold, and never a word of them."""

from __future__ import annotations

import datetime as dt
import os
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.request import (
    Binned,
    ColumnGrid,
    Count,
    Declared,
    Key,
    Measure,
    Persons,
    PositionCounts,
    Present,
    Request,
    Tallies,
    Total,
    Unknown,
)
from sfumato.dp.rows import open_rows, table_name
from sfumato.dp.rows.collect import UNREADABLE
from sfumato.engines.spark.queries import SparkRows
from sfumato.errors import InputError, ParameterError
from sfumato.promise.unit import ProtectPersons, ProtectRows
from sfumato.schema import Attribute, Kind, Role, Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = ProtectRows()
SCHEMA = Schema(
    {
        "rider": Attribute("rider", Role.IDENTIFIER),
        "hour": Attribute("hour", Role.QUASI, Kind.INTEGER, bounds=(0, 23)),
        "fare": Attribute("fare", Role.OTHER, Kind.NUMBER, bounds=(0.0, 10.0), missing=("", "-1", "-1.0")),
        "day": Attribute("day", Role.OTHER, Kind.DATE),
        "zip": Attribute("zip", Role.QUASI, Kind.CATEGORY),
    }
)
RIDES = pl.DataFrame(
    {
        "rider": [1, 1, 2, None],
        "hour": [7, 7, 8, 9],
        "fare": [2.5, -1.0, None, 99.0],
        "day": [dt.date(2020, 1, 1), None, dt.date(2020, 1, 2), dt.date(2020, 1, 1)],
        "zip": ["02139", "10115", None, "02139"],
    }
)
FARES = ColumnGrid("fare", 0.0, 10.0, 20)
HOURS = Declared("hour", (7, 8, 9, 10))
CELLS = [
    *("7", "07", "+7", "-7", "-0", "7.0", "7.", ".7", "7e0", "1e5", "1E+5", "1e249", "1e250", "1e400", "-1e-300"),
    *(" 7", "7 ", "\t7", "7\n", "\n7", "7\r", "7\x00", "\u00a07", "7\u2028", "", " ", "+", "-", ".", "e5", "--7", "7-"),
    *("0x1F", "0x1p3", "1_000", "1,000", "7d", "7f", "7L", "NaN", "nan", "inf", "Infinity", "-inf", "true", "null"),
    *("١٢", "１２", "Ⅻ", "²", "٣.٥", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "9" * 40),
    *("0" * 39 + "7", "0" * 41, "1e0000000000000000000005", "0.1", "0.10000000000000001", "4.35", "179769313486231570"),
    *("2020-02-29", "2021-02-29", "1900-02-29", "2000-02-29", "2020-1-5", "2020-01-05 ", "0000-01-01", "0001-01-01"),
    *("9999-12-31", "10000-01-01", "+2020-01-01", "2020-13-01", "2020-04-31", "20200101", "2020-01-01T00:00:00"),
    *("now", "today", "epoch", "infinity", "1970-01-01", "1969-12-31", "-0001-01-01", "2020-01", "2020"),
    *(
        "é",
        "e\u0301",
        "É",
        "ß",
        "SS",
        "İ",
        "i",
        "a",
        "A",
        "\U0001f600",
        "\ufffd",
        "a\u0000b",
        "it's",
        'x"y',
        "\\",
        "%",
        "_",
    ),
]


def plain(tallies: Tallies) -> tuple[list[Any], list[Any]]:
    return tallies.cells, [[n if isinstance(n, int) else n.tolist() for n in column] for column in tallies.columns]


def of_kind(kind: Kind, **more: Any) -> Schema:
    return Schema({"x": Attribute("x", Role.OTHER, kind, **more)})


def both(spark: SparkSession, frame: pl.DataFrame, schema: Schema, path: Path) -> tuple[SparkRows, Any]:
    """Return the same cells as Spark and as DuckDB hold them."""
    frame.write_parquet(path / "x.parquet")
    return SparkRows.of_folder(path / "x.parquet", schema, spark.sparkContext.master), open_rows(
        path / "x.parquet", schema
    )


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.NUMBER, Kind.DATE, Kind.TEXT])
def test_every_text_is_read_as_duckdb_reads_it(spark: SparkSession, tmp_path: Path, kind: Kind) -> None:
    on_spark, embedded = both(spark, pl.DataFrame({"x": [*CELLS, None]}), of_kind(kind), tmp_path)
    request = Request((Count(),), ROWS, (Unknown("x"),))
    found = plain(on_spark.collect(request))
    assert found == plain(embedded.collect(request))
    assert len(found[0]) >= {Kind.INTEGER: 8, Kind.NUMBER: 14, Kind.DATE: 7, Kind.TEXT: 100}[kind]


NUMBERS = [None, 1.0, 2.5, 1e7, 1e15, 1e16, 1.5e20, 1e-4, 1.25e-4, 1e-5, 1.5e-9, -1e22, 123456789.5, 0.1, 1e250]


@pytest.mark.long
def test_every_stored_type_is_spelled_as_duckdb_spells_it(spark: SparkSession, tmp_path: Path) -> None:
    moments = [dt.datetime(2020, 1, 1, 5, 6, 7, 123000), dt.datetime(1960, 2, 29, 23, 59, 59)]
    columns: dict[str, pl.Series] = {
        "real": pl.Series(NUMBERS),
        "short": pl.Series([1.0, 2.5, 1e7, 1e-4, 1.25e-4, 1e-5, 0.1, -1e22] + [None] * 7, dtype=pl.Float32),
        "exact": pl.Series([Decimal("2.50"), Decimal("-3.00"), Decimal("0.01")] * 5, dtype=pl.Decimal(6, 2)),
        "whole": pl.Series(list(range(-3, 12)), dtype=pl.Int32),
        "large": pl.Series([2**64 - 1, 2**63, 0] * 5, dtype=pl.UInt64),
        "day": pl.Series([dt.date(2020, 2, 29), dt.date(1, 1, 1), None] * 5),
        "moment": pl.Series([*moments, None] * 5, dtype=pl.Datetime("us")),
    }
    schema = Schema({name: Attribute(name, Role.OTHER, Kind.CATEGORY) for name in columns})
    on_spark, embedded = both(spark, pl.DataFrame(columns), schema, tmp_path)
    for name in columns:
        request = Request((Count(),), ROWS, (Unknown(name),))
        assert plain(on_spark.collect(request)) == plain(embedded.collect(request)), name


def test_a_moment_is_a_day_in_utc_whatever_the_zone_of_the_session_is(spark: SparkSession) -> None:
    moments = "VALUES (TIMESTAMP '2020-03-08 23:30:00Z'), (TIMESTAMP '1960-03-01 00:30:00Z'), (NULL)"
    frame = spark.sql(f"SELECT * FROM {moments} AS t(x)")  # noqa: S608  # our own words
    rows = SparkRows.of_frame(frame, of_kind(Kind.DATE))
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        found = rows.collect(Request((Count(),), ROWS, (Unknown("x"),)))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert found.cells == [("1960-03-01",), ("2020-03-08",)]


@pytest.mark.parametrize(
    "keys",
    [pytest.param((), marks=pytest.mark.long), (Unknown("n"),), (Binned("x", (0.0, 1.0, 2.0, 4.0)),)],
)
def test_no_double_can_fail(spark: SparkSession, tmp_path: Path, keys: tuple[Key, ...]) -> None:
    cells = [1e308, -1e308, 5e-324, -0.0, float("nan"), float("inf"), -float("inf"), 9.3e18, 9e15, None, 2.0, 2.5]
    bounded = Attribute("x", Role.OTHER, Kind.NUMBER, bounds=(0.0, 4.0))
    free = Schema({"x": bounded, "n": Attribute("n", Role.OTHER, Kind.INTEGER)})
    on_spark, embedded = both(spark, pl.DataFrame({"x": cells, "n": cells}), free, tmp_path)
    where = "x / x >= 1 OR x * x * x < 1 OR CAST(x AS INTEGER) = 3 OR CAST(n AS INTEGER) > 5 OR 1 / (x - 4) < -9"
    grids = ColumnGrid("x", 0.0, 4.0, 4), ColumnGrid("n", 0.0, 1e18, 8), ColumnGrid("x", 0.0, 1e200, 3)
    measures: tuple[Measure, ...] = (Count(), *(Total(grid) for grid in grids), PositionCounts(grids[0]))
    request = Request(measures, ROWS, keys, parse_predicate(where, free))
    assert plain(on_spark.collect(request)) == plain(embedded.collect(request))


def test_sums_are_exact_beyond_64_bits(spark: SparkSession) -> None:
    from pyspark.sql import functions

    schema, steps = of_kind(Kind.NUMBER), 2**40
    frame = spark.range(1200).select((functions.col("id") % 3 != 1).cast("double").alias("x"))
    grid, deep = ColumnGrid("x", 0.0, 1.0, steps), ColumnGrid("x", 0.0, 1.0, 2**61)
    measures = (Total(grid, -1, 2), Total(grid, 3, 1), Total(deep))
    found = SparkRows.of_frame(frame, schema).collect(Request(measures, ROWS))
    assert found.columns == [[800 * (steps + 1) ** 2 + 400], [800 * (steps - 3) - 1200], [800 * 2**61]]
    with pytest.raises(ParameterError, match="128 bits"):
        SparkRows.of_frame(frame, schema).check(Request((Total(ColumnGrid("x", 0.0, 1.0, 2**53), 0, 2),), ROWS))


@pytest.mark.long
def test_many_even_bins_agree_with_their_edges(spark: SparkSession, tmp_path: Path) -> None:
    edges = tuple(place / 10 for place in range(-300, 301))
    rows, _ = both(spark, pl.DataFrame({"x": list(edges)}), of_kind(Kind.NUMBER), tmp_path)
    assert rows.collect(Request((Count(),), ROWS, (Binned("x", edges),))).columns == [[1] * 599 + [2]]


@pytest.mark.parametrize(
    "keys", [pytest.param((), marks=pytest.mark.long), (Declared("hour", tuple(range(5))), Unknown("zip"))]
)
def test_the_same_secret_keeps_the_same_rows_as_in_duckdb(
    spark: SparkSession, tmp_path: Path, keys: tuple[Key, ...]
) -> None:
    places = range(3000)
    frame = pl.DataFrame(
        {
            "rider": [place * place % 97 or None for place in places],
            "hour": [place * 7 % 6 for place in places],
            "fare": [place * 31 % 101 / 10 for place in places],
            "day": [dt.date(2020, 1, 1 + place % 28) for place in places],
            "zip": [f"{place * 13 % 5}é" for place in places],
        }
    )
    on_spark, embedded = both(spark, frame, SCHEMA, tmp_path)
    measures = (Count(), Persons(), Present(FARES), Total(FARES), PositionCounts(FARES))
    tallies = []
    for secret in (b"one", b"two"):
        request = Request(measures, ProtectPersons("rider", 3, 2), keys, secret=secret)
        tallies.append(plain(on_spark.collect(request)))
        assert tallies[-1] == plain(embedded.collect(request))
    assert tallies[0] != tallies[1]
    bare = Request((Count(), Persons()), ProtectPersons("rider", 3, 2), keys, secret=b"one")
    assert plain(on_spark.collect(bare)) == plain(embedded.collect(bare))


@pytest.mark.parametrize("pattern", ["%a_" * 20 + "b", "%a" * 50])
def test_a_pattern_does_not_run_longer_on_one_row(spark: SparkSession, pattern: str) -> None:
    schema = of_kind(Kind.TEXT)
    rows = SparkRows.of_frame(spark.sql("SELECT repeat('a', 20000) AS x"), schema)
    begun = time.monotonic()
    request = Request((Count(),), ROWS, (), parse_predicate(f"x LIKE '{pattern}'", schema))
    assert rows.collect(request).columns == [[0 if pattern.endswith("b") else 1]]
    assert time.monotonic() - begun < 30


def test_texts_compare_by_their_bytes_and_only_utf8_is_text(spark: SparkSession) -> None:
    cells = "('a'), ('A'), (CAST(X'FF41' AS STRING)), (CAST(X'EDA080' AS STRING)), ('é')"
    frame = spark.sql(f"SELECT collate(x, 'UTF8_LCASE') AS x FROM VALUES {cells} AS t(x)")  # noqa: S608  # our own words
    rows = SparkRows.of_frame(frame, of_kind(Kind.TEXT))
    assert rows.collect(Request((Count(),), ROWS, (Unknown("x"),))).cells == [("A",), ("a",), ("é",)]
    assert rows.collect(Request((Count(),), ROWS, (Declared("x", ("a",)),))).columns == [[1]]


def test_a_folder_of_csv_is_read_as_the_single_file(spark: SparkSession, tmp_path: Path) -> None:
    whole = tmp_path / "rides.csv"
    whole.write_text(RIDES.write_csv(), encoding="utf-8")
    folder = tmp_path / "rides.parts"
    folder.mkdir()
    for place in range(2):
        (folder / f"{place}.csv").write_text(RIDES[2 * place : 2 * place + 2].write_csv(), encoding="utf-8")
    on_spark = SparkRows.of_folder(folder, SCHEMA, spark.sparkContext.master)
    on_spark.declare()
    assert table_name(on_spark) == "rides"
    assert on_spark.address == str(folder)
    embedded = open_rows(whole, SCHEMA)
    where = parse_predicate("fare IS NULL OR zip = '02139' AND day = '2020-01-01'", SCHEMA)
    for keys in ((HOURS,), (Unknown("zip"), Unknown("day"))):
        request = Request((Count(), Present(FARES), Total(FARES)), ROWS, keys, where)
        assert plain(on_spark.collect(request)) == plain(embedded.collect(request))


@pytest.mark.parametrize(
    "content, said",
    [
        pytest.param(b"a,b\n1,2\n1\n", "cannot be read", marks=pytest.mark.long),
        pytest.param(b"a,b\n1,2\n1,2,3\n", "cannot be read", marks=pytest.mark.long),
        pytest.param(b"a,b\n1,\xff\n", "1 lines are not UTF-8", marks=pytest.mark.long),
        (b'a,b\n1,"x\n2,y"\n', "2 lines have an odd number of quotation marks"),
    ],
)
def test_a_broken_line_is_refused_when_it_is_declared_and_never_later(
    spark: SparkSession, tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    rows = SparkRows.of_folder(path, Schema({"b": Attribute("b", Role.OTHER, Kind.INTEGER)}), spark.sparkContext.master)
    with pytest.raises(InputError, match=said):
        rows.declare()
    assert rows.collect(Request((Count(),), ROWS, (Declared("b", (2,)),))).cells == [(2,)]


def test_errors_carry_no_cell_and_no_secret(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rides.parquet"
    RIDES.write_parquet(path)
    rows = SparkRows.of_folder(path, SCHEMA, spark.sparkContext.master)
    path.write_bytes(b"PAR1 Alice has 02139 PAR1")
    with pytest.raises(InputError) as error:
        rows.collect(Request((Count(),), ROWS, (HOURS,)))
    assert str(error.value) == UNREADABLE
    assert error.value.__context__ is None
    assert repr(rows) == "SparkRows(<rows are secret>)"
    assert "Alice" not in "".join(capfd.readouterr())


def test_refusals_are_those_of_the_single_machine(spark: SparkSession) -> None:
    frame = spark.createDataFrame(RIDES.rows(), "rider bigint, hour bigint, fare double, day date, zip string")
    rows = SparkRows.of_frame(frame, SCHEMA)
    embedded = open_rows(RIDES, SCHEMA)
    for request in (
        Request((Count(),), ROWS, (Binned("zip", (0.0, 1.0)),)),
        Request((Present(ColumnGrid("zip", 0.0, 1.0, 1)),), ROWS),
        Request((Count(),), ROWS, (Declared("hour", ("seven",)),)),
        Request((Count(),), ROWS, (Unknown("hourr"),)),
        Request((Count(),), ROWS, (Binned("fare", (1.0, 1.0)),)),
    ):
        said = []
        for place in (rows, embedded):
            with pytest.raises((InputError, ParameterError)) as error:
                place.check(request)
            said.append(str(error.value))
        assert said[0] == said[1]
    with pytest.raises(InputError, match="have no column 'zip'"):
        SparkRows.of_frame(frame.drop("zip"), SCHEMA)
    with pytest.raises(InputError, match="column 'day' holds dates"):
        SparkRows.of_frame(frame, Schema({"day": Attribute("day", Role.OTHER, Kind.INTEGER)})).check(
            Request((Count(),), ROWS, (Unknown("day"),))
        )


def test_odd_and_repeated_names_are_columns_like_others(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 1 AS `a.b``c`, 2 AS A, 3 AS a, 4 AS `x y`")
    schema = Schema({name: Attribute(name, Role.OTHER, Kind.INTEGER) for name in ("a.b`c", "a", "A")})
    rows = SparkRows.of_frame(frame, schema)
    keys = (Unknown("a.b`c"), Unknown("A"), Unknown("a"))
    assert rows.collect(Request((Count(),), ROWS, keys)).cells == [(1, 2, 3)]


def test_the_fingerprint_follows_the_rows_and_not_their_files(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "rides"
    folder.mkdir()
    RIDES.write_parquet(folder / "a.parquet")
    rows = SparkRows.of_folder(folder, SCHEMA, spark.sparkContext.master)
    first = rows.fingerprint()
    RIDES[2:].write_parquet(folder / "b.parquet")
    assert rows.fingerprint() != first
    assert rows.collect(Request((Count(),), ROWS)).columns == [[6]]
    RIDES[:2].reverse().write_parquet(folder / "a.parquet")
    os.utime(folder / "a.parquet", ns=(1, 1))
    assert rows.fingerprint() == first
    assert SparkRows.of_folder(folder, SCHEMA, spark.sparkContext.master).fingerprint() == first
    RIDES[:2].with_columns(zip=pl.lit("")).write_parquet(folder / "a.parquet")
    assert rows.fingerprint() != first
