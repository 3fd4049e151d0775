"""Dates and times in a condition: parts, periods, differences and shifts, as sqlglot reads them.

A date has no hours: what would ask for them is refused, as PostgreSQL refuses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sfumato.dp.questions.calendar import CLOCK, PARTS, PERIODS, UNITS
from sfumato.dp.questions.canonical import compute
from sfumato.dp.questions.expression import Call, Domain, Literal, Value
from sfumato.dp.questions.extent import SAFE, extent
from sfumato.dp.questions.intervals import Interval, as_moment, later, read_interval
from sfumato.dp.questions.literals import as_date, as_time, refusal
from sfumato.dp.questions.ranges import range_of
from sfumato.dp.questions.trees import only, parts
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sqlglot import exp

NAMED_PARTS = {name.title(): name for name in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")}
NAMED_PARTS |= {"DayOfYear": "DOY", "DayOfMonth": "DAY", "WeekOfYear": "WEEK", "DayOfWeekIso": "ISODOW"}
CALENDAR = {Domain.DATE, Domain.TIMESTAMP}
LISTED = {"PARTS": ", ".join(PARTS), "PERIODS": ", ".join(PERIODS)}


class ValueReader(Protocol):
    """What reads the values inside a function."""

    @property
    def schema(self) -> Schema: ...
    def value(self, node: exp.Expr) -> Value: ...


def read_part(reader: ValueReader, node: exp.Expr) -> Value:
    """Return EXTRACT(unit FROM x), however it is spelled."""
    kind = type(node).__name__
    if kind in NAMED_PARTS:
        return _part(node, reader.value(only(node, "this")), NAMED_PARTS[kind])
    unit, inner = parts(node, "this", "expression")
    return _part(node, reader.value(inner), unit.name.upper())


def _part(node: exp.Expr, value: Value, unit: str) -> Value:
    if unit == "EPOCH" and _is_length(value):
        return value
    if unit not in PARTS:
        raise refusal(node, f"EXTRACT takes one of {LISTED['PARTS']}")
    if value.domain not in CALENDAR:
        raise refusal(node, f"EXTRACT takes a date or a timestamp, and {value.text} is a {value.domain}")
    if unit in CLOCK and value.domain is Domain.DATE:
        raise refusal(node, f"a date has no {unit}; use a timestamp")
    return Call("EXTRACT", (value,), Domain.NUMBER, (unit,))


def read_period(reader: ValueReader, node: exp.Expr) -> Value:
    """Return DATE_TRUNC('unit', x): the start of the period in which a date or a time lies."""
    unit, inner = parts(node, "unit", "this")
    name, value = unit.name.upper(), reader.value(inner)
    if name not in PERIODS:
        raise refusal(node, f"DATE_TRUNC takes one of {LISTED['PERIODS']}")
    if value.domain not in CALENDAR:
        raise refusal(node, f"DATE_TRUNC takes a date or a timestamp, and {value.text} is a {value.domain}")
    if value.domain is Domain.DATE and name in {*CLOCK, "DAY"}:
        raise refusal(node, f"a date has no {name} to begin; use a timestamp, or the date itself")
    return Call("DATE_TRUNC", (value,), value.domain, (name,))


def read_with_interval(reader: ValueReader, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> Value:
    """Return `x + INTERVAL` or `x - INTERVAL`."""
    minus = type(node).__name__ == "Sub"
    if type(left).__name__ == "Interval" and not minus:
        left, right = right, left
    value, interval = reader.value(left), read_interval(right)
    if value.domain not in CALENDAR:
        raise refusal(node, f"an INTERVAL is added to a date or a timestamp, and {value.text} is a {value.domain}")
    return later(node, value, interval.negative if minus else interval)


def sum_of_days(node: exp.Expr, first: Value, second: Value, schema: Schema) -> Value | None:
    """Return `date + days` or a difference of two; None where neither side is a date or a time."""
    minus = type(node).__name__ == "Sub"
    if not {first.domain, second.domain} & CALENDAR:
        return None
    if second.domain in CALENDAR and not minus:
        first, second = second, first
    if second.domain is Domain.NUMBER:
        return _days_after(node, first, second, schema)
    if minus:
        return _difference(node, first, second)
    raise refusal(node, "add a whole number of days to a date, or an INTERVAL to a timestamp")


def _days_after(node: exp.Expr, day: Value, number: Value, schema: Schema) -> Value:
    minus = type(node).__name__ == "Sub"
    if day.domain is Domain.TIMESTAMP:
        raise refusal(node, "write what is added to a timestamp as INTERVAL '3 days'")
    whole = range_of(number, schema).whole and extent(number)[1] <= SAFE
    if day.domain is not Domain.DATE or not whole:
        raise refusal(node, "days are a whole number; write FLOOR(…) or ROUND(…)")
    if isinstance(number, Literal):
        days = int(number.value) * (-1 if minus else 1)
        if abs(days) > UNITS["day"]:
            raise refusal(node, f"at most {UNITS['day']} days are added")
        return later(node, day, Interval(days=days))
    number = compute("-", Literal(0, Domain.NUMBER), number) if minus else number
    return Call("DAYS_AFTER", (day, number), Domain.DATE)


def _difference(node: exp.Expr, first: Value, second: Value) -> Value:
    """Return the days between two dates, or the seconds between two times."""
    if Domain.TIMESTAMP in {first.domain, second.domain}:
        first, second = (as_time(side, None) for side in (first, second))
        if {first.domain, second.domain} <= CALENDAR:
            first, second = as_moment(first), as_moment(second)
    else:
        first, second = as_date(first), as_date(second)
    if first.domain is not second.domain:
        raise refusal(node, f"subtract two dates or two timestamps, not a {second.domain} from a {first.domain}")
    return Call("DIFFERENCE", (first, second), Domain.NUMBER)


def _is_length(value: Value) -> bool:
    return isinstance(value, Call) and value.function == "DIFFERENCE" and value.arguments[0].domain is Domain.TIMESTAMP


def read_length(node: exp.Expr, beside: Value) -> Literal:
    """Return an INTERVAL that stands beside a difference of two timestamps: its seconds."""
    length = read_interval(node).length
    if not _is_length(beside) or length is None:
        raise refusal(node, "an INTERVAL without months is compared with a difference of timestamps")
    return Literal(float(length), Domain.NUMBER)
