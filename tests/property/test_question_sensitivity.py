"""How far one unit moves the exact numbers of a question, tried on all neighbours of small tables.

The numbers come from the engine, as they do for an answer; what noise is scaled to must be no less than any change, and
for some tables no more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.questions.estimators import OneNumber
from sfumato.dp.questions.query import Query
from sfumato.dp.rows.duckdb import DuckRows
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit
from sfumato.schema import Attribute, Kind, Role, Schema

SCHEMA = Schema(
    {
        "rider": Attribute("rider", Role.IDENTIFIER),
        "zone": Attribute("zone", Role.OTHER, Kind.CATEGORY, categories=("x", "y")),
        "fare": Attribute("fare", Role.OTHER, Kind.INTEGER, bounds=(-1, 3)),
    }
)
Row = tuple[str, str | None, int | None]
CELLS = (("x", 2), ("y", -1), (None, None))  # what a changed row may hold
TABLES: list[list[Row]] = [
    [("a", "x", 3), ("a", "y", -1), ("a", "x", 2), ("b", "y", 3)],
    [("a", "x", 1), ("a", "x", 2), ("b", "x", 2), ("b", "y", 3), ("c", "x", None)],
    [("a", "x", 0), ("a", "x", 1), ("b", "x", 2)],
    [("a", "y", 3), ("a", "y", 3), ("a", "y", 3)],
]


def neighbours_of(table: list[Row], unit: Unit, neighbours: Neighbours) -> Iterator[list[Row]]:
    """Yield what the table can become: one unit gone, or its rows with any other values."""
    persons = isinstance(unit, ProtectPersons)
    units = [[place for place, row in enumerate(table) if row[0] == name] for name in sorted({r[0] for r in table})]
    for places in units if persons else [[place] for place in range(len(table))]:
        rest = [row for place, row in enumerate(table) if place not in places]
        if neighbours is Neighbours.PRESENCE:
            yield rest
            continue
        for values in itertools.product(CELLS, repeat=len(places)):
            yield [*rest, *((table[place][0], *value) for place, value in zip(places, values, strict=True))]


def opened(table: list[Row]) -> DuckRows:
    """Return a table as the engine holds it; several questions ask the same one, since it takes long to begin."""
    frame = pl.DataFrame(table, schema={"rider": pl.String, "zone": pl.String, "fare": pl.Int64}, orient="row")
    return DuckRows.of_frame(frame, SCHEMA)


def numbers(compiled: Compiled, rows: DuckRows) -> list[dict[Any, Any]]:
    """Return the exact numbers of every measure, by group."""
    found = rows.collect(compiled.request(b"secret"))
    return [dict(zip(found.cells, column, strict=True)) for column in found.columns]


def moves(before: dict[Any, Any], after: dict[Any, Any]) -> list[int]:
    return [abs(int(before.get(cell, 0)) - int(after.get(cell, 0))) for cell in before | after]


QUESTIONS: dict[str, Query] = {
    "values": sf.count_distinct("fare"),
    "values in groups": sf.count_distinct("fare").by("zone"),
    "values and rows": sf.count_distinct("fare").also(sf.count()).by("zone"),
    "values of two columns": sf.count_distinct("fare").also(sf.count_distinct("zone")),
}
RIDERS = sf.per_person(
    rides=sf.count(), total=sf.sum("fare"), usual=sf.mean("fare"), where=sf.last("zone", order="fare"), at_most=2
)
OF_PERSONS: dict[str, Query] = {
    "sums of persons": sf.sum("rides").also(sf.sum("total")).of(RIDERS.where("fare > -1")),
    "persons in groups": sf.count().also(sf.sum("total")).also(sf.count_distinct("rides")).by("where").of(RIDERS),
    "persons by a feature": sf.sum("total").by("rides").of(RIDERS).where("usual >= 2"),
}
UNITS: dict[str, Unit] = {
    "rows": ProtectRows(),
    "persons of two rows": ProtectPersons("rider", 2, 1),
    "persons in two groups": ProtectPersons("rider", 2, 2),
}


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
def test_no_neighbour_moves_a_number_farther_than_its_noise_allows(unit: Unit, neighbours: Neighbours) -> None:
    try_all_neighbours(QUESTIONS, unit, neighbours)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_person_moves_features_by_no_more_than_one_row(neighbours: Neighbours) -> None:
    try_all_neighbours(OF_PERSONS, ProtectPersons("rider", 2, 2), neighbours)


def try_all_neighbours(queries: dict[str, Query], unit: Unit, neighbours: Neighbours) -> None:
    asked = {name: compile_query(query, SCHEMA, unit, neighbours) for name, query in queries.items()}
    for table in TABLES:
        rows = opened(table)
        before = {name: numbers(compiled, rows) for name, compiled in asked.items()}
        for other in neighbours_of(table, unit, neighbours):
            near = opened(other)
            for name, compiled in asked.items():
                check_moves(name, compiled, before[name], numbers(compiled, near))


def check_moves(name: str, compiled: Compiled, before: list[dict[Any, Any]], after: list[dict[Any, Any]]) -> None:
    place = 0
    for estimator in compiled.estimators:
        assert isinstance(estimator, OneNumber)
        norms = estimator.norms(compiled.norms)
        moved = moves(before[place], after[place])
        assert sum(moved) <= norms.l1(*estimator.reach), name
        assert sum(move**2 for move in moved) <= norms.l2_squared(*estimator.reach), name
        place += len(estimator.measures)


@pytest.mark.parametrize(
    "query, unit, neighbours, farthest",
    [
        (sf.count_distinct("fare"), ProtectPersons("rider", 2, 1), Neighbours.PRESENCE, 2),
        (sf.count_distinct("fare"), ProtectPersons("rider", 2, 1), Neighbours.VALUE, 2),
        (sf.count_distinct("fare").by("zone"), ProtectPersons("rider", 1, 2), Neighbours.PRESENCE, 2),
        (sf.count_distinct("fare").by("zone"), ProtectRows(), Neighbours.VALUE, 2),
        (sf.sum("total").of(RIDERS), ProtectPersons("rider", 2, 2), Neighbours.PRESENCE, 6),
        (sf.count().by("where").of(RIDERS), ProtectPersons("rider", 2, 2), Neighbours.VALUE, 2),
    ],
)
def test_some_neighbour_moves_a_number_as_far(query: Query, unit: Unit, neighbours: Neighbours, farthest: int) -> None:
    compiled = compile_query(query, SCHEMA, unit, neighbours)
    (estimator,) = compiled.estimators
    assert isinstance(estimator, OneNumber)
    found = 0
    for table in TABLES:
        before = numbers(compiled, opened(table))[0]
        tried = neighbours_of(table, unit, neighbours)
        found = max(found, *(sum(moves(before, numbers(compiled, opened(other))[0])) for other in tried))
    assert found == farthest == estimator.norms(compiled.norms).l1(*estimator.reach)
