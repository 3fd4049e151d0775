"""Features of persons in every engine: what a slow reading of the same cells gives, row by row."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_cells import READ, SCHEMA, Open, Row, engine, on_spark, plain, rows_of_people

import sfumato as sf
from sfumato.dp.questions.compiled import compile_query
from sfumato.dp.questions.grids import NumberLine, line_of
from sfumato.dp.questions.request import ColumnGrid, Count, Declared, Measure, PositionCounts, Present, Request, Total
from sfumato.promise.unit import Neighbours, ProtectPersons
from sfumato.schema import Attribute, Kind, Role, Schema

if TYPE_CHECKING:
    from sfumato.dp.questions.people import People

__all__ = ["engine", "on_spark"]  # fixtures
CAP = 3
NAME = 'na"me %s'
UNIT = ProtectPersons("person", CAP, 1)
PEOPLE = sf.per_person(
    rides=sf.count(),
    fares=sf.count("fare"),
    names=sf.count_distinct(NAME),
    hours=sf.sum("hour"),
    total=sf.sum("fare"),
    usual=sf.mean("fare"),
    least=sf.min("fare"),
    latest=sf.max("day"),
    opening=sf.first(NAME, order="hour"),
    closing=sf.last("fare", order="day"),
)
CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "TRUE": lambda _: True,
    "hour > 1": lambda row: (READ["hour"](row["hour"]) or 0) > 1,
}
FARE = line_of(SCHEMA, "fare")
HOUR = line_of(SCHEMA, "hour")


def step_of(line: NumberLine, value: float) -> int:
    """The value on its grid, in steps from 0."""
    inside = min(max(float(value), line.grid.low), line.grid.high)
    place = math.floor((inside - line.grid.low) * line.grid.steps / (line.grid.high - line.grid.low) + 0.5)
    return place + line.first


def clamped(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def features_of(rows: list[Row]) -> dict[str, Any]:
    """The features of one person, from rows read one by one."""
    cells = [{name: read(row[name]) for name, read in READ.items()} for row in rows]
    fares = [cell["fare"] for cell in cells if cell["fare"] is not None]
    hours = [cell["hour"] for cell in cells if cell["hour"] is not None]
    days = [cell["day"] for cell in cells if cell["day"] is not None]
    opening = sorted((c["hour"], c[NAME].encode()) for c in cells if c["hour"] is not None and c[NAME] is not None)
    closing = sorted((-c["day"], c["fare"]) for c in cells if c["day"] is not None and c["fare"] is not None)
    places = [step_of(FARE, fare) - FARE.first for fare in fares]
    most = CAP * FARE.grid.steps
    return {
        "rides": min(len(rows), CAP),
        "fares": min(len(fares), CAP),
        "names": min(len({cell[NAME] for cell in cells} - {None}), CAP),
        "hours": clamped(sum(step_of(HOUR, hour) for hour in hours), 0, 5 * CAP) if hours else None,
        "total": clamped(sum(step_of(FARE, fare) for fare in fares), CAP * FARE.first, most) * FARE.step
        if fares
        else None,
        "usual": FARE.grid.low + sum(places) / len(places) * FARE.step if places else None,
        "least": min(fares, default=None),
        "latest": max(days, default=None),
        "opening": opening[0][1].decode() if opening else None,
        "closing": closing[0][1] if closing else None,
    }


def asked(people: People, condition: str, *queries: sf.Query) -> Request:
    whole = queries[0]
    for query in queries[1:]:
        whole = whole.also(query)
    return compile_query(whole.of(people.where(condition)), DAYS, UNIT, Neighbours.PRESENCE).request(b"secret")


DAYS = Schema({**SCHEMA.columns, "day": Attribute("day", Role.OTHER, Kind.DATE, bounds=None, missing=("", "?", "-9"))})


def slow(request: Request, persons: list[dict[str, Any]]) -> list[Any]:
    return [measure_of(measure, persons) for measure in request.measures]


def measure_of(measure: Measure, persons: list[dict[str, Any]]) -> Any:
    if isinstance(measure, Count):
        return len(persons)
    assert isinstance(measure, Present | Total | PositionCounts)
    grid = measure.grid
    assert isinstance(grid, ColumnGrid)
    there = [person[grid.column] for person in persons if person[grid.column] is not None]
    width = grid.high - grid.low
    places = [math.floor((min(max(x, grid.low), grid.high) - grid.low) * grid.steps / width + 0.5) for x in there]
    if isinstance(measure, Present):
        return len(places)
    if isinstance(measure, Total):
        return sum((place - measure.origin) ** measure.power for place in places)
    return [places.count(step) for step in range(grid.steps + 1)]


def by_person(rows: list[Row], counts: Callable[[Row], bool]) -> list[dict[str, Any]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["person"] not in ("", "?", None) and counts(row):
            found[str(row["person"])].append(row)
    return [features_of(own) for own in found.values()]


def check(open_: Open, rows: list[Row], condition: str) -> None:
    persons = by_person(rows, CONDITIONS[condition])
    numbers = [sf.sum(name) for name in ("rides", "fares", "names", "hours", "total", "usual", "least", "closing")]
    request = asked(PEOPLE, condition, sf.count(), *numbers, sf.median("usual"))
    cells, columns = plain(open_(rows).collect(request))
    assert cells == [()]
    assert [column[0] for column in columns] == slow(request, persons)


persons_and_conditions = given(rows=rows_of_people, condition=st.sampled_from(sorted(CONDITIONS)))


@settings(max_examples=40)
@persons_and_conditions
def test_every_engine_gives_the_features_of_the_slow_reading(engine: Open, rows: list[Row], condition: str) -> None:
    check(engine, rows, condition)
    persons = by_person(rows, CONDITIONS[condition])
    request = asked(PEOPLE, condition, sf.count().by("opening"))
    found = dict(zip(*plain_pair(engine(rows).collect(request)), strict=True))
    wanted = [person["opening"] for person in persons if person["opening"] is not None]
    assert found == {(name,): wanted.count(name) for name in wanted}
    request = asked(PEOPLE, condition, sf.count().by("rides"))
    assert isinstance(request.keys[0], Declared)
    found = dict(zip(*plain_pair(engine(rows).collect(request)), strict=True))
    assert found == {(n,): sum(person["rides"] == n for person in persons) for n in range(1, CAP + 1)}


@pytest.mark.long
@settings(max_examples=10)  # each takes Spark some seconds
@persons_and_conditions
def test_spark_gives_the_features_of_the_slow_reading(on_spark: Open, rows: list[Row], condition: str) -> None:
    check(on_spark, rows, condition)


def plain_pair(tallies: Any) -> tuple[list[Any], list[Any]]:
    cells, columns = plain(tallies)
    return cells, columns[-1]


@pytest.mark.parametrize("wanted", [(4.0, 0.5), (1.25, 1.0)])
def test_a_tie_is_broken_by_the_value(engine: Open, wanted: tuple[float, float]) -> None:
    later, earlier = wanted
    rows: list[Row] = [
        {"person": "p", "hour": "1", "fare": str(fare), "day": day, NAME: "a"}
        for fare, day in ((6.0, "2020-01-02"), (later, "2020-01-02"), (earlier, "2020-01-01"), (5.0, "2020-01-01"))
    ]
    people = sf.per_person(first=sf.first("fare", order="day"), last=sf.last("fare", order="day"))
    request = asked(people, "TRUE", sf.sum("first"), sf.sum("last"))
    _, columns = plain(engine(rows).collect(request))
    assert columns == [[step_of(FARE, earlier)], [step_of(FARE, later)]]
