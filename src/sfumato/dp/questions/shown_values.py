"""Conditions on released numbers, evaluated in Python: every value has left already, so nothing needs hiding.

Three-valued logic as for rows (Kleene 1938): what is unknown is not shown.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from sfumato.dp.questions.expression import (
    MOST,
    Arithmetic,
    ColumnReference,
    Condition,
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

Cell = int | float | str | None
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPUTE: dict[str, Callable[[float, float], float]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def condition_holds(condition: Condition, row: Mapping[str, Cell]) -> bool:
    """Return whether a condition is true of a row; unknown is no.

    >>> from sfumato.dp.questions.predicate import parse_predicate
    >>> from sfumato.schema import Attribute, Kind, Role, Schema
    >>> schema = Schema({"n": Attribute("n", Role.OTHER, Kind.NUMBER, bounds=(-9, 9))})
    >>> condition = parse_predicate("n / 2 > 1 OR n IS NULL", schema).condition
    >>> [condition_holds(condition, {"n": n}) for n in (1, 3, None)]
    [False, True, True]
    """
    return truth_of(condition, row) is True


def truth_of(condition: Condition, row: Mapping[str, Cell]) -> bool | None:
    """Return whether a condition is true, false or unknown of a row.

    >>> truth_of(Truth(True), {})
    True
    """
    match condition:
        case Truth(value):
            return value
        case Negation(operand):
            truth = truth_of(operand, row)
            return None if truth is None else not truth
        case Junction(how, operands):
            truths = [truth_of(operand, row) for operand in operands]
            decides = how == "OR"
            if decides in truths:
                return decides
            return None if None in truths else not decides
        case Missing(value):
            return value_of(value, row) is None
        case _:
            return _test(condition, row)


def _test(condition: Condition, row: Mapping[str, Cell]) -> bool | None:
    match condition:
        case ValueComparison(how, left, right):
            sides = value_of(left, row), value_of(right, row)
            return None if None in sides else COMPARE[how](*sides)
        case InList(value, literals):
            found = value_of(value, row)
            return None if found is None else found in {literal.value for literal in literals}
        case Like(value):
            text = value_of(value, row)
            return None if text is None else bool(re.fullmatch(condition.regular_expression, str(text), re.DOTALL))
        case _:
            raise NotImplementedError(type(condition).__name__)


def value_of(value: Value, row: Mapping[str, Cell]) -> Cell:
    """Return what a value is for a row; division by zero is missing.

    >>> value_of(Arithmetic("/", Literal(1, "number"), Literal(0, "number")), {}) is None
    True
    """
    match value:
        case Literal(literal):
            return literal
        case ColumnReference(name):
            return row[name]
        case Arithmetic(how, left, right):
            first, second = _number(value_of(left, row)), _number(value_of(right, row))
            if first is None or second is None or (how == "/" and not second):
                return None
            return first / second if how == "/" else COMPUTE[how](first, second)
        case _:
            raise NotImplementedError(type(value).__name__)


def _number(cell: Cell) -> float | None:
    """Return a number within the limits that conditions know."""
    return None if cell is None or isinstance(cell, str) else float(min(max(cell, -MOST), MOST))
