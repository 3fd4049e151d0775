"""A question written in SQL, read into the same data as one written in Python; what is not covered is refused by name.

The subset is one SELECT of aggregates over one table, with WHERE and GROUP BY (as in PINQ, McSherry 2009, and Google's
differentially private SQL, Wilson et al. 2020); parsed by sqlglot, never handed to an engine as written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.dp.questions.query import Aggregate, AggregateFunction, HistogramKey, Query, quantile
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST = 20_000
DIGITS = 6  # of a number of bins
SHOWN = 60  # characters of a clause in an error
CLAUSES = {
    "with_": "WITH",
    "distinct": "SELECT DISTINCT",
    "joins": "JOIN",
    "laterals": "LATERAL",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "into": "INTO",
    "locks": "FOR UPDATE",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
}
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


def parse_sql(text: str, table: str) -> Query:
    """Return the question asked by a SELECT statement over `table`.

    >>> parse_sql("SELECT hour, COUNT(*) AS rides FROM rides WHERE age < 30 GROUP BY hour", "rides").keys
    ('hour',)
    >>> parse_sql("SELECT COUNT(*) FROM rides ORDER BY 1", "rides")
    Traceback (most recent call last):
    sfumato.errors.InputError: the question has a clause ORDER BY, which is not covered; leave it out
    """
    select = _statement(text)
    _check_clauses(select)
    _check_table(select, table)
    where = select.args.get("where")
    groups = select.args.get("group")
    keys = _keys(groups) if groups else ()
    aggregates = []
    for entry in select.expressions:
        found = _selected_aggregate(entry, keys)
        if found is not None:
            aggregates.append(found)
    if not aggregates:
        raise InputError("the question asks for no aggregate; select COUNT(*), SUM, AVG, VAR_POP, MIN, MAX or QUANTILE")
    return Query(tuple(aggregates), _condition(where) if where else None, keys)


def _condition(where: exp.Where) -> str:
    try:
        return str(where.this.sql(comments=False))
    except RecursionError:
        raise InputError("the condition is too deeply nested; write a flatter one") from None


def spell_columns(query: Query, names: Iterable[str]) -> Query:
    """Return the question with its columns spelled as declared: SQL does not tell upper from lower case.

    >>> spell_columns(parse_sql("SELECT Hour, AVG(FARE) FROM rides GROUP BY Hour", "rides"), ["hour", "fare"]).keys
    ('hour',)
    """
    declared = list(names)
    folded: dict[str, list[str]] = {}
    for name in declared:
        folded.setdefault(name.casefold(), []).append(name)

    def declared_name(name: str) -> str:
        same = folded.get(name.casefold(), [])
        return same[0] if name not in declared and len(same) == 1 else name

    aggregates = tuple(
        entry if entry.column is None else replace(entry, column=declared_name(entry.column))
        for entry in query.aggregates
    )
    keys = tuple(
        replace(key, column=declared_name(key.column)) if isinstance(key, HistogramKey) else declared_name(key)
        for key in query.keys
    )
    return replace(query, aggregates=aggregates, keys=keys)


def _statement(text: str) -> exp.Select:
    from sqlglot import exp, parse
    from sqlglot.errors import SqlglotError

    if len(text) > LONGEST:
        raise InputError(f"the question is {len(text)} characters long; at most {LONGEST} are read")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError("the question has bytes that are not UTF-8; write it in UTF-8")
    try:
        statements = [statement for statement in parse(text) if statement is not None]
    except (SqlglotError, RecursionError) as error:
        reason = str(error).splitlines()[0].partition(". Line ")[0] if str(error) else "too deeply nested"
        raise InputError(f"the question is not SQL that can be read ({reason}); write one SELECT") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        kinds = ", ".join(type(statement).__name__.upper() for statement in statements) or "nothing"
        raise InputError(f"the question is {kinds}; write one SELECT of aggregates")
    return statements[0]


def _check_clauses(select: exp.Select) -> None:
    covered = {"expressions", "from_", "where", "group", "kind", "hint"}
    for name, value in select.args.items():
        if value and name not in covered:
            clause = CLAUSES.get(name, name.strip("_").upper().replace("_", " "))
            raise InputError(f"the question has a clause {clause}, which is not covered; leave it out")


def _check_table(select: exp.Select, table: str) -> None:
    from sqlglot import exp

    source = select.args.get("from_")
    if source is None:
        raise InputError(f"the question names no table; write FROM {table}")
    named = source.this
    if not isinstance(named, exp.Table) or not isinstance(named.this, exp.Identifier):
        raise InputError(f"the question reads from a {type(named).__name__.upper()}; write FROM {table}")
    if any(value for name, value in named.args.items() if name != "this"):
        raise InputError(f"the question reads from {_sql(named)}, which is not covered; write FROM {table}")
    if named.name.casefold() != table.casefold():
        raise InputError(f"the question reads from '{named.name}'; the table is called '{table}'")


def _keys(group: exp.Group) -> tuple[str | HistogramKey, ...]:
    for name, value in group.args.items():
        if value and name != "expressions":
            raise InputError(f"the question has GROUP BY {name.upper()}, which is not covered; name plain columns")
    keys = [_key(entry) for entry in group.expressions]
    texts = [key.column if isinstance(key, HistogramKey) else key for key in keys]
    for text in texts:
        if texts.count(text) > 1:
            raise InputError(f"GROUP BY has '{text}' twice; name it once")
    return tuple(keys)


def _key(entry: exp.Expression) -> str | HistogramKey:
    from sqlglot import exp

    if isinstance(entry, exp.Column):
        return _column(entry)
    if isinstance(entry, exp.Anonymous) and entry.name.upper() == "HISTOGRAM" and len(entry.expressions) == 2:
        column, parts = entry.expressions
        number = parts.this if isinstance(parts, exp.Literal) else ""
        if isinstance(column, exp.Column) and number.isdecimal() and len(number) <= DIGITS:
            return HistogramKey(_column(column), int(number))
    raise InputError(f"GROUP BY has {_sql(entry)}, which is not covered; name a column or HISTOGRAM(column, bins)")


def _selected_aggregate(entry: exp.Expression, keys: tuple[str | HistogramKey, ...]) -> Aggregate | None:
    """The aggregate of one selected expression, or None for a key that is also selected."""
    from sqlglot import exp

    alias = entry.alias if isinstance(entry, exp.Alias) else None
    inner: Any = entry.this if isinstance(entry, exp.Alias) else entry
    if isinstance(inner, exp.Column | exp.Anonymous):
        key = _key(inner)
        if key not in keys:
            name = key.column if isinstance(key, HistogramKey) else key
            raise InputError(f"'{name}' is selected but not grouped by; add GROUP BY {_sql(inner)}")
        return None
    found = _aggregate(inner)
    return Aggregate(found.kind, found.column, found.level, alias or found.alias)


def _aggregate(inner: Any) -> Aggregate:
    from sqlglot import exp

    name = type(inner).__name__
    if isinstance(inner, exp.Count):
        return _count_aggregate(inner)
    if name in SIMPLE:
        return Aggregate(SIMPLE[name], _argument(inner))
    if isinstance(inner, exp.Median):
        return Aggregate(AggregateFunction.QUANTILE, _argument(inner), Fraction(1, 2), f"median_{_argument(inner)}")
    if isinstance(inner, exp.Quantile):
        return quantile(_argument(inner), _level(inner.args["quantile"])).aggregates[0]
    if isinstance(inner, exp.WithinGroup) and isinstance(inner.this, exp.PercentileCont | exp.PercentileDisc):
        ordered = inner.expression.expressions
        if len(ordered) == 1 and not ordered[0].args.get("desc"):
            return quantile(_argument(ordered[0]), _level(inner.this.this)).aggregates[0]
    hint = INSTEAD.get(name, "COUNT(*), COUNT(DISTINCT person), SUM, AVG, VAR_POP, MIN, MAX, MEDIAN or QUANTILE")
    raise InputError(f"the question selects {_sql(inner)}, which is not covered; ask for {hint}")


def _count_aggregate(inner: exp.Count) -> Aggregate:
    from sqlglot import exp

    if isinstance(inner.this, exp.Star):
        return Aggregate(AggregateFunction.COUNT)
    if isinstance(inner.this, exp.Distinct) and len(inner.this.expressions) == 1:
        column = inner.this.expressions[0]
        if isinstance(column, exp.Column):
            return Aggregate(AggregateFunction.PERSONS, _column(column))
    return Aggregate(AggregateFunction.PRESENT, _argument(inner))


def _argument(inner: Any) -> str:
    from sqlglot import exp

    plain = {"this", "big_int", "quantile", "nulls_first"}
    extra = [name for name, value in inner.args.items() if value and name not in plain]
    if isinstance(inner.this, exp.Column) and not extra:
        return _column(inner.this)
    raise InputError(f"the question aggregates {_sql(inner)}, which is not covered; aggregate one plain column")


def _column(column: exp.Column) -> str:
    return str(column.name)


def _level(literal: Any) -> str:
    from sqlglot import exp

    if isinstance(literal, exp.Literal) and not literal.is_string:
        return str(literal.this)
    raise InputError(f"the level of a quantile is {_sql(literal)}; write a number between 0 and 1")


def _sql(node: Any) -> str:
    """The beginning of what was written, for an error."""
    try:
        text = str(node.sql())
    except RecursionError:
        return "something too deeply nested"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
