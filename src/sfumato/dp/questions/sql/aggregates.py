"""The aggregates that a SELECT asks for, each of a column or of an expression."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.dp.questions.aggregate import Aggregate, AggregateFunction, read_level
from sfumato.dp.questions.sql.clipping import number_of, unclipped
from sfumato.dp.questions.sql.columns import UsedColumns
from sfumato.dp.questions.sql.statement import shown_sql
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

SIMPLE = {
    "Sum": AggregateFunction.SUM,
    "Avg": AggregateFunction.MEAN,
    "VariancePop": AggregateFunction.VARIANCE,
    "Min": AggregateFunction.MIN,
    "Max": AggregateFunction.MAX,
}
INSTEAD = {
    "Variance": "VAR_POP, the variance of the rows themselves",
    "Stddev": "VAR_POP and take the root yourself, which costs nothing",
    "StddevPop": "VAR_POP and take the root yourself, which costs nothing",
    "StddevSamp": "VAR_POP and take the root yourself, which costs nothing",
}
COVERED = "COUNT(*), COUNT(DISTINCT column), SUM, AVG, VAR_POP, MIN, MAX, MEDIAN or QUANTILE"
BOUNDS = {"LOWER_BOUND": AggregateFunction.LOWER, "UPPER_BOUND": AggregateFunction.UPPER}
PLAIN = {"this", "big_int", "quantile", "nulls_first"}  # what an aggregate may have


def is_aggregate(tree: exp.Expr) -> bool:
    """Return whether an expression holds an aggregate.

    >>> import sqlglot
    >>> is_aggregate(sqlglot.parse_one("1 + SUM(x)")), is_aggregate(sqlglot.parse_one("x + 1"))
    (True, False)
    """
    from sqlglot import exp

    named = isinstance(tree, exp.Anonymous) and tree.name.upper() in BOUNDS
    return named or tree.find(exp.AggFunc, exp.Window, exp.WithinGroup, exp.Filter) is not None


def read_aggregate(tree: exp.Expr, used: UsedColumns) -> Aggregate:
    """Return the aggregate that an expression asks for.

    >>> import sqlglot
    >>> from sfumato.dp.questions.sql.scope import Scope
    >>> read_aggregate(sqlglot.parse_one("AVG(fare * 2)"), UsedColumns(Scope("rides"))).label
    'mean_fare_times_2'
    """
    from sqlglot import exp

    name = type(tree).__name__
    if isinstance(tree, exp.Count):
        return _count(tree, used)
    if name in SIMPLE:
        return _of(SIMPLE[name], _argument(tree), used)
    if isinstance(tree, exp.Median):
        found = _argument(tree)
        found, clip = unclipped(found)
        column = used.name(found)
        return Aggregate(AggregateFunction.QUANTILE, column, Fraction(1, 2), f"median_{used.label(column)}", clip=clip)
    if isinstance(tree, exp.Quantile):
        return _of(AggregateFunction.QUANTILE, _argument(tree), used, _level(tree.args["quantile"]))
    if isinstance(tree, exp.WithinGroup) and isinstance(tree.this, exp.PercentileCont | exp.PercentileDisc):
        ordered = tree.expression.expressions
        if len(ordered) == 1 and not ordered[0].args.get("desc"):
            return _of(AggregateFunction.QUANTILE, _argument(ordered[0]), used, _level(tree.this.this))
    if isinstance(tree, exp.Anonymous) and tree.name.upper() in BOUNDS:
        return _bound(tree, used)
    hint = INSTEAD.get(name, COVERED)
    raise InputError(f"the question selects {shown_sql(tree)}, which is not covered; ask for {hint}")


def _of(kind: AggregateFunction, tree: exp.Expr, used: UsedColumns, level: Fraction | None = None) -> Aggregate:
    """Return an aggregate of an expression; one that is computed is called by its words."""
    tree, clip = unclipped(tree)
    column = used.name(tree)
    label = used.label(column)
    alias = None if label == column else Aggregate(kind, label, level).label
    return Aggregate(kind, column, level, alias, clip=clip)


def _bound(tree: exp.Anonymous, used: UsedColumns) -> Aggregate:
    """Return a private bound of an expression; a number beside it is the resolution of the ladder."""
    arguments = tree.expressions
    if len(arguments) not in {1, 2}:
        raise InputError(f"the question selects {shown_sql(tree)}; write {tree.name.upper()}(column)")
    found = _of(BOUNDS[tree.name.upper()], arguments[0], used)
    if len(arguments) == 1:
        return found
    number = number_of(arguments[1])
    if not isinstance(number, int | float):
        raise InputError(f"the question selects {shown_sql(tree)}; the resolution is a number")
    return replace(found, resolution=float(number))


def _count(tree: exp.Count, used: UsedColumns) -> Aggregate:
    from sqlglot import exp

    if isinstance(tree.this, exp.Star):
        return Aggregate(AggregateFunction.COUNT)
    if isinstance(tree.this, exp.Distinct) and len(tree.this.expressions) == 1:
        return _of(AggregateFunction.DISTINCT, tree.this.expressions[0], used)
    return _of(AggregateFunction.PRESENT, _argument(tree), used)


def _argument(tree: Any) -> exp.Expr:
    """Return the one expression that is aggregated."""
    from sqlglot import exp

    extra = [name for name, value in tree.args.items() if value and name not in PLAIN]
    inner = tree.this
    if extra or not isinstance(inner, exp.Expr) or isinstance(inner, exp.Distinct | exp.Star):
        raise InputError(f"the question aggregates {shown_sql(tree)}, which is not covered; aggregate one expression")
    return inner


def _level(tree: Any) -> Fraction:
    from sqlglot import exp

    if isinstance(tree, exp.Literal) and not tree.is_string:
        return read_level(str(tree.this))
    raise InputError(f"the level of a quantile is {shown_sql(tree)}; write a number between 0 and 1")
