"""The keys of a GROUP BY: columns, expressions, bins, places in the SELECT list and names given there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.sql.aggregates import is_aggregate
from sfumato.dp.questions.sql.columns import UsedColumns
from sfumato.dp.questions.sql.statement import shown_sql
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

DIGITS = 6  # of a number of bins


@dataclass(frozen=True)
class SelectedItem:
    """One entry of a SELECT list, and the name it is given.

    >>> import sqlglot
    >>> SelectedItem.of(sqlglot.parse_one("fare * 2 AS double")).alias
    'double'
    """

    tree: exp.Expr
    alias: str | None

    @classmethod
    def of(cls, entry: exp.Expr) -> SelectedItem:
        """Return an entry without its alias."""
        from sqlglot import exp

        return cls(entry.this, entry.alias) if isinstance(entry, exp.Alias) else cls(entry, None)


@dataclass(frozen=True)
class KeyReader:
    """Reads keys over the columns of a scope; a name may also be one that the SELECT list gives.

    >>> import sqlglot
    >>> from sfumato.dp.questions.sql.scope import Scope
    >>> KeyReader(UsedColumns(Scope("rides")), ()).key(sqlglot.parse_one("HISTOGRAM(age, 8)"))
    HistogramKey(column='age', parts=8, edges=None)
    """

    used: UsedColumns
    items: tuple[SelectedItem, ...]

    def keys(self, group: exp.Group | None) -> tuple[str | HistogramKey, ...]:
        """Return the keys of a GROUP BY, in its order."""
        if group is None:
            return ()
        for name, value in group.args.items():
            if value and name != "expressions":
                raise InputError(f"the question has GROUP BY {name.upper()}, which is not covered; name its keys")
        keys = [self.key(self._meant(entry)) for entry in group.expressions]
        columns = [key.column if isinstance(key, HistogramKey) else key for key in keys]
        for column in columns:
            if columns.count(column) > 1:
                raise InputError(f"GROUP BY has '{column}' twice; name it once")
        return tuple(keys)

    def key(self, tree: exp.Expr) -> str | HistogramKey:
        """Return the key that an expression is."""
        from sqlglot import exp

        if isinstance(tree, exp.Anonymous) and tree.name.upper() == "HISTOGRAM":
            return self._bins(tree)
        if isinstance(tree, exp.Star):
            raise InputError("the question selects *, which is not covered; select aggregates and the keys of groups")
        if isinstance(tree, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            raise InputError(f"the question has GROUP BY {shown_sql(tree)}, which is not covered; name its keys")
        return self.used.name(tree)

    def _bins(self, tree: exp.Expr) -> HistogramKey:
        from sqlglot import exp

        parts = tree.expressions[1] if len(tree.expressions) == 2 else None
        number = str(parts.this) if isinstance(parts, exp.Literal) else ""
        if not number.isdecimal() or len(number) > DIGITS:
            raise InputError(f"the question has {shown_sql(tree)}; write HISTOGRAM(column, bins)")
        return HistogramKey(self.used.name(tree.expressions[0]), int(number))

    def _meant(self, entry: exp.Expr) -> exp.Expr:
        """Return the expression that an entry stands for: a place in the list, a name given there, or itself."""
        from sqlglot import exp

        if isinstance(entry, exp.Literal) and not entry.is_string:
            return self._at(entry)
        plain = isinstance(entry, exp.Column) and not entry.table
        if not plain or self.used.scope.holds(entry.name):  # as in PostgreSQL, a column of the table comes first
            return entry
        quoted = bool(entry.this.args.get("quoted"))
        named = [item for item in self.items if item.alias and same_name(item.alias, entry.name, quoted=quoted)]
        if named and is_aggregate(named[0].tree):
            raise InputError(f"GROUP BY has {shown_sql(entry)}, which is an aggregate; group by a column of the rows")
        return named[0].tree if named else entry

    def _at(self, place: exp.Literal) -> exp.Expr:
        number = str(place.this)
        inside = number.isdecimal() and len(number) <= DIGITS and 1 <= int(number) <= len(self.items)
        if not inside or is_aggregate(self.items[int(number) - 1].tree):
            raise InputError(f"GROUP BY has {number[:DIGITS]}; give the place of a key in the SELECT list")
        return self.items[int(number) - 1].tree


def same_name(given: str, name: str, *, quoted: bool) -> bool:
    """Return whether a name means the one given; without quotes it may differ in case.

    >>> same_name("Hour", "hour", quoted=False), same_name("Hour", "hour", quoted=True)
    (True, False)
    """
    return given == name or (not quoted and given.casefold() == name.casefold())
