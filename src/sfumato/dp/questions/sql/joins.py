"""The joins of a FROM clause, read into names of tables and pairs of columns that must be equal.

Only equality of plain columns joins, as in elastic sensitivity's and PINQ's joins (Johnson, Near & Song 2018; McSherry
2009): what else an ON could say would be decided by two rows together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfumato.dp.questions.join import Join
from sfumato.dp.questions.public import PublicTable
from sfumato.dp.questions.sql.statement import shown_sql
from sfumato.dp.questions.sql.tables import KnownTables, spelled
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

WRITE = "write JOIN table USING (column), or ON a.column = b.column"
PLAIN = {"this", "side", "kind", "on", "using"}


@dataclass(frozen=True)
class NamedJoin:
    """A join, and what the question calls the table that it adds.

    >>> NamedJoin(Join("riders", (("rider", "id"),)), "r").renamed
    {'id': 'rider'}
    """

    join: Join
    alias: str

    @property
    def renamed(self) -> dict[str, str]:
        """The columns of the joined table that stand in the rows under another name: those it is joined by."""
        return {theirs: ours for ours, theirs in self.join.on if theirs != ours}


def read_joins(entries: Sequence[exp.Join], first: str, alias: str, tables: KnownTables) -> tuple[NamedJoin, ...]:
    """Return the joins of a FROM clause whose first table is called `alias`; columns are spelled as declared.

    >>> import sqlglot
    >>> select = sqlglot.parse_one("SELECT 1 FROM a JOIN b ON a.X = b.y")
    >>> read_joins(select.args["joins"], "a", "a", KnownTables({"a": ["x"], "b": None}))[0].join.on
    (('x', 'y'),)
    """
    found: list[NamedJoin] = []
    for entry in entries:
        read = _join(entry, [alias, *(one.alias for one in found)], found, tables)
        before = tables.columns(first, [one.join for one in found]) or ()
        theirs = read.join.table.names if isinstance(read.join.table, PublicTable) else tables.private[read.join.table]
        on = tuple((spelled(ours, before), spelled(other, theirs or ())) for ours, other in read.join.on)
        found.append(replace(read, join=replace(read.join, on=on)))
    return tuple(found)


def _join(entry: exp.Join, seen: list[str], before: Sequence[NamedJoin], tables: KnownTables) -> NamedJoin:
    from sqlglot import exp

    side, kind = str(entry.args.get("side") or "").upper(), str(entry.args.get("kind") or "").upper()
    extra = [name for name, value in entry.args.items() if value and name not in PLAIN]
    named = entry.this
    plain = isinstance(named, exp.Table) and isinstance(named.this, exp.Identifier)
    if not plain or any(value for name, value in named.args.items() if name not in {"this", "alias"}):
        raise InputError(f"the question joins {shown_sql(named)}, which is not covered; join a table by its name")
    table = tables.joined(named.name)
    if extra or side not in {"", "LEFT"} or kind not in {"", "INNER", "OUTER"}:
        raise InputError(f"the question has {shown_sql(entry)}, which is not covered; write JOIN or LEFT JOIN")
    alias = str(named.alias) or (table if isinstance(table, str) else table.name)
    if alias.casefold() in {one.casefold() for one in seen}:
        raise InputError(f"the question calls two tables '{alias}'; name one otherwise with AS")
    return NamedJoin(Join(table, tuple(_pairs(entry, alias, seen, before)), left=side == "LEFT"), alias)


def _pairs(entry: exp.Join, alias: str, seen: list[str], before: Sequence[NamedJoin]) -> list[tuple[str, str]]:
    from sqlglot import exp

    using = entry.args.get("using")
    if using:
        return [(str(one.name), str(one.name)) for one in using]
    condition = entry.args.get("on")
    if condition is None:
        raise InputError(f"the join with '{alias}' names no column; {WRITE}")
    parts: list[Any] = [condition]
    while any(isinstance(part, exp.And | exp.Paren) for part in parts):
        parts = [
            inner
            for part in parts
            for inner in ([part.left, part.right] if isinstance(part, exp.And) else [part.unnest()])
        ]
    return [_pair(part, alias, seen, before) for part in parts]


def _pair(part: Any, alias: str, seen: list[str], before: Sequence[NamedJoin]) -> tuple[str, str]:
    from sqlglot import exp

    sides = [side for side in (part.left, part.right) if isinstance(side, exp.Column)] if _is_equality(part) else []
    if len(sides) != 2:
        raise InputError(f"the join with '{alias}' has {shown_sql(part)}, which is not covered; {WRITE}")
    owners = [str(side.table).casefold() for side in sides]
    known = {name.casefold() for name in seen}
    theirs = [place for place, owner in enumerate(owners) if owner == alias.casefold()]
    if len(theirs) != 1 or owners[1 - theirs[0]] not in known:
        raise InputError(
            f"the join with '{alias}' compares {shown_sql(part)}; {WRITE}, each column with its table's name"
        )
    ours = sides[1 - theirs[0]]
    renamed = next((one.renamed for one in before if one.alias.casefold() == ours.table.casefold()), {})
    return renamed.get(str(ours.name), str(ours.name)), str(sides[theirs[0]].name)


def _is_equality(part: Any) -> bool:
    from sqlglot import exp

    return isinstance(part, exp.EQ)
