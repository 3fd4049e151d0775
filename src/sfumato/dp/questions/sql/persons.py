"""An inner SELECT that groups by the person: what each person's rows come to, read into the features of persons."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.dp.questions.computed import in_words, normal_sql
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.people import Feature, FeatureFunction, People, feature_of
from sfumato.dp.questions.sql.aggregates import is_aggregate, read_aggregate
from sfumato.dp.questions.sql.columns import UsedColumns, refuse_aggregates
from sfumato.dp.questions.sql.grouping import KeyReader, SelectedItem
from sfumato.dp.questions.sql.scope import Scope, column_tree
from sfumato.dp.questions.sql.statement import check_clauses, shown_sql
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

CLAUSES = {"expressions", "from_", "joins", "where", "group", "with_"}
COUNTS = {FeatureFunction.COUNT, FeatureFunction.PRESENT, FeatureFunction.DISTINCT}
DIGITS = 9  # of the most rows of a person
ORDERED = {"ArgMin": FeatureFunction.FIRST, "ArgMax": FeatureFunction.LAST}


def check_persons(select: exp.Select) -> None:
    """Refuse an inner SELECT of persons with a clause that is not covered there.

    >>> from sfumato.dp.questions.sql.statement import read_select
    >>> check_persons(read_select("SELECT rider FROM rides GROUP BY rider HAVING COUNT(*) > 1"))
    Traceback (most recent call last):
    sfumato.errors.InputError: the inner SELECT SELECT rider FROM rides GROUP BY rider HAVING COUNT(*) > 1 has a \
clause HAVING, which is not covered; leave it out
    """
    check_clauses(select, CLAUSES, f"the inner SELECT {shown_sql(select)}")


def scope_of_persons(select: exp.Select, inner: Scope, alias: str) -> Scope:
    """Return what can be named over an inner SELECT that groups by the person: the person and its features.

    >>> from sfumato.dp.questions.sql.statement import read_select
    >>> select = read_select("SELECT rider, COUNT(*) AS n FROM rides WHERE fare > 0 GROUP BY rider")
    >>> scope = scope_of_persons(select, Scope("rides"), "t")
    >>> scope.people.person, scope.people.condition, list(scope.columns)
    ('rider', 'fare > 0', ['rider', 'n'])
    """
    if inner.people is not None:
        raise InputError("an inner SELECT groups persons that are grouped already; group by the person once")
    used = UsedColumns(inner)
    items = tuple(SelectedItem.of(entry) for entry in select.expressions)
    person = _person(KeyReader(used, items).keys(select.args["group"]))
    columns: dict[str, exp.Expr] = {}
    features: list[tuple[str, Feature]] = []
    for item in items:
        name = _name(item)
        if name in columns:
            raise InputError(f"the inner SELECT has two columns '{name}'; name one otherwise with AS")
        if is_aggregate(item.tree):
            features.append((name, _feature(name, item.tree, used)))
            columns[name] = column_tree(name)
        elif used.name(item.tree) == person:
            columns[name] = column_tree(person)
        else:
            raise InputError(f"'{shown_sql(item.tree)}' is selected beside the person; aggregate it, or leave it out")
    trees = list(inner.conditions)
    where = select.args.get("where")
    if where is not None:
        refuse_aggregates(where.this)
        trees.append(inner.resolve(where.this))
    texts = [normal_sql(tree) for tree in trees]
    condition = " AND ".join(f"({text})" for text in texts) if len(texts) > 1 else (texts[0] if texts else None)
    people = People(tuple(features), condition, tuple(used.derived.values()), person=person)
    return Scope(alias, columns, closed=True, people=people)


def _person(keys: tuple[str | HistogramKey, ...]) -> str:
    if len(keys) == 1 and isinstance(keys[0], str):
        return keys[0]
    raise InputError("an inner SELECT groups by more than the person; group by the person alone")


def _name(item: SelectedItem) -> str:
    from sqlglot import exp

    if item.alias or isinstance(item.tree, exp.Column):
        return str(item.alias or item.tree.name)
    name = in_words(normal_sql(item.tree))
    raise InputError(f"the inner SELECT computes {shown_sql(item.tree)} without a name; write AS {name}")


def _at_most(tree: Any) -> tuple[Any, int | None]:
    """Return what LEAST(aggregate, number) limits, and the number; of anything else None."""
    from sqlglot import exp

    parts = [tree.this, *tree.expressions] if isinstance(tree, exp.Least) else []
    numbers = [part for part in parts if isinstance(part, exp.Literal) and not part.is_string]
    rest = [part for part in parts if part not in numbers]
    if len(numbers) != 1 or len(rest) != 1:
        return tree, None
    text = str(numbers[0].this)
    return rest[0], int(text) if text.isdecimal() and len(text) <= DIGITS else 0


def _feature(name: str, tree: Any, used: UsedColumns) -> Feature:
    """Return the feature of an aggregate; ARG_MIN(x, start) is the first x by start, ARG_MAX(x, start) the last.

    LEAST(COUNT(*), 20) is a count of at most 20 rows.
    """
    counted, most = _at_most(tree)
    if most is not None:
        feature = _feature(name, counted, used)
        if most > 0 and feature.function in COUNTS and feature.at_most is None:
            return replace(feature, at_most=most)
        raise InputError(
            f"the inner SELECT computes {shown_sql(tree)}, which is not covered; write LEAST(COUNT(*), 20)"
        )
    function = ORDERED.get(type(tree).__name__)
    if function is not None:
        return Feature(function, used.name(tree.this), used.name(tree.expression))
    found = read_aggregate(tree, used)
    return replace(feature_of(name, found.kind, found.column, found.text), clip=found.clip)
