"""Which rows count: a condition in a small SQL, read by sqlglot and checked against the schema.

Every argument of a node is understood, or the node is refused by name, so that every part of a condition is total: one
that raised, or ran longer, on one person's row would tell of that row without being charged (Haeberlen, Pierce &
Narayan 2011). Columns and literals are checked against the schema, which is public, and never against the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.dp.questions.calendar_reader import (
    NAMED_PARTS,
    read_length,
    read_part,
    read_period,
    read_with_interval,
    sum_of_days,
)
from sfumato.dp.questions.canonical import compare, compute, join, negate, one_of
from sfumato.dp.questions.clock import bound_position
from sfumato.dp.questions.computed import DIALECT
from sfumato.dp.questions.constants import refuse_impossible
from sfumato.dp.questions.expression import (
    MOST,
    Cast,
    ColumnReference,
    Condition,
    Domain,
    Like,
    Literal,
    Missing,
    Node,
    Predicate,
    Truth,
    Value,
    walk,
)
from sfumato.dp.questions.extent import copies, extent, number_columns
from sfumato.dp.questions.function_reader import READERS
from sfumato.dp.questions.intervals import as_moment, refuse_unread_intervals
from sfumato.dp.questions.literals import LONGEST, as_date, as_time, fold_literals, literal_of, refusal, short
from sfumato.dp.questions.ranges import range_of_column
from sfumato.dp.questions.trees import only, parts
from sfumato.errors import InputError, suggestion
from sfumato.schema import Attribute, Kind, Schema

if TYPE_CHECKING:
    from sqlglot import exp

LARGEST = 500  # its columns, literals and operators
DEEPEST = 100
PATTERN = 100  # characters of a LIKE pattern
PATTERNS = 100  # in a condition
CASTS = (
    "CAST reads a text as INTEGER, DOUBLE, DATE or TIMESTAMP, rounds a number to INTEGER, "
    "takes the DATE of a timestamp, or the TIMESTAMP at which a date begins"
)
COMPARED = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
COMPUTED = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
WHOLE = {"INT", "BIGINT", "SMALLINT"}
REAL = {"DOUBLE", "FLOAT", "DECIMAL"}
TEXTS = {"TEXT", "VARCHAR"}
TIMES = {"TIMESTAMP", "TIMESTAMPNTZ", "DATETIME", "TIMESTAMPTZ"}
COPIES = 5_000  # parts of the SQL of one value
FUNCTIONS = {**READERS, "Extract": read_part, **dict.fromkeys(NAMED_PARTS, read_part)}
FUNCTIONS |= dict.fromkeys(("TimestampTrunc", "DateTrunc"), read_period)


def parse_predicate(text: str, schema: Schema) -> Predicate:
    """Return the condition written in `text`, over the columns of `schema`.

    >>> parse_predicate("md5(name) = 'x'", Schema())
    Traceback (most recent call last):
    sfumato.errors.InputError: the condition uses MD5(name), which is not covered; a condition may use comparisons, \
