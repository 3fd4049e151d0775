"""A real PostgreSQL server as the place of the rows: whatever its columns' types, and without a word about a cell."""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import polars as pl
import psycopg
import pytest

from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.request import (
    Binned,
    ColumnGrid,
    Count,
    Declared,
    Key,
    Persons,
    PositionCounts,
    Present,
    Request,
    Total,
    Unknown,
)
from sfumato.dp.rows import open_rows, table_name
from sfumato.dp.rows.collect import UNREADABLE
from sfumato.errors import InputError, MissingExtraError
from sfumato.promise.unit import ProtectPersons, ProtectRows
from sfumato.schema import Attribute, Kind, Role, Schema

TABLE = 'rides of "%s".x'
SCHEMA = Schema(
    {
        "rider": Attribute("rider", Role.IDENTIFIER),
        "hour": Attribute("hour", Role.QUASI, Kind.INTEGER, bounds=(0, 23)),
        "fare": Attribute("fare", Role.OTHER, Kind.NUMBER, bounds=(0.0, 10.0), missing=("", "-1")),
        "day": Attribute("day", Role.OTHER, Kind.DATE),
        "zip": Attribute("zip", Role.QUASI, Kind.CATEGORY),
    }
)
RIDES: list[tuple[Any, ...]] = [
    (1, 7, 2.5, dt.date(2020, 1, 1), "02139"),
    (1, 7, -1, None, "10115"),
    (2, 8, None, dt.date(2020, 1, 2), None),
    (None, 9, 99, dt.date(2020, 1, 1), "02139"),
    (3, 7, 0.25, dt.date(2020, 1, 3), "it's"),
    (3, 9, 7.75, dt.date(2020, 1, 3), "it's"),
]
ROWS = ProtectRows()
FARES = ColumnGrid("fare", 0.0, 10.0, 40)
REQUESTS = [
    Request((Count(), Present(FARES), Total(FARES), Total(FARES, 20, 2)), ROWS, (Declared("hour", (7, 8, 9, 10)),)),
    Request((Count(),), ROWS, (Declared("zip", ("02139", "it's")), Declared("day", ("2020-01-01", "2020-01-03")))),
    Request((Count(), PositionCounts(FARES)), ROWS, (Unknown("zip"),)),
    Request((Count(),), ROWS, (Binned("fare", (0.0, 1.0, 2.5, 100.0)),)),
    Request(
        (Count(),), ROWS, (), parse_predicate("fare / hour < 1 AND zip LIKE '%1_9' AND day < '2020-01-02'", SCHEMA)
    ),
    Request(
        (Count(), Persons(), Total(FARES)), ProtectPersons("rider", 1, 1), (Declared("hour", (7, 9)),), secret=b"k"
    ),
]


@pytest.fixture
def table(postgres: str) -> Iterator[Callable[..., str]]:
    """Return a function that makes a table of some column types and gives its address."""
    name = '"rides of ""%s"".x"'
    with psycopg.connect(postgres, autocommit=True) as connection:

        def make(types: str, rows: list[tuple[Any, ...]]) -> str:
            connection.execute("CREATE SCHEMA IF NOT EXISTS sfumato_tests")
            connection.execute(f"DROP TABLE IF EXISTS sfumato_tests.{name}".encode())
            connection.execute(f"CREATE TABLE sfumato_tests.{name} ({types})".encode())
            with connection.cursor() as cursor:
                holders = ", ".join(["%s"] * len(rows[0]))
                cursor.executemany(
                    f"INSERT INTO sfumato_tests.{name.replace('%', '%%')} VALUES ({holders})".encode(),  # noqa: S608
                    rows,
                )
            return f"{postgres}#sfumato_tests.{quote(TABLE)}"

        yield make
        connection.execute("DROP SCHEMA IF EXISTS sfumato_tests CASCADE")


TYPES = {
    "plain": "rider bigint, hour int, fare double precision, day date, zip text",
    "narrow": "rider text, hour smallint, fare numeric(6, 2), day timestamp, zip varchar(9)",
    "texts": "rider text, hour text, fare text, day text, zip char(5)",
    "wide": "rider numeric, hour numeric, fare real, day timestamptz, zip text",
}


@pytest.mark.parametrize("types", sorted(TYPES))
def test_every_column_type_gives_what_duckdb_gives(table: Callable[..., str], types: str) -> None:
    rides: list[tuple[Any, ...]] = RIDES
    if types == "texts":
        rides = [tuple(None if cell is None else str(cell) for cell in ride) for ride in RIDES]
    rows = open_rows(table(TYPES[types], rides), SCHEMA)
    frame = pl.DataFrame(RIDES, schema=["rider", "hour", "fare", "day", "zip"], orient="row", infer_schema_length=None)
    embedded = open_rows(frame, SCHEMA)
    for request in REQUESTS:
        found, wanted = rows.collect(request), embedded.collect(request)
        assert found.cells == wanted.cells
        assert _plain(found.columns) == _plain(wanted.columns)


def _plain(columns: list[Any]) -> list[Any]:
    return [[number if isinstance(number, int) else number.tolist() for number in column] for column in columns]


FAILING = {
    "double precision": (["1e308", "5e-324"], 4),  # too large is missing, too small is 0
    "real": ([], 3),
    "numeric": (["1e400", "1e-400"], 4),
    "text": (["1e308", "1e309", "1e-400", "", "x", "1" * 50, "2 ", "0x2"], 3),
}


