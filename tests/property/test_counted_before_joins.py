"""Persons that are counted before a join, by sorting, in places or by the engine, against loops over joined rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_joins import SECRET, Cells, attached, bounded, truncated

from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.questions.joining import PrivateTables
from sfumato.dp.questions.query import count, count_distinct
from sfumato.dp.questions.request import Tallies
from sfumato.dp.rows.dialect import DUCKDB
from sfumato.dp.rows.duckdb import DuckRows
from sfumato.dp.rows.statement import Statement
from sfumato.dp.rows.together import Together
from sfumato.promise.unit import Neighbours, ProtectPersons
from sfumato.schema import Attribute, Kind, Role, Schema

RIDES = Schema(
    {
        "rider": Attribute("rider", Role.IDENTIFIER, Kind.INTEGER, missing=("", "-1")),
        "fare": Attribute("fare", Role.OTHER, Kind.INTEGER, bounds=(0, 3)),
    }
)
RIDERS = Schema(
    {
        "rider": Attribute("rider", Role.IDENTIFIER, Kind.INTEGER, missing=("", "-1")),
        "home": Attribute("home", Role.OTHER, Kind.CATEGORY, categories=("a", "b")),
        "age": Attribute("age", Role.OTHER, Kind.INTEGER, bounds=(0, 2)),
    }
)
SCHEMAS = {"rides": RIDES, "riders": RIDERS}
DECLARED = (1, 3)  # bounds of persons, which some are beyond
LEAST, MOST = -(2**63), 2**63 - 1
PEOPLE = (1, 2, 3, 2**40, LEAST, MOST, -1, None)
rides_of = st.lists(st.tuples(st.sampled_from(PEOPLE), st.sampled_from((0, 1, 2, None))), min_size=1, max_size=25)
riders_of = st.lists(
    st.tuples(st.sampled_from(PEOPLE), st.sampled_from(("a", "b", "c", None)), st.sampled_from((0, 1, 2, 5, None))),
    min_size=1,
    max_size=10,
)
CONDITIONS: dict[str | None, Callable[[Cells], bool]] = {
    None: bool,  # a row is never empty
    "age >= 1": lambda row: row["age"] is not None and row["age"] >= 1,
    "fare = 1": lambda row: row["fare"] == 1,
    "rider > 1": lambda row: row["rider"] is not None and row["rider"] > 1,
    "rider > 1 AND fare = 1": lambda row: row["rider"] is not None and row["rider"] > 1 and row["fare"] == 1,
    "age = fare": lambda row: row["age"] is not None and row["age"] == row["fare"],
    "age IS NULL": lambda row: row["age"] is None,
}
EARLY = {None, "age >= 1", "fare = 1", "rider > 1", "rider > 1 AND fare = 1", "age IS NULL"}
asked_of = st.fixed_dictionaries(
    {
        "how": st.sampled_from(["inner", "left"]),
        "by": st.sampled_from([None, "home", "age"]),
        "where": st.sampled_from(list(CONDITIONS)),
        "most": st.sampled_from([{"riders": 1}, {"rides": 2, "riders": 1}, {"riders": 2}]),
        "rows": st.sampled_from([1, 2, 20]),
        "bounds": st.sampled_from([None, DECLARED]),
    }
)


def schemas_of(asked: dict[str, Any]) -> dict[str, Schema]:
    """The schemas with the bounds of persons that are declared, if any are."""
    persons = {name: replace(schema.columns["rider"], bounds=asked.get("bounds")) for name, schema in SCHEMAS.items()}
    return {name: Schema({**schema.columns, "rider": persons[name]}) for name, schema in SCHEMAS.items()}


def compiled(asked: dict[str, Any]) -> Compiled:
    query = count().also(count_distinct("rider")).of("rides").joined("riders", "rider", how=asked["how"])
    query = query.where(asked["where"]) if asked["where"] else query
    query = query.by(asked["by"]) if asked["by"] else query
    unit, schemas = ProtectPersons("rider", asked["rows"], 1), schemas_of(asked)
    return compile_query(query, schemas["rides"], unit, Neighbours.PRESENCE, PrivateTables(schemas, asked["most"]))


def opened(rides: list[Any], riders: list[Any], schemas: dict[str, Schema] = SCHEMAS) -> dict[str, DuckRows]:
    kinds: dict[str, Any] = {"rider": pl.Int64, "fare": pl.Int64, "home": pl.String, "age": pl.Int64}
    frames = {
        name: pl.DataFrame(rows, schema={column: kinds[column] for column in SCHEMAS[name].columns}, orient="row")
        for name, rows in (("rides", rides), ("riders", riders))
    }
    return {name: DuckRows.of_frame(frame, schemas[name]) for name, frame in frames.items()}


def collected(
    asked: Compiled, rides: list[Any], riders: list[Any], schemas: dict[str, Schema] = SCHEMAS
) -> tuple[Tallies, Tallies]:
    """The tallies where persons are counted here, and where the engine does all."""
    with Together().look(opened(rides, riders, schemas)) as found:
        joint = found.rows
        assert isinstance(joint, DuckRows)
        assert joint._source.sorts_persons
        sorted_here = joint.collect(asked.request(SECRET))
        joint._source = replace(joint._source, sorts_persons=False)
        return sorted_here, joint.collect(asked.request(SECRET))


def loops(asked: dict[str, Any], groups: list[Any], rides: list[Any], riders: list[Any]) -> dict[Any, int]:
    """The rows of all persons joined, kept and bounded one after the other."""
    ours, theirs = (
        [dict(zip(schema.columns, row, strict=True)) for row in rows]
        for schema, rows in ((RIDES, rides), (RIDERS, riders))
    )
    for row in (*ours, *theirs):
        row["rider"] = None if row["rider"] == -1 else row["rider"]
    read = ["age"] if asked["where"] and "age" in asked["where"] else []
    names = [name for name in RIDERS.columns if name in {"rider", asked["by"], *read}]
    if "rides" in asked["most"]:
        kept = [*(["fare"] if asked["where"] and "fare" in asked["where"] else []), "rider"]
        ours = truncated(ours, _in_order(asked, kept), asked["most"]["rides"], "")
    theirs = truncated(theirs, names, asked["most"]["riders"], "riders")
    rows: list[Cells] = [
        row for row in attached(ours, theirs, left=asked["how"] == "left") if CONDITIONS[asked["where"]](row)
    ]
    return bounded(rows, asked["by"], groups, ProtectPersons("rider", asked["rows"], 1))


def _in_order(asked: dict[str, Any], names: list[str]) -> list[str]:
    where = compiled(asked).request(SECRET).where
    first = [name for name in (where.columns if where else ()) if name in names]
    return list(dict.fromkeys([*first, *names]))


@settings(max_examples=40)
@given(asked=asked_of, rides=rides_of, riders=riders_of)
def test_persons_counted_before_a_join_give_what_loops_give(
    asked: dict[str, Any], rides: list[Any], riders: list[Any]
) -> None:
    question = compiled(asked)
    sorted_here, in_engine = collected(question, rides, riders, schemas_of(asked))
    assert sorted_here == in_engine
    groups = [cells[0] if asked["by"] else () for cells in sorted_here.cells]
    found = loops(asked, groups, rides, riders)
    assert list(sorted_here.columns[0]) == [found[group] for group in groups]


@pytest.mark.parametrize("by", [None, "home"])
@pytest.mark.parametrize("where", CONDITIONS)
def test_rows_are_counted_before_the_join_where_a_condition_reads_one_side(where: str | None, by: str | None) -> None:
    """Conditions of both sides, and a limit on the rows before a condition on them, need the joined rows."""
    for most in ({"riders": 1}, {"rides": 2, "riders": 1}, {"riders": 2}):
        asked = compiled({"how": "inner", "by": by, "where": where, "most": most, "rows": 2})
        with Together().look(opened([(1, 1)], [(1, "a", 1)])) as found:
            statement = Statement(asked.request(SECRET), RIDES, found.rows._source, DUCKDB)  # type: ignore[attr-defined]
        early = where in EARLY and most["riders"] == 1 and not ("rides" in most and "fare" in (where or ""))
        assert len(statement.prepared) == 1 + early


@settings(max_examples=8)
@given(asked=asked_of, rides=rides_of, riders=riders_of)
def test_one_person_moves_counts_before_a_join_by_what_the_unit_says(
    asked: dict[str, Any], rides: list[Any], riders: list[Any]
) -> None:
    """A person leaves both tables; nobody else's rows are counted otherwise."""
    question = compiled(asked)
    schemas = schemas_of(asked)
    before: Any = collected(question, rides, riders, schemas)[0].columns[0]
    for person in (1, MOST):
        near = [[row for row in rows if row[0] != person] for rows in (rides, riders)]
        ours, theirs = near[0] or [(None, None)], near[1] or [(None, None, None)]
        after: Any = collected(question, ours, theirs, schemas)[0].columns[0]
        moved = sum(abs(one - other) for one, other in zip(before, after, strict=True))
        assert moved <= question.norms.l1(1, 1)
