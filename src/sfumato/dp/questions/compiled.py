"""A question checked against a schema: what it asks of the rows, and its canonical text.

Two questions with the same canonical text are the same question, and get the same answer from the ledger.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.dp.questions.aggregate import Aggregate, AggregateFunction
from sfumato.dp.questions.clips import clipped_schema
from sfumato.dp.questions.estimators import Averaging, Choosing, Counting, Estimator, Spreading, Summing
from sfumato.dp.questions.expression import Predicate
from sfumato.dp.questions.features import PerPerson
from sfumato.dp.questions.given_keys import column_of_key, given_of
from sfumato.dp.questions.grids import (
    MOST_GROUPS,
    NumberLine,
    attribute_of,
    candidate_line,
    key_of,
    ladder_of,
    line_of,
)
from sfumato.dp.questions.joining import PrivateTables, copies_of, join_stages
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.lookup import Attach, Lookup
from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.presentation import UNCHANGED, Arrangement, ShownColumn, arrange
from sfumato.dp.questions.private_bounds import BoundChoice, rungs_of
from sfumato.dp.questions.query import Query, key_labels
from sfumato.dp.questions.relation import relate
from sfumato.dp.questions.request import (
    Binned,
    CandidateGrid,
    Cell,
    Cells,
    ColumnGrid,
    Count,
    Declared,
    Distinct,
    Key,
    Measure,
    Persons,
    PositionCounts,
    Present,
    Request,
    Total,
    Unknown,
)
from sfumato.dp.questions.stages import Stage
from sfumato.dp.share import Norms
from sfumato.dp.stored_answer import RANK_ERROR
from sfumato.errors import ParameterError, SchemaError
from sfumato.promise.unit import Neighbours, ProtectPersons, Unit, write_unit
from sfumato.schema import Kind, Schema

LEVELS = {AggregateFunction.MIN: Fraction(0), AggregateFunction.MAX: Fraction(1)}
MOST_AGGREGATES = 256
MOST_RUNGS = 10**8  # of all groups' ladders together
NOT_OF_DATES = {AggregateFunction.SUM, AggregateFunction.MEAN, AggregateFunction.VARIANCE}


@dataclass(frozen=True)
class Compiled:
    """A question ready to be asked: an estimator per aggregate, keys with their cells, a total predicate."""

    query: Query
    estimators: tuple[Estimator, ...]
    names: tuple[str, ...]
    keys: tuple[Key, ...]
    lines: tuple[NumberLine | None, ...]
    predicate: Predicate | None
    unit: Unit
    neighbours: Neighbours
    stages: tuple[Stage, ...] = ()
    arrangement: Arrangement = UNCHANGED
    table: str | None = None  # where the ledger has several

    @property
    def labels(self) -> list[str]:
        """How the columns are called in this question: a name is no part of what is paid for."""
        return [entry.label for entry in self.query.aggregates]

    @property
    def key_labels(self) -> list[str]:
        """How the keys are called in this question, which is no part of what is paid for either."""
        return key_labels(self.query)

    @property
    def unknown(self) -> bool:
        """Whether some key's values are not public."""
        return any(isinstance(key, Unknown) for key in self.keys)

    def show_cells(self, cells: Cells) -> list[Cell]:
        """The key of one group as it is published: bins of whole numbers and of dates by such."""
        pairs = zip(cells, self.lines, strict=True)
        return [cell if line is None or isinstance(cell, str) else line.show_edge(cell) for cell, line in pairs]

    @property
    def per_person(self) -> bool:
        """Whether each person's rows became one row first."""
        return any(isinstance(stage, PerPerson) for stage in self.stages)

    @property
    def counted(self) -> Unit:
        """The unit as its rows are counted: a person that became one row has one row in one group."""
        if isinstance(self.unit, ProtectPersons) and self.per_person:
            return replace(self.unit, rows=1, groups=1)
        return self.unit

    @property
    def norms(self) -> Norms:
        """How far one unit moves the answers."""
        rows, groups = self.counted.bounds(grouped=bool(self.keys))
        return Norms(rows * self.copies, groups, bool(self.keys), self.neighbours)

    @property
    def copies(self) -> int:
        """How many rows one row of the unit becomes at most before it is counted."""
        return copies_of(self.stages, self.unit)

    @property
    def tables(self) -> tuple[str, ...]:
        """The private tables that it reads beside the first one."""
        return tuple(stage.table for stage in self.stages if isinstance(stage, Attach))

    def request(self, secret: bytes) -> Request:
        """What is asked of the rows; where keys are unknown, first how many persons each has."""
        lead = (Persons(),) if self.unknown else ()
        measures = (*lead, *itertools.chain.from_iterable(estimator.measures for estimator in self.estimators))
        return Request(measures, self.counted, self.keys, self.predicate, secret, self.stages)

    @property
    def text(self) -> str:
        """The question in canonical form, with everything public that its answer depends on."""
        parts = {
            **({} if self.table is None else {"table": self.table}),
            **({"stages": [stage.text for stage in self.stages]} if self.stages else {}),
            "aggregates": [entry.text for entry in self.query.aggregates],
            "where": self.predicate.text if self.predicate else None,
            "by": [_key_text(key) for key in self.keys],
            "grids": [_measure_text(measure) for estimator in self.estimators for measure in estimator.measures],
            "unit": write_unit(self.unit),
            "neighbours": str(self.neighbours),
        }
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))

    @property
    def assumptions(self) -> list[str]:
        """What the answer takes to be public because whoever asked said so."""
        labels = dict(zip((column_of_key(key) for key in self.query.keys), self.key_labels, strict=True))
        keys = [labels[key.column] for key in given_of(self.query.keys)]
        chosen = [entry.label for entry in self.query.aggregates if entry.candidates]
        said = [f"keys of {name} were given by the analyst, without looking at the rows" for name in keys]
        return said + [
            f"candidates for {name} were given by the analyst, without looking at the rows" for name in chosen
        ]

    @property
    def words(self) -> str:
        """The question as a person reads it."""
        what = ", ".join(entry.text for entry in self.query.aggregates)
        where = f" where {self.predicate.text}" if self.predicate else ""
        by = f" by {', '.join(self.names)}" if self.names else ""
        of = "" if self.table is None else f" of {self.table}"
        joins = "".join(f" {stage.text}" for stage in self.stages if isinstance(stage, Lookup | Attach))
        whom = "".join(f" of persons with {stage.words}" for stage in self.stages if isinstance(stage, PerPerson))
        return what + of + joins + whom + where + by


