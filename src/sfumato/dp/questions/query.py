"""A question as data: which aggregates, of which rows, in which groups; never code that runs on a row.

The ancestor is PINQ (McSherry 2009), whose questions were programs; FUZZ (Haeberlen, Pierce & Narayan 2011) showed how
programs leak by time and state, so that here a question can only be read, checked and compiled.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import SupportsIndex

from sfumato.dp.questions.clock import seconds_of
from sfumato.errors import ParameterError
from sfumato.schema import Kind
from sfumato.schema.times import bound_number

FARTHEST = 1e15  # edges of bins lie within ± this
SHORT_NUMBER = re.compile(r"[+-]?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,2})?|\d{1,9}/\d{1,9}")
SHOWN = 60  # characters of a number in an error


class AggregateFunction(StrEnum):
    """The aggregates that can be asked for.

    >>> AggregateFunction("mean") is AggregateFunction.MEAN
    True
    """

    COUNT = "count"
    PERSONS = "count distinct"
    PRESENT = "count of"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    MIN = "min"
    MAX = "max"
    QUANTILE = "quantile"


@dataclass(frozen=True)
class Aggregate:
    """One number asked for in each group; `level` is the quantile's, between 0 and 1.

    >>> Aggregate(AggregateFunction.MEAN, "fare").label
    'mean_fare'
    """

    kind: AggregateFunction
    column: str | None = None
    level: Fraction | None = None
    alias: str | None = None

    @property
    def label(self) -> str:
        """The name of the answer's column."""
        if self.alias:
            return self.alias
        parts = [str(self.kind).replace(" ", "_"), *([self.column] if self.column else [])]
        if self.kind is AggregateFunction.QUANTILE and self.level is not None:
            parts.insert(1, f"{float(self.level):g}")
        return "_".join(parts)

    @property
    def text(self) -> str:
        """The canonical text, without the alias, which changes nothing about the question."""
        level = f", {self.level}" if self.level is not None else ""
        return f"{self.kind}({self.column or '*'}{level})"


@dataclass(frozen=True)
class HistogramKey:
    """A numeric column cut into bins: a number of equal ones between its declared bounds, or at the edges given.

    Edges are numbers: days since 1970 of dates, seconds since 1970 of timestamps.

    >>> HistogramKey("age", 10).text
    'age/10'
    """

    column: str
    parts: int | tuple[float, ...]
    edges: Kind | None = None  # what the edges were given as, where they were dates or timestamps

    def __post_init__(self) -> None:
        parts = self.parts
        if isinstance(parts, int) and not isinstance(parts, bool) and 1 <= parts <= 100_000:
            return
        rising = isinstance(parts, tuple) and len(parts) > 1 and all(a < b for a, b in pairwise(parts))
        if isinstance(parts, tuple) and rising and parts[0] >= -FARTHEST and parts[-1] <= FARTHEST:
            return
        raise _no_bins(self.column, parts)

    @property
    def text(self) -> str:
        """The canonical text."""
        return f"{self.column}/{self.parts}"


@dataclass(frozen=True)
class Query:
    """A question: aggregates, a condition on rows, and keys to group by.

    >>> count().where("gender = 2").by("station", "hour").keys
    ('station', 'hour')
    """

    aggregates: tuple[Aggregate, ...]
    condition: str | None = None
    keys: tuple[str | HistogramKey, ...] = ()

    def where(self, condition: str) -> Query:
        """Return the same question about the rows that meet a condition, written in SQL.

        >>> count().where("age < 30").where("sex = 'F'").condition
        "(age < 30) AND (sex = 'F')"
        """
        if not str(condition).strip() or str(condition) != condition:
            raise ParameterError(f'the condition is {condition!r}; give a text such as "gender = 2"')
        both = condition if self.condition is None else f"({self.condition}) AND ({condition})"
        return replace(self, condition=both)

    def by(self, *keys: str) -> Query:
        """Return the same question, answered for each value of the keys.

        >>> mean("fare").by("hour").keys
        ('hour',)
        """
        names = [key.column if isinstance(key, HistogramKey) else key for key in (*self.keys, *keys)]
        for name in names:
            if not isinstance(name, str):
                raise ParameterError(f"a key to group by is {name!r}; give the name of a column")
            if names.count(name) > 1:
                raise ParameterError(f"the key '{name}' stands twice; give it once")
        return replace(self, keys=(*self.keys, *keys))

    def also(self, other: Query) -> Query:
        """Return both questions as one: same rows, same groups, the budget shared evenly by the aggregates.

        >>> [entry.label for entry in count().also(mean("fare")).by("hour").aggregates]
        ['count', 'mean_fare']
        """
        if (other.condition, other.keys) not in {(None, ()), (self.condition, self.keys)}:
            raise ParameterError("the question added with also() has rows or groups of its own; give it without them")
        return replace(self, aggregates=(*self.aggregates, *other.aggregates))


