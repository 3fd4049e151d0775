"""Every engine computes what the slow reading of an expression gives, and nothing leaves its derived bounds."""

# ruff: noqa: S608  # our own words

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import psycopg
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from random_expressions import SCHEMA, nasty_rows, random_predicate, random_value, seeded
from slow_expressions import position_of, slow_truth, slow_value

from sfumato.dp.questions.expression import ColumnReference, Value
from sfumato.dp.questions.predicate import declared_column
from sfumato.dp.questions.ranges import derived_attribute, range_of
from sfumato.dp.questions.request import Count, Request
from sfumato.dp.questions.stages import Derive, Keep
from sfumato.dp.rows.condition import Compiler
from sfumato.dp.rows.dialect import DUCKDB, POSTGRES, Dialect, StorageType, quote_name
from sfumato.dp.rows.statement import SqlTable, Statement
from sfumato.engines.spark.queries import SPARK
from sfumato.promise.unit import ProtectRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]
ROWS = nasty_rows(seeded(20), 120)
SOURCE = SqlTable("rows", dict.fromkeys(SCHEMA.columns, StorageType.TEXT))
ID = Derive(derived_attribute("row", declared_column("id", SCHEMA), SCHEMA), declared_column("id", SCHEMA))


def cells(values: list[Value], dialect: Dialect, source: SqlTable) -> tuple[str, dict[str, Any]]:
    """Return the statement that derives a column for each value, with the number of the row."""
    stages = tuple(Derive(derived_attribute(f"v{i}", value, SCHEMA), value) for i, value in enumerate(values))
    statement = Statement(Request((Count(),), ProtectRows(), stages=(ID, *stages)), SCHEMA, source, dialect)
    statement.parameters.clear()  # of the whole statement, which is not run
    names = ", ".join(statement.cell(name) for name in ("row", *(stage.attribute.name for stage in stages)))
    return f"SELECT {names} FROM ({statement._staged()}) AS made", statement.parameters


def agree(values: list[Value], found: list[tuple[Any, ...]]) -> None:
    assert len(found) == len(ROWS)
    for number, *given_cells in found:
        row = ROWS[int(number)]
        for value, cell in zip(values, given_cells, strict=True):
            wanted = position_of(slow_value(value, row))
            assert same(cell, wanted), f"{value.text} of {row}: {cell!r}, not {wanted!r}"


def same(one: Any, other: Any) -> bool:
    return one == other and (one is None) == (other is None)


def as_texts() -> list[dict[str, str | None]]:
    """Return the rows as a CSV file would hold them."""
    return [{name: None if cell is None else _text(cell) for name, cell in row.items()} for row in ROWS]


def _text(cell: Any) -> str:
    if isinstance(cell, dt.datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, float):
        return repr(int(cell)) if cell.is_integer() and abs(cell) < 1e19 else repr(cell)
    return f"{cell.year:04}-{cell:%m-%d}" if isinstance(cell, dt.date) else str(cell)


@pytest.fixture(scope="module")
def on_duckdb() -> Iterator[Run]:
    with duckdb.connect() as connection:
        connection.register(
            "rows", pl.DataFrame(as_texts(), schema=dict.fromkeys(SCHEMA.columns, pl.String)).to_arrow()
        )
        yield lambda sql, parameters: connection.execute(sql, parameters).fetchall()


@pytest.fixture(scope="module")
def on_postgres(postgres: str) -> Iterator[Run]:
    with psycopg.connect(postgres) as connection:
        columns = ", ".join(f"{quote_name(name)} text" for name in SCHEMA.columns)
        connection.execute(f"CREATE TEMPORARY TABLE rows ({columns})".encode())
        holders = ", ".join(["%s"] * len(SCHEMA.columns))
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO rows VALUES ({holders})".encode(), [list(row.values()) for row in as_texts()]
            )
        yield lambda sql, parameters: connection.execute(sql.encode(), parameters).fetchall()


def hold(random: Random, dialect: Dialect, run: Run, source: SqlTable) -> None:
    """Try random conditions: the truth of each on every row."""
    predicates = [random_predicate(random) for _ in range(20)]
    everything = Request((Count(),), ProtectRows(), stages=(ID, *(Keep(predicate) for predicate in predicates)))
    statement = Statement(everything, SCHEMA, source, dialect)
    statement.parameters.clear()
    tests = ", ".join(Compiler(statement).truth(predicate.condition) for predicate in predicates)
    rows = run(f"SELECT {statement.cell('id')}, {tests} FROM ({statement._cells()}) AS cells", statement.parameters)
    for number, *truths in rows:
        for predicate, truth in zip(predicates, truths, strict=True):
            wanted = {False: 0, None: 1, True: 2}[slow_truth(predicate.condition, ROWS[int(number)])]
            assert truth == wanted, f"{predicate.text} of {ROWS[int(number)]}: {truth}, not {wanted}"


@settings(phases=[Phase.generate])  # a smaller seed is no simpler expression
@given(seed=st.integers(0, 2**32))
def test_duckdb_computes_what_the_slow_reading_gives(on_duckdb: Run, seed: int) -> None:
    random = seeded(seed)
    values = [random_value(random) for _ in range(20)]
    agree(values, on_duckdb(*cells(values, DUCKDB, SOURCE)))


@settings(max_examples=20, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_postgresql_computes_what_the_slow_reading_gives(on_postgres: Run, seed: int) -> None:
    random = seeded(seed)
    values = [random_value(random) for _ in range(20)]
    agree(values, on_postgres(*cells(values, POSTGRES, SOURCE)))


@settings(phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_conditions_hold_on_duckdb_as_the_slow_reading_says(on_duckdb: Run, seed: int) -> None:
    hold(seeded(seed), DUCKDB, on_duckdb, SOURCE)


@settings(max_examples=20, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_conditions_hold_on_postgresql_as_the_slow_reading_says(on_postgres: Run, seed: int) -> None:
    hold(seeded(seed), POSTGRES, on_postgres, SOURCE)


@pytest.mark.long
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_computes_what_the_slow_reading_gives(spark: SparkSession, ansi: str) -> None:
    names = list(SCHEMA.columns)
    frame = spark.createDataFrame([list(row.values()) for row in as_texts()], ", ".join(f"{n} string" for n in names))
    frame.createOrReplaceTempView("rows")
    source = SqlTable("rows", SOURCE.stored, lambda name: f"`{name}`")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for seed in range(12):
            random = seeded(seed)
            values = [random_value(random) for _ in range(12)]
            sql, parameters = cells(values, SPARK, source)
            agree(values, [tuple(row) for row in spark.sql(sql, args=parameters).collect()])
            hold(random, SPARK, lambda sql, args: [tuple(row) for row in spark.sql(sql, args=args).collect()], source)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


@settings(max_examples=200, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_no_value_leaves_its_derived_bounds(seed: int) -> None:
    random = seeded(seed)
    value = random_value(random)
    if isinstance(value, ColumnReference):
        return  # a bare column is what its cells are; who counts it clamps them
    found = range_of(value, SCHEMA)
    for row in ROWS:
        position = position_of(slow_value(value, row))
        if isinstance(position, str):
            assert found.words is None or position in found.words or not declared(row), (value.text, row)
        elif position is not None:
            assert found.low is None or found.low <= position, (value.text, row, found)
            assert found.high is None or position <= found.high, (value.text, row, found)
            assert not found.whole or float(position).is_integer(), (value.text, row)


def declared(row: dict[str, Any]) -> bool:
    """Return whether a row's words are those that the schema declares; others are in no group."""
    return row["sex"] is None or row["sex"] in (SCHEMA.columns["sex"].categories or ())