+ - * / %, BETWEEN, IN, IS NULL, LIKE, CAST, CASE, AND, OR, NOT, and the functions that docs/algorithms/expressions.md \
lists
    """
    return from_tree(_parse(text, "condition"), schema)


def parse_value(text: str, schema: Schema) -> Value:
    """Return the value that an expression computes from columns of `schema`.

    >>> parse_value("2 * 3", Schema()).text
    '6'
    """
    tree = _parse(text, "expression")
    _check_size(tree, "expression")
    value = Reader(schema, None).value(tree)
    _check_nodes(list(walk(value)), "expression")
    refuse_impossible(value, schema)
    return value


def _parse(text: str, what: str) -> exp.Expr:
    """Return the tree of one expression."""
    import sqlglot

    if len(text) > LONGEST:
        raise InputError(f"the {what} has {len(text)} characters; give at most {LONGEST}")
    try:
        trees = sqlglot.parse(text, dialect=DIALECT)
        refuse_unread_intervals(text, DIALECT)
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        raise InputError(f"the {what} '{short(text)}' is not SQL that can be read; check its spelling") from None
    if len(trees) != 1 or trees[0] is None:
        article = "an" if what[0] in "aeiou" else "a"
        wanted = "value" if what == "expression" else "expression"
        raise InputError(f"{article} {what} is one {wanted}; found {sum(tree is not None for tree in trees)}")
    return trees[0]


def from_tree(tree: exp.Expr, schema: Schema, table: str | None = None) -> Predicate:
    """Return the condition in a tree of sqlglot; columns may be qualified by the name of the `table`.

    >>> import sqlglot
    >>> from_tree(sqlglot.parse_one("1 = 2 or true"), Schema()).text
    '(1 = 2) OR (TRUE)'
    """
    _check_size(tree, "condition")
    condition = Reader(schema, table).condition(tree)
    _check_nodes(list(walk(condition)), "condition")
    refuse_impossible(condition, schema)
    return Predicate(condition)


def _check_size(tree: exp.Expr, what: str) -> None:
    written = sum(1 for _ in tree.walk())
    if written > LONGEST // 2:
        raise InputError(f"the {what} has {written} parts; at most {LARGEST} are covered")
    deepest = _depth(tree)
    if deepest > DEEPEST:
        raise InputError(f"the {what} nests {deepest} deep; at most {DEEPEST} are covered")


def _check_nodes(nodes: list[Node], what: str) -> None:
    if len(nodes) > LARGEST:
        raise InputError(f"the {what} has {len(nodes)} columns, literals and operators; at most {LARGEST} are covered")
    patterns = sum(isinstance(node, Like) for node in nodes)
    if patterns > PATTERNS:
        raise InputError(f"the {what} has {patterns} LIKE patterns; at most {PATTERNS} are covered")
    if any(copies(node) > COPIES for node in nodes if isinstance(node, Value)):
        raise InputError(f"the {what} nests its functions too deep; compute some of them in a column of their own")


def _depth(tree: exp.Expr) -> int:
    """Return how deep a tree nests, without recursion."""
    depths = {id(tree): 0}
    for node in tree.bfs():
        for child in node.iter_expressions():
            depths[id(child)] = depths[id(node)] + 1
    return max(depths.values())


@dataclass(frozen=True)
class Reader:
    """Reads conditions over the columns of a schema, which may be qualified by the name of one table.

    >>> import sqlglot
    >>> Reader(Schema.from_roles(quasi=["zip"]), "homes").condition(sqlglot.parse_one("homes.zip IS NULL")).text
    '"zip" IS NULL'
    """

    schema: Schema
    table: str | None

    def condition(self, node: exp.Expr) -> Condition:
        """Return a condition, refusing what is not one."""
        kind = type(node).__name__
        if kind == "Paren":
            return self.condition(only(node, "this"))
        if kind in {"And", "Or"}:
            return join(kind.upper(), [self.condition(part) for part in parts(node, "this", "expression")])
        if kind == "Not":
            return negate(self.condition(only(node, "this")))
        if kind == "Boolean":
            return Truth(bool(node.this))
        if kind in COMPARED:
            left, right = self.pair(node, *parts(node, "this", "expression"))
            return self._comparison(node, COMPARED[kind], left, right)
        found = self._other(node, kind)
        return negate(found) if node.args.get("negate") else found

    def _other(self, node: exp.Expr, kind: str) -> Condition:
        if kind == "Between":
            value, low, high = parts(node, "this", "low", "high")
            ends = [self._comparison(node, ">=", *self.pair(node, value, low))]
            return join("AND", [*ends, self._comparison(node, "<=", *self.pair(node, value, high))])
        if kind == "In":
            value, *items = parts(node, "this", "expressions")
            return self._among(node, value, items)
        if kind == "Is":
            value, null = parts(node, "this", "expression")
            if type(null).__name__ == "Null":
                return Missing(self.value(value))
        if kind == "Like":
            value, pattern = parts(node, "this", "expression")
            return self._like(node, value, pattern)
        raise refusal(node)

    def _comparison(self, node: exp.Expr, operator: str, left: Value, right: Value) -> Condition:
        """Return the comparison; an order of ordinal categories becomes the categories themselves."""
        comparison = compare(operator, left, right)
        column, literal = comparison.left, comparison.right
        ordinal = next((side for side in (column, literal) if isinstance(side, ColumnReference) and side.order), None)
        if comparison.operator in {"=", "<>"} or ordinal is None:
            return comparison
        if ordinal is not column or not isinstance(literal, Literal):
            raise refusal(node, f"column '{ordinal.name}' is ordinal; compare it with one of its categories")
        if literal.value not in ordinal.order:
            hint = suggestion(str(literal.value), ordinal.order)
            raise InputError(f"column '{ordinal.name}' has no category '{literal.value}'{hint}")
        place = ordinal.order.index(str(literal.value))
        upto = place + (comparison.operator in {"<=", ">"})
        kept = ordinal.order[:upto] if comparison.operator in {"<", "<="} else ordinal.order[upto:]
        return one_of(ordinal, [Literal(category, Domain.TEXT) for category in kept])

    def _among(self, node: exp.Expr, value: exp.Expr, items: list[exp.Expr]) -> Condition:
        read = [self.pair(node, value, item) for item in items]
        literals = [literal for _, literal in read if isinstance(literal, Literal)]
        if not read or len(literals) != len(read):
            raise refusal(node, "IN takes a list of literals")
        return one_of(read[0][0], literals)

    def _like(self, node: exp.Expr, value: exp.Expr, pattern: exp.Expr) -> Condition:
        text, read = self.value(value), self.value(pattern)
        if not isinstance(read, Literal) or not isinstance(read.value, str) or text.domain is not Domain.TEXT:
            raise refusal(node, "LIKE compares a text column with a pattern in quotes")
        if len(read.value) > PATTERN or "\\" in read.value:
            raise refusal(node, f"a LIKE pattern has at most {PATTERN} characters and no backslash")
        return Like(text, read.value)

    def pair(self, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> tuple[Value, Value]:
        """Return both sides in one domain; a text beside a date is read as a date."""
        first, second = self._side(left, right), self._side(right, left)
        domains = {first.domain, second.domain}
        if Domain.TIMESTAMP in domains:
            zone = next((zone for side in (first, second) for zone in self._zones(side)), None)
            first, second = as_time(first, zone), as_time(second, zone)
        elif Domain.DATE in domains:
            first, second = as_date(first), as_date(second)
        if first.domain is not second.domain:
            wanted = {
                Domain.NUMBER: "a number has no quotes",
                Domain.TEXT: "a text stands in quotes",
                Domain.DATE: "a date is written '2026-01-31'",
                Domain.TIMESTAMP: "a timestamp is written '2026-01-31 14:30:00'",
            }[first.domain]
            raise InputError(
                f"the condition {short(node.sql(dialect='postgres'))} compares {first.domain} with {second.domain}; "
                f"{first.text} is a {first.domain}, and {wanted}"
            )
        return first, second

    def _side(self, node: exp.Expr, beside: exp.Expr) -> Value:
        """Return a value that is compared with another; an INTERVAL beside a difference of times is its seconds."""
        return read_length(node, self.value(beside)) if type(node).__name__ == "Interval" else self.value(node)

    def _zones(self, value: Value) -> list[str]:
        """Return the declared zones of the columns in a value."""
        named = [part.name for part in walk(value) if isinstance(part, ColumnReference)]
        return [zone for name in named if (zone := self.schema.columns[name].zone) is not None]

    def value(self, node: exp.Expr) -> Value:
        """Return a column, literal, arithmetic, cast or function, refusing everything else."""
        kind = type(node).__name__
        if kind == "Paren":
            return self.value(only(node, "this"))
        if kind == "Column":
            return self._column(node)
        if kind == "Literal":
            return literal_of(node)
        if kind in {"Neg", *COMPUTED}:
            return self._arithmetic(node, kind)
        if kind in {"Cast", "Date"}:
            return self._cast(node, *parts(node, "this", *(["to"] if kind == "Cast" else [])))
        if kind in FUNCTIONS:
            return FUNCTIONS[kind](self, node)
        if kind == "Null":
            raise refusal(node, "ask whether a value is missing by IS NULL")
        raise refusal(node)

    def _column(self, node: exp.Expr) -> ColumnReference:
        table = node.args.get("table")
        if any(node.args.get(part) for part in ("db", "catalog", "join_mark")) or type(node.this).__name__ == "Star":
            raise refusal(node)
        if table is not None and (self.table is None or table.name.casefold() != self.table.casefold()):
            raise refusal(node, "only the columns of the one table can be used")
        return declared_column(node.name, self.schema, quoted=bool(node.this.args.get("quoted")))

    def _arithmetic(self, node: exp.Expr, kind: str) -> Value:
        if kind == "Neg":
            sides: list[Value] = [Literal(0, Domain.NUMBER), self.value(only(node, "this"))]
        else:
            written = parts(node, "this", "expression")
            if any(type(part).__name__ == "Interval" for part in written) and kind in {"Add", "Sub"}:
                return read_with_interval(self, node, *written)
            sides = [self.value(part) for part in written]
            found = sum_of_days(node, sides[0], sides[1], self.schema) if kind in {"Add", "Sub"} else None
            if found is not None:
                return found
        for side in sides:
            _refuse_unbounded(node, side, self.schema)
        left, right = sides
        result = compute(COMPUTED.get(kind, "-"), left, right)
        if kind == "Div" and isinstance(right, Literal) and not right.value:
            raise refusal(node, "nothing is divided by 0")
        least, most = extent(result)
        if least < 1e-250 or most > 1e250:
            raise refusal(node, "its results may be too large or too small for a double; use fewer operators")
        return fold_literals(result) if isinstance(left, Literal) and isinstance(right, Literal) else result

    def _cast(self, node: exp.Expr, inner: exp.Expr, to: Any = None) -> Value:
        name = "DATE" if to is None else getattr(to.this, "name", str(to.this))
        value = self.value(inner)
        if name in {"DATE", *TIMES} and isinstance(value, Literal):
            return _time_literal(value, name)
        if to is not None and to.expressions and name != "DECIMAL":
            raise refusal(node)
        if name in WHOLE and value.domain in {Domain.NUMBER, Domain.TEXT}:
            return Cast(value, "INTEGER", Domain.NUMBER)
        if name in REAL and to is not None and not to.expressions and value.domain in {Domain.NUMBER, Domain.TEXT}:
            return value if value.domain is Domain.NUMBER else Cast(value, "DOUBLE", Domain.NUMBER)
        if name == "DATE" and value.domain in {Domain.DATE, Domain.TIMESTAMP, Domain.TEXT}:
            return value if value.domain is Domain.DATE else Cast(value, "DATE", Domain.DATE)
        if name in TIMES and value.domain is not Domain.NUMBER:
            return Cast(value, "TIMESTAMP", Domain.TIMESTAMP) if value.domain is Domain.TEXT else as_moment(value)
        if name in TEXTS and value.domain is Domain.TEXT:
            return value
        raise refusal(node, CASTS)


def _time_literal(value: Literal, to: str) -> Value:
    """Return a date or a time; a moment stays as written, and is taken to the zone of the column beside it."""
    if to == "TIMESTAMPTZ":
        return value
    return as_date(value) if to == "DATE" else as_time(value, None)


def _refuse_unbounded(node: exp.Expr, value: Value, schema: Schema) -> None:
    if value.domain is not Domain.NUMBER:
        raise refusal(node, f"arithmetic needs numbers, and {value.text} is a {value.domain}")
    for part in number_columns(value):
        if part.domain is not Domain.NUMBER or part.bounds is None:
            kind = schema.columns[part.name].kind or "text"
            raise refusal(
                node, f"arithmetic needs declared bounds within ±{MOST:.0e}, and column '{part.name}' ({kind}) has none"
            )


def declared_column(name: str, schema: Schema, *, quoted: bool = False) -> ColumnReference:
    """Return the column of the schema that is meant; unquoted names may differ in case.

    >>> declared_column("agee", Schema.from_roles(quasi=["age"]))
    Traceback (most recent call last):
    sfumato.errors.InputError: the schema has no column 'agee'; did you mean 'age'?
    """
    attribute = schema.columns.get(name)
    if attribute is None and not quoted:
        near = [other for other in schema.columns if other.casefold() == name.casefold()]
        attribute = schema.columns[near[0]] if len(near) == 1 else None
    if attribute is None:
        raise InputError(f"the schema has no column '{name}'{suggestion(name, schema.columns)}")
    order = attribute.categories if attribute.kind is Kind.ORDINAL else None
    words = range_of_column(attribute).words
    longest = None if words is None else max(map(len, words), default=0)
    return ColumnReference(attribute.name, _domain(attribute), _bounds(attribute), order or (), longest)


def _domain(attribute: Attribute) -> Domain:
    if attribute.kind in {Kind.DATE, Kind.TIMESTAMP}:
        return Domain(str(attribute.kind))
    return Domain.NUMBER if attribute.kind in {Kind.INTEGER, Kind.NUMBER} else Domain.TEXT


def _bounds(attribute: Attribute) -> tuple[float, float] | None:
    """Return public bounds, by which computations clamp a cell: days of dates, seconds of timestamps."""
    if attribute.bounds is None or not attribute.public:
        return None
    low, high = (bound_position(limit) for limit in attribute.bounds)
    return (low, high) if max(abs(low), abs(high)) <= MOST else None
