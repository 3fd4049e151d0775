"""A request carried out in any engine: statements run, exact integers laid into the groups.

The numbers are secret: nothing here is printed, saved or put into an error (Haeberlen, Pierce & Narayan 2011).
Every declared group is answered whether or not it has rows, so that which groups exist tells nothing (Wilson et al.
2020, section 3.3, on why undeclared groups need a threshold).
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from sfumato.dp.questions.clock import time_words
from sfumato.dp.questions.expression import EPOCH
from sfumato.dp.questions.request import Binned, Cell, Cells, Key, PositionCounts, Request, Tallies, Unknown
from sfumato.dp.rows.dialect import Dialect
from sfumato.dp.rows.eager import Prepared
from sfumato.dp.rows.group_keys import PLACED, key_value
from sfumato.dp.rows.statement import SqlTable, Statement
from sfumato.schema import Kind, Schema

UNREADABLE = "the rows could not be read as declared"
Found = tuple[Cell, ...]
Execute = Callable[[str, dict[str, object]], Sequence[tuple[Any, ...]]]


def collect(
    request: Request,
    schema: Schema,
    source: SqlTable,
    dialect: Dialect,
    execute: Execute,
    prepare: Callable[[Prepared], None] | None = None,
) -> Tallies:
    """Return the exact answers to a request; `execute` runs a statement with its parameters.

    An engine that sorts persons says how it will `prepare` a table that the statement reads.

    >>> from sfumato.dp.questions.request import Count
    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> from sfumato.promise.unit import ProtectRows
    >>> request = Request((Count(),), ProtectRows())
    >>> collect(request, Schema(), SqlTable("rides", {}), DUCKDB, lambda statement, parameters: [(7,)]).columns
    [[7]]
    """
    statement = Statement(request, schema, source, dialect)
    if prepare is not None:
        for table in statement.prepared:
            prepare(table)
    rows = execute(statement.sql, statement.parameters)
    width, ladders = len(request.keys), statement.ladders
    levels = range(width + 1, width + 2 * len(ladders), 2)  # where a row says whether it speaks of all positions
    whole = [row for row in rows if all(row[level] for level in levels)]
    cells, places = arrange(request, request.declared(schema), [row[:width] for row in whole])
    found = {
        name: _ladders([row for row in rows if not row[level]], places, len(cells), (width, level - 1))
        for name, level in zip(ladders, levels, strict=True)
    }
    columns: list[Sequence[int] | Sequence[npt.NDArray[np.int64]]] = []
    place = width + 2 * len(ladders)
    for measure in request.measures:
        if isinstance(measure, PositionCounts):
            counts = found[statement.positions[statement.grids.index(measure.grid)]]
            columns.append(Ladders(counts, measure.grid.steps))
        else:
            columns.append(_numbers(whole, places, len(cells), place))
            place += 1
    return Tallies(cells, columns)


def check(request: Request, schema: Schema, source: SqlTable, dialect: Dialect) -> None:
    """Refuse a request that contradicts the schema or how the columns are stored; no row is looked at.

    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> from sfumato.promise.unit import ProtectPersons
    >>> check(Request((), ProtectPersons("rider")), Schema(), SqlTable("rides", {}), DUCKDB)
    Traceback (most recent call last):
    sfumato.errors.InputError: the schema has no column 'rider'
    """
    _ = Statement(request, schema, source, dialect).sql


def _numbers(found: Sequence[tuple[Any, ...]], places: dict[Found, int], groups: int, place: int) -> list[int]:
    width = len(next(iter(places), ()))
    numbers = [0] * groups
    for row in found:
        numbers[places[row[:width]]] = int(row[place] or 0)
    return numbers


class Ladders(Sequence[npt.NDArray[np.int64]]):
    """The ladder of every group, made when it is looked at: of a million groups only those that leave are.

    >>> Ladders([{2: 7}, {}], steps=3)[0]
    array([0, 0, 7, 0])
    """

    def __init__(self, counts: list[dict[int, int]], steps: int) -> None:
        self._counts, self._steps = counts, steps

    def __len__(self) -> int:
        return len(self._counts)

    @overload
    def __getitem__(self, place: int) -> npt.NDArray[np.int64]: ...
    @overload
    def __getitem__(self, place: slice) -> Ladders: ...
    def __getitem__(self, place: int | slice) -> npt.NDArray[np.int64] | Ladders:
        if isinstance(place, slice):
            return Ladders(self._counts[place], self._steps)
        ladder = np.zeros(self._steps + 1, dtype=np.int64)
        for position, count in self._counts[place].items():
            ladder[position] = count
        return ladder


def _ladders(
    counted: Sequence[tuple[Any, ...]], places: dict[Found, int], groups: int, columns: tuple[int, int]
) -> list[dict[int, int]]:
    """Return how many rows of each group lie at each position; rows without a value lie at none."""
    width, position = columns
    counts: list[dict[int, int]] = [{} for _ in range(groups)]
    for row in counted:
        if row[position] is not None:
            counts[places[row[:width]]][int(row[position])] = int(row[-1])
    return counts


def arrange(request: Request, schema: Schema, found: Sequence[Found]) -> tuple[list[Cells], dict[Found, int]]:
    """Return the groups' cells in the order they are answered, and the place of every group the engine found.

    Declared and binned keys come in full; with an unknown key among them, only the groups found do, sorted.

    >>> from sfumato.dp.questions.request import Count, Declared
    >>> from sfumato.promise.unit import ProtectRows
    >>> request = Request((Count(),), ProtectRows(), (Declared("sex", ("F", "M")),))
    >>> arrange(request, Schema.from_roles(quasi=["sex"]), [("M",)])
    ([('F',), ('M',)], {('M',): 1})
    """
    names = [_names(key, schema) for key in request.keys]
    shown = {row: tuple(_show_cell(name, cell) for name, cell in zip(names, row, strict=True)) for row in found}
    if any(isinstance(key, Unknown) for key in request.keys):
        cells = [shown[row] for row in sorted(shown)]
    else:
        cells = list(itertools.product(*(key.cells for key in request.keys if not isinstance(key, Unknown))))
    places = {group: place for place, group in enumerate(cells)}
    return cells, {row: places[group] for row, group in shown.items()}


def _names(key: Key, schema: Schema) -> dict[Cell, Cell] | Kind | None:
    """Return the public cell of every value an engine may hold, or for an unknown key the kind of its values."""
    kind = schema.columns[key.column].kind
    if isinstance(key, Unknown):
        return kind
    if isinstance(key, Binned):
        return dict(enumerate(key.cells))
    if kind in PLACED:
        return dict(enumerate(key.cells))
    return {key_value(cell, kind, key.column): cell for cell in key.cells}


def _show_cell(names: dict[Cell, Cell] | Kind | None, value: Cell) -> Cell:
    if isinstance(names, dict):
        return names[value]
    if names is Kind.DATE:
        return (EPOCH + dt.timedelta(days=int(value))).isoformat()
    if names is Kind.TIMESTAMP:
        return time_words(float(value))
    return value
