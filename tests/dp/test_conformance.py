"""All engines answer random whole questions alike: as plain Python counts them, and with one noise for one seed."""

from __future__ import annotations

import csv
import datetime as dt
import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl
import psycopg
import pytest
from random_expressions import seeded
from random_questions import SCHEMA, people, random_question
from slow_questions import slow_tallies

from sfumato.dp.budget_split import answer_columns
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.request import QueryableRows, Tallies
from sfumato.dp.rows import open_rows
from sfumato.promise.cost import Cost
from sfumato.random import SeededNoise

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = people(seeded(7), 150)
SECRET = b"a secret of the ledger"
TABLE = f"conformance_{os.getpid()}"  # tests run side by side
QUICK, WHOLE = 60, 500
FOR_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}
PRICE = Cost(epsilon=Decimal(1), delta=Decimal("1e-6"))
Ask = Callable[[Compiled], Tallies]


def texts() -> list[list[str | None]]:
    """Return the rows as a file holds them."""
    return [[None if cell is None else _text(cell) for cell in row.values()] for row in ROWS]


def _text(cell: Any) -> str:
    if isinstance(cell, dt.datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, float):
        return repr(int(cell)) if cell.is_integer() and abs(cell) < 1e19 else repr(cell)
    return f"{cell.year:04}-{cell:%m-%d}" if isinstance(cell, dt.date) else str(cell)


NAMES = list(ROWS[0])


@pytest.fixture(scope="module")
def on_files(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    path = tmp_path_factory.mktemp("conformance") / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([NAMES, *texts()])
    return asked_of(open_rows(path, SCHEMA))


@pytest.fixture(scope="module")
def on_postgres(postgres: str) -> Iterator[Ask]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        columns = ", ".join(f'"{name}" text' for name in NAMES)
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}".encode())
        connection.execute(f"CREATE UNLOGGED TABLE {TABLE} ({columns})".encode())
        holders = ", ".join(["%s"] * len(NAMES))
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {TABLE} VALUES ({holders})".encode(), texts())  # noqa: S608
        yield asked_of(open_rows(f"{postgres}#{TABLE}", SCHEMA))
        connection.execute(f"DROP TABLE {TABLE}".encode())


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Ask Spark without what pays off for many rows alone: compiled stages, plans that adapt, many partitions."""
    from sfumato.engines.spark.queries import SparkRows

    before = {name: spark.conf.get(name) for name in FOR_FEW_ROWS}
    for name, value in FOR_FEW_ROWS.items():
        spark.conf.set(name, value)
    folder = tmp_path_factory.mktemp("conformance")
    frame = pl.DataFrame(texts(), schema=dict.fromkeys(NAMES, pl.String), orient="row")
    frame.write_parquet(folder / "rows.parquet")
    yield asked_of(SparkRows.of_folder(folder, SCHEMA, spark.sparkContext.master))
    for name, kept in before.items():
        spark.conf.set(name, str(kept))


def asked_of(rows: QueryableRows) -> Ask:
    return lambda compiled: rows.collect(compiled.request(SECRET))


def questions(seed: int, many: int) -> Iterator[tuple[str, Compiled]]:
    random: Random = seeded(seed)
    for _ in range(many):
        yield random_question(random, "rows")


def plain(tallies: Tallies) -> tuple[list[Any], list[list[Any]]]:
    return tallies.cells, [[n if isinstance(n, int) else n.tolist() for n in column] for column in tallies.columns]


def agree(ask: Ask, seed: int, many: int) -> int:
    """Compare every question with plain Python; return how many groups had rows, so that none compares nothing."""
    full = 0
    for text, compiled in questions(seed, many):
        cells, columns = plain(ask(compiled))
        wanted = slow_tallies(compiled.request(SECRET), SCHEMA, ROWS)
        assert (cells, columns) == wanted, f"{text}, protecting {compiled.unit}"
        full += sum(any(number not in (0, [0]) for number in column) for column in columns)
    return full


def test_files_answer_as_plain_python_counts(on_files: Ask) -> None:
    assert agree(on_files, 1, QUICK) > QUICK


def test_postgresql_answers_as_plain_python_counts(on_postgres: Ask) -> None:
    assert agree(on_postgres, 2, QUICK) > QUICK


@pytest.mark.long
def test_files_answer_500_questions_as_plain_python_counts(on_files: Ask) -> None:
    assert agree(on_files, 3, WHOLE) > WHOLE


@pytest.mark.long
def test_postgresql_answers_500_questions_as_plain_python_counts(on_postgres: Ask) -> None:
    assert agree(on_postgres, 3, WHOLE) > WHOLE


@pytest.mark.long
def test_spark_answers_500_questions_as_plain_python_counts(on_spark: Ask) -> None:
    assert agree(on_spark, 3, WHOLE) > WHOLE


def test_the_same_seed_gives_the_same_answer_on_every_engine(on_files: Ask, on_postgres: Ask) -> None:
    for number, (text, compiled) in enumerate(questions(4, QUICK)):
        answers = [
            answer_columns(compiled, ask(compiled), PRICE, SeededNoise(number)) for ask in (on_files, on_postgres)
        ]
        assert answers[0] == answers[1], text


@pytest.mark.long
def test_the_same_seed_gives_the_same_answer_on_spark(on_files: Ask, on_spark: Ask) -> None:
    for number, (text, compiled) in enumerate(questions(5, QUICK)):
        answers = [answer_columns(compiled, ask(compiled), PRICE, SeededNoise(number)) for ask in (on_files, on_spark)]
        assert answers[0] == answers[1], text
