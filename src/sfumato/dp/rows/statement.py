"""A request as SQL: cells read as declared, rows that count, persons bounded by a keyed hash, exact sums.

One text in all dialects, from the inside out: cells, then the rows of the condition with their keys and positions, then
the declared groups, then each person's groups and rows, then the tallies (Wilson et al. 2020, "Differentially private
SQL with bounded user contribution", section 3). A person's rows are chosen by that person's own values and a secret
only, so that one person's removal moves nobody else's rows. Every row that counts is hashed and ranked, of persons over
a limit and of others alike, and all ladders come from one pass over the rows, so that the work says little about who is
there (Haeberlen, Pierce & Narayan 2011); where rows alone are counted, nothing tells them apart and none is hashed.
"""

# ruff: noqa: S608  # names are quoted, numbers are numbers, and texts are parameters

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from sfumato.dp.questions.lookup import Attach
from sfumato.dp.questions.request import (
    CandidateGrid,
    ColumnGrid,
    Distinct,
    Measure,
    PositionCounts,
    Present,
    Request,
    Total,
)
from sfumato.dp.questions.request import Persons as PersonCount
from sfumato.dp.questions.stages import Derive, made_by, read_from_rows
from sfumato.dp.rows.bounding import Bounding
from sfumato.dp.rows.condition import Compiler
from sfumato.dp.rows.dialect import Dialect, StorageType, double_parts, quote_name, readable, refuse_stored
from sfumato.dp.rows.eager import Prepared, counted_before, select_counts
from sfumato.dp.rows.group_keys import NARROW, in_group, select_key, told_key
from sfumato.dp.rows.joins import Public
from sfumato.dp.rows.positions import check_grid, place_among, position_of
from sfumato.dp.rows.stages import select_stage
from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.promise.unit import ProtectPersons
from sfumato.schema import Attribute, Kind, Schema

SMALL = 2**20  # below it, no number of rows there can be overflows 64 bits
WIDE = 2**84  # beyond it, many of them could overflow 128 bits


@dataclass(frozen=True)
class SqlTable:
    """A table in an engine's words: FROM what, how its columns are stored, and how their names are quoted.

    `secret` is the SQL of the secret where the engine holds it; without it, the secret travels as a parameter. `zones`
    are those in which moments were written, where the engine does not know; others are taken to be in UTC. `beside` are
    other private tables that the same connection may read, and `public` gives the SQL of a public table that the engine
    holds already; without it, public tables travel as parameters. Where it `sorts_persons`, persons that are
    integers are counted by sorting them before the statement runs, which then finds their counts in tables.

    >>> SqlTable("rides", {"age": StorageType.WHOLE}).name("age")
    '"age"'
    """

    table: str
    stored: dict[str, StorageType]
    name: Callable[[str], str] = quote_name
    secret: str | None = None
    zones: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, SqlTable] = field(default_factory=dict)
    public: Public | None = None
    sorts_persons: bool = False


