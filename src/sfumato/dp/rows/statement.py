"""A request as SQL: cells read as declared, rows that count, persons bounded by a keyed hash, exact sums.

One text in all dialects, from the inside out: cells, then the rows of the condition with their keys and positions, then
the declared groups, then each person's groups and rows, then the tallies (Wilson et al. 2020, "Differentially private
SQL with bounded user contribution", section 3). A person's rows are chosen by that person's own values and a secret
only, so that one person's removal moves nobody else's rows. Every row is hashed and ranked, of persons over a limit and
of others alike, and all ladders come from one pass over the rows, so that the work says little about who is there
(Haeberlen, Pierce & Narayan 2011).
"""

# ruff: noqa: S608  # names are quoted, numbers are numbers, and texts are parameters

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from sfumato.dp.questions.clock import seconds_of
from sfumato.dp.questions.expression import EPOCH
from sfumato.dp.questions.request import (
    Binned,
    Cell,
    ColumnGrid,
    Declared,
    Key,
    Measure,
    PositionCounts,
    Present,
    Request,
    Total,
)
from sfumato.dp.questions.request import Persons as PersonCount
from sfumato.dp.rows.condition import Compiler
from sfumato.dp.rows.dialect import Dialect, StorageType, double, quote_name, readable, refuse_stored
from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.promise.unit import ProtectPersons
from sfumato.schema import Attribute, Kind, Schema

SMALL = 2**20  # below it, no number of rows there can be overflows 64 bits
NARROW = 2**62  # beyond it a product needs integers wider than 64 bits
WIDE = 2**84  # beyond it, many of them could overflow 128 bits
FARTHEST = 1e250
NUMERIC = {Kind.INTEGER, Kind.NUMBER, Kind.DATE, Kind.TIMESTAMP}
NUMERIC_WORDS = "integer, number, date or timestamp"


@dataclass(frozen=True)
class SqlTable:
    """A table in an engine's words: FROM what, how its columns are stored, and how their names are quoted.

    `secret` is the SQL of the secret where the engine holds it; without it, the secret travels as a parameter. `zones`
    are those in which moments were written, where the engine does not know; others are taken to be in UTC.

    >>> SqlTable("rides", {"age": StorageType.WHOLE}).name("age")
    '"age"'
    """

    table: str
    stored: dict[str, StorageType]
    name: Callable[[str], str] = quote_name
    secret: str | None = None
    zones: Mapping[str, str] = field(default_factory=dict)


