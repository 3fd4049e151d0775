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

MOST = 1e15  # numbers in a condition lie within ±MOST, and are 0 where they are nearer to it than LEAST
LEAST = 1e-15
EPOCH = dt.date(1970, 1, 1)
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Domain(StrEnum):
    """What values are compared as: doubles, texts by code point, or days.

    >>> Domain("date") is Domain.DATE
    True
    """

    NUMBER = "number"
    TEXT = "text"
    DATE = "date"


@dataclass(frozen=True)
class Column:
    """A declared column; `bounds` clamp it in arithmetic, `order` holds the categories of an ordinal one.

    >>> Column("age", Domain.NUMBER).text
    '"age"'
    """

    name: str
    domain: Domain
    bounds: tuple[float, float] | None = None
    order: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The canonical SQL."""
        return '"' + self.name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Literal:
    """A number, a text, or a date as days since 1970-01-01.

    >>> Literal(2.0, Domain.NUMBER).text, Literal("it's", Domain.TEXT).text, Literal(1, Domain.DATE).text
    ('2', "'it''s'", "DATE '1970-01-02'")
    """

    value: float | str
    domain: Domain

    @property
    def text(self) -> str:
        """The canonical SQL."""
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        if self.domain is Domain.DATE:
            return f"DATE '{EPOCH + dt.timedelta(days=int(self.value))}'"
        return str(int(self.value)) if float(self.value).is_integer() else repr(self.value)


@dataclass(frozen=True)
class Arithmetic:
    """`+ - * /` on doubles; division by zero is missing.

    >>> Arithmetic("/", Column("a", Domain.NUMBER), Literal(2, Domain.NUMBER)).text
    '("a" / 2)'
    """

    operator: str
    left: Value
    right: Value
    domain: Domain = Domain.NUMBER

    @property
    def text(self) -> str:
        """The canonical SQL."""
        return f"({self.left.text} {self.operator} {self.right.text})"


@dataclass(frozen=True)
class Cast:
    """A text read as an integer, a number or a date, or a number rounded to an integer; what does not fit is missing.

    >>> Cast(Column("a", Domain.TEXT), "INTEGER", Domain.NUMBER).text
    'CAST("a" AS INTEGER)'
    """

    value: Value
    to: str
    domain: Domain

    @property
    def text(self) -> str:
        """The canonical SQL."""
        return f"CAST({self.value.text} AS {self.to})"


Value = Column | Literal | Arithmetic | Cast


@dataclass(frozen=True)
class Truth:
    """TRUE or FALSE.

    >>> Truth(True).text
    'TRUE'
    """

    value: bool

    @property
    def text(self) -> str:
        """The canonical SQL."""
        return "TRUE" if self.value else "FALSE"


@dataclass(frozen=True)
class Comparison:
    """Two values of one domain, compared.

    >>> Comparison("<=", Column("a", Domain.NUMBER), Literal(3, Domain.NUMBER)).text
    '"a" <= 3'
    """

    operator: str
    left: Value
    right: Value

    @property
    def text(self) -> str:
        """The canonical SQL."""
        return f"{self.left.text} {self.operator} {self.right.text}"


@dataclass(frozen=True)
class Among:
    """A value that is one of several literals.

    >>> Among(Column("a", Domain.NUMBER), (Literal(1, Domain.NUMBER), Literal(2, Domain.NUMBER))).text
    '"a" IN (1, 2)'
    """

    value: Value
    literals: tuple[Literal, ...]

    @property
    def text(self) -> str:
        """The canonical SQL."""
        return f"{self.value.text} IN ({', '.join(literal.text for literal in self.literals)})"


@dataclass(frozen=True)
class Missing:
    """A value that is missing: empty, a declared mark, or not readable as declared.

    >>> Missing(Column("a", Domain.TEXT)).text
    '"a" IS NULL'
    """

    value: Value

    @property
    def text(self) -> str:
        """The canonical SQL."""
        return f"{self.value.text} IS NULL"


@dataclass(frozen=True)
class Like:
    """A text that fits a pattern: `%` stands for any characters, `_` for one.

    >>> Like(Column("a", Domain.TEXT), "x_y%").expression
    'x.y.*'
    """

    value: Value
    pattern: str

    @property
    def text(self) -> str:
        """The canonical SQL."""
        return f"{self.value.text} LIKE {Literal(self.pattern, Domain.TEXT).text}"

    @property
    def expression(self) -> str:
        """The regular expression that the whole text must match."""
        wild = {"%": ".*", "_": "."}
        return "".join(wild.get(letter, re.escape(letter)) for letter in self.pattern)


@dataclass(frozen=True)
class Negation:
    """NOT, in three-valued logic: unknown stays unknown.

    >>> Negation(Missing(Column("a", Domain.TEXT))).text
    'NOT ("a" IS NULL)'
    """

    operand: Condition

    @property
    def text(self) -> str:
        """The canonical SQL."""
        return f"NOT ({self.operand.text})"


@dataclass(frozen=True)
class Junction:
    """AND or OR of two or more conditions, sorted by their texts.

    >>> Junction("OR", (Truth(False), Truth(True))).text
    '(FALSE) OR (TRUE)'
    """

    operator: str
    operands: tuple[Condition, ...]

    @property
    def text(self) -> str:
        """The canonical SQL."""
        return f" {self.operator} ".join(f"({operand.text})" for operand in self.operands)


Condition = Truth | Comparison | Among | Missing | Like | Negation | Junction
Node = Value | Condition


def compared(operator: str, left: Value, right: Value) -> Comparison:
    """Return the comparison with its sides in canonical order: literals to the right, then by text.

    >>> compared("<", Literal(3, Domain.NUMBER), Column("a", Domain.NUMBER)).text
    '"a" > 3'
    """
    if (isinstance(left, Literal), left.text) > (isinstance(right, Literal), right.text):
        return Comparison(MIRRORED[operator], right, left)
    return Comparison(operator, left, right)


def computed(operator: str, left: Value, right: Value) -> Arithmetic:
    """Return the arithmetic; the sides of a sum or a product stand in canonical order.

    >>> computed("+", Literal(1, Domain.NUMBER), Column("a", Domain.NUMBER)).text
    '("a" + 1)'
    """
    if operator in "+*" and left.text > right.text:
        left, right = right, left
    return Arithmetic(operator, left, right)


def joined(operator: str, operands: list[Condition]) -> Condition:
    """Return AND or OR of all operands: nested ones of the same kind are opened, each stands once, sorted.

    >>> joined("AND", [Truth(True), Truth(True)]).text
    'TRUE'
    """
    flat: dict[str, Condition] = {}
    for operand in operands:
        same = isinstance(operand, Junction) and operand.operator == operator
        for part in operand.operands if same and isinstance(operand, Junction) else (operand,):
            flat[part.text] = part
    parts = tuple(flat[text] for text in sorted(flat))
    return parts[0] if len(parts) == 1 else Junction(operator, parts)


def negated(operand: Condition) -> Condition:
    """Return the condition that is true where `operand` is false, and unknown where it is unknown.

    >>> negated(negated(Missing(Column("a", Domain.TEXT)))).text
    '"a" IS NULL'
    """
    if isinstance(operand, Negation):
        return operand.operand
    if isinstance(operand, Truth):
        return Truth(not operand.value)
    if isinstance(operand, Comparison):
        return Comparison(OPPOSITE[operand.operator], operand.left, operand.right)
    return Negation(operand)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below one.

    >>> [child.text for child in children(Negation(Truth(True)))]
    ['TRUE']
    """
    match node:
        case Comparison(_, left, right) | Arithmetic(_, left, right):
            return left, right
        case Among(value, literals):
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
        case Column(_, _, (low, high)):
            return LEAST, max(abs(low), abs(high), LEAST)
        case Arithmetic(operator, left, right):
            (least, most), (other_least, other_most) = extent(left), extent(right)
            products = {"*": (least * other_least, most * other_most), "/": (least / other_most, most / other_least)}
            return products.get(operator, (min(least, other_least) * 2.0**-53, most + other_most))
        case Cast(inner):
            return 1.0, extent(inner)[1] + 1
        case _:
            return LEAST, MOST
