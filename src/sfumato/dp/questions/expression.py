"""Conditions and values as data: columns, literals, arithmetic and functions, each with one canonical text.

Nothing here can fail on a row: arithmetic runs on doubles between declared bounds, and
`sfumato.dp.questions.extent` proves before any row is read that no intermediate result overflows or vanishes. A
condition that fails on one row would tell of that row (Haeberlen, Pierce & Narayan 2011, "Differential privacy under
fire", section 4).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from sfumato.dp.questions.clock import time_words

MOST = 1e15  # numbers in a condition lie within ±MOST, and are 0 where they are nearer to it than LEAST
LEAST = 1e-15
EPOCH = dt.date(1970, 1, 1)


class Domain(StrEnum):
    """What values are compared as: doubles, texts by code point, days, or seconds of a wall clock.

    >>> Domain("date") is Domain.DATE
    True
    """

    NUMBER = "number"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"


class Expression:
    """Base of the parts of a condition, which all have a canonical text.

    >>> Truth(True).text
    'TRUE'
    """

    @property
    def text(self) -> str:
        """The canonical SQL: the same condition has the same text."""
        node = cast("Node", self)
        return _value_sql(node) if isinstance(node, Value) else _condition_sql(node)


@dataclass(frozen=True)
class ColumnReference(Expression):
    """A declared column; `bounds` clamp it in computations, `order` holds the categories of an ordinal one.

    Of a column of words, `longest` is the length of the longest category.

    >>> ColumnReference("age", Domain.NUMBER).text
    '"age"'
    """

    name: str
    domain: Domain
    bounds: tuple[float, float] | None = None
    order: tuple[str, ...] = ()
    longest: int | None = None


@dataclass(frozen=True)
class Literal(Expression):
    """A number, a text, a date as days or a timestamp as seconds since 1970-01-01.

    >>> Literal(2.0, Domain.NUMBER).text, Literal("it's", Domain.TEXT).text, Literal(1, Domain.DATE).text
    ('2', "'it''s'", "DATE '1970-01-02'")
    """

    value: float | str
    domain: Domain


@dataclass(frozen=True)
class Arithmetic(Expression):
    """`+ - * /` on doubles; division by zero is missing.

    >>> Arithmetic("/", ColumnReference("a", Domain.NUMBER), Literal(2, Domain.NUMBER)).text
    '("a" / 2)'
    """

    operator: str
    left: Value
    right: Value
    domain: Domain = Domain.NUMBER


@dataclass(frozen=True)
class Cast(Expression):
    """A text read as an integer, a number or a date, a number rounded to an integer, or the day of a timestamp.

    What does not fit is missing.

    >>> Cast(ColumnReference("a", Domain.TEXT), "INTEGER", Domain.NUMBER).text
    'CAST("a" AS INTEGER)'
    """

    value: Value
    to: str
    domain: Domain


@dataclass(frozen=True)
class Call(Expression):
    """A function of values; `options` are constants that belong to the function: a unit, a number of places.

    >>> Call("EXTRACT", (ColumnReference("a", Domain.DATE),), Domain.NUMBER, ("YEAR",)).text
    'EXTRACT(YEAR FROM "a")'
    >>> Call("COALESCE", (ColumnReference("a", Domain.NUMBER), Literal(0, Domain.NUMBER)), Domain.NUMBER).text
    'COALESCE("a", 0)'
    """

    function: str
    arguments: tuple[Value, ...]
    domain: Domain
    options: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Case(Expression):
    """The value of the first condition that is true, or `otherwise`; None is a missing value.

    >>> Case(((Truth(True), Literal(1, Domain.NUMBER)),), None, Domain.NUMBER).text
    'CASE WHEN TRUE THEN 1 END'
    """

    branches: tuple[tuple[Condition, Value | None], ...]
    otherwise: Value | None
    domain: Domain

    @property
    def results(self) -> tuple[Value, ...]:
        """The values that it can have."""
        return tuple(value for value in (*(value for _, value in self.branches), self.otherwise) if value is not None)


@dataclass(frozen=True)
class Truth(Expression):
    """TRUE or FALSE.

    >>> Truth(False).text
    'FALSE'
    """

    value: bool


@dataclass(frozen=True)
class ValueComparison(Expression):
    """Two values of one domain, compared.

    >>> ValueComparison("<=", ColumnReference("a", Domain.NUMBER), Literal(3, Domain.NUMBER)).text
    '"a" <= 3'
    """

    operator: str
    left: Value
    right: Value


@dataclass(frozen=True)
class InList(Expression):
    """A value that is one of several literals.

    >>> InList(ColumnReference("a", Domain.NUMBER), (Literal(1, Domain.NUMBER), Literal(2, Domain.NUMBER))).text
    '"a" IN (1, 2)'
    """

    value: Value
    literals: tuple[Literal, ...]


@dataclass(frozen=True)
class Missing(Expression):
    """A value that is missing: empty, a declared mark, or not readable as declared.

    >>> Missing(ColumnReference("a", Domain.TEXT)).text
    '"a" IS NULL'
    """

    value: Value


@dataclass(frozen=True)
class Like(Expression):
    """A text that fits a pattern: `%` stands for any characters, `_` for one.

    >>> Like(ColumnReference("a", Domain.TEXT), "x_y%").regular_expression
    'x.y.*'
    """

    value: Value
    pattern: str

    @property
    def regular_expression(self) -> str:
        """The regular expression that the whole text must match."""
        wild = {"%": ".*", "_": "."}
        return "".join(wild.get(letter, re.escape(letter)) for letter in self.pattern)


@dataclass(frozen=True)
class Negation(Expression):
    """NOT, in three-valued logic: unknown stays unknown.

    >>> Negation(Missing(ColumnReference("a", Domain.TEXT))).text
    'NOT ("a" IS NULL)'
    """

    operand: Condition


@dataclass(frozen=True)
class Junction(Expression):
    """AND or OR of two or more conditions, sorted by their texts.

    >>> Junction("OR", (Truth(False), Truth(True))).text
    '(FALSE) OR (TRUE)'
    """

    operator: str
    operands: tuple[Condition, ...]


Value = ColumnReference | Literal | Arithmetic | Cast | Call | Case
Condition = Truth | ValueComparison | InList | Missing | Like | Negation | Junction
Node = Value | Condition


@dataclass(frozen=True)
class Predicate:
    """A condition on one row, as data; a row for which it is unknown does not count.

    >>> older = ValueComparison(">", ColumnReference("age", Domain.NUMBER), Literal(18, Domain.NUMBER))
    >>> Predicate(older).text, Predicate(older).columns
    ('"age" > 18', ('age',))
    """

    condition: Condition

    @property
    def text(self) -> str:
        """The canonical SQL: the same question has the same text."""
        return self.condition.text

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it looks at, sorted."""
        return tuple(sorted({node.name for node in walk(self.condition) if isinstance(node, ColumnReference)}))


