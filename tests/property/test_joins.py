"""Joins in every engine against dictionaries in Python, and how far one row or person moves what comes out of them."""

from __future__ import annotations

import csv
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_joins import SECRET, Cells, Row, attached, bounded, looked_up, read, truncated

from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.questions.joining import PrivateTables
from sfumato.dp.questions.people import last, per_person
from sfumato.dp.questions.public import PublicTable
from sfumato.dp.questions.query import Query, count, count_distinct, sum  # noqa: A004
from sfumato.dp.questions.request import QueryableRows, Tallies
from sfumato.dp.rows import open_rows
from sfumato.dp.rows.together import Together
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit
from sfumato.schema import Attribute, Kind, Role, Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tables = dict[str, list[Row]]
Open = Callable[[Tables], dict[str, QueryableRows]]
RIDES = Schema(
    {
        "rider": Attribute("rider", Role.IDENTIFIER, missing=("", "?")),
        "station": Attribute("station", Role.OTHER, Kind.INTEGER, bounds=(0, 4)),
        "line": Attribute("line", Role.OTHER, Kind.CATEGORY, missing=("", "?")),
        "fare": Attribute("fare", Role.OTHER, Kind.NUMBER, bounds=(0.0, 8.0)),
    }
)
RIDERS = Schema(
    {
        "rider": Attribute("rider", Role.IDENTIFIER, missing=("", "?")),
        "home": Attribute("home", Role.OTHER, Kind.INTEGER, bounds=(0, 4)),
        "age": Attribute("age", Role.OTHER, Kind.NUMBER, bounds=(0.0, 8.0)),
    }
)
SCHEMAS = {"rides": RIDES, "riders": RIDERS}
PEOPLE = ("p1", "p2", "1:p", "é", "", "?", None)
rides_of = st.lists(
    st.fixed_dictionaries(
        {
            "rider": st.sampled_from(PEOPLE),
            "station": st.sampled_from(("0", "1", "+2", "03", "9", "x", "", None)),
            "line": st.sampled_from(("a", "b", "it's", "é", "?", "")),
            "fare": st.sampled_from(("0", "1.5", "1.5000001", "7", "1e400", "")),
        }
    ),
    min_size=1,
    max_size=14,
)
riders_of = st.lists(
    st.fixed_dictionaries(
        {
            "rider": st.sampled_from(PEOPLE),
            "home": st.sampled_from(("0", "1", "2", "x", "")),
            "age": st.sampled_from(("0", "2.25", "2.2500001", "5", "-3e-9", "x")),
        }
    ),
    min_size=1,
    max_size=8,
)
stations_of = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from((0, 1, 2, 3, None)),
            "route": st.sampled_from(("a", "b", "it's", "é", None)),
            "city": st.sampled_from(("Bern", "Zürich", "it's", None)),
            "lift": st.sampled_from((0, 1, 2, None)),
        }
    ),
    max_size=8,
)
KEYS: dict[str, list[tuple[str, str]]] = {
    "station": [("station", "id")],
    "line": [("line", "route")],
    "both": [("station", "id"), ("line", "route")],
}
UNITS: tuple[Unit, ...] = (ProtectRows(), ProtectPersons("rider", 2, 2), ProtectPersons("rider", 1, 1))
TABLE = f"joined_{os.getpid()}"  # tests run side by side