@pytest.mark.parametrize("kind", sorted(FAILING))
def test_no_number_can_fail(table: Callable[..., str], kind: str) -> None:
    more, present = FAILING[kind]
    cells = ["NaN", "Infinity", "-Infinity", "1e-37", "1e37", None, "2", *more]
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.NUMBER, bounds=(0.0, 4.0))})
    rows = open_rows(table(f"x {kind}", [(cell,) for cell in cells]), schema)
    where = parse_predicate("x / x >= 1 OR x * x * x < 1 OR CAST(x AS INTEGER) = 3 OR 1 / (x - 4) < -9", schema)
    measures = (Count(), Total(ColumnGrid("x", 0.0, 4.0, 4)), Present(ColumnGrid("x", 0.0, 1e200, 3)))
    assert rows.collect(Request(measures, ROWS, (), where)).columns == [[present], [6], [present]]


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz", "text"])
def test_no_date_can_fail(table: Callable[..., str], kind: str) -> None:
    cells = ["infinity", "-infinity", "0001-01-01", "9999-12-31", "2020-02-29", None]
    cells += (
        ["2021-02-29", "2020-13-01", "0000-01-01", "now", "today", "x", "20200101", "1900-02-29"]
        if kind == "text"
        else ["10000-01-01", "200000-01-01", "0044-03-15 BC"]
    )
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.DATE)})
    rows = open_rows(table(f"x {kind}", [(cell,) for cell in cells]), schema)
    found = rows.collect(Request((Count(),), ROWS, (Unknown("x"),)))
    assert found.cells == [("0001-01-01",), ("2020-02-29",), ("9999-12-31",)]


def test_errors_say_no_password_and_no_cell(table: Callable[..., str], postgres: str) -> None:
    address = table("x text", [("Alice",)])
    parts = urlsplit(address)
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.TEXT)})
    closed = f"postgresql://me:hunter2@127.0.0.1:1/none#{parts.fragment}"
    with pytest.raises(InputError, match=r"server of 'postgresql://127.0.0.1:1/none' cannot be reached") as error:
        open_rows(closed, schema)
    assert "hunter2" not in str(error.value)
    assert error.value.__context__ is None
    with pytest.raises(InputError, match=r"has no table 'nowhere\.none'"):
        open_rows(f"{postgres}#nowhere.none", schema)
    with pytest.raises(InputError, match="has no table 'none'"):
        open_rows(f"{postgres}#none", schema)
    with pytest.raises(InputError, match="names no table"):
        open_rows(postgres, schema)
    with pytest.raises(InputError, match="have no column 'y', which the schema declares"):
        open_rows(address, Schema({"y": Attribute("y", Role.OTHER, Kind.TEXT)}))
    rows = open_rows(address, schema)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA sfumato_tests CASCADE")
    with pytest.raises(InputError) as error:
        rows.collect(Request((Count(),), ROWS))
    assert "Alice" not in str(error.value)
    assert "secret" in repr(rows)


def test_a_view_that_fails_on_a_row_gives_the_fixed_sentence(table: Callable[..., str], postgres: str) -> None:
    table("x text", [("Alice",)])
    with psycopg.connect(postgres, autocommit=True) as connection:
        view = 'CREATE VIEW sfumato_tests.bad AS SELECT CAST(x AS int) AS x FROM sfumato_tests."rides of ""%s"".x"'
        connection.execute(view.encode())
    rows = open_rows(f"{postgres}#sfumato_tests.bad", Schema({"x": Attribute("x", Role.OTHER, Kind.INTEGER)}))
    with pytest.raises(InputError) as error:
        rows.collect(Request((Count(),), ROWS, (Unknown("x"),)))
    assert str(error.value) == UNREADABLE
    assert error.value.__context__ is None


def test_the_transaction_cannot_write(table: Callable[..., str]) -> None:
    rows: Any = open_rows(table(TYPES["plain"], RIDES), SCHEMA)
    statement = "CREATE TABLE sfumato_tests.made (x int)"
    with rows._transaction() as connection, pytest.raises(InputError, match=UNREADABLE):
        rows._run(UNREADABLE, lambda: connection.execute(statement))


def test_the_fingerprint_follows_the_rows_and_not_their_order(table: Callable[..., str], postgres: str) -> None:
    rows = open_rows(table(TYPES["plain"], RIDES), SCHEMA)
    first = rows.fingerprint()
    assert rows.fingerprint() == first
    assert open_rows(table(TYPES["plain"], RIDES[::-1]), SCHEMA).fingerprint() == first
    assert rows.fingerprint() == first
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(b'UPDATE sfumato_tests."rides of ""%s"".x" SET fare = fare + 1 WHERE hour = 8 OR fare = 99')
    assert rows.fingerprint() != first
    twice = open_rows(table(TYPES["plain"], [*RIDES, RIDES[0], RIDES[0]]), SCHEMA)
    assert twice.fingerprint() != first


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[postgres\]'"):
        open_rows("postgresql://server/city#rides", SCHEMA)


def test_a_table_gives_its_name() -> None:
    assert table_name(f"postgresql://server/city#public.{quote('my rides')}") == "my rides"


@pytest.mark.parametrize("keys", [(), (Declared("x", ("a",)),)])
def test_a_pattern_does_not_run_longer_on_one_row(table: Callable[..., str], keys: tuple[Key, ...]) -> None:
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.TEXT)})
    rows = open_rows(table("x text", [("a" * 20_000,)]), schema)
    where = parse_predicate(f"x LIKE '{'%a_' * 20}b'", schema)
    begun = time.monotonic()
    assert rows.collect(Request((Count(),), ROWS, keys, where)).columns == [[0]]
    assert time.monotonic() - begun < 5
