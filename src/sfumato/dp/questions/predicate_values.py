"""Columns and literals of a condition: declared columns by name, numbers within limits, printable texts, dates.

Everything is checked against the schema, which is public, and never against the rows (Dwork & Roth 2014, section 3).
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

from sfumato.dp.questions.expression import (
    EPOCH,
    LEAST,
    MOST,
    Among,
    Arithmetic,
    Column,
    Comparison,
    Condition,
    Domain,
    Literal,
    Value,
    compared,
)
from sfumato.errors import InputError, suggestion
from sfumato.schema import Attribute, Kind, Schema

if TYPE_CHECKING:
    from sqlglot import exp

SUBSET = "a condition may use comparisons, + - * /, BETWEEN, IN, IS NULL, LIKE, CAST, AND, OR and NOT"
LONGEST = 10_000  # characters of a text
SHOWN = 60  # characters of a clause in an error


def short(text: str) -> str:
    """Return the beginning of a text, for an error.

    >>> short("x" * 100)[-3:]
    'xx…'
    """
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def refusal(node: exp.Expr, why: str = SUBSET) -> InputError:
    """Return the error that names a clause which is not covered.

    >>> import sqlglot
    >>> str(refusal(sqlglot.parse_one("a % 2"), "use / instead"))
    'the condition uses a % 2, which is not covered; use / instead'
    """
    return InputError(f"the condition uses {short(node.sql(dialect='postgres'))}, which is not covered; {why}")


def declared_column(name: str, schema: Schema, *, quoted: bool = False) -> Column:
    """Return the column of the schema that is meant; unquoted names may differ in case.

    >>> declared_column("agee", Schema.from_roles(quasi=["age"]))
    Traceback (most recent call last):
    sfumato.errors.InputError: the schema has no column 'agee'; did you mean 'age'?
    """
    attribute = schema.columns.get(name)
    if attribute is None and not quoted:
        near = [other for other in schema.columns if other.casefold() == name.casefold()]
        attribute = schema.columns[near[0]] if len(near) == 1 else None
    if attribute is None:
        raise InputError(f"the schema has no column '{name}'{suggestion(name, schema.columns)}")
    order = attribute.categories if attribute.kind is Kind.ORDINAL else None
    return Column(attribute.name, _domain(attribute), _bounds(attribute), order or ())


def _domain(attribute: Attribute) -> Domain:
    if attribute.kind is Kind.DATE:
        return Domain.DATE
    return Domain.NUMBER if attribute.kind in {Kind.INTEGER, Kind.NUMBER} else Domain.TEXT


def _bounds(attribute: Attribute) -> tuple[float, float] | None:
    """Return public bounds of a number; dates are not calculated with."""
    if attribute.bounds is None or not attribute.public or _domain(attribute) is not Domain.NUMBER:
        return None
    low, high = (float(limit) for limit in attribute.bounds if isinstance(limit, int | float))
    return (low, high) if max(abs(low), abs(high)) <= MOST else None


def folded(result: Arithmetic) -> Literal:
    """Return the number that arithmetic on two literals gives.

    >>> folded(Arithmetic("-", Literal(3, Domain.NUMBER), Literal(2, Domain.NUMBER))).text
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


def dated(value: Value) -> Value:
    """Return a text literal as a date, and any other value as it is.

    >>> dated(Literal("1970-01-02", Domain.TEXT)).text
    "DATE '1970-01-02'"
    """
    if not isinstance(value, Literal) or not isinstance(value.value, str):
        return value
    try:
        day = dt.datetime.strptime(value.value, "%Y-%m-%d").replace(tzinfo=dt.UTC).date()
        return Literal((day - EPOCH).days, Domain.DATE)
    except ValueError:
        raise InputError(f"the condition compares a date with {short(value.text)}; write it as '2026-01-31'") from None


def one_of(value: Value, literals: list[Literal]) -> Condition:
    """Return the test that a value is one of some literals, each once and sorted.

    >>> one_of(Column("a", Domain.NUMBER), [Literal(2, Domain.NUMBER), Literal(1, Domain.NUMBER)]).text
    '"a" IN (1, 2)'
    """
    different = {literal.text: literal for literal in literals}
    ordered = tuple(sorted(different.values(), key=lambda literal: (isinstance(literal.value, str), literal.value)))
    if not ordered:
        return Comparison("<>", value, value)  # false, and unknown where the value is missing
    return compared("=", value, ordered[0]) if len(ordered) == 1 else Among(value, ordered)
