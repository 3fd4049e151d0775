"""A request answered row by row from Python values: the obvious twin of what engines are asked to do."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from slow_expressions import position_of, slow_truth, slow_value

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
from sfumato.dp.questions.stages import Derive, Keep
from sfumato.dp.rows.group_keys import key_value
from sfumato.promise.unit import ProtectPersons
from sfumato.schema import Kind, Schema

Row = dict[str, Any]
Group = tuple[Any, ...]
WHOLE = {Kind.INTEGER, Kind.DATE}


class SlowRow:
    """One row that counts: its group as engines hold it, its person, its positions and its values."""

    def __init__(self, row: Row, group: Group, request: Request, schema: Schema) -> None:
        self.group = group
        person = request.unit.person if isinstance(request.unit, ProtectPersons) else None
        self.person = None if person is None else row[person]
        self.places = [place_of(row[grid.column], grid) for grid in grids_of(request)]
        self.values = [held(row[column], schema.columns[column].kind) for column in distinct_of(request)]


def slow_tallies(request: Request, schema: Schema, rows: Sequence[Row]) -> tuple[list[Group], list[list[Any]]]:
    """Return the groups that are answered and, for each measure, its number in each of them."""
    declared = request.declared(schema)
    kept = [
        SlowRow(row, group, request, declared)
        for row in staged(request, rows)
        if (group := group_of(row, request, declared)) is not None
    ]
    if isinstance(request.unit, ProtectPersons):
        kept = bounded(kept, request)
    found: dict[Group, list[SlowRow]] = defaultdict(list)
    for row in kept:
        found[row.group].append(row)
    shown = [{held_key(key, cell, declared): cell for cell in cells_of(key)} for key in request.keys]
    groups: list[Group] = list(itertools.product(*shown))
    cells: list[Group] = [tuple(names[held] for names, held in zip(shown, group, strict=True)) for group in groups]
    if any(isinstance(key, Unknown) for key in request.keys):
        named = {
            tuple(names.get(held, held) for names, held in zip(shown, group, strict=True)): group for group in found
        }
        cells = sorted(named)
        groups = [named[cell] for cell in cells]
    return cells, [[number(measure, found[group], request) for group in groups] for measure in request.measures]


def staged(request: Request, rows: Sequence[Row]) -> list[Row]:
    """Return the rows after the stages and the condition."""
    current = [dict(row) for row in rows]
    for stage in request.stages:
        if isinstance(stage, Derive):
            for row in current:
                row[stage.attribute.name] = slow_value(stage.value, row)
        else:
            assert isinstance(stage, Keep)
            current = [row for row in current if slow_truth(stage.predicate.condition, row) is True]
    where = request.where
    return current if where is None else [row for row in current if slow_truth(where.condition, row) is True]


def held(value: Any, kind: Kind | None) -> Any:
    """Return a value as engines hold it: integers and days as such, seconds and other numbers as doubles."""
    place = position_of(value)
    if place is None or isinstance(place, str):
        return place
    if kind in WHOLE:
        return int(place) if float(place).is_integer() and abs(place) < 2**63 else None
    return float(place)


def cells_of(key: Any) -> Sequence[Any]:
    return () if isinstance(key, Unknown) else key.cells


def held_key(key: Any, cell: Any, schema: Schema) -> Any:
    if isinstance(key, Binned) or is_placed(key, schema):
        return key.cells.index(cell)
    return key_value(cell, schema.columns[key.column].kind, key.column)


def is_placed(key: Any, schema: Schema) -> bool:
    """Return whether declared cells are numbers or times, of which engines hold the places."""
    return isinstance(key, Declared) and schema.columns[key.column].kind in {Kind.NUMBER, Kind.TIMESTAMP}


def group_of(row: Row, request: Request, schema: Schema) -> Group | None:
    """Return the group of a row as engines hold it, or None where it is in no group or has no person."""
    if isinstance(request.unit, ProtectPersons) and row[request.unit.person] is None:
        return None
    group = []
    for key in request.keys:
        kind = schema.columns[key.column].kind
        value = held(row[key.column], kind)
        if isinstance(key, Binned) and value is not None:
            inside = key.edges[0] <= value <= key.edges[-1]
            value = max(place for place, edge in enumerate(key.edges[:-1]) if edge <= value) if inside else None
        if is_placed(key, schema) and value is not None:
            cells = [key_value(cell, kind, key.column) for cell in cells_of(key)]
            value = cells.index(value) if value in cells else None
        elif isinstance(key, Declared) and value not in {held_key(key, cell, schema) for cell in key.cells}:
            value = None
        if value is None:
            return None
        group.append(value)
    return tuple(group)


def place_of(value: Any, grid: ColumnGrid | CandidateGrid) -> int | None:
    place = position_of(value)
    if place is None or isinstance(place, str):
        return None
    if isinstance(grid, CandidateGrid):
        below = sum(other < place for other in grid.values)
        return 2 * below + (place in grid.values)
    inside, width = min(max(float(place), grid.low), grid.high), grid.high - grid.low
    return math.floor((inside - grid.low) * grid.steps / width + 0.5) if grid.steps and width else 0


def grids_of(request: Request) -> list[ColumnGrid | CandidateGrid]:
    return list(dict.fromkeys(m.grid for m in request.measures if isinstance(m, Present | Total | PositionCounts)))


def distinct_of(request: Request) -> list[str]:
    return list(dict.fromkeys(m.column for m in request.measures if isinstance(m, Distinct)))


def bounded(rows: list[SlowRow], request: Request) -> list[SlowRow]:
    """Return the rows that are left when every person is bounded, by hashes of that person's own values."""
    unit = request.unit
    assert isinstance(unit, ProtectPersons)
    alone = len(distinct_of(request)) == 1 and all(isinstance(m, Distinct | Persons) for m in request.measures)

    def digest(values: list[Any]) -> str:
        texts = ["-" if value is None else f"{len(str(value).encode())}:{value}" for value in values]
        return hashlib.sha256(f"{request.secret.hex()}:{len(values) - 1}:{''.join(texts)}".encode()).hexdigest()

    def keys_of(row: SlowRow) -> list[Any]:
        return [row.person, *row.group]

    def rank(row: SlowRow) -> Any:
        hashed = digest([*keys_of(row), *row.places, *map(spelled, row.values)])
        return alone and row.values == [None], hashed, [(value is not None, value) for value in row.values]

    left = []
    for person in {row.person for row in rows}:
        groups: dict[str, list[SlowRow]] = defaultdict(list)
        for row in (row for row in rows if row.person == person):
            group = groups[digest(keys_of(row))]
            if not (alone and any(row.values == other.values for other in group)):
                group.append(row)
        for name in sorted(groups)[: unit.groups if request.keys else 1]:
            left += sorted(groups[name], key=rank)[: unit.rows]
    return left


def spelled(value: Any) -> Any:
    """Return what is hashed of a value: of a double its whole part and the first bits of the rest."""
    if not isinstance(value, float):
        return value
    if abs(value) >= 9e15:
        return "-" if value < 0 else "+"
    return f"{math.floor(value)}:{math.floor((value - math.floor(value)) * 2.0**52)}"


def number(measure: Measure, rows: list[SlowRow], request: Request) -> Any:  # one for each measure
    """Return one exact number, or for a ladder the count of every position."""
    if isinstance(measure, Count):
        return len(rows)
    if isinstance(measure, Persons):
        return len({row.person for row in rows}) if isinstance(request.unit, ProtectPersons) else len(rows)
    if isinstance(measure, Distinct):
        return len({row.values[distinct_of(request).index(measure.column)] for row in rows} - {None})
    places = [place for row in rows if (place := row.places[grids_of(request).index(measure.grid)]) is not None]
    if isinstance(measure, Present):
        return len(places)
    if isinstance(measure, Total):
        return sum((place - measure.origin) ** measure.power for place in places)
    return [places.count(step) for step in range(measure.grid.steps + 1)]
