"""What a SELECT reads from: the table, or an inner SELECT over it that computes columns and keeps rows.

A FROM clause is first read into a small structure, which is then lowered to a scope: which names there are, what each
stands for, and which rows are kept. Maps and filters of one table need no step of their own: each row gives one row or
none (McSherry 2009, "Privacy integrated queries", section 3), so names are replaced by what they stand for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.dp.questions.computed import in_words, normal_sql
from sfumato.dp.questions.sql.joins import NamedJoin, read_joins
from sfumato.dp.questions.sql.persons import check_persons, scope_of_persons
from sfumato.dp.questions.sql.scope import Scope, column_tree
from sfumato.dp.questions.sql.statement import check_clauses, shown_sql
from sfumato.dp.questions.sql.tables import KnownTables
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

DEEPEST = 8  # inner SELECTs in one another
INNER = {"expressions", "from_", "joins", "where", "with_"}
COVERED = "an inner SELECT may name and compute columns, keep rows by WHERE, and group by the person"


@dataclass(frozen=True)
class TableSource:
    """A table and what is joined with it; `alias` is what the question calls it.

    >>> TableSource("rides", "r").alias
    'r'
    """

    name: str
    alias: str
    joins: tuple[NamedJoin, ...] = ()


@dataclass(frozen=True)
class SubselectSource:
    """An inner SELECT, in FROM or named by WITH, and what it reads from itself.

    >>> from sfumato.dp.questions.sql.statement import read_select
    >>> RIDES = KnownTables({"rides": None})
    >>> read_source(read_select("SELECT COUNT(*) FROM (SELECT age FROM rides) AS t"), RIDES).inner
    TableSource(name='rides', alias='rides', joins=())
    """

    select: exp.Select
    inner: Source
    alias: str


Source = TableSource | SubselectSource
Named = Mapping[str, Source]


def read_source(select: exp.Select, tables: KnownTables, named: Named | None = None, depth: int = 0) -> Source:
    """Return what a SELECT reads from; `named` are the sources that a WITH around it names.

    >>> from sfumato.dp.questions.sql.statement import read_select
    >>> read_source(read_select("SELECT COUNT(*) FROM rides AS r"), KnownTables({"rides": None}))
    TableSource(name='rides', alias='r', joins=())
    """
    from sqlglot import exp

    if depth > DEEPEST:
        raise InputError(f"the question nests inner SELECTs more than {DEEPEST} deep; write fewer")
    own = dict(_named_by_with(select, tables, named or {}, depth))
    clause = select.args.get("from_")
    if clause is None:
        raise InputError(f"the question names no table; write FROM {tables.first}")
    source = _read_from(clause.this, tables, {**(named or {}), **own}, depth)
    source = _with_joins(source, select.args.get("joins") or (), tables, {*(named or {}), *own})
    read = {node.name.casefold() for node in select.find_all(exp.Table)}
    for name in own:
        if name not in read:
            raise InputError(f"WITH names '{name}', which the question does not read; leave it out")
    return source


def _named_by_with(select: exp.Select, tables: KnownTables, around: Named, depth: int) -> Iterator[tuple[str, Source]]:
    """Yield the sources that a WITH names, each of which may read those before it."""
    clause = select.args.get("with_")
    if clause is None:
        return
    if clause.args.get("recursive"):
        raise InputError("the question has WITH RECURSIVE, which is not covered; leave it out")
    named = dict(around)
    for entry in clause.expressions:
        name = entry.alias.casefold()
        if name in named and name not in around:
            raise InputError(f"WITH names '{entry.alias}' twice; name it once")
        named[name] = _subselect(entry, tables, named, depth)
        yield name, named[name]


def _read_from(node: exp.Expr, tables: KnownTables, named: Named, depth: int) -> Source:
    from sqlglot import exp

    if isinstance(node, exp.Subquery):
        return _subselect(node, tables, named, depth)
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise InputError(f"the question reads from a {type(node).__name__.upper()}; write FROM {tables.first}")
    if any(value for name, value in node.args.items() if name not in {"this", "alias"}):
        raise InputError(f"the question reads from {shown_sql(node)}, which is not covered; write FROM {tables.first}")
    alias = _alias(node) or node.name
    if node.name.casefold() in named:
        return replace(named[node.name.casefold()], alias=alias)
    return TableSource(tables.private_name(node.name), alias)


def _with_joins(source: Source, entries: Sequence[exp.Join], tables: KnownTables, named: Collection[str]) -> Source:
    if not entries:
        return source
    for entry in entries:
        if entry.this.name.casefold() in named:
            raise InputError(
                f"the question joins '{entry.this.name}', which WITH names, and that is not covered; join tables by "
                "their names"
            )
    if not isinstance(source, TableSource):
        raise InputError("the question joins an inner SELECT, which is not covered; join tables inside of it")
    return replace(source, joins=read_joins(entries, source.name, source.alias, tables))


def _subselect(node: exp.Expr, tables: KnownTables, named: Named, depth: int) -> SubselectSource:
    from sqlglot import exp

    select = node.this
    alias = _alias(node)
    if not isinstance(select, exp.Select):
        raise InputError(f"the question reads from {shown_sql(node)}, which is not covered; {COVERED}")
    if select.args.get("group"):
        check_persons(select)
    else:
        _refuse_inner(select)
    return SubselectSource(select, read_source(select, tables, named, depth + 1), alias)


def _refuse_inner(select: exp.Select) -> None:
    """Refuse an inner SELECT that does more than name, compute and keep."""
    from sqlglot import exp

    where = f"the inner SELECT {shown_sql(select)}"
    for name, value in select.args.items():
        if value and name not in {*INNER, "kind", "hint"}:
            try:
                check_clauses(select, INNER, where)
            except InputError as error:
                raise InputError(f"{str(error).partition(';')[0]}; {COVERED}") from None
    for entry in select.expressions:
        if entry.find(exp.AggFunc, exp.Window):
            raise InputError(f"{where} computes {shown_sql(entry)}, which is not covered; {COVERED}")


def _alias(node: exp.Expr) -> str:
    """Return what a source is called; a list of columns beside its name is refused."""
    named = node.args.get("alias")
    if named is not None and named.args.get("columns"):
        raise InputError(
            f"the question names columns beside '{node.alias}', which is not covered; use AS in its SELECT"
        )
    return str(node.alias)


def table_of(source: Source) -> TableSource:
    """Return the table below a source.

    >>> table_of(TableSource("rides", "r")).name
    'rides'
    """
    return source if isinstance(source, TableSource) else table_of(source.inner)


def lower(source: Source, tables: KnownTables) -> Scope:
    """Return what can be named over a source.

    >>> lower(TableSource("rides", "r"), KnownTables({"rides": ["age"]})).holds("AGE")
    True
    """
    if isinstance(source, TableSource):
        columns = tables.columns(source.name, [one.join for one in source.joins])
        own = None if columns is None else {name: column_tree(name) for name in columns}
        joined = {one.alias: one.renamed for one in source.joins}
        return Scope(source.alias, own, joined=joined)
    inner = lower(source.inner, tables)
    if source.select.args.get("group"):
        return scope_of_persons(source.select, inner, source.alias)
    where = source.select.args.get("where")
    kept = (*inner.conditions, inner.resolve(where.this)) if where else inner.conditions
    names, closed = _selected(source.select, inner)
    return Scope(source.alias, names, closed=closed, conditions=kept, people=inner.people)


def _selected(select: exp.Select, inner: Scope) -> tuple[dict[str, exp.Expr] | None, bool]:
    """Return the columns that an inner SELECT gives, and whether there are no others."""
    from sqlglot import exp

    names: dict[str, exp.Expr] = {}
    open_star = False
    for entry in select.expressions:
        if isinstance(entry, exp.Star) or (isinstance(entry, exp.Column) and isinstance(entry.this, exp.Star)):
            _check_star(entry, inner)
            open_star = open_star or not inner.closed
            found = dict(inner.columns or {})
        else:
            found = {_output_name(entry): inner.resolve(entry.this if isinstance(entry, exp.Alias) else entry)}
        for name, tree in found.items():
            if name in names:
                raise InputError(f"the inner SELECT has two columns '{name}'; name one otherwise with AS")
            names[name] = tree
    return names, not open_star


def _check_star(entry: exp.Expr, inner: Scope) -> None:
    changed = [name for name, value in entry.args.items() if value and name not in {"this", "table"}]
    named = entry.args.get("table")
    if changed or (named is not None and named.name.casefold() != inner.qualifier.casefold()):
        raise InputError(f"the inner SELECT has {shown_sql(entry)}, which is not covered; write * or name the columns")


def _output_name(entry: exp.Expr) -> str:
    from sqlglot import exp

    if isinstance(entry, exp.Alias | exp.Column):
        return str(entry.alias_or_name)
    name = in_words(normal_sql(entry))
    raise InputError(f"the inner SELECT computes {shown_sql(entry)} without a name; write AS {name}")