class Statement:
    """The SQL of one request and its parameters; the texts of a request and its secret are never part of the SQL.

    >>> from sfumato.dp.questions.request import Count
    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> from sfumato.promise.unit import ProtectRows
    >>> Statement(Request((Count(),), ProtectRows()), Schema(), SqlTable("rides", {}), DUCKDB).sql
    'SELECT COUNT(*) FROM (SELECT 1 AS one FROM (SELECT 1 AS one FROM rides) AS cells) AS kept'
    """

    def __init__(self, request: Request, schema: Schema, source: SqlTable, dialect: Dialect) -> None:
        self.request, self.schema, self.source, self.dialect = request, schema, source, dialect
        self.parameters: dict[str, object] = {}
        self.grids = list(
            dict.fromkeys(m.grid for m in request.measures if isinstance(m, Present | Total | PositionCounts))
        )
        self.columns = self._columns()
        self.keys = [f"k{place}" for place in range(len(request.keys))]
        self.positions = [f"p{place}" for place in range(len(self.grids))]
        self._kept = self._bounded_rows(self._grouped_rows(self._counted_rows(self._cells())))

    @property
    def ladders(self) -> list[str]:
        """The positions whose ladders are asked for, each once."""
        asked = [self.positions[self.grids.index(m.grid)] for m in self.request.measures if _is_ladder(m)]
        return list(dict.fromkeys(asked))

    @property
    def sql(self) -> str:
        """The one statement: a row for each group, and one for each group and position of every ladder.

        Its columns are the keys, then for every ladder the position and whether the row speaks of all positions (1) or
        of one (0), then every measure but ladders, then the number of rows.
        """
        places = self.ladders
        measures = [self._measure(m) for m in self.request.measures if not _is_ladder(m)]
        told = [part for place in places for part in (place, f"GROUPING({place})")]
        values = [*self.keys, *told, *measures, *(["COUNT(*)"] if places or not measures else [])]
        return f"SELECT {', '.join(values)} FROM ({self._kept}) AS kept{self._grouping(places)}"

    def _grouping(self, places: list[str]) -> str:
        if not places:
            return f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        sets = [self.keys, *([*self.keys, place] for place in places)]
        return " GROUP BY GROUPING SETS (" + ", ".join(f"({', '.join(names)})" for names in sets) + ")"

    def bind(self, value: object) -> str:
        """Return the placeholder of a new parameter."""
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return self.dialect.holder.format(name)

    def one_of(self, values: Sequence[str]) -> str:
        """Return the rest of a test that a text is one of some."""
        if self.dialect.lists:
            return f"= ANY({self.bind(list(values))})"
        return f"IN ({', '.join(self.bind(value) for value in values)})"

    def text(self, value: str) -> str:
        """Return a text as a parameter."""
        return f"CAST({self.bind(value)} AS {self.dialect.text_type})"

    def secret(self) -> str:
        """Return the secret that keys the choice of a person's rows, as SQL."""
        return self.source.secret or self.text(self.request.secret.hex())

    def cell(self, column: str) -> str:
        """Return the name of a column's cell."""
        return f"c{self.columns.index(column)}"

    def attribute(self, column: str) -> Attribute:
        """Return the declaration of a column, or say that there is none."""
        if column not in self.schema.columns:
            raise InputError(f"the schema has no column '{column}'{suggestion(column, self.schema.columns)}")
        return self.schema.columns[column]

    def _columns(self) -> list[str]:
        request = self.request
        names = [*(request.where.columns if request.where else ()), *(key.column for key in request.keys)]
        names += [grid.column for grid in self.grids]
        names += [request.unit.person] if isinstance(request.unit, ProtectPersons) else []
        return list(dict.fromkeys(names))

    def _cells(self) -> str:
        raw, cells = [], []
        for place, name in enumerate(self.columns):
            attribute, stored = self.attribute(name), self.source.stored[name]
            refuse_stored(name, stored, attribute.kind)
            raw.append(f"{self.source.name(name)} AS r{place}")
            cells.append(f"{self._cell(f'r{place}', stored, attribute)} AS c{place}")
        inner = _select(raw, self.source.table)
        return _select(cells, f"({inner}) AS raw") if cells else inner

    def read_cell(self, x: str, stored: StorageType, attribute: Attribute) -> str:
        """Return a raw cell as answers read it: NULL where it is missing or holds no value of its type."""
        return self._cell(x, stored, attribute)

    def _cell(self, x: str, stored: StorageType, attribute: Attribute) -> str:
        written = attribute.written
        marks = readable(attribute.missing, stored, attribute.kind, written)
        if marks:
            x = f"CASE WHEN {self.dialect.as_text(x, stored)} {self.one_of(marks)} THEN NULL ELSE {x} END"
        own = replace(written, zone=written.zone or self.source.zones.get(attribute.name))
        return self.dialect.cell(x, stored, attribute.kind, own if stored is StorageType.ZONED else written)

    def _counted_rows(self, cells: str) -> str:
        """Return all rows, each with its keys, positions and person, and whether the condition holds for it."""
        request, unit = self.request, self.request.unit
        values = [f"{self._key(key)} AS {name}" for key, name in zip(request.keys, self.keys, strict=True)]
        values += [f"{self._position(grid)} AS {name}" for grid, name in zip(self.grids, self.positions, strict=True)]
        if isinstance(unit, ProtectPersons):
            values.append(f"{self.dialect.text.format(x=self.cell(unit.person))} AS person")
        if request.where:
            values.append(f"{Compiler(self).counts(request.where.condition)} AS counts")
        return f"{_select(values, f'({cells}) AS cells')}{self.dialect.fence if request.where else ''}"

    def _grouped_rows(self, counted: str) -> str:
        """Return the rows that count and lie in a group: not those with a missing key, nor those without a person."""
        tests = ["counts"] if self.request.where else []
        tests += [self._in_group(key, name) for key, name in zip(self.request.keys, self.keys, strict=True)]
        tests += ["person IS NOT NULL"] if isinstance(self.request.unit, ProtectPersons) else []
        return f"SELECT * FROM ({counted}) AS counted WHERE {' AND '.join(tests)}" if tests else counted

    def _bounded_rows(self, grouped: str) -> str:
        """Return the rows that are left when every person has at most some rows in each of at most some groups."""
        unit = self.request.unit
        if not isinstance(unit, ProtectPersons):
            return grouped
        rows, groups = unit.bounds(grouped=bool(self.keys))
        bounding = Bounding(self.dialect, self.keys, self.positions, self.secret)
        return bounding.bound_rows(grouped, rows, groups)

    def _key(self, key: Key) -> str:
        cell = self.cell(key.column)
        if not isinstance(key, Binned):
            return cell
        if self.attribute(key.column).kind not in NUMERIC:
            raise InputError(f"column '{key.column}' has no numbers to bin; declare its type as {NUMERIC_WORDS}")
        if len(key.edges) < 2 or any(a >= b for a, b in zip(key.edges, key.edges[1:], strict=False)):
            raise ParameterError(f"the edges of '{key.column}' must be two or more rising numbers")
        x = f"CAST({cell} AS {self.dialect.double})"
        inside = f"{x} >= {double(key.edges[0])} AND {x} <= {double(key.edges[-1])}"
        return f"CASE WHEN {inside} THEN {self._bin(x, key.edges)} END"

    def _bin(self, x: str, edges: tuple[float, ...]) -> str:
        """Return the number of the bin that holds a value between the edges."""
        listed = ", ".join(double(edge) for edge in edges[:-1])
        if self.dialect.lists:
            return f"width_bucket({x}, CAST(ARRAY[{listed}] AS DOUBLE PRECISION[])) - 1"
        if not _is_even(edges):
            return _bin_by_halving(x, edges, 0, len(edges) - 1)
        return _even_bin(x, edges, lambda place: self.dialect.item.format(list=listed, place=place))

    def _in_group(self, key: Key, name: str) -> str:
        if not isinstance(key, Declared):
            return f"{name} IS NOT NULL"
        kind = self.attribute(key.column).kind
        values = [key_value(cell, kind, key.column) for cell in key.cells]
        texts = [value for value in values if isinstance(value, str)]
        if texts:
            return f"{name} {self.one_of(texts)}"
        return _one_of_numbers(name, [value for value in values if not isinstance(value, str)])

    def _position(self, grid: ColumnGrid) -> str:
        """Return a value's place on the grid; halves go up in every engine."""
        _check(grid, self.attribute(grid.column).kind)
        x, width = f"CAST({self.cell(grid.column)} AS {self.dialect.double})", grid.high - grid.low
        if not grid.steps or not width:
            return f"CASE WHEN {x} IS NOT NULL THEN 0 END"
        above = f"greatest({x} - {double(grid.low)}, {double(width * 1e-30)})"  # or PostgreSQL reports an underflow
        place = f"CAST(floor({above} * {double(grid.steps)} / {double(width)} + 0.5e0) AS BIGINT)"
        low, high = f"{x} <= {double(grid.low)} THEN 0", f"{x} >= {double(grid.high)} THEN {grid.steps}"
        return f"CASE WHEN {low} WHEN {high} WHEN {x} IS NOT NULL THEN {place} END"

    def _measure(self, measure: Measure) -> str:
        if isinstance(measure, Present):
            return f"COUNT({self.positions[self.grids.index(measure.grid)]})"
        if isinstance(measure, Total):
            return self._total(measure)
        persons = isinstance(measure, PersonCount) and isinstance(self.request.unit, ProtectPersons)
        return "COUNT(DISTINCT person)" if persons else "COUNT(*)"

    def _total(self, total: Total) -> str:
        largest = max(abs(total.origin), abs(total.grid.steps - total.origin)) ** total.power
        if total.power < 1 or largest > WIDE:
            raise ParameterError(f"the total of '{total.grid.column}' would exceed 128 bits; use fewer steps")
        x = f"({self.positions[self.grids.index(total.grid)]} - {total.origin})"
        x = x if largest < NARROW else self.dialect.wide.format(x=x)
        product = " * ".join([x] * total.power)
        return f"SUM({product})" if largest < SMALL else self.dialect.total.format(x=product)