class Statement:
    """The SQL of one request and its parameters; the texts of a request and its secret are never part of the SQL.

    >>> from sfumato.dp.questions.request import Count
    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> from sfumato.promise.unit import ProtectRows
    >>> Statement(Request((Count(),), ProtectRows()), Schema(), SqlTable("rides", {}), DUCKDB).sql
    'SELECT COUNT(*) FROM (SELECT 1 AS one FROM (SELECT 1 AS one FROM rides) AS cells) AS kept'
    """

    def __init__(self, request: Request, schema: Schema, source: SqlTable, dialect: Dialect) -> None:
        self.request, self.source, self.dialect = request, source, dialect
        self.schema = request.declared(schema)
        self.parameters: dict[str, object] = {}
        self.prepared: list[Prepared] = []
        self.grids = list(
            dict.fromkeys(m.grid for m in request.measures if isinstance(m, Present | Total | PositionCounts))
        )
        self.distinct = list(dict.fromkeys(m.column for m in request.measures if isinstance(m, Distinct)))
        self.values = [f"v{place}" for place in range(len(self.distinct))]
        self.read = read_from_rows(request.stages, self._columns())
        self.columns = [*self.read, *(attribute.name for attribute in made_by(request.stages))]
        self.used = {*self._columns(), *(name for stage in request.stages for name in stage.uses)}
        self.present = list(self.read)  # the columns that are there so far
        self.keys = [f"k{place}" for place in range(len(request.keys))]
        self.positions = [f"p{place}" for place in range(len(self.grids))]
        self._early = counted_before(request, self.schema) if self._weighted else None
        self._where = None if self._early and self._early.where else request.where
        self._kept = self._bounded_rows(self._grouped_rows(self._counted_rows(self._staged())))

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
        keys = [told_key(key, name, self) for key, name in zip(self.request.keys, self.keys, strict=True)]
        values = [*keys, *told, *measures, *(["COUNT(*)"] if places or not measures else [])]
        return f"SELECT {', '.join(values)} FROM ({self._kept}) AS kept{self._grouping(places)}"

    @property
    def _weighted(self) -> bool:
        """Whether the rows of a person are counted before they are bounded: nothing then tells them apart."""
        return isinstance(self.request.unit, ProtectPersons) and not self.positions and not self.values

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
        names += [*(grid.column for grid in self.grids), *self.distinct]
        names += [request.unit.person] if isinstance(request.unit, ProtectPersons) else []
        return list(dict.fromkeys(names))

    def _cells(self) -> str:
        raw, cells = [], []
        for place, name in enumerate(self.read):
            attribute, stored = self.attribute(name), self.source.stored[name]
            refuse_stored(name, stored, attribute.kind)
            raw.append(f"{self.source.name(name)} AS r{place}")
            cells.append(f"{self._cell(f'r{place}', stored, attribute)} AS c{place}")
        inner = _select(raw, self.source.table)
        return _select(cells, f"({inner}) AS raw") if cells else inner

    def _staged(self) -> str:
        """Return the rows after all stages of the question; some joins get the persons before them, counted."""
        stages = self.request.stages
        if self._early is None:
            return self._after(len(stages))
        early, last = self._early, len(stages) - 1
        return select_stage(early.join, last, select_counts(early, lambda: self._after(last), self), self)

    def _after(self, number: int) -> str:
        """Return the rows after so many stages."""
        rows = self._cells()
        for place, stage in enumerate(self.request.stages[:number]):
            rows = select_stage(stage, place, rows, self)
            self.present += [made.name for made in stage.makes if made.name in self.used or isinstance(stage, Derive)]
        return rows

    def prepare(self, select: Callable[[], str], more_than: int = 0, bounds: tuple[int, int] | None = None) -> str:
        """Return the name of a table with the persons that `select` finds in more rows than so many, and their number.

        The engine makes it before the statement runs; the selection has parameters of its own.
        """
        outer, self.parameters = self.parameters, {}
        name = f"persons{len(self.prepared)}"
        self.prepared.append(Prepared(name, select(), self.parameters, more_than, bounds))
        self.parameters = outer
        return name

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
        values = [f"{select_key(key, self)} AS {name}" for key, name in zip(request.keys, self.keys, strict=True)]
        values += [f"{self._position(grid)} AS {name}" for grid, name in zip(self.grids, self.positions, strict=True)]
        values += [f"{self.cell(column)} AS {name}" for column, name in zip(self.distinct, self.values, strict=True)]
        if isinstance(unit, ProtectPersons):
            values.append(f"{self._person(unit.person)} AS person")
        values += ["n"] if self._early else []
        if self._where:
            values.append(f"{Compiler(self).counts(self._where.condition)} AS counts")
        return f"{_select(values, f'({cells}) AS cells')}{self.dialect.fence if self._where else ''}"

    def _grouped_rows(self, counted: str) -> str:
        """Return the rows that count and lie in a group: not those with a missing key, nor those without a person."""
        tests = ["counts"] if self._where else []
        tests += [in_group(key, name, self) for key, name in zip(self.request.keys, self.keys, strict=True)]
        tests += ["person IS NOT NULL"] if isinstance(self.request.unit, ProtectPersons) else []
        return f"SELECT * FROM ({counted}) AS counted WHERE {' AND '.join(tests)}" if tests else counted

    def _bounded_rows(self, grouped: str) -> str:
        """Return the rows that are left when every person has at most some rows in each of at most some groups."""
        unit = self.request.unit
        if not isinstance(unit, ProtectPersons):
            return grouped
        rows, groups = unit.bounds(grouped=bool(self.keys))
        hashed = {name: self._hashed(column, name) for column, name in zip(self.distinct, self.values, strict=True)}
        bounding = Bounding(self.dialect, self.keys, self.positions, self.secret, hashed)
        if self._weighted:
            least = min(rows, self._early.most) if self._early else rows
            once = self._early is not None
            return bounding.bound_counts(grouped, least, None if self._one_group_each else groups, counted=once)
        alone = len(self.values) == 1 and all(isinstance(m, Distinct | PersonCount) for m in self.request.measures)
        return (bounding.bound_values if alone else bounding.bound_rows)(grouped, rows, groups)

    @property
    def _one_group_each(self) -> bool:
        """Whether a person's rows lie in one group by design: the keys are cells of the one row that is attached."""
        once = [stage for stage in self.request.stages if isinstance(stage, Attach) and stage.theirs == 1]
        attached = {made.name for stage in once if len(stage.keys) == 1 for made in stage.makes}
        return bool(self.keys) and {key.column for key in self.request.keys} <= attached

    def _hashed(self, column: str, name: str) -> str:
        """Return what is hashed of a value: of a double, which engines spell in their own ways, its two whole parts."""
        if self.attribute(column).kind not in {Kind.NUMBER, Kind.TIMESTAMP}:
            return name
        return double_parts(name, self.dialect)

    def _person(self, column: str) -> str:
        """Return whose row it is: an integer where the column holds such, which is soon counted, else a text."""
        whole = self.attribute(column).kind is Kind.INTEGER
        return self.cell(column) if whole else self.dialect.text.format(x=self.cell(column))

    def _position(self, grid: ColumnGrid | CandidateGrid) -> str:
        """Return a value's place on the grid; halves go up in every engine."""
        check_grid(grid, self.attribute(grid.column).kind)
        placed = place_among if isinstance(grid, CandidateGrid) else position_of
        return placed(self.cell(grid.column), grid, self.dialect)  # type: ignore[arg-type]  # of its own kind

    def _measure(self, measure: Measure) -> str:
        if isinstance(measure, Present):
            return f"COUNT({self.positions[self.grids.index(measure.grid)]})"
        if isinstance(measure, Total):
            return self._total(measure)
        if isinstance(measure, Distinct):
            return f"COUNT(DISTINCT {self.values[self.distinct.index(measure.column)]})"
        persons = isinstance(measure, PersonCount) and isinstance(self.request.unit, ProtectPersons)
        if self._weighted:  # a row for each person and group, which says how many rows count
            return "COUNT(*)" if persons else "SUM(weight)"
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