def _value_sql(value: Value) -> str:
    match value:
        case ColumnReference(name):
            return '"' + name.replace('"', '""') + '"'
        case Literal():
            return _literal_sql(value)
        case Arithmetic(operator, left, right):
            return f"({left.text} {operator} {right.text})"
        case Cast(inner, to):
            return f"CAST({inner.text} AS {to})"
        case Call():
            return _call_sql(value)
        case Case(branches, otherwise):
            cases = "".join(f" WHEN {test.text} THEN {_result_sql(result)}" for test, result in branches)
            last = "" if otherwise is None else f" ELSE {otherwise.text}"
            return f"CASE{cases}{last} END"


def _result_sql(value: Value | None) -> str:
    return "NULL" if value is None else value.text


def _call_sql(call: Call) -> str:
    texts = [argument.text for argument in call.arguments]
    match call.function, call.options:
        case "EXTRACT", (unit,):
            return f"EXTRACT({unit} FROM {texts[0]})"
        case "DATE_TRUNC", (unit,):
            return f"DATE_TRUNC('{unit}', {texts[0]})"
        case "SHIFT", (number, unit):
            return f"({texts[0]} + INTERVAL '{number} {unit}')"
        case ("DAYS_AFTER" | "DIFFERENCE" | "CONCAT") as function, _:
            signs = {"DAYS_AFTER": " + ", "DIFFERENCE": " - ", "CONCAT": " || "}
            return f"({signs[function].join(texts)})"
        case function, options:
            return f"{function}({', '.join([*texts, *map(str, options)])})"


def _condition_sql(condition: Condition) -> str:  # noqa: PLR0911  # one for each kind of condition
    match condition:
        case Truth(value):
            return "TRUE" if value else "FALSE"
        case ValueComparison(operator, left, right):
            return f"{left.text} {operator} {right.text}"
        case InList(value, literals):
            return f"{value.text} IN ({', '.join(literal.text for literal in literals)})"
        case Missing(value):
            return f"{value.text} IS NULL"
        case Like(value, pattern):
            return f"{value.text} LIKE {Literal(pattern, Domain.TEXT).text}"
        case Negation(operand):
            return f"NOT ({operand.text})"
        case Junction(operator, operands):
            return f" {operator} ".join(f"({operand.text})" for operand in operands)


def _literal_sql(literal: Literal) -> str:
    if isinstance(literal.value, str):
        return "'" + literal.value.replace("'", "''") + "'"
    if literal.domain is Domain.DATE:
        return f"DATE '{EPOCH + dt.timedelta(days=int(literal.value))}'"
    if literal.domain is Domain.TIMESTAMP:
        return f"TIMESTAMP '{time_words(literal.value)}'"
    return str(int(literal.value)) if float(literal.value).is_integer() else repr(literal.value)


def children(node: Node) -> tuple[Node, ...]:  # noqa: PLR0911  # one for each kind of node
    """Return the nodes directly below one.

    >>> [child.text for child in children(Negation(Truth(True)))]
    ['TRUE']
    """
    match node:
        case ValueComparison(_, left, right) | Arithmetic(_, left, right):
            return left, right
        case InList(value, literals):
            return value, *literals
        case Missing(value) | Like(value) | Cast(value):
            return (value,)
        case Negation(operand):
            return (operand,)
        case Junction(_, operands) | Call(_, operands):
            return operands
        case Case(branches):
            return *(test for test, _ in branches), *node.results
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and everything below it.

    >>> len(list(walk(Negation(Truth(True)))))
    2
    """
    yield node
    for child in children(node):
        yield from walk(child)
