"""The columns that the parts of a question use: declared ones by their names, computed ones as derived columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.dp.questions.computed import DerivedColumn, computed_column, normal_sql
from sfumato.dp.questions.sql.scope import Scope
from sfumato.dp.questions.sql.statement import shown_sql
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass
class UsedColumns:
    """Gives every expression the name of a column: its own, or that of a derived column, each made once.

    >>> import sqlglot
    >>> used = UsedColumns(Scope("rides"))
    >>> used.name(sqlglot.parse_one("rides.fare")), used.name(sqlglot.parse_one("(fare*2)")), list(used.derived)
    ('fare', 'fare * 2', ['fare * 2'])
    """

    scope: Scope
    derived: dict[str, DerivedColumn] = field(default_factory=dict)

    def name(self, tree: exp.Expr) -> str:
        """Return the name of the column that holds an expression of the question."""
        from sqlglot import exp

        resolved = self.scope.resolve(tree)
        while isinstance(resolved, exp.Paren):
            resolved = resolved.this
        if isinstance(resolved, exp.Column):
            return str(resolved.name)
        refuse_aggregates(resolved)
        column = computed_column(normal_sql(resolved))
        return self.derived.setdefault(column.name, column).name

    def label(self, name: str) -> str:
        """Return what an answer calls a column."""
        return self.derived[name].label if name in self.derived else name


def refuse_aggregates(tree: exp.Expr) -> None:
    """Refuse an expression of one row that holds an aggregate or a SELECT.

    >>> import sqlglot
    >>> refuse_aggregates(sqlglot.parse_one("1 + SUM(x)"))
    Traceback (most recent call last):
    sfumato.errors.InputError: the question uses SUM(x) inside an expression, which is not covered; aggregate by itself
    """
    from sqlglot import exp

    found = tree.find(exp.AggFunc, exp.Window, exp.Query)
    if found is not None:
        raise InputError(
            f"the question uses {shown_sql(found)} inside an expression, which is not covered; aggregate by itself"
        )
