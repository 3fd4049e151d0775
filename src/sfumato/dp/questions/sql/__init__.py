"""A question written in SQL, read into the same data as one written in Python; what is not covered is refused by name.

The language is one SELECT of aggregates over one table, or over an inner SELECT of it (as in PINQ, McSherry 2009, and
Google's differentially private SQL, Wilson et al. 2020); parsed by sqlglot, never handed to an engine as written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.dp.questions.computed import spelled_sql
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.presentation import Presentation
from sfumato.dp.questions.query import Query, key_labels
from sfumato.dp.questions.sql.aggregates import is_aggregate, read_aggregate
from sfumato.dp.questions.sql.arranging import AnswerNames, read_presentation
from sfumato.dp.questions.sql.clipping import both_bounds
from sfumato.dp.questions.sql.columns import UsedColumns, refuse_aggregates
from sfumato.dp.questions.sql.grouping import KeyReader, SelectedItem
from sfumato.dp.questions.sql.scope import Scope
from sfumato.dp.questions.sql.source import lower, read_source, table_of
from sfumato.dp.questions.sql.statement import check_clauses, read_select, shown_sql
from sfumato.dp.questions.sql.tables import KnownTables
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

COVERED = {"expressions", "from_", "joins", "where", "group", "with_", "having", "order", "limit", "offset"}


def parse_sql(text: str, tables: KnownTables | str, columns: Iterable[str] | None = None) -> Query:
    """Return the question asked by a SELECT over the tables that are known, or one; columns are spelled as declared.

    >>> parse_sql("SELECT hour, COUNT(*) AS rides FROM rides WHERE age < 30 GROUP BY hour", "rides").keys
    ('hour',)
    >>> parse_sql("SELECT Hour, AVG(FARE) FROM rides GROUP BY Hour", "rides", ["hour", "fare"]).keys
    ('hour',)
    >>> parse_sql("SELECT COUNT(*) FROM (SELECT 2 * fare AS twice FROM rides) AS t WHERE twice > 3", "rides").condition
    '(2 * fare) > 3'
    """
    known = (
        tables
        if isinstance(tables, KnownTables)
        else KnownTables({tables: None if columns is None else tuple(columns)})
    )
    select = read_select(text, known.names)
    check_clauses(select, COVERED)
    source = read_source(select, known)
    scope = lower(source, known)
    used = UsedColumns(scope)
    items = tuple(SelectedItem.of(entry) for entry in both_bounds(select.expressions))
    reader = KeyReader(used, items)
    keys = reader.keys(select.args.get("group"))
    aggregates = tuple(
        replace(found, alias=item.alias or found.alias)
        for item in items
        if is_aggregate(item.tree)
        for found in [read_aggregate(item.tree, used)]
    )
    names = _key_names(items, reader, keys)
    if not aggregates:
        raise InputError("the question asks for no aggregate; select COUNT(*), SUM, AVG, VAR_POP, MIN, MAX or QUANTILE")
    condition = _condition(select.args.get("where"), scope)
    derived, read = tuple(used.derived.values()), table_of(source)
    joins = tuple(one.join for one in read.joins)
    table = read.name if known.several else None
    question = Query(aggregates, condition, keys, derived, Presentation(names=names), table, joins, scope.people)
    answer = AnswerNames(
        scope,
        items,
        dict(zip(key_labels(question), keys, strict=True)),
        {entry.label: entry for entry in aggregates},
    )
    return replace(question, presentation=read_presentation(select, answer, names))


def _key_names(
    items: tuple[SelectedItem, ...], reader: KeyReader, keys: tuple[str | HistogramKey, ...]
) -> tuple[tuple[str, str], ...]:
    """Return the names that selected keys are given; a selected expression that is no key is refused."""
    names: dict[str, str] = {}
    for item in items:
        if is_aggregate(item.tree):
            continue
        key = reader.key(item.tree)
        column = key.column if isinstance(key, HistogramKey) else key
        if key not in keys:
            shown = shown_sql(item.tree)
            raise InputError(f"'{shown}' is selected but not grouped by; add GROUP BY {shown}")
        if item.alias and names.setdefault(column, item.alias) != item.alias:
            raise InputError(f"'{column}' is selected as '{names[column]}' and as '{item.alias}'; select it once")
    return tuple((column, name) for column, name in names.items() if column != name)


def _condition(where: exp.Where | None, scope: Scope) -> str | None:
    """Return all conditions on rows as one, in the table's own columns."""
    trees = list(scope.conditions)
    if where is not None:
        refuse_aggregates(where.this)
        trees.append(scope.resolve(where.this))
    if not trees:
        return None
    texts = [spelled_sql(tree) for tree in trees]
    return texts[0] if len(texts) == 1 else " AND ".join(f"({text})" for text in texts)


__all__ = ["parse_sql"]
