"""Which rows count: a condition in a small SQL, checked against the schema, that no row can make fail.

The subset is read by sqlglot and everything outside it is refused by name. A condition that raised, or ran longer, on
one person's row would tell of that row without being charged (Haeberlen, Pierce & Narayan 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.dp.questions.expression import Column, Condition, walk
from sfumato.dp.questions.predicate_reader import Reader
from sfumato.dp.questions.predicate_values import short
from sfumato.errors import InputError
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST = 10_000  # characters of a condition
LARGEST = 500  # its columns, literals and operators
DEEPEST = 100


@dataclass(frozen=True)
class Predicate:
    """A condition on one row, as data; a row for which it is unknown does not count.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.schema import Kind
    >>> from sfumato.schema import Role
    >>> schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER)})
    >>> parse_predicate("67>age and AGE >= 18.0", schema).text
    '("age" < 67) AND ("age" >= 18)'
    """

    condition: Condition

    @property
    def text(self) -> str:
        """The canonical SQL: the same question has the same text."""
        return self.condition.text

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it looks at, sorted."""
        return tuple(sorted({node.name for node in walk(self.condition) if isinstance(node, Column)}))


def parse_predicate(text: str, schema: Schema) -> Predicate:
    """Return the condition written in `text`, over the columns of `schema`.

    >>> parse_predicate("lower(name) = 'x'", Schema())
    Traceback (most recent call last):
    sfumato.errors.InputError: the condition uses LOWER(name), which is not covered; a condition may use comparisons, \
+ - * /, BETWEEN, IN, IS NULL, LIKE, CAST, AND, OR and NOT
    """
    import sqlglot

    if len(text) > LONGEST:
        raise InputError(f"the condition has {len(text)} characters; give at most {LONGEST}")
    try:
        trees = sqlglot.parse(text, dialect="postgres")
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        raise InputError(f"the condition '{short(text)}' is not SQL that can be read; check its spelling") from None
    if len(trees) != 1 or trees[0] is None:
        raise InputError(f"a condition is one expression; found {sum(tree is not None for tree in trees)}")
    return from_tree(trees[0], schema)


def from_tree(tree: exp.Expr, schema: Schema, table: str | None = None) -> Predicate:
    """Return the condition in a tree of sqlglot; columns may be qualified by the name of the `table`.

    >>> import sqlglot
    >>> from_tree(sqlglot.parse_one("1 = 2 or true"), Schema()).text
    '(1 = 2) OR (TRUE)'
    """
    deepest = _depth(tree)
    if deepest > DEEPEST:
        raise InputError(f"the condition nests {deepest} deep; at most {DEEPEST} are covered")
    condition = Reader(schema, table).condition(tree)
    size = sum(1 for _ in walk(condition))
    if size > LARGEST:
        raise InputError(f"the condition has {size} columns, literals and operators; at most {LARGEST} are covered")
    return Predicate(condition)


def _depth(tree: exp.Expr) -> int:
    """Return how deep a tree nests, without recursion."""
    depths = {id(tree): 0}
    for node in tree.bfs():
        for child in node.iter_expressions():
            depths[id(child)] = depths[id(node)] + 1
    return max(depths.values())
