"""Every engine gives what a slow reading of the same cells gives, and no person moves another's rows."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_cells import (
    DAYS,
    NAME,
    READ,
    REAL,
    SCHEMA,
    TEXTS,
    WHOLE,
    Open,
    Row,
    day,
    engine,
    on_spark,
    plain,
    real,
    rows_of_people,
    whole,
    word,
)

from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.request import (
    Binned,
    CandidateGrid,
    ColumnGrid,
    Count,
    Declared,
    Distinct,
    Measure,
    Persons,
    PositionCounts,
    Present,
    Request,
    Total,
    Unknown,
)
from sfumato.dp.rows.condition import Compiler
from sfumato.dp.rows.dialect import StorageType
from sfumato.dp.rows.statement import SqlTable, Statement
from sfumato.engines.spark.queries import SPARK
from sfumato.promise.unit import ProtectPersons, ProtectRows, Unit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["engine", "on_spark"]  # fixtures
Holds = Callable[[Row], bool | None]


def clamped(value: float | None, low: float, high: float) -> float | None:
    if value is None:
        return None
    value = min(max(value, low), high)
    return 0.0 if abs(value) < 1e-15 else value


def position(value: float | None, grid: ColumnGrid | CandidateGrid) -> int | None:
    if value is None:
        return None
    if isinstance(grid, CandidateGrid):
        return 2 * sum(rung < value for rung in grid.values) + (value in grid.values)
    value = min(max(float(value), grid.low), grid.high)
    return math.floor((value - grid.low) * grid.steps / (grid.high - grid.low) + 0.5)


def is_below(left: float | None, right: float | None) -> bool | None:
    return None if left is None or right is None else left < right


def no(value: bool | None) -> bool | None:
    return None if value is None else not value


def both(*values: bool | None) -> bool | None:
    return False if False in values else (None if None in values else True)


def either(*values: bool | None) -> bool | None:
    return no(both(*(no(value) for value in values)))


def denied(holds: Holds, row: Row) -> bool | None:
    return no(holds(row))


def one_of_two(first: Holds, second: Holds, row: Row) -> bool | None:
    return either(first(row), second(row))


def quotient(row: Row) -> float | None:
    top, bottom = clamped(real(row["fare"]), -2, 6), clamped(whole(row["hour"]), 0, 5)
    return None if top is None or bottom is None or bottom - 3 == 0 else (top + 1) / (bottom - 3)


def fits(row: Row, pattern: str) -> bool | None:
    text = word(row['na"me %s'])
    return None if text is None else re.fullmatch(pattern, text, re.DOTALL) is not None


def has(value: object, *among: object) -> bool | None:
    return None if value is None else value in among


CONDITIONS: dict[str, Holds] = {
    "TRUE": lambda _: True,
    "hour > 1": lambda row: is_below(1, whole(row["hour"])),
    "hour IN (0, 2, 5)": lambda row: has(whole(row["hour"]), 0, 2, 5),
    "hour IS NULL": lambda row: whole(row["hour"]) is None,
    "fare < 0.5": lambda row: is_below(real(row["fare"]), 0.5),
    "hour < fare": lambda row: is_below(whole(row["hour"]), real(row["fare"])),
    "(fare + 1) / (hour - 3) < 0.25": lambda row: is_below(quotient(row), 0.25),
    "day < '2020-02-29'": lambda row: is_below(day(row["day"]), 18321),
    "day IS NOT NULL": lambda row: day(row["day"]) is not None,
    f"{NAME} = 'it''s'": lambda row: has(word(row['na"me %s']), "it's"),
    f"{NAME} IN ('a', 'é', '50%')": lambda row: has(word(row['na"me %s']), "a", "é", "50%"),
    f"{NAME} LIKE '%a%'": lambda row: fits(row, ".*a.*"),
    f"{NAME} LIKE '_\\_b' OR {NAME} LIKE '_o%s'".replace("\\", ""): lambda row: either(
        fits(row, "..b"), fits(row, ".o.*s")
    ),
    f"{NAME} > 'a'": lambda row: is_text_above(word(row['na"me %s']), "a"),
    f"CAST({NAME} AS INTEGER) < 3": lambda row: is_below(whole(word(row['na"me %s'])), 3),
}


def is_text_above(text: str | None, other: str) -> bool | None:
    return None if text is None else text.encode() > other.encode()


@st.composite
def conditions(draw: st.DrawFn) -> tuple[str, Callable[[Row], bool | None]]:
    first, second = draw(st.sampled_from(sorted(CONDITIONS))), draw(st.sampled_from(sorted(CONDITIONS)))
    one, two = CONDITIONS[first], CONDITIONS[second]
    form = draw(st.sampled_from(["one", "not", "and", "or", "and not"]))
    return {
        "one": (first, one),
        "not": (f"NOT ({first})", lambda row: no(one(row))),
        "and": (f"({first}) AND ({second})", lambda row: both(one(row), two(row))),
        "or": (f"({first}) OR ({second})", lambda row: either(one(row), two(row))),
        "and not": (f"({first}) AND NOT ({second})", lambda row: both(one(row), no(two(row)))),
    }[form]


HOURS = Declared("hour", (0, 1, 2, 3, 7))
FARES = Binned("fare", (-2.0, -1.25, 0.5, 1.0, 1000.0))
EVEN = Binned("fare", tuple(tenth / 10 for tenth in range(-20, 61)))
GIVEN = Declared("fare", (-1.25, 0.5, 5.0, 1000.0))
WORDS = Declared('na"me %s', ("a", "é", 'say "x"', "none"))
KEYS: dict[str, tuple[Declared | Binned | Unknown, ...]] = {
    "none": (),
    "hours": (HOURS,),
    "fares": (FARES,),
    "even": (EVEN,),
    "given": (GIVEN,),
    "both": (WORDS, HOURS),
    "unknown": (Unknown('na"me %s'), HOURS),
    "days": (Unknown("day"),),
}
FARE, HOUR, DAY = (
    ColumnGrid("fare", -2.0, 6.0, 16),
    ColumnGrid("hour", 0.0, 4.0, 2**32),
    ColumnGrid("day", 10000.0, 20000.0, 7),
)
RUNGS = CandidateGrid("fare", (-2.0, -1.25, 0.0, 0.5, 5.0, 1e15))
MEASURES: tuple[Measure, ...] = (
    Count(),
    Persons(),
    Present(FARE),
    Total(FARE),
    Total(HOUR, 2**31, 2),
    Total(HOUR, 5, 1),
    PositionCounts(FARE),
    PositionCounts(DAY),
    Distinct("fare"),
    Distinct('na"me %s'),
    Distinct("hour"),
    PositionCounts(CandidateGrid("fare", (-1.25, 0.5, 0.75, 5.0))),
    PositionCounts(CandidateGrid("hour", (2.5,))),
    PositionCounts(RUNGS),
)
UNITS: tuple[Unit, ...] = (ProtectRows(), ProtectPersons("person", 2, 2), ProtectPersons("person", 1, 1))


def key_of(row: Row, key: Declared | Binned | Unknown) -> Any:
    value = READ[key.column](row[key.column])
    if value is None:
        return None
    if isinstance(key, Declared):
        return value if value in key.cells else None
    if isinstance(key, Unknown):
        return str(dt.date(1970, 1, 1) + dt.timedelta(days=value)) if key.column == "day" else value
    if not key.edges[0] <= value <= key.edges[-1]:
        return None
    return max(edge for edge in key.edges[:-1] if edge <= value)


def digest(request: Request, values: list[object]) -> str:
    parts = ["-" if value is None else f"{len(str(value).encode())}:{value}" for value in values]
    return hashlib.sha256(f"{request.secret.hex()}:{len(values) - 1}:{''.join(parts)}".encode()).hexdigest()


def hashed_key(key: Declared | Binned | Unknown, cell: Any) -> object:
    if isinstance(key, Binned):
        return key.edges.index(cell)
    if key is GIVEN:
        return GIVEN.cells.index(cell)
    if key.column == "day":
        return (dt.date.fromisoformat(cell) - dt.date(1970, 1, 1)).days
    return cell


def spelled(value: Any) -> object:
    """What is hashed of a value: of a double its whole part and the first bits of the rest."""
    if not isinstance(value, float):
        return value
    if abs(value) >= 9e15:
        return "-" if value < 0 else "+"
    return f"{math.floor(value)}:{math.floor((value - math.floor(value)) * 2.0**52)}"


Kept = tuple[tuple[Any, ...], str | None, list[int | None], list[Any]]


def distinct_columns(request: Request) -> list[str]:
    return list(dict.fromkeys(m.column for m in request.measures if isinstance(m, Distinct)))


def values_alone(request: Request) -> bool:
    """Whether nothing but persons and the values of one column is asked for: then a value counts once for a person."""
    return len(distinct_columns(request)) == 1 and all(isinstance(m, Distinct | Persons) for m in request.measures)


def slow_rows(request: Request, rows: list[Row], counts: Callable[[Row], bool | None]) -> list[Kept]:
    """Return each row that is left: its group, its person, its positions and the values that are told apart."""
    grids = list(dict.fromkeys(m.grid for m in request.measures if isinstance(m, Present | Total | PositionCounts)))
    kept: list[Kept] = []
    for row in rows:
        group = tuple(key_of(row, key) for key in request.keys)
        if counts(row) and None not in group:
            person = row["person"] if row["person"] not in ("", "?") else None
            places = [position(READ[grid.column](row[grid.column]), grid) for grid in grids]
            kept.append((group, person, places, [READ[column](row[column]) for column in distinct_columns(request)]))
    if isinstance(request.unit, ProtectRows):
        return kept
    persons = {row[1] for row in kept} - {None}
    return [row for person in persons for row in of_one_person([row for row in kept if row[1] == person], request)]


def of_one_person(kept: list[Kept], request: Request) -> list[Kept]:
    """Return the rows of one person that are left when the groups and the rows of each are bounded."""
    assert isinstance(request.unit, ProtectPersons)

    def keys_of(row: Kept) -> list[object]:
        return [row[1], *(hashed_key(key, cell) for key, cell in zip(request.keys, row[0], strict=True))]

    def rank(row: Kept) -> Any:
        hashed = digest(request, [*keys_of(row), *row[2], *map(spelled, row[3])])
        alone = values_alone(request) and row[3] == [None]
        return alone, hashed, [(value is not None, value) for value in row[3]]

    groups: dict[str, list[Kept]] = defaultdict(list)
    for row in kept:
        group = groups[digest(request, keys_of(row))]
        if not (values_alone(request) and row in group):
            group.append(row)
    chosen = sorted(groups)[: request.unit.groups if request.keys else 1]
    return [row for name in chosen for row in sorted(groups[name], key=rank)[: request.unit.rows]]


def slow(request: Request, rows: list[Row], counts: Callable[[Row], bool | None]) -> tuple[list[Any], list[list[Any]]]:
    grids = list(dict.fromkeys(m.grid for m in request.measures if isinstance(m, Present | Total | PositionCounts)))
    by_group: dict[tuple[Any, ...], list[Kept]] = defaultdict(list)
    for row in slow_rows(request, rows, counts):
        by_group[row[0]].append(row)
    cells: list[tuple[Any, ...]] = [()]
    for key in request.keys:
        cells = [(*cell, more) for cell in cells for more in (() if isinstance(key, Unknown) else key.cells)]
    if any(isinstance(key, Unknown) for key in request.keys):
        cells = sorted(by_group)
    unit = request.unit
    return cells, [
        [
            len({row[3][distinct_columns(request).index(measure.column)] for row in by_group[cell]} - {None})
            if isinstance(measure, Distinct)
            else slow_measure(measure, by_group[cell], grids, unit)
            for cell in cells
        ]
        for measure in request.measures
    ]


def slow_measure(
    measure: Count | Persons | Present | Total | PositionCounts,
    rows: list[Kept],
    grids: list[ColumnGrid | CandidateGrid],
    unit: Unit,
) -> Any:
    if isinstance(measure, Count):
        return len(rows)
    if isinstance(measure, Persons):
        return len({row[1] for row in rows}) if isinstance(unit, ProtectPersons) else len(rows)
    places = [place for row in rows if (place := row[2][grids.index(measure.grid)]) is not None]
    if isinstance(measure, Present):
        return len(places)
    if isinstance(measure, Total):
        return sum((place - measure.origin) ** measure.power for place in places)
    return [places.count(step) for step in range(measure.grid.steps + 1)]


questions = given(
    rows=rows_of_people,
    condition=conditions(),
    keys=st.sampled_from(sorted(KEYS)),
    unit=st.sampled_from(UNITS),
    measures=st.lists(st.sampled_from(MEASURES), min_size=1, max_size=4).map(tuple)
    | st.sampled_from([(Count(),), (Persons(), Count())])  # nothing tells a person's rows apart
    | st.sampled_from([(Distinct("fare"),), (Persons(), Distinct('na"me %s'))]),
)


@questions
def test_every_engine_gives_what_the_slow_reading_gives(
    engine: Open,
    rows: list[Row],
    condition: tuple[str, Callable[[Row], bool | None]],
    keys: str,
    unit: Unit,
    measures: tuple[Measure, ...],
) -> None:
    where = parse_predicate(condition[0], SCHEMA)
    request = Request(measures, unit, KEYS[keys], where, b"secret")
    assert plain(engine(rows).collect(request)) == slow(request, rows, condition[1])


@pytest.mark.long
@settings(max_examples=40)  # each takes Spark a second or two
@questions
def test_spark_gives_what_the_slow_reading_gives(
    on_spark: Open,
    rows: list[Row],
    condition: tuple[str, Callable[[Row], bool | None]],
    keys: str,
    unit: Unit,
    measures: tuple[Measure, ...],
) -> None:
    request = Request(measures, unit, KEYS[keys], parse_predicate(condition[0], SCHEMA), b"secret")
    assert plain(on_spark(rows).collect(request)) == slow(request, rows, condition[1])


@pytest.mark.parametrize("ansi", ["true", pytest.param("false", marks=pytest.mark.long)])
def test_every_condition_holds_on_spark_for_the_rows_of_the_slow_reading(spark: SparkSession, ansi: str) -> None:
    """All conditions, their negations and pairs of them in one statement, since Spark takes a second for each."""
    pools = {"person": ("p1",), "hour": WHOLE, "fare": REAL, "day": DAYS, 'na"me %s': TEXTS}
    rows: list[Row] = [{name: pool[i * (7 + i % 3) % len(pool)] for name, pool in pools.items()} for i in range(500)]
    names = {name: f"v{place}" for place, name in enumerate(pools)}
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], [*names.values()])
    frame.createOrReplaceTempView("everybody")
    asked: dict[str, Holds] = dict(CONDITIONS)
    asked |= {f"NOT ({text})": partial(denied, holds) for text, holds in CONDITIONS.items()}
    for (one, first), (two, second) in itertools.pairwise(list(asked.items())):
        asked[f"({one}) OR ({two})"] = partial(one_of_two, first, second)
    everything = parse_predicate(" OR ".join(CONDITIONS), SCHEMA)
    source = SqlTable("everybody", dict.fromkeys(names, StorageType.TEXT), names.__getitem__)
    statement = Statement(Request((Count(),), ProtectRows(), (), everything), SCHEMA, source, SPARK)
    tests = [f"COUNT_IF({Compiler(statement).counts(parse_predicate(text, SCHEMA).condition)})" for text in asked]
    text = f"SELECT {', '.join(tests)} FROM ({statement._cells()})"  # noqa: S608  # our own words
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        (found,) = spark.sql(text, args=statement.parameters).collect()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")
    wanted = {text: sum(holds(row) is True for row in rows) for text, holds in asked.items()}
    assert dict(zip(asked, found, strict=True)) == wanted


persons_and_others = given(
    rows=rows_of_people,
    keys=st.sampled_from(["none", "hours", "fares", "both"]),
    person=st.sampled_from(["p1", "p2", "1:p"]),
    measures=st.sampled_from(
        [(Count(), Persons(), Present(FARE), Total(FARE), PositionCounts(DAY)), (Count(), Persons())]
    ),
    data=st.data(),
)


@settings(max_examples=25)  # each opens the rows four times
@persons_and_others
def test_one_person_moves_nobody_and_order_does_not_matter(
    engine: Open, rows: list[Row], keys: str, person: str, measures: tuple[Measure, ...], data: st.DataObject
) -> None:
    nobody_moves(engine, rows, keys, person, measures, data)


@pytest.mark.long
@settings(max_examples=10)
@persons_and_others
def test_one_person_moves_nobody_on_spark(
    on_spark: Open, rows: list[Row], keys: str, person: str, measures: tuple[Measure, ...], data: st.DataObject
) -> None:
    nobody_moves(on_spark, rows, keys, person, measures, data)


def nobody_moves(
    engine: Open, rows: list[Row], keys: str, person: str, measures: tuple[Measure, ...], data: st.DataObject
) -> None:
    request = Request(measures, ProtectPersons("person", 1, 2), KEYS[keys], secret=b"secret")
    all_rows = plain(engine(rows).collect(request))
    assert plain(engine(data.draw(st.permutations(rows))).collect(request)) == all_rows
    alone = [row for row in rows if row["person"] == person]
    others = [row for row in rows if row["person"] != person]
    _, without = plain(engine(others or [dict.fromkeys(SCHEMA.columns)]).collect(request))
    _, only = plain(engine(alone or [dict.fromkeys(SCHEMA.columns)]).collect(request))
    for j in range(len(measures)):
        for i in range(len(all_rows[0])):
            assert all_rows[1][j][i] == _added(without[j][i], only[j][i])
    assert sum(only[0]) <= 2 * (keys != "none") or sum(only[0]) <= 1


def _added(one: Any, other: Any) -> Any:
    return one + other if isinstance(one, int) else [a + b for a, b in zip(one, other, strict=True)]