def _is_ladder(measure: Measure) -> TypeGuard[PositionCounts]:
    return isinstance(measure, PositionCounts)


def _select(values: list[str], table: str) -> str:
    return f"SELECT {', '.join(values or ['1 AS one'])} FROM {table}"


def _one_of_numbers(x: str, numbers: list[int] | list[float]) -> str:
    """Return the test that a number is one of some, neighbouring integers as one range."""
    whole = all(isinstance(number, int) for number in numbers)
    if whole and numbers and max(numbers) - min(numbers) + 1 == len(set(numbers)):
        return f"{x} BETWEEN {min(numbers)} AND {max(numbers)}"
    return (
        f"{x} IN ({', '.join(str(number) if whole else double(number) for number in numbers)})" if numbers else "FALSE"
    )


def _bin_by_halving(x: str, edges: tuple[float, ...], first: int, last: int) -> str:
    """Return the number of the bin between two edges by halving."""
    if last - first == 1:
        return str(first)
    middle = (first + last) // 2
    below, above = _bin_by_halving(x, edges, first, middle), _bin_by_halving(x, edges, middle, last)
    return f"CASE WHEN {x} < {double(edges[middle])} THEN {below} ELSE {above} END"


def _is_even(edges: tuple[float, ...]) -> bool:
    """Return whether the edges lie so evenly that a bin computed from the width is off by one at most."""
    width = (edges[-1] - edges[0]) / (len(edges) - 1)
    return all(abs(edge - edges[0] - place * width) < width / 4 for place, edge in enumerate(edges))


