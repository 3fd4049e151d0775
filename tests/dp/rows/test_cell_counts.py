"""The cells of declared columns, counted by an engine's own expressions and by the table door's reading of them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.dp.rows import open_rows
from sfumato.dp.rows.duckdb import DuckRows
from sfumato.dp.rows.file import FileRows
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import ParseReport, Table

DECLARED = Schema(
    {
        "age": Attribute("age", Role.OTHER, Kind.INTEGER, bounds=(0, 99), missing=("", "?", "-9")),
        "cost": Attribute("cost", Role.OTHER, Kind.NUMBER, bounds=(0.5, 9.5)),
        "day": Attribute("day", Role.OTHER, Kind.DATE, bounds=(dt.date(2026, 1, 1), dt.date(2026, 1, 31))),
        "start": Attribute(
            "start", Role.OTHER, Kind.TIMESTAMP, bounds=(dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2, 12))
        ),
        "wage": Attribute("wage", Role.OTHER, Kind.NUMBER, bounds=(0, 2000), decimal=",", thousands="."),
        "sex": Attribute("sex", Role.OTHER, Kind.CATEGORY, categories=("F", "it's"), missing=("?",)),
        "name": Attribute("name", Role.IDENTIFIER),
    }
)
CELLS = {
    "age": ["31", "100", "-1", "-9", "x", "1.5", "?", None],
    "cost": ["1.5", "9.6", ".4", "1,5", "inf", "nan", "?", None],
    "day": ["2026-01-31", "2026-02-01", "31.01.2026", "2026-01-02 08:00:00", None],
    "start": ["2026-01-01 00:00:00", "2026-01-02T12:00:00", "2026-01-02 12:00:01", "2025-12-31", "soon", None],
    "wage": ["1.999,5", "2.000,5", "12,5", "1.5.5", "x", None],
    "sex": ["F", "it's", "f", "?", None],
    "name": ["anybody", "?", None],
}
rows = st.fixed_dictionaries({name: st.sampled_from(cells) for name, cells in CELLS.items()})


def counts(report: ParseReport) -> dict[str, tuple[int, int, int]]:
    return {
        name: (entry.missing.cells, entry.failed.cells, entry.outside.cells) for name, entry in report.columns.items()
    }


@settings(max_examples=25, deadline=None)
@given(st.lists(rows, min_size=1, max_size=30))
def test_an_engine_counts_what_the_table_door_counts(people: list[dict[str, str | None]]) -> None:
    frame = pl.DataFrame(people, schema=dict.fromkeys(CELLS, pl.String))
    assert counts(DuckRows.of_frame(frame, DECLARED).parse_report()) == counts(ParseReport.of(Table(frame), DECLARED))


def test_a_file_says_in_which_rows_too(tmp_path: Path) -> None:
    people = pl.DataFrame({name: (cells * 3)[:8] for name, cells in CELLS.items()})
    people.write_csv(tmp_path / "people.csv")
    found = FileRows(tmp_path / "people.csv", DECLARED).parse_report()
    assert found.columns["age"].failed.rows == (5, 6)
    assert found.columns["age"].example == "x"
    assert found.columns["sex"].outside.rows == (3, 8)
    people.write_parquet(tmp_path / "people.parquet")
    stored = open_rows(tmp_path / "people.parquet", DECLARED)
    assert isinstance(stored, FileRows)
    assert counts(stored.parse_report()) == counts(found)


def test_a_column_without_anything_declared_counts_its_missing_cells(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("name,age\nana,1\n,2\n")
    schema = Schema({"name": Attribute("name", Role.IDENTIFIER)})
    assert FileRows(tmp_path / "one.csv", schema).parse_report().lines() == ["missing cells: name 1"]


def test_a_long_list_of_categories_is_counted_as_a_short_one_is() -> None:
    listed = tuple(f"z{number}" for number in range(1000))
    schema = Schema({"zip": Attribute("zip", Role.OTHER, categories=listed, missing=("?",))})
    frame = pl.DataFrame({"zip": ["z1", "z999", "z1000", "?", None, "Z1"]})
    assert counts(DuckRows.of_frame(frame, schema).parse_report()) == {"zip": (2, 0, 2)}


def test_a_server_counts_what_a_frame_counts(postgres: str) -> None:
    import psycopg

    from sfumato.dp.rows.postgres import PostgresRows

    people = pl.DataFrame({name: (cells * 3)[:8] for name, cells in CELLS.items()})
    with psycopg.connect(postgres) as connection:
        connection.execute("DROP TABLE IF EXISTS sfumato_cells")
        connection.execute(f"CREATE TABLE sfumato_cells ({', '.join(f'{name} TEXT' for name in CELLS)})")
        for row in people.rows():
            connection.execute(f"INSERT INTO sfumato_cells VALUES ({', '.join(['%s'] * len(row))})", row)  # noqa: S608  # our own words
    try:
        found = PostgresRows(f"{postgres}#sfumato_cells", DECLARED).parse_report()
        assert counts(found) == counts(ParseReport.of(Table(people), DECLARED))
    finally:
        with psycopg.connect(postgres) as connection:
            connection.execute("DROP TABLE sfumato_cells")
