"""A table of PostgreSQL through the table door: its types are kept, and no password is told."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl
import psycopg
import pytest

from sfumato import read
from sfumato.cli.main import run
from sfumato.errors import InputError

COLUMNS = (
    "age int, smokes boolean, mood sfumato_table.mood, insured boolean, cost numeric(8, 2), share numeric, "
    "weight double precision, born date, seen timestamptz, told timestamp, zip text, who uuid"
)
UTC = dt.UTC
ROWS = [
    (
        20 + row % 5,
        row % 2 == 0,
        "sad" if row % 3 else "glad",
        None if row == 4 else row % 3 == 0,
        Decimal(f"{row}.25"),
        Decimal(row) / 8,
        row / 2,
        dt.date(1990, 1, 1 + row),
        dt.datetime(2026, 1, 1, row, tzinfo=UTC),
        dt.datetime(2026, 1, 1, row),  # a time without a zone
        f"0213{row % 3}",
        f"00000000-0000-0000-0000-{row:012}",
    )
    for row in range(20)
]
SCHEMA = '[columns.age]\nrole = "other"\ntype = "integer"\nbounds = [0, 120]\n'


@pytest.fixture
def address(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the address of a table of people, in a schema of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS sfumato_table CASCADE; CREATE SCHEMA sfumato_table")
        connection.execute("CREATE TYPE sfumato_table.mood AS ENUM ('sad', 'glad')")
        connection.execute(f"CREATE TABLE sfumato_table.people ({COLUMNS})".encode())
        with connection.cursor() as cursor:
            holders = ", ".join(["%s"] * len(ROWS[0]))
            cursor.executemany(f"INSERT INTO sfumato_table.people VALUES ({holders})".encode(), ROWS)  # noqa: S608
        yield f"{postgres}#sfumato_table.people"
        connection.execute("DROP SCHEMA sfumato_table CASCADE")


@pytest.fixture
def execute(postgres: str) -> Callable[[str], None]:
    """Return a function that changes the table."""

    def change(statement: str) -> None:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute(statement.encode())

    return change


def test_columns_keep_their_types(address: str) -> None:
    frame = read(address).frame
    kinds = {
        "age": pl.Int64(),
        "smokes": pl.Boolean(),
        "mood": pl.String(),
        "insured": pl.Boolean(),
        "weight": pl.Float64(),
        "born": pl.Date(),
        "seen": pl.Datetime("us", "UTC"),
        "told": pl.Datetime("us"),
        "zip": pl.String(),
        "who": pl.String(),
    }
    assert {name: frame.schema[name] for name in kinds} == kinds
    assert frame.schema["cost"].is_decimal()
    assert frame.schema["share"].is_decimal()
    assert sorted(frame["cost"]) == [row[4] for row in ROWS]
    assert frame.sort("weight")["share"].to_list() == [row[5] for row in ROWS]
    assert frame.sort("weight").drop("cost", "share").rows() == [(*row[:4], *row[6:]) for row in ROWS]


def test_a_table_is_released_and_checked(address: str) -> None:
    roles = ["--quasi", "age,zip", "--identifier", "who", "--other", "keep", "--k", "3"]
    roles += ["--accept-unique", "cost,share,weight,born,seen,told"]
    assert run(["anonymize", address, "-o", "out.parquet", *roles]) == 0
    found = pl.read_parquet("out.parquet")
    assert (found.height, found.schema["insured"], found.schema["cost"].is_decimal()) == (20, pl.Boolean(), True)
    card = Path("out.parquet.card.json").read_text()
    assert urlsplit(address).netloc not in card
    assert run(["check", address, "--quasi", "zip"]) == 0
    assert run(["schema", address]) == 0


def test_the_ledger_of_the_query_door_knows_the_rows(
    address: str, execute: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.toml").write_text(SCHEMA)
    create = ["budget", "create", "L", "--data", address, "--schema", "s.toml", "--epsilon", "5", "--deadline", "0"]
    assert run(create) == 0
    roles = ["--quasi", "age", "--other", "drop", "--k", "3", "--ledger", "L"]
    assert run(["anonymize", address, "-o", "out.csv", *roles]) == 0
    capsys.readouterr()
    assert run(["budget", "show", "L", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["entries"]) == 1
    execute("UPDATE sfumato_table.people SET age = age + 1")
    assert run(["anonymize", address, "-o", "again.csv", *roles]) == 2
    assert "the data are not those that ledger 'L' was made for" in capsys.readouterr().err


def test_a_private_table_is_charged(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(SCHEMA.replace("other", "quasi"))
    create = ["budget", "create", "L", "--data", address, "--schema", "s.toml", "--epsilon", "5", "--deadline", "0"]
    assert run(create) == 0
    private = ["--algorithm", "private-mondrian", "--epsilon", "1", "--schema", "s.toml", "--other", "drop"]
    assert run(["anonymize", address, "-o", "out.csv", *private, "--ledger", "L"]) == 0
    capsys.readouterr()
    assert run(["budget", "show", "L", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left"]["epsilon"] == 4


@pytest.mark.parametrize("kind", ["int[]", "jsonb", "bytea", "interval", "point"])
def test_columns_without_plain_values_are_refused_by_name(
    address: str, execute: Callable[[str], None], kind: str
) -> None:
    execute(f"ALTER TABLE sfumato_table.people ADD COLUMN odd {kind}")
    with pytest.raises(InputError, match="column 'odd' holds"):
        read(address)


def test_what_cannot_be_read_is_told_without_the_password(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    secret = parts._replace(netloc=f"nobody_here:s3cret@{host}").geturl()
    assert run(["check", secret, "--quasi", "zip"]) == 2
    told = capsys.readouterr().err
    assert "cannot be reached or refuses the login" in told
    assert "s3cret" not in told
    assert run(["check", address.replace("people", "nobody"), "--quasi", "zip"]) == 2
    assert "has no table 'sfumato_table.nobody'" in capsys.readouterr().err


def test_a_table_without_rows_is_refused(address: str, execute: Callable[[str], None]) -> None:
    execute("DELETE FROM sfumato_table.people")
    with pytest.raises(InputError, match="has no rows"):
        read(address)
