"""Expressions of columns in Python, which build SQL and nothing else: there is one language, and one compiler.

    sf.col("start").hour()      EXTRACT(HOUR FROM "start")
    sf.col("fare") * 2 > 3      (("fare" * 2) > 3)

Names stand in quotes and values are written as literals, so that no text of a caller is read as SQL. An expression is
data, not code: nothing that a caller writes in Python runs on a row (Haeberlen, Pierce & Narayan 2011).
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from sfumato.dp.questions.computed import DerivedColumn, computed_column, normal_sql, read_expression, spelled_sql
from sfumato.errors import ParameterError

Scalar = str | int | float | Decimal | dt.date | dt.timedelta | None
UNITS = (("DAY", 86_400), ("HOUR", 3600), ("MINUTE", 60), ("SECOND", 1))


@dataclass(frozen=True, eq=False)
class ColumnExpression:
    """An expression of one row's columns as SQL; `column` is its name where it is a plain column.

    >>> (col("fare") * 2 + 1).sql
    '(("fare" * 2) + 1)'
    >>> (col("age").between(18, 65) & ~col("sex").is_missing()).sql
    '(("age" BETWEEN 18 AND 65) AND (NOT ("sex" IS NULL)))'
    """

    sql: str
    column: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    __hash__ = None  # type: ignore[assignment]  # == builds a condition

    def __bool__(self) -> bool:
        raise ParameterError(f"the truth of {self.sql} is not known in Python; join conditions with &, | and ~")

    def named(self, name: str) -> ColumnExpression:
        """Return the same expression under another name in the answer, which is no part of what is paid for.

        >>> col("start").hour().named("hour").label
        'hour'
        """
        return replace(self, label=name)

    def _with(self, sign: str, other: ColumnExpression | Scalar, *, swapped: bool = False) -> ColumnExpression:
        sides = (literal(other), self.sql) if swapped else (self.sql, literal(other))
        return ColumnExpression(f"({sides[0]} {sign} {sides[1]})")

    def __add__(self, other: ColumnExpression | Scalar) -> ColumnExpression:
        return self._with("+", other)

    def __radd__(self, other: Scalar) -> ColumnExpression:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: ColumnExpression | Scalar) -> ColumnExpression:
        return self._with("-", other)

    def __rsub__(self, other: Scalar) -> ColumnExpression:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: ColumnExpression | Scalar) -> ColumnExpression:
        return self._with("*", other)

    def __rmul__(self, other: Scalar) -> ColumnExpression:
        return self._with("*", other, swapped=True)

    def __truediv__(self, other: ColumnExpression | Scalar) -> ColumnExpression:
        return self._with("/", other)

    def __rtruediv__(self, other: Scalar) -> ColumnExpression:
        return self._with("/", other, swapped=True)

    def __mod__(self, other: ColumnExpression | Scalar) -> ColumnExpression:
        return self._with("%", other)

    def __neg__(self) -> ColumnExpression:
        return ColumnExpression(f"(-{self.sql})")

    def __abs__(self) -> ColumnExpression:
        return self._call("ABS")

    def __eq__(self, other: object) -> ColumnExpression:  # type: ignore[override]
        return self._with("=", _scalar(other))

    def __ne__(self, other: object) -> ColumnExpression:  # type: ignore[override]
        return self._with("<>", _scalar(other))

    def __lt__(self, other: ColumnExpression | Scalar) -> ColumnExpression:
        return self._with("<", other)

    def __le__(self, other: ColumnExpression | Scalar) -> ColumnExpression:
        return self._with("<=", other)

    def __gt__(self, other: ColumnExpression | Scalar) -> ColumnExpression:
        return self._with(">", other)

    def __ge__(self, other: ColumnExpression | Scalar) -> ColumnExpression:
        return self._with(">=", other)

    def __and__(self, other: ColumnExpression) -> ColumnExpression:
        return self._with("AND", other)

    def __or__(self, other: ColumnExpression) -> ColumnExpression:
        return self._with("OR", other)

    def __invert__(self) -> ColumnExpression:
        return ColumnExpression(f"(NOT {self.sql})")

    def between(self, low: ColumnExpression | Scalar, high: ColumnExpression | Scalar) -> ColumnExpression:
        """Test that a value lies between two others, both included."""
        return ColumnExpression(f"({self.sql} BETWEEN {literal(low)} AND {literal(high)})")

    def is_in(self, values: Sequence[Scalar]) -> ColumnExpression:
        """Test that a value is one of some."""
        if isinstance(values, str) or not values:
            raise ParameterError(f"the values are {values!r}; give a list of at least one")
        return ColumnExpression(f"({self.sql} IN ({', '.join(literal(value) for value in values)}))")

    def is_missing(self) -> ColumnExpression:
        """Test that there is no value."""
        return ColumnExpression(f"({self.sql} IS NULL)")

    def like(self, pattern: str) -> ColumnExpression:
        """Test that a text fits a pattern: `%` stands for any characters, `_` for one."""
        return self._with("LIKE", pattern)

    def fill(self, value: ColumnExpression | Scalar) -> ColumnExpression:
        """Put a value where there is none."""
        return self._call("COALESCE", value)

    def clip(self, low: Scalar, high: Scalar) -> ColumnExpression:
        """Bring a number between two limits."""
        return ColumnExpression(f"LEAST(GREATEST({self.sql}, {literal(low)}), {literal(high)})")

    def round(self, digits: int = 0) -> ColumnExpression:
        """Round to so many decimals."""
        return self._call("ROUND", digits) if digits else self._call("ROUND")

    def floor(self) -> ColumnExpression:
        """Round down to a whole number."""
        return self._call("FLOOR")

    def ceiling(self) -> ColumnExpression:
        """Round up to a whole number."""
        return self._call("CEIL")

    def whole(self) -> ColumnExpression:
        """Read a text as a whole number, or round a number to one."""
        return ColumnExpression(f"CAST({self.sql} AS INTEGER)")

    def number(self) -> ColumnExpression:
        """Read a text as a number."""
        return ColumnExpression(f"CAST({self.sql} AS DOUBLE PRECISION)")

    def lower(self) -> ColumnExpression:
        """Write a text in lower case."""
        return self._call("LOWER")

    def upper(self) -> ColumnExpression:
        """Write a text in upper case."""
        return self._call("UPPER")

    def trim(self) -> ColumnExpression:
        """Leave out the spaces around a text."""
        return self._call("TRIM")

    def length(self) -> ColumnExpression:
        """Count the characters of a text."""
        return self._call("LENGTH")

    def left(self, characters: int) -> ColumnExpression:
        """Keep the first characters of a text."""
        return self._call("LEFT", characters)

    def right(self, characters: int) -> ColumnExpression:
        """Keep the last characters of a text."""
        return self._call("RIGHT", characters)

    def substring(self, start: int, length: int) -> ColumnExpression:
        """Keep so many characters of a text; the first has the number 1."""
        return ColumnExpression(f"SUBSTRING({self.sql}, {literal(start)}, {literal(length)})")

    def concat(self, *others: ColumnExpression | str) -> ColumnExpression:
        """Put texts behind one another."""
        return ColumnExpression(f"({' || '.join([self.sql, *(literal(other) for other in others)])})")

    def date(self) -> ColumnExpression:
        """Return the day of a time, or read a text as a day."""
        return ColumnExpression(f"CAST({self.sql} AS DATE)")

    def truncate(self, unit: str) -> ColumnExpression:
        r"""Return the beginning of the hour, day, week, month, quarter or year that a time lies in.

        >>> col("start").truncate("month").sql
        'DATE_TRUNC(\'month\', "start")'
        """
        return ColumnExpression(f"DATE_TRUNC({literal(str(unit))}, {self.sql})")

    def year(self) -> ColumnExpression:
        """Return the year of a day or time."""
        return self._part("YEAR")

    def quarter(self) -> ColumnExpression:
        """Return the quarter of the year, from 1 to 4."""
        return self._part("QUARTER")

    def month(self) -> ColumnExpression:
        """Return the month, from 1 to 12."""
        return self._part("MONTH")

    def week(self) -> ColumnExpression:
        """Return the week of the year as ISO 8601 counts it."""
        return self._part("WEEK")

    def day(self) -> ColumnExpression:
        """Return the day of the month."""
        return self._part("DAY")

    def weekday(self) -> ColumnExpression:
        """Return the day of the week, from 1 (Monday) to 7."""
        return self._part("ISODOW")

    def hour(self) -> ColumnExpression:
        """Return the hour, from 0 to 23."""
        return self._part("HOUR")

    def minute(self) -> ColumnExpression:
        """Return the minute, from 0 to 59."""
        return self._part("MINUTE")

    def _part(self, unit: str) -> ColumnExpression:
        return ColumnExpression(f"EXTRACT({unit} FROM {self.sql})")

    def _call(self, function: str, *arguments: ColumnExpression | Scalar) -> ColumnExpression:
        return ColumnExpression(f"{function}({', '.join([self.sql, *(literal(one) for one in arguments)])})")


def col(name: str) -> ColumnExpression:
    """Return a column, to compute with.

    >>> col("start").hour().sql
    'EXTRACT(HOUR FROM "start")'
    """
    if not name or str(name) != name:
        raise ParameterError(f"the name of a column is {name!r}; give a text")
    return ColumnExpression('"' + name.replace('"', '""') + '"', column=name)


@dataclass(frozen=True)
class WhenCondition:
    """The beginning of a choice, to which `then` gives a value.

    >>> when(col("age") < 18).then(1).otherwise(0).sql
    'CASE WHEN ("age" < 18) THEN 1 ELSE 0 END'
    """

    condition: ColumnExpression
    before: tuple[str, ...] = ()

    def then(self, value: ColumnExpression | Scalar) -> ChosenValue:
        """Return the value where the condition holds, and a missing one elsewhere."""
        branches = (*self.before, f"WHEN {self.condition.sql} THEN {literal(value)}")
        return ChosenValue(f"CASE {' '.join(branches)} END", branches)


@dataclass(frozen=True, eq=False)
class ChosenValue(ColumnExpression):
    r"""A value for the first condition that holds; where none does it is missing, or `otherwise`.

    >>> when(col("age") < 18).then("young").when(col("age") < 65).then("adult").otherwise("old").sql
    'CASE WHEN ("age" < 18) THEN \'young\' WHEN ("age" < 65) THEN \'adult\' ELSE \'old\' END'
    """

    branches: tuple[str, ...] = ()

    __hash__ = None

    def when(self, condition: ColumnExpression) -> WhenCondition:
        """Add another condition, for rows that met none before."""
        return WhenCondition(condition, self.branches)

    def otherwise(self, value: ColumnExpression | Scalar) -> ColumnExpression:
        """Give rows a value that met no condition."""
        return ColumnExpression(f"CASE {' '.join(self.branches)} ELSE {literal(value)} END")


def when(condition: ColumnExpression) -> WhenCondition:
    r"""Begin a choice between values.

    >>> when(col("a") == "x").then(1).sql
    'CASE WHEN ("a" = \'x\') THEN 1 END'
    """
    return WhenCondition(condition)


def literal(value: ColumnExpression | Scalar) -> str:
    """Return a value as SQL: an expression as it is, anything else as a literal.

    >>> literal("it's"), literal(-1.5), literal(dt.date(2026, 1, 31)), literal(dt.timedelta(hours=36))
    ("'it''s'", '(-1.5)', "DATE '2026-01-31'", "INTERVAL '36 HOUR'")
    """
    if isinstance(value, ColumnExpression):
        return value.sql
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, dt.date | dt.timedelta):
        return _time(value)
    return _number(value)


def _time(value: dt.date | dt.timedelta) -> str:
    """Return a day, a time or a length of time; a time with an offset is read beside a column, in its zone."""
    if isinstance(value, dt.timedelta):
        return _interval(value)
    if not isinstance(value, dt.datetime):
        return f"DATE '{value.isoformat()}'"
    text = f"'{value.isoformat(sep=' ')}'"
    return f"TIMESTAMP {text}" if value.tzinfo is None else text


def _number(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, numbers.Integral):
        text = str(int(value))
    elif isinstance(value, Decimal) and value.is_finite():
        text = f"{value:f}"
    elif isinstance(value, numbers.Real) and math.isfinite(value):
        text = repr(float(value))
    else:
        raise ParameterError(f"{value!r} cannot stand in an expression; give a number, a text, a date or a time")
    return f"({text})" if text.startswith("-") else text


def _interval(length: dt.timedelta) -> str:
    seconds = length // dt.timedelta(seconds=1)
    if length % dt.timedelta(seconds=1):
        raise ParameterError(f"the length of time {length} has parts of a second; give whole seconds")
    unit, size = next((unit, size) for unit, size in UNITS if not seconds % size)
    return f"INTERVAL '{seconds // size} {unit}'"


def _scalar(value: object) -> ColumnExpression | Scalar:
    if value is None or isinstance(value, ColumnExpression | str | numbers.Real | Decimal | dt.date | dt.timedelta):
        return value  # type: ignore[return-value]  # numbers of any kind are written by their value
    raise ParameterError(f"{value!r} cannot be compared with; give a number, a text, a date or a time")


@dataclass(frozen=True)
class UsedColumn:
    """A column as a question uses it: its name, what it is called in the answer, and how it is computed.

    >>> UsedColumn.of("fare").label, UsedColumn.of(col("fare") * 2).label
    ('fare', 'fare_times_2')
    """

    name: str
    label: str
    derived: tuple[DerivedColumn, ...] = ()

    @classmethod
    def of(cls, what: object) -> UsedColumn:
        """Return what a column's name or an expression stands for."""
        if isinstance(what, str):
            return cls(what, what)
        if not isinstance(what, ColumnExpression):
            raise ParameterError(f"the column is {what!r}; give its name, or an expression made by sf.col()")
        if what.column is not None:
            return cls(what.column, what.label or what.column)
        column = computed_column(normal_sql(read_expression(what.sql)))
        return cls(column.name, what.label or column.label, (column,))


def condition_text(condition: object) -> str:
    """Return a condition as SQL.

    >>> condition_text(col("age") < 30)
    'age < 30'
    """
    if isinstance(condition, ColumnExpression):
        return spelled_sql(read_expression(condition.sql))
    if not isinstance(condition, str) or not condition.strip():
        raise ParameterError(f'the condition is {condition!r}; give a text such as "gender = 2"')
    return condition
