"""Conditions as data: columns, literals and arithmetic, compared and joined, each with one canonical text.

Nothing here can fail on a row: arithmetic runs on doubles between declared bounds, and `extent` proves before any row
is read that no intermediate result overflows or vanishes. A condition that fails on one row would tell of that row
(Haeberlen, Pierce & Narayan 2011, "Differential privacy under fire", section 4).
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
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


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
    """A declared column; `bounds` clamp it in arithmetic, `order` holds the categories of an ordinal one.

    >>> ColumnReference("age", Domain.NUMBER).text
    '"age"'
    """

    name: str
    domain: Domain
    bounds: tuple[float, float] | None = None
    order: tuple[str, ...] = ()


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


Value = ColumnReference | Literal | Arithmetic | Cast
Condition = Truth | ValueComparison | InList | Missing | Like | Negation | Junction
Node = Value | Condition


@dataclass(frozen=True)
class Predicate:
    """A condition on one row, as data; a row for which it is unknown does not count.

    >>> older = compare(">", ColumnReference("age", Domain.NUMBER), Literal(18, Domain.NUMBER))
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


def compare(operator: str, left: Value, right: Value) -> ValueComparison:
    """Return the comparison with its sides in canonical order: literals to the right, then by text.

    >>> compare("<", Literal(3, Domain.NUMBER), ColumnReference("a", Domain.NUMBER)).text
    '"a" > 3'
    """
    if (isinstance(left, Literal), left.text) > (isinstance(right, Literal), right.text):
        return ValueComparison(MIRRORED[operator], right, left)
    return ValueComparison(operator, left, right)


def compute(operator: str, left: Value, right: Value) -> Arithmetic:
    """Return the arithmetic; the sides of a sum or a product stand in canonical order.

    >>> compute("+", Literal(1, Domain.NUMBER), ColumnReference("a", Domain.NUMBER)).text
    '("a" + 1)'
    """
    if operator in "+*" and left.text > right.text:
        left, right = right, left
    return Arithmetic(operator, left, right)


def join(operator: str, operands: list[Condition]) -> Condition:
    """Return AND or OR of all operands: nested ones of the same kind are opened, each stands once, sorted.

    >>> join("AND", [Truth(True), Truth(True)]).text
    'TRUE'
    """
    flat: dict[str, Condition] = {}
    for operand in operands:
        same = isinstance(operand, Junction) and operand.operator == operator
        for part in operand.operands if same and isinstance(operand, Junction) else (operand,):
            flat[part.text] = part
    parts = tuple(flat[text] for text in sorted(flat))
    return parts[0] if len(parts) == 1 else Junction(operator, parts)


def negate(operand: Condition) -> Condition:
    """Return the condition that is true where `operand` is false, and unknown where it is unknown.

    >>> negate(negate(Missing(ColumnReference("a", Domain.TEXT)))).text
    '"a" IS NULL'
    """
    if isinstance(operand, Negation):
        return operand.operand
    if isinstance(operand, Truth):
        return Truth(not operand.value)
    if isinstance(operand, ValueComparison):
        return ValueComparison(OPPOSITE[operand.operator], operand.left, operand.right)
    return Negation(operand)


def one_of(value: Value, literals: list[Literal]) -> Condition:
    """Return the test that a value is one of some literals, each once and sorted.

    >>> one_of(ColumnReference("a", Domain.NUMBER), [Literal(2, Domain.NUMBER), Literal(1, Domain.NUMBER)]).text
    '"a" IN (1, 2)'
    """
    different = {literal.text: literal for literal in literals}
    ordered = tuple(sorted(different.values(), key=lambda literal: (isinstance(literal.value, str), literal.value)))
    if not ordered:
        return ValueComparison("<>", value, value)  # false, and unknown where the value is missing
    return compare("=", value, ordered[0]) if len(ordered) == 1 else InList(value, ordered)


def children(node: Node) -> tuple[Node, ...]:
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
        case Junction(_, operands):
            return operands
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


def extent(value: Value) -> tuple[float, float]:
    """Return the least magnitude a result other than 0 can have, and the greatest.

    A sum of doubles that are 0 or at least m is 0 or at least m·2⁻⁵³, the spacing of doubles at m.

    >>> extent(Arithmetic("*", Literal(3, Domain.NUMBER), Literal(0.5, Domain.NUMBER)))
    (1.5, 1.5)
    """
    match value:
        case Literal(number) if number and not isinstance(number, str):
            return abs(number), abs(number)
        case ColumnReference(_, _, (low, high)):
            return LEAST, max(abs(low), abs(high), LEAST)
        case Arithmetic(operator, left, right):
            (least, most), (other_least, other_most) = extent(left), extent(right)
            products = {"*": (least * other_least, most * other_most), "/": (least / other_most, most / other_least)}
            return products.get(operator, (min(least, other_least) * 2.0**-53, most + other_most))
        case Cast(inner):
            return 1.0, extent(inner)[1] + 1
        case _:
            return LEAST, MOST