def compile_query(
    query: Query, schema: Schema, unit: Unit, neighbours: Neighbours, tables: PrivateTables | None = None
) -> Compiled:
    """Return the question checked against the schema; every bound and category it needs is declared there.

    >>> from sfumato.dp.questions.query import count, mean
    >>> from sfumato.promise.unit import ProtectRows
    >>> schema = Schema.from_roles(quasi=["age"])
    >>> compile_query(count(), schema, ProtectRows(), Neighbours.PRESENCE).words
    'count(*)'
    >>> compile_query(mean("age"), schema, ProtectRows(), Neighbours.PRESENCE)
    Traceback (most recent call last):
    sfumato.errors.SchemaError: column 'age' has no public bounds; declare type and bounds = [low, high] in the schema
    """
    if len(query.aggregates) > MOST_AGGREGATES:
        raise ParameterError(
            f"the question asks for {len(query.aggregates)} aggregates; at most {MOST_AGGREGATES} are answered at once"
        )
    tables = tables or PrivateTables()
    table = tables.named(query.table)
    schema = schema if table is None else tables.schemas[table]
    joined = join_stages(query.joins, table, schema, unit, tables)
    relation = relate(query.derived, schema, joined, query.people, unit)
    schema = relation.schema
    keys = tuple(key_of(schema, key) for key in query.keys)
    cells = math.prod(len(key.cells) for key in keys if not isinstance(key, Unknown))
    if cells > MOST_GROUPS:
        raise ParameterError(f"the question has {cells} declared groups; at most {MOST_GROUPS} are answered")
    _check_labels(query)
    predicate = parse_predicate(query.condition, schema) if query.condition else None
    estimators = tuple(_estimator(entry, schema, unit) for entry in query.aggregates)
    for estimator in estimators:
        if isinstance(estimator, Choosing | BoundChoice) and cells * (estimator.line.grid.steps + 1) > MOST_RUNGS:
            many = f"a quantile in each of {cells} declared groups"
            raise ParameterError(f"the question asks for {many}; ask for fewer groups, or for a mean")
    names = tuple(column_of_key(key) for key in query.keys)
    lines = tuple(line_of(schema, key.column) if isinstance(key, HistogramKey) else None for key in query.keys)
    compiled = Compiled(
        query, estimators, names, keys, lines, predicate, unit, neighbours, relation.stages, table=table
    )
    return replace(compiled, arrangement=arrange(query.presentation, _shown_columns(compiled, schema)))


def _shown_columns(compiled: Compiled, schema: Schema) -> list[ShownColumn]:
    """Return the columns of the answer, with the kinds of their values."""
    shown = []
    for label, key, line in zip(compiled.key_labels, compiled.keys, compiled.lines, strict=True):
        kind = schema.columns[key.column].kind if line is None else line.kind
        words = tuple(str(cell) for cell in key.cells) if isinstance(key, Declared) else None
        numeric = kind is not None and kind.numeric
        shown.append(ShownColumn(label, kind, key=True, values=None if numeric else words))
    for entry, estimator in zip(compiled.query.aggregates, compiled.estimators, strict=True):
        chosen = isinstance(estimator, Choosing | BoundChoice)
        kind = estimator.line.kind if isinstance(estimator, Choosing | BoundChoice) else Kind.NUMBER
        shown += [ShownColumn(entry.label + suffix, kind) for suffix in ("", "_low", "_high")]
        shown += [ShownColumn(entry.label + RANK_ERROR, Kind.NUMBER)] if chosen else []
    return shown