def _even_bin(x: str, edges: tuple[float, ...], edge: Callable[[str], str]) -> str:
    """Return the number of one of many even bins: computed from the width, then put right by the edges themselves."""
    bins = len(edges) - 1
    guess = f"floor(({x} - {double(edges[0])}) / {double((edges[-1] - edges[0]) / bins)})"
    place = f"CAST(least(greatest({guess}, 0), {bins - 1}) AS BIGINT)"
    too_far = f"{x} < {edge(place)} THEN {place} - 1"
    too_near = f"{x} >= {edge(f'{place} + 1')} THEN {place} + 1"  # beyond the last bin there is no edge: NULL
    return f"CASE WHEN {too_far} WHEN {too_near} ELSE {place} END"


def _check(grid: ColumnGrid, kind: Kind | None) -> None:
    if kind not in NUMERIC:
        raise InputError(f"column '{grid.column}' has no numbers; declare its type as {NUMERIC_WORDS}")
    width = grid.high - grid.low
    if grid.steps < 0 or not (abs(grid.low) <= FARTHEST and abs(grid.high) <= FARTHEST) or width < 0:
        raise ParameterError(f"the grid of '{grid.column}' must have steps of at least 0 between bounds within ±1e250")
    if 0 < width < 1 / FARTHEST:
        raise ParameterError(f"the bounds of '{grid.column}' lie too near; give bounds at least 1e-250 apart")


@dataclass(frozen=True)
class Bounding:
    """The rows of persons as SQL: their keys, what else the rows hold, and what gives the SQL of the secret.

    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> bounding = Bounding(DUCKDB, [], [], lambda: "$p0")
    >>> bounding.bound_rows("SELECT * FROM rides", rows=2, groups=1).endswith("WHERE nth <= 2")
    True
    """

    dialect: Dialect
    keys: list[str]
    positions: list[str]
    secret: Callable[[], str]

    def bound_rows(self, grouped: str, rows: int, groups: int) -> str:
        """Return the rows that are left of `grouped` when every person is bounded; all are hashed and ranked."""
        hashes = [f"{self._hash([], self.keys)} AS of_group"] if self.keys else []
        order = self._hash(self.keys, self.positions)
        hashes += [f"{order} AS of_row"] if order else []
        left = f"SELECT {', '.join(['*', *hashes])} FROM ({grouped}) AS grouped"
        if self.keys:
            nth = f"DENSE_RANK() OVER (PARTITION BY person ORDER BY {', '.join(['of_group', *self.keys])})"
            left = (
                f"SELECT * FROM (SELECT *, {nth} AS nth_group FROM ({left}) AS hashed) AS r WHERE nth_group <= {groups}"
            )
        by = ", ".join(["person", *self.keys])
        nth = f"ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {'of_row' if order else 'person'})"
        return f"SELECT * FROM (SELECT *, {nth} AS nth FROM ({left}) AS left_groups) AS ranked WHERE nth <= {rows}"

    def _hash(self, within: list[str], values: list[str]) -> str:
        """Return the hash by which values of a person compete: of the secret, their number, person and all values.

        Each value stands with its length. Where there is nothing to tell rows apart, nothing is hashed.
        """
        if not values:
            return ""
        head = [self.secret(), f"':{len(within + values)}:'"]
        parts = [*head, *map(self.dialect.encode, ["person", *within, *values])]
        return self.dialect.digest.format(x=" || ".join(parts))


def key_value(cell: Cell, kind: Kind | None, column: str) -> Cell:
    """Return a declared cell as the engine holds it: an integer, a double, days or a text.

    >>> key_value("1970-01-03", Kind.DATE, "day"), key_value(2.0, Kind.INTEGER, "hour"), key_value(2, None, "zip")
    (2, 2, '2')
    """
    if kind not in NUMERIC:
        return str(cell)
    try:
        if kind is Kind.DATE:
            return (dt.date.fromisoformat(cell) - EPOCH).days if isinstance(cell, str) else int(cell)
        if kind is Kind.TIMESTAMP:
            return seconds_of(cell)
        number = float(cell)
        if kind is Kind.NUMBER:
            return number
        if number.is_integer():
            return int(cell)
    except (ValueError, OverflowError):
        pass
    raise InputError(f"key '{column}': the declared cell '{cell}' is no {kind}; declare cells of the column's type")
