"""What a computed value can be: its type, and bounds that follow from declared ones by intervals (Moore 1966).

A bound is derived before any row is read, and holds for every row that could be there; where none follows, the error
says what to declare. Nothing is ever learnt from the rows.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from dataclasses import dataclass

from sfumato.dp.questions.calendar import DAY, day_of, moment
from sfumato.dp.questions.clock import bound_position
from sfumato.dp.questions.derived import DerivedAttribute
from sfumato.dp.questions.expression import Arithmetic, Call, Case, Cast, ColumnReference, Domain, Literal, Value
from sfumato.dp.questions.extent import SAFE
from sfumato.schema import Attribute, Kind, Role, Schema

KINDS = {Domain.NUMBER: Kind.NUMBER, Domain.DATE: Kind.DATE, Domain.TIMESTAMP: Kind.TIMESTAMP, Domain.TEXT: None}
SHOWN = 60  # characters of an expression in an error


@dataclass(frozen=True)
class Range:
    """What a value can be: numbers (days, seconds) from `low` to `high`, whole ones only, or some `words`.

    Without bounds and words, anything of its domain may occur. Of starts of periods, `period` is which. Whole numbers
    may all be multiples of `multiple`.

    >>> Range(0.0, 23.0, whole=True).high
    23.0
    """

    low: float | None = None
    high: float | None = None
    whole: bool = False
    words: tuple[str, ...] | None = None
    period: str | None = None
    multiple: int = 1

    @property
    def limits(self) -> tuple[float, float] | None:
        """Both bounds, where there are both."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def range_of(value: Value, schema: Schema) -> Range:  # noqa: PLR0911  # one for each kind of value
    """Return what a value can be, from the declarations of its columns.

    >>> range_of(Literal(2.0, Domain.NUMBER), Schema())
    Range(low=2.0, high=2.0, whole=True, words=None, period=None, multiple=1)
    """
    from sfumato.dp.questions.function_ranges import range_of_call  # which needs the ranges here

    match value:
        case Literal(str() as text):
            return Range(words=(text,))
        case Literal(number):
            return Range(float(number), float(number), whole=float(number).is_integer())
        case ColumnReference(name):
            return range_of_column(schema.columns[name])
        case Arithmetic(operator, left, right):
            return _computed(operator, range_of(left, schema), range_of(right, schema))
        case Cast(inner, to):
            return _cast(range_of(inner, schema), inner.domain, to)
        case Call():
            return range_of_call(value, [range_of(argument, schema) for argument in value.arguments])
        case Case():
            return hull([range_of(result, schema) for result in value.results])


def range_of_column(attribute: Attribute) -> Range:
    """Return what a column's cells can be by its public declaration.

    >>> range_of_column(Attribute("age", Role.OTHER, Kind.INTEGER, bounds=(0, 99))).limits
    (0.0, 99.0)
    """
    whole = attribute.kind in {Kind.INTEGER, Kind.DATE}
    period = attribute.period if isinstance(attribute, DerivedAttribute) else None
    if not attribute.public:
        return Range(whole=whole)
    if attribute.bounds is not None:
        low, high = (bound_position(limit) for limit in attribute.bounds)
        return Range(low, high, whole=whole and low.is_integer() and high.is_integer(), period=period)
    words = attribute.categories if attribute.hierarchy is None else attribute.hierarchy.leaves
    numeric = attribute.kind is not None and attribute.kind.numeric
    return Range(whole=whole, words=None if numeric else words, period=period)


def hull(ranges: list[Range]) -> Range:
    """Return the least range in which all of some lie.

    >>> hull([Range(0.0, 2.0, whole=True), Range(5.0, 5.0, whole=True)]).limits
    (0.0, 5.0)
    """
    lows, highs = [part.low for part in ranges], [part.high for part in ranges]
    words = [part.words for part in ranges]
    return Range(
        None if None in lows else min(low for low in lows if low is not None),
        None if None in highs else max(high for high in highs if high is not None),
        whole=all(part.whole for part in ranges),
        words=None if None in words else tuple(dict.fromkeys(word for some in words for word in some or ())),
    )