def _check_labels(query: Query) -> None:
    suffixes = ("", "_low", "_high", RANK_ERROR)
    labels = key_labels(query)
    labels += [entry.label + suffix for entry in query.aggregates for suffix in suffixes]
    for label, times in Counter(labels).items():
        if times > 1:
            raise ParameterError(f"two columns of the answer are called '{label}'; name one with AS")


def _estimator(entry: Aggregate, schema: Schema, unit: Unit) -> Estimator:
    if entry.kind is AggregateFunction.COUNT:
        return Counting(entry.label, Count())
    column = entry.column or ""
    if entry.kind is AggregateFunction.DISTINCT:
        persons = isinstance(unit, ProtectPersons) and column == unit.person
        return Counting(entry.label, Persons() if persons else Distinct(attribute_of(schema, column).name))
    if entry.kind in {AggregateFunction.LOWER, AggregateFunction.UPPER}:
        upper = entry.kind is AggregateFunction.UPPER
        return BoundChoice(entry.label, rungs_of(schema, column, entry.resolution), upper)
    return _bounded_estimator(entry, clipped_schema(schema, column, entry.clip))


def _bounded_estimator(entry: Aggregate, schema: Schema) -> Estimator:
    """Return the estimator of an aggregate that needs bounds."""
    column = entry.column or ""
    if entry.kind is AggregateFunction.PRESENT:
        return Counting(entry.label, Present(line_of(schema, column).grid))
    if entry.kind in LEVELS or entry.kind is AggregateFunction.QUANTILE:
        level = LEVELS.get(entry.kind, Fraction(1, 2) if entry.level is None else entry.level)
        given = entry.candidates
        return Choosing(
            entry.label, candidate_line(schema, column, given) if given else ladder_of(schema, column), level
        )
    line = line_of(schema, column)
    if line.kind in {Kind.DATE, Kind.TIMESTAMP} and entry.kind in NOT_OF_DATES:
        raise SchemaError(
            f"column '{column}' holds {line.kind}s, of which there is no {entry.kind}; ask for a quantile"
        )
    if entry.kind is AggregateFunction.SUM:
        return Summing(entry.label, line)
    return Averaging(entry.label, line) if entry.kind is AggregateFunction.MEAN else Spreading(entry.label, line)


def _measure_text(measure: Measure) -> str:
    """Return the words for a measure that ledgers know: another word would sell an answer twice."""
    match measure:
        case Present(grid):
            return f"Present(grid={_grid_text(grid)})"
        case Total(grid, origin, power):
            return f"Total(grid={_grid_text(grid)}, origin={origin}, power={power})"
        case PositionCounts(grid):
            if isinstance(grid, CandidateGrid):
                return f"Candidates(column={grid.column!r}, values={list(grid.values)!r})"
            return f"Ladder(grid={_grid_text(grid)})"
        case Distinct(column):
            return f"Distinct(column={column!r})"
        case Count() | Persons():
            return f"{type(measure).__name__}()"


def _grid_text(grid: ColumnGrid | CandidateGrid) -> str:
    if isinstance(grid, CandidateGrid):
        return f"Candidates(column={grid.column!r}, values={list(grid.values)!r})"
    return f"Grid(column={grid.column!r}, low={grid.low!r}, high={grid.high!r}, steps={grid.steps!r})"


def _key_text(key: Key) -> str:
    if isinstance(key, Unknown):
        return f"{key.column}:unknown"
    cells: tuple[Cell, ...] = key.edges if isinstance(key, Binned) else key.cells
    return (
        f"{key.column}:{'edges' if isinstance(key, Binned) else 'cells'}:{json.dumps(list(cells), ensure_ascii=False)}"
    )


def short_words(text: str, most: int | None = None) -> str:
    """Return a canonical text from a ledger in a few words, cut where it is longer than `most` characters.

    >>> short_words('{"aggregates":["count(*)"],"where":"age < 30","by":["hour:cells:[0]"]} at epsilon 0.1')
    'count(*) where age < 30 by hour'
    >>> short_words("count of rides", most=6)
    'count…'
    """
    words = _words_of_text(text)
    return words if most is None or len(words) <= most else words[: most - 1] + "…"


def _words_of_text(text: str) -> str:
    parts, _ = json.JSONDecoder().raw_decode(text) if text.startswith("{") else ({}, 0)
    if not isinstance(parts, dict) or "aggregates" not in parts:
        return text
    where = f" where {parts['where']}" if parts.get("where") else ""
    keys = [str(key).partition(":")[0] for key in parts.get("by", [])]
    of = f" of {parts['table']}" if parts.get("table") else ""
    return ", ".join(parts["aggregates"]) + of + where + (f" by {', '.join(keys)}" if keys else "")
