"""Numbers, texts, dates and times as a condition writes them, each with the range in which it can be compared.

A number that a double cannot hold, or a text that cannot be printed, is refused before any row is looked at
(Haeberlen, Pierce & Narayan 2011).
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

from sfumato.dp.questions.clock import seconds_of
from sfumato.dp.questions.expression import (
    EPOCH,
    LEAST,
    MOST,
    Arithmetic,
    Domain,
    Literal,
    Value,
)
from sfumato.errors import InputError
from sfumato.schema.times import read_time

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST = 10_000  # characters of a condition, and of a text in it
SHOWN = 60  # characters of a clause in an error
SUBSET = (
    "a condition may use comparisons, + - * / %, BETWEEN, IN, IS NULL, LIKE, CAST, CASE, AND, OR, NOT, "
    "and the functions that docs/algorithms/expressions.md lists"
)


def short(text: str) -> str:
    """Return the beginning of a text, for an error.

    >>> short("x" * 100)[-3:]
    'xx…'
    """
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def refusal(node: exp.Expr, why: str = SUBSET) -> InputError:
    """Return the error that names a clause which is not covered.

    >>> import sqlglot
    >>> str(refusal(sqlglot.parse_one("a ^ 2"), "use * instead"))
    'the condition uses a # 2, which is not covered; use * instead'
    """
    return InputError(f"the condition uses {short(node.sql(dialect='postgres'))}, which is not covered; {why}")


def fold_literals(result: Arithmetic) -> Literal:
    """Return the number that arithmetic on two literals gives.

    >>> fold_literals(Arithmetic("-", Literal(3, Domain.NUMBER), Literal(2, Domain.NUMBER))).text
    '1'
    """
    left, right = (float(side.value) for side in (result.left, result.right) if isinstance(side, Literal))
    number = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
    }[result.operator]()
    return _number(number, result.text)


def _number(number: float, text: str) -> Literal:
    if not math.isfinite(number) or abs(number) > MOST or 0 < abs(number) < LEAST:
        raise InputError(
            f"the condition uses the number {short(text)}; "
            f"numbers lie within ±{MOST:.0e}, no nearer to 0 than {LEAST:.0e}"
        )
    return Literal(number + 0.0, Domain.NUMBER)


def literal_of(node: exp.Expr) -> Literal:
    """Return a number or a text as sqlglot read it.

    >>> import sqlglot
    >>> literal_of(sqlglot.parse_one("2.50")).text
    '2.5'
    """
    text = str(node.this)
    if not node.args.get("is_string"):
        try:
            return _number(float(text), text)
        except ValueError:
            raise refusal(node) from None
    if "\0" in text or not text.isprintable() or len(text) > LONGEST:
        raise InputError("the condition has a text with characters that cannot be printed; write printable characters")
    return Literal(text, Domain.TEXT)


def as_date(value: Value) -> Value:
    """Return a text literal as a date, and any other value as it is.

    >>> as_date(Literal("1970-01-02", Domain.TEXT)).text
    "DATE '1970-01-02'"
    """
    if not isinstance(value, Literal) or not isinstance(value.value, str):
        return value
    try:
        day = dt.datetime.strptime(value.value, "%Y-%m-%d").replace(tzinfo=dt.UTC).date()
        return Literal((day - EPOCH).days, Domain.DATE)
    except ValueError:
        raise InputError(f"the condition compares a date with {short(value.text)}; write it as '2026-01-31'") from None


def as_time(value: Value, zone: str | None) -> Value:
    """Return a text or date literal as a timestamp, and any other value as it is; an offset is taken to the `zone`.

    >>> as_time(Literal("1970-01-02T00:00Z", Domain.TEXT), "Europe/Berlin").text
    "TIMESTAMP '1970-01-02 01:00:00'"
    """
    if not isinstance(value, Literal) or value.domain in {Domain.TIMESTAMP, Domain.NUMBER}:
        return value
    if not isinstance(value.value, str):
        return Literal(value.value * 86_400.0, Domain.TIMESTAMP)
    time = read_time(value.value, zone)
    if time is None:
        raise InputError(
            f"the condition compares a timestamp with {short(value.text)}; write it as '2026-01-31 14:30:00'"
        )
    return Literal(seconds_of(time), Domain.TIMESTAMP)