def count() -> Query:
    """Ask how many rows there are.

    >>> count().aggregates[0].kind
    <AggregateFunction.COUNT: 'count'>
    """
    return Query((Aggregate(AggregateFunction.COUNT),))


def count_distinct(person: str) -> Query:
    """Ask how many different persons there are; `person` is the column that the budget protects.

    >>> count_distinct("rider").aggregates[0].label
    'count_distinct_rider'
    """
    return Query((Aggregate(AggregateFunction.PERSONS, person),))


def sum(column: str) -> Query:  # noqa: A001 - the field's own name, used as sf.sum
    """Ask for the sum of a column, its values clamped to the declared bounds.

    >>> sum("fare").aggregates[0].text
    'sum(fare)'
    """
    return Query((Aggregate(AggregateFunction.SUM, column),))


def mean(column: str) -> Query:
    """Ask for the mean of a column: a noisy sum around the middle of the bounds over a noisy count.

    >>> mean("fare").aggregates[0].text
    'mean(fare)'
    """
    return Query((Aggregate(AggregateFunction.MEAN, column),))


def variance(column: str) -> Query:
    """Ask for the (population) variance of a column, from noisy sums of values and of squares.

    >>> variance("fare").aggregates[0].text
    'variance(fare)'
    """
    return Query((Aggregate(AggregateFunction.VARIANCE, column),))


def min(column: str) -> Query:  # noqa: A001 - the field's own name, used as sf.min
    """Ask for about the smallest value, chosen by the exponential mechanism (McSherry & Talwar 2007).

    >>> min("age").aggregates[0].text
    'min(age)'
    """
    return Query((Aggregate(AggregateFunction.MIN, column),))


def max(column: str) -> Query:  # noqa: A001 - the field's own name, used as sf.max
    """Ask for about the largest value, chosen by the exponential mechanism (McSherry & Talwar 2007).

    >>> max("age").aggregates[0].text
    'max(age)'
    """
    return Query((Aggregate(AggregateFunction.MAX, column),))


def quantile(column: str, level: float | str | Fraction) -> Query:
    """Ask for a quantile, chosen by the exponential mechanism between the declared bounds (Smith 2011).

    >>> quantile("age", 0.9).aggregates[0].level
    Fraction(9, 10)
    """
    exact = level if isinstance(level, Fraction | int) else _level(str(level))
    if exact is None or not 0 <= exact <= 1 or exact.denominator > 1_000_000:
        raise ParameterError(
            f"the level of the quantile is {_shortened(level)}; give a number between 0 and 1, to six decimals"
        )
    return Query((Aggregate(AggregateFunction.QUANTILE, column, Fraction(exact)),))


def _level(text: str) -> Fraction | None:
    """The number that a short text writes, or None; one with a large exponent is never built."""
    try:
        return Fraction(text) if SHORT_NUMBER.fullmatch(text) else None
    except (ValueError, ZeroDivisionError):
        return None


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def median(column: str) -> Query:
    """Ask for the median: the quantile at one half.

    >>> median("age").aggregates[0].level
    Fraction(1, 2)
    """
    return Query((Aggregate(AggregateFunction.QUANTILE, column, Fraction(1, 2), alias=f"median_{column}"),))


def histogram(column: str, bins: int | Sequence[float] | Sequence[dt.date]) -> Query:
    """Ask how many rows lie in each bin: so many equal bins between the declared bounds, or those between edges.

    Bins of dates begin on whole days, bins of timestamps on whole seconds.

    >>> histogram("age", 8).keys
    (HistogramKey(column='age', parts=8, edges=None),)
    """
    try:
        parts = bins if isinstance(bins, bool) else _parts(bins)
    except (TypeError, ValueError, OverflowError):
        raise _no_bins(column, bins) from None
    edges = None if isinstance(bins, SupportsIndex) else _edge_kind(bins)
    return Query((Aggregate(AggregateFunction.COUNT),), keys=(HistogramKey(column, parts, edges),))


def _parts(bins: int | Sequence[float] | Sequence[dt.date]) -> int | tuple[float, ...]:
    return operator.index(bins) if isinstance(bins, SupportsIndex) else tuple(_edge(edge) for edge in bins)


def _edge(edge: float | dt.date) -> float:
    return seconds_of(edge) if isinstance(edge, dt.datetime) else float(bound_number(edge))


def _edge_kind(edges: Sequence[float] | Sequence[dt.date]) -> Kind | None:
    times = [isinstance(edge, dt.datetime) for edge in edges if isinstance(edge, dt.date)]
    if not times:
        return None
    if len(set(times)) > 1 or len(times) < len(edges):
        raise ParameterError("the edges of the bins are of several types; give all as numbers, dates or timestamps")
    return Kind.TIMESTAMP if times[0] else Kind.DATE


def _no_bins(column: str, bins: object) -> ParameterError:
    wanted = f"give a number of bins up to 100000, or rising edges within ±{FARTHEST:.0e}"
    return ParameterError(f"the bins of '{column}' are {bins!r}; {wanted}")
