"""Rows of cells as a file holds them, opened in every engine, and the slow reading of one cell at a time."""

from __future__ import annotations

import csv
import datetime as dt
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import psycopg
import pytest
from hypothesis import strategies as st

from sfumato.dp.questions.request import QueryableRows, Tallies
from sfumato.dp.rows import open_rows
from sfumato.schema import Attribute, Kind, Role, Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, str | None]
Open = Callable[[list[Row]], QueryableRows]
MARKS = ("", "?", "-9")
TABLE = f"people_property_{os.getpid()}"  # tests run side by side
SCHEMA = Schema(
    {
        "person": Attribute("person", Role.IDENTIFIER, missing=("", "?")),
        "hour": Attribute("hour", Role.QUASI, Kind.INTEGER, bounds=(0, 5), missing=MARKS),
        "fare": Attribute("fare", Role.OTHER, Kind.NUMBER, bounds=(-2.0, 6.0), missing=MARKS),
        "day": Attribute("day", Role.OTHER, Kind.DATE, missing=MARKS),
        'na"me %s': Attribute('na"me %s', Role.QUASI, Kind.CATEGORY, missing=MARKS),
    }
)
NAME = '"na""me %s"'
WHOLE = (
    "0",
    "1",
    "2",
    "3",
    "4",
    "+5",
    "07",
    "-9",
    "-1",
    " 3",
    "3 ",
    "",
    "?",
    "x",
    "1e2",
    "2.0",
    "1_0",
    "9" * 20,
    "0" * 41,
)
REAL = (
    "0.5",
    "-1.25",
    "5",
    "6.5",
    "1e3",
    "1e400",
    "1e-300",
    "inf",
    "NaN",
    ".5",
    "5.",
    ".",
    "",
    "-9",
    "abc",
    "1e-99",
    "0x1",
)
DAYS = (
    "2020-02-29",
    "2021-02-29",
    "1999-12-31",
    "2020-1-5",
    "0000-01-01",
    "2020-13-01",
    "2020-04-31",
    "infinity",
    "now",
    "",
)
TEXTS = ("a", "b", "A", "it's", 'say "x"', "a,b", "50%", "a_b", "é", "two\nlines", "?", "", "-9", "\\", " a")

rows_of_people = st.lists(
    st.fixed_dictionaries(
        {
            "person": st.sampled_from(("p1", "p2", "p3", "1:p", "", None)),
            "hour": st.sampled_from(WHOLE),
            "fare": st.sampled_from(REAL),
            "day": st.sampled_from(DAYS),
            'na"me %s': st.sampled_from(TEXTS),
        }
    ),
    min_size=1,
    max_size=25,
)


@pytest.fixture(scope="module", params=["csv", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    if request.param == "csv":
        folder = tmp_path_factory.mktemp("rows")
        yield lambda rows: _csv(folder / "people.csv", rows)
    else:
        address = request.getfixturevalue("postgres")
        with psycopg.connect(address, autocommit=True) as connection:
            columns = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" text' for name in SCHEMA.columns)
            connection.execute(f"DROP TABLE IF EXISTS {TABLE}".encode())
            connection.execute(f"CREATE UNLOGGED TABLE {TABLE} ({columns})".encode())
            yield lambda rows: _table(connection, address, rows)
            connection.execute(f"DROP TABLE {TABLE}".encode())


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Open:
    from sfumato.engines.spark.queries import SparkRows

    folder = tmp_path_factory.mktemp("rows")

    def build(rows: list[Row]) -> QueryableRows:
        pl.DataFrame(rows, schema=dict.fromkeys(SCHEMA.columns, pl.String)).write_parquet(folder / "people.parquet")
        return SparkRows.of_folder(folder, SCHEMA, spark.sparkContext.master)

    return build


def _csv(path: Path, rows: list[Row]) -> QueryableRows:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(SCHEMA.columns))
        writer.writeheader()
        writer.writerows(rows)
    return open_rows(path, SCHEMA)


def _table(connection: psycopg.Connection[Any], address: str, rows: list[Row]) -> QueryableRows:
    connection.execute(f"TRUNCATE {TABLE}".encode())
    with connection.cursor() as cursor:
        values = [[row[name] for name in SCHEMA.columns] for row in rows]
        cursor.executemany(f"INSERT INTO {TABLE} VALUES (%s, %s, %s, %s, %s)".encode(), values)  # noqa: S608  # ours
    return open_rows(f"{address}#{TABLE}", SCHEMA)


def whole(text: str | None) -> int | None:
    if not text or text in MARKS or len(text) > 40 or not re.fullmatch(r"[+-]?[0-9]+", text):
        return None
    return int(text) if -(2**63) <= int(text) < 2**63 else None


def real(text: str | None) -> float | None:
    if not text or text in MARKS or not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return None
    _, _, exponent = text.lower().partition("e")
    return float(text) if abs(int(exponent or 0)) < 250 else None


def day(text: str | None) -> int | None:
    if not text or text in MARKS or not re.fullmatch(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}", text):
        return None
    try:
        return (dt.date(*map(int, text.split("-"))) - dt.date(1970, 1, 1)).days
    except ValueError:
        return None


def word(text: str | None) -> str | None:
    return None if text is None or text in MARKS else text


READ: dict[str, Callable[[str | None], Any]] = {"hour": whole, "fare": real, "day": day, 'na"me %s': word}


def plain(tallies: Tallies) -> tuple[list[Any], list[list[Any]]]:
    return tallies.cells, [[n if isinstance(n, int) else n.tolist() for n in column] for column in tallies.columns]
