"""The work of a question is bounded by public numbers: one statement, every test on every row, everybody hashed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.dp.questions.lookup import Attach
from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.request import ColumnGrid, Count, Declared, Measure, PositionCounts, Present, Request, Unknown
from sfumato.dp.rows.dialect import DUCKDB, POSTGRES, StorageType
from sfumato.dp.rows.duckdb import DuckRows
from sfumato.dp.rows.file import FileRows
from sfumato.dp.rows.statement import SqlTable, Statement
from sfumato.promise.unit import ProtectPersons, ProtectRows
from sfumato.schema import Attribute, Kind, Role, Schema

SCHEMA = Schema.from_text(
    """
[columns.name]
role = "identifier"
[columns.age]
role = "other"
type = "integer"
bounds = [0, 9]
[columns.cost]
role = "other"
type = "number"
bounds = [0, 10]
"""
)
AGES, COSTS = ColumnGrid("age", 0.0, 9.0, 9), ColumnGrid("cost", 0.0, 10.0, 10)
FRAME = pl.DataFrame({"name": ["a", "a", "b", "c", None], "age": [1, 1, 2, 3, 3], "cost": [0.0, 10.0, None, 4.0, 4.0]})


def test_all_ladders_come_from_one_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, statements = DuckRows.of_frame(FRAME, SCHEMA), []
    true_execute = DuckRows._execute

    def execute(self: DuckRows, statement: str, parameters: dict[str, object], **held: Any) -> Any:
        statements.append(statement)
        return true_execute(self, statement, parameters, **held)

    monkeypatch.setattr(DuckRows, "_execute", execute)
    measures: list[Measure] = [PositionCounts(AGES), Count(), PositionCounts(COSTS), Present(COSTS)]
    measures += [PositionCounts(AGES)] * 200
    tallies = rows.collect(Request(tuple(measures), ProtectRows(), (Declared("name", ("a", "b", "x")),)))
    assert len(statements) == 1
    assert [ladder.tolist()[:3] for ladder in tallies.columns[0]] == [[0, 2, 0], [0, 0, 1], [0, 0, 0]]  # type: ignore[union-attr]
    assert tallies.columns[1] == [2, 1, 0]
    assert [int(ladder.sum()) for ladder in tallies.columns[2]] == [2, 0, 0]  # type: ignore[union-attr]
    assert tallies.columns[3] == [2, 0, 0]


def test_ladders_of_no_rows_are_there(tmp_path: Path) -> None:
    FRAME.head(0).write_parquet(tmp_path / "none.parquet")
    rows = FileRows(tmp_path / "none.parquet", SCHEMA)
    tallies = rows.collect(Request((PositionCounts(AGES), Count()), ProtectRows()))
    assert tallies.columns[0][0].tolist() == [0] * 10  # type: ignore[union-attr]
    assert tallies.columns[1] == [0]
    assert rows.collect(Request((Count(), PositionCounts(AGES)), ProtectRows(), (Unknown("name"),))).cells == []


def test_no_row_is_skipped_by_what_the_rows_hold(tmp_path: Path) -> None:
    """The plan of a condition that no row can meet, or that all rows meet, is the plan of any other."""
    FRAME.write_parquet(tmp_path / "people.parquet")
    plans = []
    with FileRows(tmp_path / "people.parquet", SCHEMA).look() as rows:
        for limit in (-5, 2, 1000):
            request = Request(
                (Count(),), ProtectRows(), (Declared("age", (1, 2)),), parse_predicate(f"age > {limit}", SCHEMA)
            )
            statement = Statement(request, SCHEMA, rows._source, DUCKDB)
            ((_, plan),) = rows._execute(f"EXPLAIN {statement.sql}", statement.parameters)
            plans.append(plan.replace(f"{limit}.0", "LIMIT").replace(" ", "").replace("─", ""))
    assert plans[0] == plans[1] == plans[2]
    scan = plans[0][plans[0].index("ReadParquet") :]
    assert "Filters" not in scan
    assert "Filter" in plans[0]


def test_tests_are_joined_by_numbers_that_leave_none_out() -> None:
    where = parse_predicate("age > 1 AND (cost < 3 OR NOT name LIKE 'a%') AND name IS NOT NULL", SCHEMA)
    stored = dict.fromkeys(SCHEMA.columns, next(iter(DuckRows.of_frame(FRAME, SCHEMA)._source.stored.values())))
    for dialect in (DUCKDB, POSTGRES):
        sql = Statement(Request((Count(),), ProtectRows(), (), where), SCHEMA, SqlTable("t", stored), dialect).sql
        condition = sql[sql.index("least(") : sql.index(" AS counts")]
        assert " AND " not in condition
        assert " OR " not in condition


@pytest.mark.parametrize("text, kept", [("cost < 5", 3), ("NOT cost < 5", 1), ("cost < 5 OR age = 2", 4)])
def test_unknown_is_no(text: str, kept: int) -> None:
    rows = DuckRows.of_frame(FRAME, SCHEMA)
    assert rows.collect(Request((Count(),), ProtectRows(), (), parse_predicate(text, SCHEMA))).columns == [[kept]]


def test_persons_over_a_limit_and_others_are_hashed_alike() -> None:
    stored = DuckRows.of_frame(FRAME, SCHEMA)._source.stored
    request = Request((Count(), PositionCounts(AGES)), ProtectPersons("name", 1, 1), (Declared("age", (1, 2)),))
    sql = Statement(request, SCHEMA, SqlTable("t", stored), DUCKDB).sql
    assert sql.count("sha256") == 2  # one for groups and one for rows, of every row
    assert "HAVING" not in sql
    assert "CASE WHEN" not in sql[sql.index("sha256") : sql.index("of_group")]


def test_persons_and_groups_alone_are_hashed_where_rows_are_only_counted() -> None:
    stored = DuckRows.of_frame(FRAME, SCHEMA)._source.stored
    request = Request((Count(),), ProtectPersons("name", 1, 1), (Declared("age", (1, 2)),))
    sql = Statement(request, SCHEMA, SqlTable("t", stored), DUCKDB).sql
    assert sql.count("sha256") == 1
    assert "HAVING" not in sql
    assert sql.index("sha256") < sql.index("LEAST(COUNT(*), 1)")  # the count lies within what is hashed


@pytest.mark.parametrize("by", [None, "rating"])
def test_rows_over_the_limit_of_a_join_alone_are_hashed_where_persons_are_sorted(by: str | None) -> None:
    """One statement for all rows; what a person's own rows cost is no more than where all are hashed."""
    person = Attribute("rider", Role.IDENTIFIER, Kind.INTEGER)
    rating = Attribute("rating", Role.OTHER, Kind.INTEGER, bounds=(1, 2))
    stage = Attach("riders", "rider", (("rider", "rider"),), (person, rating), theirs=1)
    keys = (Declared(by, (1, 2)),) if by else ()
    request = Request((Count(),), ProtectPersons("rider", 2, 1), keys, stages=(stage,))
    stored = {"rider": StorageType.WHOLE, "rating": StorageType.WHOLE}
    source = SqlTable("rides", stored, beside={"riders": SqlTable("riders", stored)}, sorts_persons=True)
    statement = Statement(request, Schema({"rider": person}), source, DUCKDB)
    sql = statement.sql
    assert [(table.name, table.more_than) for table in statement.prepared] == [("persons0", 0), ("persons1", 1)]
    assert "sha256" not in "".join(table.sql for table in statement.prepared)
    assert sql.count("sha256") == 1
    assert "HAVING" not in sql
    assert (
        sql.index("UNION ALL")
        < sql.index("sha256")
        < sql.index("JOIN persons1 AS crowd ON d0x0 = crowd.person) AS own")
    )
    hashed = Statement(request, Schema({"rider": person}), replace(source, sorts_persons=False), DUCKDB)
    assert hashed.sql.count("sha256") == 1
    assert "UNION" not in hashed.sql
    assert hashed.prepared == []
