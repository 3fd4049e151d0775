"""HAVING, ORDER BY, LIMIT and OFFSET: read over the columns of the answer, never over the rows.

What they name must be selected, or grouped by: nothing else leaves, and nothing more is paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.dp.questions.aggregate import Aggregate
from sfumato.dp.questions.computed import spelled_sql
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.presentation import Ordering, Presentation
from sfumato.dp.questions.sql.aggregates import is_aggregate, read_aggregate
from sfumato.dp.questions.sql.columns import UsedColumns
from sfumato.dp.questions.sql.grouping import KeyReader, SelectedItem, same_name
from sfumato.dp.questions.sql.scope import Scope, column_tree
from sfumato.dp.questions.sql.statement import shown_sql
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

LARGEST = 500  # parts of a HAVING or of an entry of ORDER BY
DIGITS = 18  # of LIMIT and OFFSET
SUFFIXES = ("", "_low", "_high", "_rank_error")


@dataclass(frozen=True)
class AnswerNames:
    """What the columns of an answer are called, and how expressions of the question name them.

    `keys` and `aggregates` are what is grouped by and asked for, each with its name; `items` the SELECT list.

    >>> import sqlglot
    >>> names = AnswerNames(Scope("rides"), (), {}, {"n": Aggregate("count")})
    >>> names.replaced(sqlglot.parse_one("COUNT(*) > 3"), "HAVING").sql()
    '"n" > 3'
    """

    scope: Scope
    items: tuple[SelectedItem, ...]
    keys: dict[str, str | HistogramKey]
    aggregates: dict[str, Aggregate]

    def replaced(self, tree: exp.Expr, clause: str) -> exp.Expr:
        """Return an expression in the names of the answer's columns."""
        if sum(1 for _ in tree.walk()) > LARGEST:
            raise InputError(f"{clause} has more than {LARGEST} parts; write a shorter one")
        return tree.transform(lambda node: self._column(node, clause))

    def _column(self, node: exp.Expr, clause: str) -> exp.Expr:
        from sqlglot import exp

        if isinstance(node, exp.AggFunc | exp.WithinGroup):
            return column_tree(self._aggregate(node, clause))
        if isinstance(node, exp.Column) and not node.table:
            quoted = bool(node.this.args.get("quoted"))
            for name in self._all_names():
                if same_name(name, node.name, quoted=quoted):
                    return column_tree(name)
        if isinstance(node, exp.Column | exp.Func | exp.Binary | exp.Unary | exp.Case) and not is_aggregate(node):
            label = self._key(node)
            if label is not None:
                return column_tree(label)
        if isinstance(node, exp.Column):
            known = ", ".join([*self.keys, *self.aggregates])
            raise InputError(f"{clause} uses {shown_sql(node)}, which is no column of the answer; it has {known}")
        return node

    def _all_names(self) -> list[str]:
        return [*self.keys, *(name + suffix for suffix in SUFFIXES for name in self.aggregates)]

    def _aggregate(self, node: exp.Expr, clause: str) -> str:
        found = read_aggregate(node, UsedColumns(self.scope))
        same = [name for name, entry in self.aggregates.items() if entry.text == found.text]
        if not same:
            raise InputError(f"{clause} uses {shown_sql(node)}, which is not selected; select it, since it is paid for")
        return same[0]

    def _key(self, node: exp.Expr) -> str | None:
        reader = KeyReader(UsedColumns(self.scope), ())
        try:
            found = reader.key(node)
        except InputError:
            return None
        return next((label for label, key in self.keys.items() if key == found), None)

    def ordering(self, entry: exp.Expr) -> Ordering:
        """Return what one entry of ORDER BY sorts by: a place in the list, a column, or what equals one."""
        from sqlglot import exp

        tree, descending = entry.this, bool(entry.args.get("desc"))
        if isinstance(tree, exp.Literal) and not tree.is_string:
            tree = self._at(str(tree.this))
        named = self.replaced(tree, "ORDER BY")
        while isinstance(named, exp.Paren):
            named = named.this
        if not isinstance(named, exp.Column):
            raise InputError(f"ORDER BY has {shown_sql(tree)}, which is no column of the answer; select it or name one")
        return Ordering(named.name, descending, missing_first=bool(entry.args.get("nulls_first")))

    def _at(self, number: str) -> exp.Expr:
        place = int(number) if number.isdecimal() and len(number) <= DIGITS else 0
        if not 1 <= place <= len(self.items):
            raise InputError(
                f"ORDER BY has {number[:DIGITS]}; give a place in the SELECT list, which has {len(self.items)}"
            )
        return self.items[place - 1].tree


def read_presentation(select: exp.Select, names: AnswerNames, key_names: Sequence[tuple[str, str]]) -> Presentation:
    """Return what a SELECT says of the groups that are shown.

    >>> from sfumato.dp.questions.sql.statement import read_select
    >>> read_presentation(read_select("SELECT 1 LIMIT 3"), AnswerNames(Scope("rides"), (), {}, {}), ()).limit
    3
    """
    having, order = select.args.get("having"), select.args.get("order")
    limit, offset = select.args.get("limit"), select.args.get("offset")
    return Presentation(
        having=spelled_sql(names.replaced(having.this, "HAVING")) if having else None,
        order=tuple(names.ordering(entry) for entry in order.expressions) if order else (),
        limit=_whole(limit, "LIMIT") if limit else None,
        offset=_whole(offset, "OFFSET") if offset else 0,
        names=tuple(key_names),
    )


def _whole(clause: exp.Expr, name: str) -> int:
    """Return the number of a LIMIT, an OFFSET or a FETCH."""
    from sqlglot import exp

    options = clause.args.get("limit_options")
    plain = options is None or not (options.args.get("percent") or options.args.get("with_ties"))
    number = clause.args.get("count") if isinstance(clause, exp.Fetch) else clause.expression
    text = str(number.this) if isinstance(number, exp.Literal) and not number.is_string else ""
    if not plain or clause.expressions or not text.isdecimal() or len(text) > DIGITS:
        raise InputError(
            f"the question has {shown_sql(clause).strip() or name}; give {name} a whole number of up to {DIGITS} digits"
        )
    return int(text)
