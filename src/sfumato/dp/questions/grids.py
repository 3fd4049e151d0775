"""Public grids and keys out of a schema: what a private answer may know about a column before it sees a row.

Values are clamped to the declared bounds and rounded to a grid whose step is one (integers, days of dates, seconds of
timestamps) or a power of two, so that sums are exact integers (Mironov 2012 shows what floating point gives away).
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.dp.questions.calendar import MONTHS, periods
from sfumato.dp.questions.candidates import Candidate, positions_of
from sfumato.dp.questions.clock import bound_position, time_words
from sfumato.dp.questions.derived import DerivedAttribute
from sfumato.dp.questions.expression import Domain
from sfumato.dp.questions.given_keys import MOST_PLACED, Keys, key_cells
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.request import Binned, CandidateGrid, Cell, ColumnGrid, Declared, Key, Unknown
from sfumato.errors import ParameterError, SchemaError, suggestion
from sfumato.schema import Attribute, Kind, Schema

EPOCH = dt.date(1970, 1, 1)
FINENESS = 2**20
RUNGS = 1000
MOST_GROUPS = 1_000_000
LARGEST = 2**50
DAY = 86_400.0  # seconds


@dataclass(frozen=True)
class NumberLine:
    """A numeric column on its grid: position p stands for the value (first + p)·step, exactly.

    >>> line = NumberLine(ColumnGrid("age", 16.0, 94.0, 78), first=16, step=1.0, kind=Kind.INTEGER)
    >>> line.most, line.middle
    (94, 39)
    """

    grid: ColumnGrid
    first: int
    step: float
    kind: Kind

    @property
    def most(self) -> int:
        """The largest absolute value, in steps."""
        return max(abs(self.first), abs(self.first + self.grid.steps))

    @property
    def middle(self) -> int:
        """The position in the middle."""
        return self.grid.steps // 2

    @property
    def places(self) -> range:
        """The positions whose values can be chosen."""
        return range(self.grid.steps + 1)

    def show(self, value: float) -> Cell:
        """A value as it is published: a whole number, a date or a time in whole seconds where the column holds such."""
        if self.kind is Kind.TIMESTAMP:
            return time_words(round(value))
        if self.kind is Kind.DATE:
            return (EPOCH + dt.timedelta(days=round(value))).isoformat()
        return round(value) if self.kind is Kind.INTEGER else value

    def show_edge(self, edge: float) -> Cell:
        """The edge of a bin as it is published; between two whole numbers it stays what it is.

        >>> NumberLine(ColumnGrid("age", 16.0, 94.0, 78), first=16, step=1.0, kind=Kind.INTEGER).show_edge(17.5)
        17.5
        """
        return self.show(edge) if float(edge).is_integer() or self.kind is Kind.TIMESTAMP else edge


@dataclass(frozen=True)
class CandidateLine:
    """A numeric column on values that were given: each stands for itself, also between whole numbers.

    >>> line = CandidateLine(CandidateGrid("age", (17.5, 18.0)), Kind.INTEGER)
    >>> [line.show(line.grid.value(place)) for place in line.places]
    [17.5, 18]
    """

    grid: CandidateGrid
    kind: Kind

    @property
    def places(self) -> range:
        """The positions whose values can be chosen: not the gaps."""
        return range(1, self.grid.steps, 2)

    def show(self, value: float) -> Cell:
        """A value as it is published."""
        if self.kind is Kind.TIMESTAMP:
            return time_words(value)
        if self.kind is Kind.DATE:
            return (EPOCH + dt.timedelta(days=int(value))).isoformat()
        return int(value) if self.kind is Kind.INTEGER and float(value).is_integer() else value


def candidate_line(schema: Schema, name: str, candidates: Sequence[Candidate]) -> CandidateLine:
    """Return the values that a quantile of a column may have, where they were given; bounds are not needed.

    >>> from sfumato.schema import Role
    >>> fares = Schema({"fare": Attribute("fare", Role.OTHER, Kind.NUMBER)})
    >>> candidate_line(fares, "fare", [5.0, 7.5]).grid.values
    (5.0, 7.5)
    """
    attribute = attribute_of(schema, name)
    values = positions_of(name, candidates, attribute.kind)
    return CandidateLine(CandidateGrid(name, values), attribute.kind or Kind.NUMBER)


def attribute_of(schema: Schema, name: str) -> Attribute:
    """Return the declared column of that name, or say which one was meant.

    >>> attribute_of(Schema.from_roles(quasi=["age"]), "aeg")
    Traceback (most recent call last):
    sfumato.errors.SchemaError: column 'aeg' is not in the schema; did you mean 'age'?
    """
    if name not in schema.columns:
        raise SchemaError(f"column '{name}' is not in the schema{suggestion(name, schema.columns)}")
    return schema.columns[name]


def line_of(schema: Schema, name: str) -> NumberLine:
    """Return the grid of a numeric column, from its declared bounds alone.

    >>> line_of(Schema.from_roles(quasi=["age"]), "age")
    Traceback (most recent call last):
    sfumato.errors.SchemaError: column 'age' has no public bounds; declare type and bounds = [low, high] in the schema
    """
    attribute = attribute_of(schema, name)
    if isinstance(attribute, DerivedAttribute) and attribute.bounds is None and attribute.kind is not None:
        raise SchemaError(attribute.unbounded)
    if attribute.bounds is None or not attribute.public or attribute.kind is None:
        raise SchemaError(f"column '{name}' has no public bounds; declare type and bounds = [low, high] in the schema")
    low, high = (bound_position(limit) for limit in attribute.bounds)
    if max(abs(low), abs(high)) > LARGEST:
        raise SchemaError(f"column '{name}' has bounds beyond ±2^50; declare narrower ones")
    step = _step(low, high) if attribute.kind is Kind.NUMBER else 1.0
    first, last = math.floor(low / step), math.ceil(high / step)
    return NumberLine(ColumnGrid(name, first * step, last * step, last - first), first, step, attribute.kind)


def ladder_of(schema: Schema, name: str) -> NumberLine:
    """Return the coarser grid on which a quantile is chosen: every integer, or a thousand rungs."""
    line = line_of(schema, name)
    steps = min(line.grid.steps, RUNGS)
    return NumberLine(ColumnGrid(name, line.grid.low, line.grid.high, steps), 0, 0.0, line.kind)


def key_of(schema: Schema, key: str | HistogramKey | Keys) -> Key:  # noqa: PLR0911  # one for each kind of key
    """Return the public cells of a key to group by, or a key whose values are unknown.

    >>> schema = Schema.from_roles(quasi=["station"])
    >>> key_of(schema, "station")
    Unknown(column='station')
    """
    if isinstance(key, HistogramKey):
        return _bins(schema, key)
    if isinstance(key, Keys):
        return key_cells(schema, key)
    attribute = attribute_of(schema, key)
    if not attribute.public:
        return Unknown(key)
    if attribute.categories is not None:
        return Declared(key, attribute.categories)
    if isinstance(attribute, DerivedAttribute) and attribute.period is not None:
        return Declared(key, _periods(attribute, attribute.period))
    if attribute.bounds is not None and attribute.kind in {Kind.INTEGER, Kind.DATE}:
        return Declared(key, _range(attribute))
    if attribute.kind in {Kind.NUMBER, Kind.TIMESTAMP}:
        if isinstance(attribute, DerivedAttribute) and attribute.bounds is None:
            raise SchemaError(attribute.unbounded)
        raise SchemaError(f"column '{key}' has no separate values to group by; ask for a histogram of it")
    return Unknown(key)


def _periods(attribute: DerivedAttribute, unit: str) -> tuple[Cell, ...]:
    """Return the starts of all periods between the bounds: dates as such, times as times."""
    if attribute.bounds is None:
        raise SchemaError(attribute.unbounded)
    low, high = (bound_position(limit) for limit in attribute.bounds)
    domain = Domain.DATE if attribute.kind is Kind.DATE else Domain.TIMESTAMP
    most = MOST_PLACED if domain is Domain.TIMESTAMP and unit in MONTHS else MOST_GROUPS  # months are searched for
    starts = periods(unit, low, high, domain, most)
    if starts is None:
        raise SchemaError(
            f"derived column '{attribute.name}' has more than {most} {unit}s between its bounds; "
            "truncate to a longer period, or group by a histogram of it"
        )
    if domain is Domain.DATE:
        return tuple((EPOCH + dt.timedelta(days=round(start))).isoformat() for start in starts)
    return tuple(time_words(start) for start in starts)


def _range(attribute: Attribute) -> tuple[Cell, ...]:
    low, high = (round(bound_position(limit)) for limit in attribute.bounds or (0, 0))
    step = attribute.multiple if isinstance(attribute, DerivedAttribute) else 1
    values = range(-(-low // step) * step, high + 1, step)
    if len(values) > MOST_GROUPS:
        raise SchemaError(f"column '{attribute.name}' has {len(values)} declared values; group by a histogram of it")
    if attribute.kind is Kind.DATE:
        return tuple((EPOCH + dt.timedelta(days=day)).isoformat() for day in values)
    return tuple(values)


def _bins(schema: Schema, key: HistogramKey) -> Binned:
    line = line_of(schema, key.column)
    grid = line.grid
    if isinstance(key.parts, tuple):
        return Binned(key.column, _edges(key, line.kind))
    width = (grid.high - grid.low) / key.parts
    inner = [grid.low + width * part for part in range(1, key.parts)]
    if line.kind in {Kind.DATE, Kind.TIMESTAMP}:
        inner = [float(round(edge)) for edge in inner]
    edges = (grid.low, *inner, grid.high)
    if any(low >= high for low, high in itertools.pairwise(edges)):
        raise ParameterError(
            f"column '{key.column}' has no room for {key.parts} bins between its bounds; ask for fewer"
        )
    return Binned(key.column, edges)


def _edges(key: HistogramKey, kind: Kind) -> tuple[float, ...]:
    """Return the edges as the column holds its values; days stand for their midnights in a column of times."""
    edges = key.parts if isinstance(key.parts, tuple) else ()
    if key.edges is None or key.edges is kind:
        return edges
    if (key.edges, kind) == (Kind.DATE, Kind.TIMESTAMP):
        return tuple(edge * DAY for edge in edges)
    raise ParameterError(f"the edges of '{key.column}' are {key.edges}s, and the column's type is {kind}; give {kind}s")


def _step(low: float, high: float) -> float:
    """The largest power of two that cuts the range, or what is no whole number of a point, into at least 2^20 parts."""
    if high <= low and low.is_integer():
        return 1.0
    width = high - low if high > low else abs(low)
    return 2.0 ** math.floor(math.log2(width / FINENESS))
