"""A predicate as SQL that cannot fail: doubles between declared bounds, division by zero missing, unknown is no.

Truth is a number: 0 false, 1 unknown, 2 true; AND is the least, OR the greatest, NOT is 2 less it, which is Kleene's
three-valued logic (1938). So every part is evaluated on every row: AND and OR would leave out the second where the
first decides, and an engine would skip rows by what it knows of a column.

CASE is the one form in which work depends on the row: an engine computes the value of the first true condition alone.
Nothing fails there all the same, and the deadline of an answer hides its time.

The proof that no double overflows or vanishes on the way is `sfumato.dp.questions.extent`; timing and errors must not
depend on a row (Haeberlen, Pierce & Narayan 2011, section 4). A LIKE pattern runs in time linear in the text,
also in an engine that backtracks (Cox 2007, "Regular expression matching can be simple and fast").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from sfumato.dp.questions.expression import (
    LEAST,
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnReference,
    Condition,
    Domain,
    InList,
    Junction,
    Like,
    Literal,
    Missing,
    Negation,
    Truth,
    Value,
    ValueComparison,
)
from sfumato.dp.rows.dialect import Dialect, StorageType, double
from sfumato.dp.rows.functions import call_sql
from sfumato.schema import Kind

KINDS = {"INTEGER": Kind.INTEGER, "DOUBLE": Kind.NUMBER, "DATE": Kind.DATE, "TIMESTAMP": Kind.TIMESTAMP}


class Bindings(Protocol):
    """Where texts become parameters and columns become the names of their cells."""

    dialect: Dialect

    def text(self, value: str) -> str: ...
    def one_of(self, values: list[str]) -> str: ...
    def cell(self, column: str) -> str: ...


@dataclass(frozen=True)
class Compiler:
    """Turns conditions into SQL over the cells that `bindings` names.

    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> class Cells:
    ...     dialect = DUCKDB
    ...     def cell(self, column: str) -> str:
    ...         return column
    >>> age = ColumnReference("age", Domain.NUMBER)
    >>> Compiler(Cells()).truth(ValueComparison("<", age, Literal(3, Domain.NUMBER)))
    'COALESCE(2 * CAST((CAST(age AS DOUBLE PRECISION) < 3.0e0) AS INTEGER), 1)'
    """

    bindings: Bindings

    def counts(self, condition: Condition) -> str:
        """Return the test that is true where the condition is, and false where it is false or unknown."""
        return f"({self.truth(condition)} = 2)"

    def truth(self, node: Condition) -> str:
        """Return the SQL of a condition's truth: 0 false, 1 unknown, 2 true."""
        match node:
            case Truth(value):
                return "2" if value else "0"
            case Negation(operand):
                return f"(2 - {self.truth(operand)})"
            case Junction(operator, operands):
                chosen = "least" if operator == "AND" else "greatest"
                return f"{chosen}({', '.join(self.truth(operand) for operand in operands)})"
            case _:
                return f"COALESCE(2 * CAST({self._test(node)} AS INTEGER), 1)"

    def _test(self, node: ValueComparison | InList | Missing | Like) -> str:
        """Return the SQL of a test on values, which is missing where it is unknown."""
        match node:
            case ValueComparison(operator, left, right):
                return f"({self.value(left)} {operator} {self.value(right)})"
            case InList(value, literals):
                return f"({self.value(value)} {self._list(literals)})"
            case Missing(value):
                return f"({self.value(value)} IS NULL)"
            case Like():
                return f"({self._like(node)})"

    def _list(self, literals: tuple[Literal, ...]) -> str:
        texts = [literal.value for literal in literals if isinstance(literal.value, str)]
        return self.bindings.one_of(texts) if texts else f"IN ({', '.join(self.value(item) for item in literals)})"

    def _like(self, like: Like) -> str:
        """Return the test; where an engine's own LIKE backtracks, the pattern runs as a linear regular expression."""
        text = self.value(like.value)
        if self.bindings.dialect.name == "spark":
            return f"rlike({text}, {self.bindings.text(linear_pattern(like.pattern))})"
        if self.bindings.dialect.name == "duckdb":
            return f"regexp_full_match({text}, {self.bindings.text(like.regular_expression)}, 's')"
        return f"{text} LIKE {self.bindings.text(like.pattern)}"

    def value(self, node: Value) -> str:  # noqa: PLR0911  # one for each kind of value
        """Return the SQL of a value: a double (of a timestamp, its seconds), a text, or days as an integer."""
        match node:
            case ColumnReference(name, Domain.NUMBER):
                return f"CAST({self.bindings.cell(name)} AS {self.bindings.dialect.double})"
            case ColumnReference(name):
                return self.bindings.cell(name)
            case Literal(str() as text):
                return self.bindings.text(text)
            case Literal(number, Domain.DATE):
                return str(int(number))
            case Literal(number):
                return self.bindings.dialect.literal.format(x=double(float(number)))
            case Arithmetic(operator, left, right):
                divisor = self._operand(right)
                divisor = f"NULLIF({divisor}, 0e0)" if operator == "/" else divisor
                return f"({self._operand(left)} {operator} {divisor})"
            case Cast(value, to):
                return self._cast(value, to)
            case Call(_, arguments):
                return call_sql(node, [self._operand(argument) for argument in arguments], self.bindings)
            case Case():
                return self._case(node)

    def _operand(self, node: Value) -> str:
        """Return a value for a computation: a column is clamped to its bounds, and 0 where it is nearly so.

        A word that is longer than every declared category is missing.
        """
        x = self.value(node)
        if not isinstance(node, ColumnReference):
            return x
        if node.longest is not None:
            return f"CASE WHEN {self.bindings.dialect.characters.format(x=x)} <= {node.longest} THEN {x} END"
        if node.bounds is None:
            return x
        if node.domain is Domain.NUMBER:
            low, high = (double(limit if abs(limit) >= LEAST else 0.0) for limit in node.bounds)
            vanishing = f" WHEN abs({x}) < {double(LEAST)} THEN 0e0"
        else:
            low, high = (self.value(Literal(limit, node.domain)) for limit in node.bounds)
            vanishing = ""
        return f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high}{vanishing} ELSE {x} END"

    def _case(self, case: Case) -> str:
        results = [("NULL" if value is None else self._operand(value)) for _, value in case.branches]
        tests = [self.counts(test) for test, _ in case.branches]
        cases = "".join(f" WHEN {test} THEN {value}" for test, value in zip(tests, results, strict=True))
        last = "" if case.otherwise is None else f" ELSE {self._operand(case.otherwise)}"
        chosen = f"CASE{cases}{last} END"
        return self.bindings.dialect.text.format(x=chosen) if case.domain is Domain.TEXT else chosen

    def _cast(self, value: Value, to: str) -> str:
        dialect, x = self.bindings.dialect, self._operand(value)
        match value.domain:
            case Domain.NUMBER:
                return dialect.floor.format(x=f"({x} + 0.5e0)")
            case Domain.TIMESTAMP:
                return dialect.day_of_time(x)
            case Domain.DATE:
                return f"(CAST({x} AS {dialect.double}) * 86400e0)"
        read = dialect.cell(x, StorageType.TEXT, KINDS[to])
        return f"CAST({read} AS {dialect.double})" if to == "INTEGER" else read


def linear_pattern(pattern: str) -> str:
    r"""Return the regular expression of a pattern in which `%` stands for any characters and `_` for one.

    Between two `%` a pattern has a fixed length, so the first place where it fits is as good as any later one and need
    not be given up again: each stretch is an atomic group.

    >>> linear_pattern("a%b_%%c")
    '(?s)^a(?>.*?b.).*?c\\z'
    """
    first, *others = pattern.split("%")
    if not others:
        return rf"(?s)^{_stretch(first)}\z"
    *middle, last = others
    found = "".join(f"(?>.*?{_stretch(part)})" for part in middle if part)
    return rf"(?s)^{_stretch(first)}{found}.*?{_stretch(last)}\z"


def _stretch(part: str) -> str:
    """Return the expression of a part without `%`."""
    return "".join("." if letter == "_" else re.escape(letter) for letter in part)
