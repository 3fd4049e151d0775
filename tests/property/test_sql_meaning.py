"""Random questions mean what they mean in DuckDB: the same text, over rows within their bounds, read by both.

Other tests compare what was read with plain Python; this one compares the reading: operators without brackets, names
that stand for them in inner SELECTs, and clauses in every place.
"""

# ruff: noqa: S608  # questions are made of parts

from __future__ import annotations

import datetime as dt
from random import Random
from typing import Any

import duckdb
import polars as pl
import pytest

from sfumato.dp.questions.compiled import compile_query
from sfumato.dp.questions.sql import parse_sql
from sfumato.dp.rows.duckdb import DuckRows
from sfumato.errors import SfumatoError
from sfumato.promise.unit import Neighbours, ProtectRows
from sfumato.schema import Attribute, Kind, Role, Schema

DAYS = [dt.date(2023, 12, 31), dt.date(2024, 1, 31), dt.date(2024, 2, 29), dt.date(2024, 10, 27), None]
SCHEMA = Schema(
    {
        "a": Attribute("a", Role.OTHER, Kind.INTEGER, bounds=(-2, 4)),
        "b": Attribute("b", Role.OTHER, Kind.INTEGER, bounds=(-2, 4)),
        "s": Attribute("s", Role.OTHER, Kind.CATEGORY, categories=("x", "Xy", "zz")),
        "d": Attribute("d", Role.OTHER, Kind.DATE, bounds=(dt.date(2023, 1, 1), dt.date(2024, 12, 31))),
    }
)
NUMBERS = (
    "{n} + {n}",
    "{n} - {n}",
    "{n} * {m}",
    "-{m}",
    "{m} % 3",
    "ABS({n})",
    "COALESCE({n}, {n})",
    "NULLIF({n}, {m})",
    "LEAST({n}, {n})",
    "CASE WHEN {c} THEN {n} ELSE {n} END",
    "CASE WHEN {c} THEN {n} WHEN {c} THEN {m} END",
    "EXTRACT(MONTH FROM {d})",
    "LENGTH({s})",
    "{d} - DATE '2024-01-01'",
)
CONDITIONS = (
    "{c} AND {c}",
    "{c} OR {c}",
    "NOT {c}",
    "{n} < {n}",
    "{n} >= {n}",
    "{n} <> {m}",
    "{n} BETWEEN {m} AND {n}",
    "{m} NOT IN (0, 2)",
    "{n} IS NOT NULL",
    "{s} LIKE 'x%'",
    "LOWER({s}) >= 'xy'",
    "{d} > DATE '2024-01-30'",
)
DATES = (
    "{d} + 2",
    "CAST(DATE_TRUNC('month', {d}) AS DATE)",
    "CAST({d} - INTERVAL '1 month 2 days' AS DATE)",
    "COALESCE({d}, DATE '2024-05-05')",
)
TEXTS = ("LEFT({s}, 1)", "{s} || 'a'", "UPPER({s})", "SUBSTR({s}, 2)", "COALESCE({s}, 'none')")
FORMS = {"n": NUMBERS, "c": CONDITIONS, "d": DATES, "s": TEXTS}
Names = dict[str, list[str]]


def text_of(random: Random, kind: str, names: Names, depth: int) -> str:
    """Return an expression with no more brackets than its form has; `m` is a number that binds closely."""
    if kind == "m":
        return random.choice([*(name for name in names["n"]), "1", f"({text_of(random, 'n', names, depth - 1)})"])
    if names[kind] and (depth <= 0 or random.random() < 0.3):
        return random.choice(names[kind])
    form = random.choice(FORMS[kind] if depth > 0 else FORMS[kind][3:])
    while "{" in form:
        place = form.index("{")
        form = form[:place] + text_of(random, form[place + 1], names, depth - 1) + form[place + 3 :]
    return form


def random_sql(random: Random) -> str:
    """Return a question about a table, or about SELECTs in one another that name what they compute."""
    names: Names = {"n": ["a", "b"], "c": [], "d": ["d"], "s": ["s"]}
    source = "t"
    for level in range(random.choice((0, 1, 1, 2))):
        made = {kind: f"{kind}{level}" for kind in random.sample("ncds", 2)}
        listed = ", ".join(f"{text_of(random, kind, names, 2)} AS {name}" for kind, name in made.items())
        where = f" WHERE {text_of(random, 'c', names, 2)}" if random.random() < 0.5 else ""
        source = f"(SELECT *, {listed} FROM {source}{where}) AS q{level}"
        for kind, name in made.items():
            names[kind] = [*names[kind], name]
    where = f" WHERE {text_of(random, 'c', names, 2)}" if random.random() < 0.7 else ""
    number = text_of(random, "n", names, 2)
    return f"SELECT COUNT(*), COUNT({number}), SUM({number}) FROM {source}{where}"


def agree(random: Random, many: int) -> int:
    """Compare so many questions; return how many counted some rows and not all of them."""
    rows = [
        {"a": random.choice((-2, -1, 0, 1, 2, 3, 4, None)), "b": random.randint(-2, 4), "s": one, "d": day}
        for one in ("x", "Xy", "zz", None)
        for day in DAYS * 3
    ]
    frame = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.Int64, "s": pl.String, "d": pl.Date})
    ours, theirs = DuckRows.of_frame(frame, SCHEMA), duckdb.connect()
    theirs.execute("CREATE TABLE t (a INTEGER, b INTEGER, s TEXT, d DATE)")
    theirs.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [list(row.values()) for row in rows])
    telling = asked = 0
    while asked < many:
        text = random_sql(random)
        try:
            query = compile_query(parse_sql(text, "t", [*SCHEMA.columns]), SCHEMA, ProtectRows(), Neighbours.PRESENCE)
            wanted = [int(number or 0) for number in one_row(theirs, text)]
        except (SfumatoError, duckdb.BinderException):  # bounds that are not told, types that DuckDB does not add
            continue
        asked += 1
        found = [int(column[0]) for column in ours.collect(query.request(b"")).columns]
        assert found == wanted, text
        telling += 0 < found[0] < len(rows)
    return telling


def one_row(database: Any, text: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] = database.execute(text).fetchone()
    return row


def test_random_questions_mean_what_they_mean_in_duckdb() -> None:
    assert agree(Random(1), 60) > 20  # noqa: S311  # a test


@pytest.mark.long
def test_many_random_questions_mean_what_they_mean_in_duckdb() -> None:
    assert agree(Random(2), 500) > 150  # noqa: S311  # a test