def _computed(operator: str, left: Range, right: Range) -> Range:
    whole = left.whole and right.whole and operator != "/"
    if left.limits is None or right.limits is None:
        return Range(whole=whole)
    pairs = list(itertools.product(left.limits, right.limits))
    if operator == "/":
        if right.limits[0] <= 0 <= right.limits[1]:
            return Range()
        results = [a / b for a, b in pairs]
    else:
        results = [{"+": a + b, "-": a - b, "*": a * b}[operator] for a, b in pairs]
    return Range(min(results), max(results), whole=whole, multiple=_multiple(operator, left, right) if whole else 1)


def _multiple(operator: str, left: Range, right: Range) -> int:
    """Return of what all whole products with a constant are multiples."""
    if operator != "*":
        return 1
    for constant, other in ((left, right), (right, left)):
        if constant.low == constant.high and 0 < abs(constant.low or 0) <= SAFE:
            return abs(int(constant.low or 0)) * other.multiple
    return 1


def _cast(inner: Range, domain: Domain, to: str) -> Range:
    if domain is Domain.TEXT:
        return Range(whole=to == "DATE")
    if to == "INTEGER":
        low, high = (None if limit is None else float(math.floor(limit + 0.5)) for limit in (inner.low, inner.high))
    elif to == "DATE":
        low, high = (None if limit is None else float(limit // 1 // DAY) for limit in (inner.low, inner.high))
    else:
        low, high = (None if limit is None else limit * DAY for limit in (inner.low, inner.high))
    return Range(low, high, whole=True)


def derived_attribute(name: str, value: Value, schema: Schema) -> DerivedAttribute:
    """Return a derived column as if it were declared: its type, and its bounds or categories where they follow.

    >>> derived_attribute("two", Literal(2.0, Domain.NUMBER), Schema()).bounds
    (2, 2)
    """
    found = range_of(value, schema)
    limits, kind = found.limits, KINDS[value.domain]
    if kind is Kind.NUMBER and found.whole and limits is not None and max(map(abs, limits)) <= SAFE:
        kind = Kind.INTEGER
    return DerivedAttribute(
        name,
        Role.OTHER,
        kind,
        bounds=None if limits is None or kind is None else _bounds(kind, *limits),
        categories=found.words,
        missing=(),
        expression=value.text if len(value.text) <= SHOWN else f"{value.text[: SHOWN - 1]}…",
        lacking=tuple(dict.fromkeys(_lacking(value, schema))),
        period=found.period,
        multiple=found.multiple if kind is Kind.INTEGER else 1,
    )


def _bounds(
    kind: Kind, low: float, high: float
) -> tuple[int, int] | tuple[float, float] | tuple[dt.date, dt.date] | tuple[dt.datetime, dt.datetime]:
    if kind is Kind.INTEGER:
        return math.floor(low), math.ceil(high)
    if kind is Kind.DATE:
        return day_of(low, Domain.DATE), day_of(high, Domain.DATE)
    return (moment(low), moment(high)) if kind is Kind.TIMESTAMP else (low, high)


def _lacking(value: Value, schema: Schema) -> list[str]:
    """Return the declared columns in a value that have no public bounds or categories."""
    match value:
        case ColumnReference(name):
            attribute = schema.columns[name]
            found = range_of_column(attribute)
            if isinstance(attribute, DerivedAttribute):
                return list(attribute.lacking)
            return [name] if found.limits is None and found.words is None else []
        case Arithmetic(_, left, right):
            inner: tuple[Value, ...] = (left, right)
        case Cast(one):
            inner = (one,)
        case Call(_, inner):
            pass
        case Case():
            inner = value.results
        case _:
            inner = ()
    return [name for part in inner for name in _lacking(part, schema)]
