"""A question checked against a schema: what it asks of the rows, and its canonical text.

Two questions with the same canonical text are the same question, and get the same answer from the ledger.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from sfumato.dp.answer import RANK_ERROR
from sfumato.dp.questions.estimators import Averaging, Choosing, Counting, Estimator, Spreading, Summing
from sfumato.dp.questions.expression import Predicate
from sfumato.dp.questions.grids import MOST_GROUPS, NumberLine, key_of, ladder_of, line_of
from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.query import Aggregate, AggregateFunction, HistogramKey, Query
from sfumato.dp.questions.request import (
    Binned,
    Cell,
    Cells,
    ColumnGrid,
    Count,
    Key,
    Measure,
    Persons,
    PositionCounts,
    Present,
    Request,
    Total,
    Unknown,
)
from sfumato.dp.share import Norms
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

    @property
    def labels(self) -> list[str]:
        """How the columns are called in this question: a name is no part of what is paid for."""
        return [entry.label for entry in self.query.aggregates]

    @property
    def unknown(self) -> bool:
        """Whether some key's values are not public."""
        return any(isinstance(key, Unknown) for key in self.keys)

    def show_cells(self, cells: Cells) -> list[Cell]:
        """The key of one group as it is published: bins of whole numbers and of dates by such."""
        pairs = zip(cells, self.lines, strict=True)
        return [cell if line is None or isinstance(cell, str) else line.show_edge(cell) for cell, line in pairs]

    @property
    def norms(self) -> Norms:
        """How far one unit moves the answers."""
        rows, groups = self.unit.bounds(grouped=bool(self.keys))
        return Norms(rows, groups, bool(self.keys), self.neighbours)

    def request(self, secret: bytes) -> Request:
        """What is asked of the rows; where keys are unknown, first how many persons each has."""
        lead = (Persons(),) if self.unknown else ()
        measures = (*lead, *itertools.chain.from_iterable(estimator.measures for estimator in self.estimators))
        return Request(measures, self.unit, self.keys, self.predicate, secret)

    @property
    def text(self) -> str:
        """The question in canonical form, with everything public that its answer depends on."""
        parts = {
            "aggregates": [entry.text for entry in self.query.aggregates],
            "where": self.predicate.text if self.predicate else None,
            "by": [_key_text(key) for key in self.keys],
            "grids": [_measure_text(measure) for estimator in self.estimators for measure in estimator.measures],
            "unit": write_unit(self.unit),
            "neighbours": str(self.neighbours),
        }
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))

    @property
    def words(self) -> str:
        """The question as a person reads it."""
        what = ", ".join(entry.text for entry in self.query.aggregates)
        where = f" where {self.predicate.text}" if self.predicate else ""
        by = f" by {', '.join(self.names)}" if self.names else ""
        return what + where + by


def compile_query(query: Query, schema: Schema, unit: Unit, neighbours: Neighbours) -> Compiled:
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
    keys = tuple(key_of(schema, key) for key in query.keys)
    cells = math.prod(len(key.cells) for key in keys if not isinstance(key, Unknown))
    if cells > MOST_GROUPS:
        raise ParameterError(f"the question has {cells} declared groups; at most {MOST_GROUPS} are answered")
    _check_labels(query)
    predicate = parse_predicate(query.condition, schema) if query.condition else None
    estimators = tuple(_estimator(entry, schema, unit) for entry in query.aggregates)
    for estimator in estimators:
        if isinstance(estimator, Choosing) and cells * (estimator.line.grid.steps + 1) > MOST_RUNGS:
            many = f"a quantile in each of {cells} declared groups"
            raise ParameterError(f"the question asks for {many}; ask for fewer groups, or for a mean")
    names = tuple(key.column if isinstance(key, HistogramKey) else key for key in query.keys)
    lines = tuple(line_of(schema, key.column) if isinstance(key, HistogramKey) else None for key in query.keys)
    return Compiled(query, estimators, names, keys, lines, predicate, unit, neighbours)


def _check_labels(query: Query) -> None:
    suffixes = ("", "_low", "_high", RANK_ERROR)
    labels = [key.column if isinstance(key, HistogramKey) else key for key in query.keys]
    labels += [entry.label + suffix for entry in query.aggregates for suffix in suffixes]
    for label, times in Counter(labels).items():
        if times > 1:
            raise ParameterError(f"two columns of the answer are called '{label}'; name one with AS")


def _estimator(entry: Aggregate, schema: Schema, unit: Unit) -> Estimator:
    if entry.kind is AggregateFunction.COUNT:
        return Counting(entry.label, Count())
    column = entry.column or ""
    if entry.kind is AggregateFunction.PERSONS:
        return _persons(entry, unit)
    if entry.kind is AggregateFunction.PRESENT:
        return Counting(entry.label, Present(line_of(schema, column).grid))
    if entry.kind in LEVELS or entry.kind is AggregateFunction.QUANTILE:
        return Choosing(entry.label, ladder_of(schema, column), LEVELS.get(entry.kind, entry.level or Fraction(1, 2)))
    line = line_of(schema, column)
    if line.kind in {Kind.DATE, Kind.TIMESTAMP} and entry.kind in NOT_OF_DATES:
        raise SchemaError(
            f"column '{column}' holds {line.kind}s, of which there is no {entry.kind}; ask for a quantile"
        )
    if entry.kind is AggregateFunction.SUM:
        return Summing(entry.label, line)
    return Averaging(entry.label, line) if entry.kind is AggregateFunction.MEAN else Spreading(entry.label, line)


def _persons(entry: Aggregate, unit: Unit) -> Estimator:
    if not isinstance(unit, ProtectPersons):
        raise ParameterError(
            f"the budget protects rows, so persons cannot be counted by '{entry.column}'; "
            f"make it with --protect person:{entry.column}:ROWS:GROUPS"
        )
    if entry.column != unit.person:
        raise ParameterError(f"COUNT(DISTINCT {entry.column}) is not covered; the persons are in '{unit.person}'")
    return Counting(entry.label, Persons())


def _measure_text(measure: Measure) -> str:
    """Return the words for a measure that ledgers know: another word would sell an answer twice."""
    match measure:
        case Present(grid):
            return f"Present(grid={_grid_text(grid)})"
        case Total(grid, origin, power):
            return f"Total(grid={_grid_text(grid)}, origin={origin}, power={power})"
        case PositionCounts(grid):
            return f"Ladder(grid={_grid_text(grid)})"
        case Count() | Persons():
            return f"{type(measure).__name__}()"


def _grid_text(grid: ColumnGrid) -> str:
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
    return ", ".join(parts["aggregates"]) + where + (f" by {', '.join(keys)}" if keys else "")
