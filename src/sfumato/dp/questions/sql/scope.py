"""The columns that a SELECT can name: each stands for an expression of the table's own columns.

A question about an inner SELECT is so turned into one about the table itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.dp.questions.people import People
from sfumato.dp.questions.sql.statement import shown_sql
from sfumato.errors import InputError, suggestion

if TYPE_CHECKING:
    from sqlglot import exp

LARGEST = 4_000  # parts of an expression after names were replaced


@dataclass(frozen=True)
class Scope:
    """What can be named in a SELECT over one source, and the conditions that its rows meet already.

    `qualifier` may stand before a column's name. Without `columns` any name stands for itself; where the source is not
    `closed`, so does a name that is not among them, for which the schema has a better error. So may the names of
    `joined` tables, each with those of its columns that the rows hold under another name.

    >>> Scope("r").resolve(_tree("r.age < 30")).sql()
    'age < 30'
    """

    qualifier: str
    columns: Mapping[str, exp.Expr] | None = None
    closed: bool = False
    conditions: tuple[exp.Expr, ...] = ()
    people: People | None = None  # whose rows of features these are, in place of the table's rows
    joined: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def resolve(self, tree: exp.Expr) -> exp.Expr:
        """Return an expression in the table's own columns."""
        from sqlglot import exp

        resolved = tree.transform(lambda node: self._column(node) if isinstance(node, exp.Column) else node)
        if sum(1 for _ in resolved.walk()) > LARGEST:
            raise InputError(f"the question has an expression of more than {LARGEST} parts; write a shorter one")
        return resolved

    def holds(self, name: str) -> bool:
        """Return whether the source is known to have a column of that name."""
        return self._named(name, quoted=False) is not None

    def _named(self, name: str, *, quoted: bool) -> str | None:
        """Return the one column that is meant; a name without quotes may differ in case."""
        columns = self.columns or {}
        if name in columns:
            return name
        near = [] if quoted else [other for other in columns if other.casefold() == name.casefold()]
        return near[0] if len(near) == 1 else None

    def _column(self, node: exp.Column) -> exp.Expr:
        from sqlglot import exp

        if isinstance(node.this, exp.Star) or any(node.args.get(part) for part in ("db", "catalog", "join_mark")):
            raise InputError(f"the question names {shown_sql(node)}, which is not covered; name one column")
        written = self._renamed(node)
        name = self._named(written, quoted=bool(node.this.args.get("quoted")))
        if name is not None and self.columns is not None:
            meant = self.columns[name]
            operator = isinstance(meant, exp.Binary)  # AND and OR are functions, too, to sqlglot
            alone = isinstance(meant, exp.Column | exp.Literal | exp.Func | exp.Paren) and not operator
            return meant.copy() if alone else exp.Paren(this=meant.copy())
        if self.closed:
            hint = suggestion(node.name, self.columns or {})
            raise InputError(f"the inner SELECT '{self.qualifier}' has no column '{node.name}'{hint}")
        return exp.Column(this=node.this.copy())

    def _renamed(self, node: exp.Column) -> str:
        """Return a column's name in the rows; its table must be one that the question reads."""
        if not node.table or node.table.casefold() == self.qualifier.casefold():
            return node.name
        for alias, renamed in self.joined.items():
            if node.table.casefold() == alias.casefold():
                return renamed.get(node.name, node.name)
        there = " and ".join(f"'{name}'" for name in (self.qualifier, *self.joined))
        alone = "" if self.joined else " alone"
        raise InputError(
            f"the question names {shown_sql(node)}, but reads from {there}{alone}; write {self.qualifier}.{node.name}"
        )


def column_tree(name: str) -> exp.Expr:
    """Return a column of the table itself.

    >>> column_tree("a b").sql()
    '"a b"'
    """
    from sqlglot import exp

    return exp.column(exp.to_identifier(name, quoted=True))


def _tree(text: str) -> exp.Expr:
    import sqlglot

    return sqlglot.parse_one(text)
