"""Lengths of time as SQL writes them: months, days and seconds, which are added to dates and times one after another.

Months come first and end at the last day of a month that is shorter, as in PostgreSQL.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.dp.questions.calendar import DAY, UNITS, shift
from sfumato.dp.questions.expression import Call, Cast, Domain, Literal, Value
from sfumato.dp.questions.literals import refusal, short
from sfumato.dp.questions.trees import parts
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

PART = re.compile(r"\s*([+-]?[0-9]{1,12})\s*([A-Za-z]+?)S?(?![A-Za-z])\s*", re.IGNORECASE)
WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*|(?:\s*[+-]?[0-9]+\s*[A-Za-z]+\s*)+")
MONTHS = {"MONTH": 1, "MON": 1, "QUARTER": 3, "YEAR": 12}
DAYS = {"DAY": 1, "WEEK": 7}
SECONDS = {"SECOND": 1, "SEC": 1, "MINUTE": 60, "MIN": 60, "HOUR": 3600}
WRITE = "write an interval as INTERVAL '3 days', of whole seconds, minutes, hours, days, weeks, months or years"


def refuse_unread_intervals(text: str, dialect: str) -> None:
    """Refuse SQL with an INTERVAL of which a parser would leave a part out, such as `ago`.

    >>> refuse_unread_intervals("day + INTERVAL '1 month 2 days'", "postgres")
    >>> refuse_unread_intervals("day + INTERVAL '1 month ago'", "postgres")
    Traceback (most recent call last):
    sfumato.errors.InputError: the question uses INTERVAL '1 month ago', which is not covered; write an interval as \
INTERVAL '3 days', of whole seconds, minutes, hours, days, weeks, months or years
    """
    from sqlglot import TokenType, tokenize

    for token, after in itertools.pairwise(tokenize(text, dialect=dialect)):
        written = token.token_type is TokenType.INTERVAL and after.token_type.name.endswith("STRING")
        if written and not WHOLE.fullmatch(after.text):
            raise InputError(f"the question uses INTERVAL '{short(after.text)}', which is not covered; {WRITE}")


@dataclass(frozen=True)
class Interval:
    """A length of time: months, days and seconds.

    >>> Interval(days=1, seconds=60).length
    86460
    """

    months: int = 0
    days: int = 0
    seconds: int = 0

    @property
    def length(self) -> int | None:
        """Its seconds, where all its days are alike: months are not."""
        return None if self.months else self.days * DAY + self.seconds

    @property
    def negative(self) -> Interval:
        """The same length backwards."""
        return Interval(-self.months, -self.days, -self.seconds)


def read_interval(node: exp.Expr) -> Interval:
    """Return the length of time in an INTERVAL.

    >>> import sqlglot
    >>> read_interval(sqlglot.parse_one("INTERVAL '1 year 2 months'", dialect="postgres"))
    Interval(months=14, days=0, seconds=0)
    """
    (number,) = parts(node, "this", ignored=("unit", "fraction_in_string"))
    unit = node.args.get("unit")
    if type(number).__name__ not in {"Literal", "Neg"} or type(unit).__name__ not in {"Var", "NoneType"}:
        raise refusal(node, WRITE)
    written = f"{number.sql() if number.args.get('is_string') is None else number.name} {unit.name if unit else ''}"
    months = days = seconds = place = 0
    while place < len(written.rstrip()):
        found = PART.match(written, place)
        name = found[2].upper() if found else ""
        if found is None or name not in {*MONTHS, *DAYS, *SECONDS}:
            raise refusal(node, WRITE)
        place, many = found.end(), int(found[1])
        months += many * MONTHS.get(name, 0)
        days += many * DAYS.get(name, 0)
        seconds += many * SECONDS.get(name, 0)
    if not written.strip():
        raise refusal(node, WRITE)
    return Interval(months, days, seconds)


def later(node: exp.Expr, value: Value, interval: Interval) -> Value:
    """Return a date or a time some time later; a date with hours becomes a time.

    >>> import sqlglot
    >>> later(sqlglot.parse_one("a"), Literal(30, Domain.DATE), Interval(months=1)).text
    "DATE '1970-02-28'"
    """
    if value.domain is Domain.DATE and interval.seconds:
        value = as_moment(value)
    steps = [(interval.months, "month")]
    if value.domain is Domain.DATE:
        steps.append((interval.days, "day"))
    else:
        steps.append((interval.days * DAY + interval.seconds, "second"))
    for number, unit in steps:
        if abs(number) > UNITS[unit]:
            raise refusal(node, f"an interval has at most {UNITS[unit]} {unit}s")
        if number:
            value = _shift(node, value, number, unit)
    return value


def as_moment(value: Value) -> Value:
    """Return the midnight at which a date begins; a time is returned as it is.

    >>> as_moment(Literal(1, Domain.DATE)).text
    "TIMESTAMP '1970-01-02 00:00:00'"
    """
    if value.domain is Domain.TIMESTAMP:
        return value
    if isinstance(value, Literal) and not isinstance(value.value, str):
        return Literal(float(value.value) * DAY, Domain.TIMESTAMP)
    return Cast(value, "TIMESTAMP", Domain.TIMESTAMP)


def _shift(node: exp.Expr, value: Value, number: int, unit: str) -> Value:
    if not isinstance(value, Literal) or isinstance(value.value, str):
        return Call("SHIFT", (value,), value.domain, (number, unit))
    position = shift(float(value.value), number, unit, value.domain)
    if position is None:
        raise refusal(node, "its result lies outside the years 1 to 9999")
    return Literal(position, value.domain)
