"""How computed columns are called: by their own SQL in one normal form, and in short words where an answer shows them.

The same expression gets the same name, however it was written down, and whatever alias it has: an alias is no part of
what is paid for.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

DIALECT = "postgres"
LONGEST_NAME = 80  # characters of a computed column's name
LONGEST_LABEL = 40  # characters of its words
SIMPLE_NAME = re.compile(r"[a-z_][a-z0-9_]*")
TOKEN = re.compile(r"\w+|[-+*/<>=%|]+")
SYMBOLS = {
    "*": "times",
    "+": "plus",
    "-": "minus",
    "/": "over",
    "%": "modulo",
    "<": "below",
    "<=": "upto",
    ">": "above",
    ">=": "from",
    "=": "is",
    "<>": "not",
    "||": "and",
}
LEFT_OUT = {"extract", "cast"}  # words that say nothing in a name


@dataclass(frozen=True)
class DerivedColumn:
    """A column that the question computes from other columns of the same row; `expression` is SQL.

    It may use declared columns and derived ones that come before it. Its type and bounds are derived, never learnt.

    >>> DerivedColumn("hour", "EXTRACT(HOUR FROM start)").label
    'hour'
    >>> computed_column("EXTRACT(HOUR FROM start)").label
    'hour_from_start'
    """

    name: str
    expression: str

    @property
    def label(self) -> str:
        """What an answer calls it."""
        return in_words(self.expression) if self.name == name_of(self.expression) else self.name


def computed_column(expression: str) -> DerivedColumn:
    """Return the column that an expression in normal form computes, called by its SQL.

    >>> computed_column("fare * 2")
    DerivedColumn(name='fare * 2', expression='fare * 2')
    """
    return DerivedColumn(name_of(expression), expression)


def name_of(expression: str) -> str:
    """Return the name of an expression: its SQL, or where that is long its beginning and a digest of the whole.

    >>> name_of("fare * 2"), len(name_of("fare + " * 100 + "1"))
    ('fare * 2', 80)
    """
    if len(expression) <= LONGEST_NAME:
        return expression
    digest = hashlib.sha256(expression.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{expression[: LONGEST_NAME - len(digest) - 2]}… {digest}"


def in_words(expression: str) -> str:
    """Return an expression in short words that can stand in SQL without quotes.

    >>> in_words("fare * 2"), in_words("CAST(start AS DATE)")
    ('fare_times_2', 'start_as_date')
    """
    words = [SYMBOLS.get(token, token.lower()) for token in TOKEN.findall(expression)]
    kept = [word for word in words if word[0].isalnum() or word[0] == "_"]
    text = "_".join(word for word in kept if word not in LEFT_OUT)[:LONGEST_LABEL].strip("_") or "value"
    return f"_{text}" if text[0].isdecimal() else text


def normal_sql(tree: exp.Expr) -> str:
    """Return a value in one spelling: names in quotes only where they need them, brackets around inner operators.

    >>> import sqlglot
    >>> normal_sql(sqlglot.parse_one('("fare"*2)')), normal_sql(sqlglot.parse_one("fare * 2 + 1 -- one more"))
    ('fare * 2', '(fare * 2) + 1')
    """
    return spelled_sql(_bracketed(tree))


def spelled_sql(tree: exp.Expr) -> str:
    """Return an expression with names in quotes only where they need them, its brackets as they are.

    >>> import sqlglot
    >>> spelled_sql(sqlglot.parse_one('a > 1 AND "b" > (2)'))
    'a > 1 AND b > (2)'
    """
    from sqlglot import exp

    copy = tree.copy()
    while isinstance(copy, exp.Paren):
        copy = copy.this
    for identifier in copy.find_all(exp.Identifier):
        identifier.set("quoted", _needs_quotes(identifier.this, quoted=bool(identifier.args.get("quoted"))))
    try:
        return str(copy.sql(dialect=DIALECT, comments=False))
    except RecursionError:
        raise InputError("the question has an expression that is too deeply nested; write a flatter one") from None


def _bracketed(tree: exp.Expr) -> exp.Expr:
    """Return an expression with brackets around each operator inside another one, and none elsewhere."""
    from sqlglot import exp

    operators = (exp.Binary, exp.Unary, exp.Between, exp.In)
    around = exp.Tuple(expressions=[tree.copy()])
    for bracket in list(around.find_all(exp.Paren)):
        _put(bracket.this, bracket)
    for node in list(around.find_all(*operators)):
        if isinstance(node.parent, operators):
            bracket = exp.Paren()
            _put(bracket, node)
            bracket.set("this", node)
    inner: exp.Expr = around.expressions[0]
    return inner


def _put(new: exp.Expr, old: exp.Expr) -> None:
    """Put a node in the place of another one."""
    parent, name, place = old.parent, old.arg_key, old.index
    if parent is not None and name is not None:
        parent.set(name, new, place)


def read_expression(text: str) -> exp.Expr:
    """Return the tree of an expression that is given as SQL.

    >>> normal_sql(read_expression('("fare" * 2)'))
    'fare * 2'
    """
    import sqlglot

    try:
        return sqlglot.parse_one(text, dialect=DIALECT)
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise InputError(
            f"the expression {text[:LONGEST_NAME]} is not SQL that can be read; write another one"
        ) from None


def _needs_quotes(name: str, *, quoted: bool) -> bool:
    """Return whether a name is read as itself only in quotes; a name without them may differ in case."""
    if SIMPLE_NAME.fullmatch(name):
        return name.upper() in _reserved()
    return quoted or not name.isidentifier()


@functools.cache
def _reserved() -> frozenset[str]:
    from sqlglot.dialects.postgres import Postgres

    return frozenset(word.partition(" ")[0] for word in Postgres.Tokenizer.KEYWORDS)


def merge_derived(first: Sequence[DerivedColumn], second: Sequence[DerivedColumn]) -> tuple[DerivedColumn, ...]:
    """Return the columns of both, each once.

    >>> merge_derived([DerivedColumn("a", "1")], [DerivedColumn("a", "1")])
    (DerivedColumn(name='a', expression='1'),)
    """
    return tuple(dict.fromkeys([*first, *second]))