@pytest.fixture(scope="module", params=["csv", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    if request.param == "csv":
        folder = tmp_path_factory.mktemp("joins")
        yield lambda tables: {name: _csv(folder / f"{name}.csv", rows, SCHEMAS[name]) for name, rows in tables.items()}
        return
    address = request.getfixturevalue("postgres")
    with psycopg.connect(address, autocommit=True) as connection:
        for name, schema in SCHEMAS.items():
            connection.execute(f"DROP TABLE IF EXISTS {TABLE}_{name}".encode())
            columns = ", ".join(f"{column} text" for column in schema.columns)
            connection.execute(f"CREATE UNLOGGED TABLE {TABLE}_{name} ({columns})".encode())
        yield lambda tables: {name: _table(connection, address, name, rows) for name, rows in tables.items()}
        for name in SCHEMAS:
            connection.execute(f"DROP TABLE {TABLE}_{name}".encode())


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Open:
    from sfumato.engines.spark.queries import SparkRows

    folder = tmp_path_factory.mktemp("joins")

    def build(tables: Tables) -> dict[str, QueryableRows]:
        frame = pl.DataFrame(tables["rides"], schema=dict.fromkeys(RIDES.columns, pl.String))
        frame.write_parquet(folder / "rides.parquet")
        return {"rides": SparkRows.of_folder(folder, RIDES, spark.sparkContext.master)}

    return build


def _csv(path: Path, rows: list[Row], schema: Schema) -> QueryableRows:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(schema.columns))
        writer.writeheader()
        writer.writerows(rows)
    return open_rows(path, schema)


def _table(connection: psycopg.Connection[Any], address: str, name: str, rows: list[Row]) -> QueryableRows:
    connection.execute(f"TRUNCATE {TABLE}_{name}".encode())
    columns = list(SCHEMAS[name].columns)
    with connection.cursor() as cursor:
        text = f"INSERT INTO {TABLE}_{name} VALUES ({', '.join(['%s'] * len(columns))})"  # noqa: S608  # our own words
        cursor.executemany(text.encode(), [[row[column] for column in columns] for row in rows])
    return open_rows(f"{address}#{TABLE}_{name}", SCHEMAS[name])


def collected(engine: Open, tables: Tables, asked: Compiled) -> Tallies:
    names = [asked.table or "rides", *asked.tables]
    rows = engine({name: tables[name] for name in names})
    with Together().look(rows) as found:
        return found.rows.collect(asked.request(SECRET))


def public(stations: list[Cells]) -> PublicTable:
    kinds = {"id": pl.Int64, "route": pl.String, "city": pl.String, "lift": pl.Int64}
    return PublicTable.of(pl.DataFrame(stations, schema=kinds), "stations")


def most_of(stations: list[Cells], on: list[tuple[str, str]]) -> int:
    keys = [tuple(entry[theirs] for _, theirs in on) for entry in stations]
    return max(Counter(key for key in keys if None not in key).values(), default=1)


def group_of(asked: Compiled) -> list[Any]:
    return [() if not asked.keys else one[0] for one in itertools.product(*(key.cells for key in asked.keys))]  # type: ignore[union-attr]


lookups = given(
    rides=rides_of,
    stations=stations_of,
    keys=st.sampled_from(sorted(KEYS)),
    how=st.sampled_from(["inner", "left"]),
    unit=st.sampled_from(UNITS),
    by=st.sampled_from([None, "city", "lift"]),
)


@settings(max_examples=40)
@lookups
def test_a_public_join_gives_what_dictionaries_give(
    engine: Open, rides: list[Row], stations: list[Cells], keys: str, how: Any, unit: Unit, by: str | None
) -> None:
    check_lookup(engine, rides, stations, keys, how, unit, by)


@pytest.mark.long
@settings(max_examples=8)
@lookups
def test_a_public_join_on_spark_gives_what_dictionaries_give(
    on_spark: Open, rides: list[Row], stations: list[Cells], keys: str, how: Any, unit: Unit, by: str | None
) -> None:
    check_lookup(on_spark, rides, stations, keys, how, unit, by)


def check_lookup(
    engine: Open, rides: list[Row], stations: list[Cells], keys: str, how: Any, unit: Unit, by: str | None
) -> None:
    on = KEYS[keys]
    by = None if by and all(entry[by] is None for entry in stations) else by
    asked = compile_query(
        _by(count().joined(public(stations), on, how=how, at_most=most_of(stations, on)), by),
        RIDES,
        unit,
        Neighbours.PRESENCE,
    )
    tallies = collected(engine, {"rides": rides}, asked)
    rows = looked_up([read(row, RIDES) for row in rides], stations, on, left=how == "left")
    assert dict(zip(group_of(asked), tallies.columns[0], strict=True)) == bounded(rows, by, group_of(asked), unit)


def _by(query: Query, key: str | None) -> Query:
    return query.by(key) if key else query


attaches = given(
    rides=rides_of,
    riders=riders_of,
    first=st.sampled_from(["rides", "riders"]),
    how=st.sampled_from(["inner", "left"]),
    most=st.sampled_from([{}, {"rides": 1, "riders": 1}, {"rides": 2}, {"riders": 3}]),
    by=st.sampled_from([None, "home"]),
    unit=st.sampled_from(UNITS[1:]),
)


@settings(max_examples=40)
@attaches
def test_a_private_join_gives_what_loops_give(
    engine: Open,
    *,
    rides: list[Row],
    riders: list[Row],
    first: str,
    how: Any,
    most: dict[str, int],
    by: str | None,
    unit: ProtectPersons,
) -> None:
    other = "riders" if first == "rides" else "rides"
    query = _by(count().of(first).joined(other, "rider", how=how).where("age >= 0.5 OR age IS NULL"), by)
    asked = compile_query(query, RIDES, unit, Neighbours.PRESENCE, PrivateTables(SCHEMAS, most))
    tallies = collected(engine, {"rides": rides, "riders": riders}, asked)
    used = {"rides": ["rider"], "riders": ["rider", *(["home"] if by else []), "age"]}
    # the order in which the columns of a question are read
    used[first] = asked_columns(asked, used[first])
    cells = {name: [read(row, SCHEMAS[name]) for row in rows] for name, rows in (("rides", rides), ("riders", riders))}
    ours = truncated(cells[first], used[first], most[first], "") if first in most else cells[first]
    theirs = truncated(cells[other], used[other], most.get(other, unit.rows), other)
    rows = [row for row in attached(ours, theirs, left=how == "left") if row["age"] is None or row["age"] >= 0.5]
    assert dict(zip(group_of(asked), tallies.columns[0], strict=True)) == bounded(rows, by, group_of(asked), unit)


def asked_columns(asked: Compiled, used: list[str]) -> list[str]:
    """The columns read of the first table, in the order of the statement."""
    from sfumato.dp.rows.dialect import DUCKDB, StorageType
    from sfumato.dp.rows.statement import SqlTable, Statement

    name = asked.table or ""
    stored = {table: dict.fromkeys(schema.columns, StorageType.TEXT) for table, schema in SCHEMAS.items()}
    beside = {table: SqlTable(table, columns) for table, columns in stored.items()}
    source = SqlTable(name, stored[name], beside=beside)
    names = Statement(asked.request(SECRET), SCHEMAS[name], source, DUCKDB).read
    assert set(names) == set(used)
    return names


# One row, or one person, more or less.


def distance(one: Sequence[Any], other: Sequence[Any]) -> int:
    found = 0
    for left, right in zip(one, other, strict=True):
        found += int(abs(left - right)) if isinstance(left, int) else int(abs(left - right).sum())
    return found


@settings(max_examples=10)
@given(rides=rides_of, stations=stations_of, keys=st.sampled_from(sorted(KEYS)), how=st.sampled_from(["inner", "left"]))
def test_one_row_moves_a_one_to_many_join_by_its_copies(
    tmp_path_factory: pytest.TempPathFactory, rides: list[Row], stations: list[Cells], keys: str, how: Any
) -> None:
    """Each row is left out once, and each is given the values of each other: presence and value neighbours."""
    folder, on = tmp_path_factory.mktemp("near"), KEYS[keys]
    table, most = public(stations), most_of(stations, on)
    for by in (None, "lift"):
        if by and all(entry[by] is None for entry in stations):
            continue
        for side in Neighbours:
            asked = compile_query(_by(count().joined(table, on, how=how, at_most=most), by), RIDES, ProtectRows(), side)
            assert asked.norms.rows == most
            counts = _counter(asked, folder)
            before = counts(rides)
            for place in range(len(rides)):
                rest = [*rides[:place], *rides[place + 1 :]]
                near = [rest] if side is Neighbours.PRESENCE else [[*rest, rides[0]], [*rest, rides[-1]]]
                for one in near:
                    assert distance(before, counts(one)) <= asked.norms.l1(1, 1)


def _counter(asked: Compiled, folder: Path) -> Callable[[list[Row]], Sequence[Any]]:
    def counts(rows: list[Row]) -> Sequence[Any]:
        opened = _csv(folder / "rides.csv", rows, RIDES)
        return opened.collect(asked.request(SECRET)).columns[0]

    return counts


@settings(max_examples=10)
@given(
    rides=rides_of,
    riders=riders_of,
    how=st.sampled_from(["inner", "left"]),
    by=st.sampled_from([None, "home", "station"]),
    unit=st.sampled_from(UNITS[1:]),
    other=st.data(),
)
def test_one_person_moves_a_private_join_by_what_the_unit_says(
    tmp_path_factory: pytest.TempPathFactory,
    rides: list[Row],
    riders: list[Row],
    how: Any,
    by: str | None,
    unit: ProtectPersons,
    other: st.DataObject,
) -> None:
    """A person leaves both tables, or has other values in both; nobody else's rows are counted otherwise."""
    folder = tmp_path_factory.mktemp("near")
    csvs: Open = lambda tables: {  # noqa: E731
        name: _csv(folder / f"{name}.csv", rows, SCHEMAS[name]) for name, rows in tables.items()
    }
    query = _by(count().also(sum("age")).of("rides").joined("riders", "rider", how=how), by)
    for side in Neighbours:
        asked = compile_query(query, RIDES, unit, side, PrivateTables(SCHEMAS, {"riders": 2}))
        before = collected(csvs, {"rides": rides, "riders": riders}, asked).columns
        for person in ("p1", "1:p"):
            if side is Neighbours.PRESENCE:
                near = {name: [row for row in rows if row["rider"] != person] for name, rows in _both(rides, riders)}
            else:
                drawn = {"rides": other.draw(rides_of), "riders": other.draw(riders_of)}
                near = {
                    name: [
                        {**drawn[name][place % len(drawn[name])], "rider": person} if row["rider"] == person else row
                        for place, row in enumerate(rows)
                    ]
                    for name, rows in _both(rides, riders)
                }
            near = {name: rows or [dict.fromkeys(SCHEMAS[name].columns)] for name, rows in near.items()}
            after = collected(csvs, near, asked).columns
            assert distance(before[0], after[0]) <= asked.norms.l1(1, 1)
            total = asked.estimators[1]
            reach = total.reach  # type: ignore[attr-defined]
            assert distance(before[1], after[1]) <= asked.norms.l1(*reach)


@settings(max_examples=10)
@given(rides=rides_of, riders=riders_of, how=st.sampled_from(["inner", "left"]))
def test_one_person_moves_features_of_a_join_by_one_row(
    tmp_path_factory: pytest.TempPathFactory, rides: list[Row], riders: list[Row], how: Any
) -> None:
    """Rows of both tables become one row of each person, so that a person who leaves both is one row less."""
    folder = tmp_path_factory.mktemp("features")
    csvs: Open = lambda tables: {  # noqa: E731
        name: _csv(folder / f"{name}.csv", rows, SCHEMAS[name]) for name, rows in tables.items()
    }
    people = per_person(n=count(), total=sum("age"), at=last("station", order="fare"), at_most=3)
    query = count().also(sum("n")).also(sum("total")).by("at").of(people)
    query = replace(query, table="rides").joined("riders", "rider", how=how)
    asked = compile_query(query, RIDES, UNITS[1], Neighbours.PRESENCE, PrivateTables(SCHEMAS))
    assert (asked.norms.rows, asked.norms.groups) == (1, 1)
    before = collected(csvs, {"rides": rides, "riders": riders}, asked).columns
    for person in ("p1", "p2", "1:p"):
        near = {name: [row for row in rows if row["rider"] != person] for name, rows in _both(rides, riders)}
        near = {name: rows or [dict.fromkeys(SCHEMAS[name].columns)] for name, rows in near.items()}
        after = collected(csvs, near, asked).columns
        for estimator, one, other in zip(asked.estimators, before, after, strict=True):
            assert distance(one, other) <= asked.norms.l1(*estimator.reach)  # type: ignore[attr-defined]


def _both(rides: list[Row], riders: list[Row]) -> list[tuple[str, list[Row]]]:
    return [("rides", rides), ("riders", riders)]


def test_persons_are_counted_after_a_join(tmp_path: Path) -> None:
    rides = [{"rider": name, "station": "1", "line": "a", "fare": "1"} for name in ("p1", "p1", "p2", "p3", "")]
    riders = [{"rider": name, "home": "2", "age": "3"} for name in ("p1", "p2", "p2", "p9")]
    asked = compile_query(
        count_distinct("rider").of("rides").joined("riders", "rider"),
        RIDES,
        ProtectPersons("rider", 3, 1),
        Neighbours.PRESENCE,
        PrivateTables(SCHEMAS),
    )
    tables: Any = {"rides": rides, "riders": riders}
    found = collected(
        lambda given: {name: _csv(tmp_path / f"{name}.csv", rows, SCHEMAS[name]) for name, rows in given.items()},
        tables,
        asked,
    )
    assert list(found.columns[0]) == [2]
