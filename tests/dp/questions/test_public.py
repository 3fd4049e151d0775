"""Public tables: what is taken from their cells, and keys of every type compared alike in every engine."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest

import sfumato as sf
from sfumato.dp.questions.compiled import compile_query
from sfumato.dp.rows import open_rows
from sfumato.errors import InputError
from sfumato.promise import Neighbours, ProtectRows
from sfumato.schema import Kind

SCHEMA = sf.Schema.from_text(
    """
[columns.fare]
role = "other"
type = "number"
[columns.day]
role = "other"
type = "date"
[columns.start]
role = "other"
type = "timestamp"
zone = "Europe/Zurich"
[columns.code]
role = "other"
type = "category"
"""
)
ROWS = {
    "fare": ["1.50", "1.5", "-0", "2e0", "x", ""],
    "day": ["2024-01-05", "2024-1-5", "2024-02-30", "", "2024-01-06", "0001-01-01"],
    "start": [
        "2024-01-05 08:00",
        "2024-01-05T07:00:00Z",
        "2024-01-05 08:00:00.000001",
        "",
        "2024-07-01 00:00+02:00",
        "x",
    ],
    "code": ["007", "7", "é", "", "a b", "7.0"],
}
KEYS: dict[str, tuple[Any, int]] = {  # the keys of the public table, and how many rows have one
    "fare": ([1.5, 0.0, 2.0, None], 4),
    "day": ([dt.date(2024, 1, 5), dt.date(1, 1, 1)], 3),
    "start": ([dt.datetime(2024, 1, 5, 8), dt.datetime(2024, 7, 1)], 3),
    "code": (["7", "é", ""], 2),
}
WRITTEN: dict[str, list[str]] = {  # the same keys as texts
    "fare": ["1.5", "0", "2", ""],
    "day": ["2024-01-05", "0001-01-01"],
    "start": ["2024-01-05 08:00:00", "2024-07-01 00:00:00"],
    "code": ["7", "é", ""],
}


@pytest.fixture(scope="module", params=["csv", "frame", "postgres"])
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    frame = pl.DataFrame(ROWS)
    if request.param == "frame":
        return open_rows(frame, SCHEMA)
    if request.param == "csv":
        path = tmp_path_factory.mktemp("public") / "rides.csv"
        frame.write_csv(path)
        return open_rows(path, SCHEMA)
    address = request.getfixturevalue("postgres")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS public_keys")
        connection.execute("CREATE TABLE public_keys (fare text, day text, start text, code text)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO public_keys VALUES (%s, %s, %s, %s)", frame.rows())
    return open_rows(f"{address}#public_keys", SCHEMA)


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("column", KEYS)
def test_a_key_is_compared_by_the_type_of_the_rows_column(rows: Any, column: str, written: bool) -> None:
    keys, wanted = KEYS[column]
    cells = WRITTEN[column] if written else keys
    names = [f"place {number}" for number in range(len(cells))]
    table = sf.PublicTable.of(pl.DataFrame({column: cells, "name": names}), "places")
    asked = compile_query(sf.count().joined(table, column), SCHEMA, ProtectRows(), Neighbours.PRESENCE)
    assert rows.collect(asked.request(b"")).columns == [[wanted]]
    left = compile_query(sf.count().joined(table, column, how="left"), SCHEMA, ProtectRows(), Neighbours.PRESENCE)
    assert rows.collect(left.request(b"")).columns == [[6]]


@pytest.mark.parametrize("column, wanted", [("day", 1), ("start", 2), ("fare", 2)])
def test_a_joined_column_is_compared_as_if_it_were_declared(rows: Any, column: str, wanted: int) -> None:
    added = pl.DataFrame({"code": ["7", "é"], "to": KEYS[column][0][:2]})
    query = sf.count().joined(sf.PublicTable.of(added, "ends"), "code").where(f"{column} <= to")
    asked = compile_query(query, SCHEMA, ProtectRows(), Neighbours.PRESENCE)
    (found,) = rows.collect(asked.request(b"")).columns[0]
    assert found == wanted


def test_what_is_public_is_taken_from_the_cells() -> None:
    frame = pl.DataFrame(
        {
            "text": ["b", "a", None, "NA"],
            "whole": ["3", "-1", "", "2"],
            "day": [dt.date(2024, 1, 5), None, dt.date(1999, 1, 1), None],
            "real": [0.5, None, -2.0, 1.0],
            "mixed": ["3", "x", "4", ""],
            "empty": pl.Series([None] * 4, dtype=pl.String),
            "start": [dt.datetime(2024, 1, 5, 8, 30), None, None, None],
        }
    )
    table = sf.PublicTable.of(frame, "public")
    found = {name: table.attribute(name) for name in table.names}
    assert found["text"].categories == ("a", "b")
    assert (found["whole"].kind, found["whole"].bounds) == (Kind.INTEGER, (-1, 3))
    assert found["day"].bounds == (dt.date(1999, 1, 1), dt.date(2024, 1, 5))
    assert (found["real"].kind, found["real"].bounds) == (Kind.NUMBER, (-2.0, 1.0))
    assert found["mixed"].categories == ("3", "4", "x")
    assert (found["empty"].bounds, found["empty"].categories) == (None, None)
    assert found["start"].bounds == (dt.datetime(2024, 1, 5, 8, 30), dt.datetime(2024, 1, 5, 8, 30))
    assert all(attribute.public for attribute in found.values())


def test_a_declared_schema_says_how_a_public_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("code;price;note\n7;1,50;x\n8;?;y\n")
    text = '[columns.code]\nrole = "other"\n[columns.price]\nrole = "other"\ntype = "number"\n'
    text += 'decimal = ","\nmissing = ["?"]\n'
    table = sf.PublicTable.of(tmp_path / "prices.csv", schema=sf.Schema.from_text(text))
    assert (table.name, table.names) == ("prices", ("code", "price"))
    assert table.cells("price", Kind.NUMBER) == [1.5, None]
    other = sf.PublicTable.of(tmp_path / "prices.csv")
    assert other.digest == table.digest
    assert other.identity != table.identity  # the same file, read otherwise
    (tmp_path / "two.csv").write_text("a;b,c\n1;2,3\n")
    layouts = [sf.Schema.from_text(f'[reading]\ndelimiter = "{mark}"\n') for mark in ";,"]
    read = [sf.PublicTable.of(tmp_path / "two.csv", schema=schema) for schema in layouts]
    assert read[0].names != read[1].names
    assert read[0].identity != read[1].identity  # or the answer for one would be sold for the other


def test_too_many_words_are_no_categories_and_a_missing_cell_is_no_text() -> None:
    many = sf.PublicTable.of(pl.DataFrame({"code": [f"c{number}" for number in range(10_001)]}), "many")
    assert many.attribute("code").categories is None
    one, two = pl.DataFrame({"a": ["1", None]}), pl.DataFrame({"a": ["1", "-"]})
    assert sf.PublicTable.of(one, "t").digest != sf.PublicTable.of(two, "t").digest
    with pytest.raises(InputError, match="needs a name"):
        sf.PublicTable.of(one)
