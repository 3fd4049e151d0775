"""Expressions evaluated on one row of Python values, in the obvious way: the twin of what engines compute."""

from __future__ import annotations

import calendar
import datetime as dt
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from sfumato.dp.questions.expression import (
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

Row = Mapping[str, Any]  # float, str, date, datetime or None
EPOCH = dt.datetime(1970, 1, 1)
TINY = 1e-15
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def slow_value(node: Value, row: Row) -> Any:  # noqa: PLR0911  # one for each kind of value
    """Return the value of an expression on a row."""
    match node:
        case ColumnReference(name):
            return row[name]
        case Literal(value, domain):
            return of_position(value, domain)
        case Arithmetic(sign, left, right):
            return _arithmetic(sign, _inside(left, row), _inside(right, row))
        case Cast(inner, to):
            return _cast(_inside(inner, row), to)
        case Case(branches, otherwise):
            for test, result in branches:
                if slow_truth(test, row) is True:
                    return None if result is None else _inside(result, row)
            return None if otherwise is None else _inside(otherwise, row)
        case Call(function, arguments, _, options):
            return _call(function, [_inside(argument, row) for argument in arguments], options)


def slow_truth(node: Condition, row: Row) -> bool | None:  # noqa: PLR0911  # one for each kind of condition
    """Return whether a condition holds on a row; None is unknown."""
    match node:
        case Truth(value):
            return value
        case Negation(operand):
            return _no(slow_truth(operand, row))
        case Junction("AND", operands):
            found = [slow_truth(operand, row) for operand in operands]
            return False if False in found else None if None in found else True
        case Junction(_, operands):
            found = [slow_truth(operand, row) for operand in operands]
            return True if True in found else None if None in found else False
        case Missing(value):
            return slow_value(value, row) is None
        case ValueComparison(sign, left, right):
            one, other = slow_value(left, row), slow_value(right, row)
            return None if one is None or other is None else COMPARED[sign](_ordered(one), _ordered(other))
        case InList(value, literals):
            found = slow_value(value, row)
            return None if found is None else found in [slow_value(literal, row) for literal in literals]
        case Like(value, pattern):
            text = slow_value(value, row)
            shape = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern)
            return None if text is None else re.fullmatch(shape, text, re.DOTALL) is not None


def of_position(value: float | str, domain: Domain) -> Any:
    """Return a literal as Python has it."""
    if domain is Domain.DATE:
        return (EPOCH + dt.timedelta(days=int(value))).date()
    return EPOCH + dt.timedelta(microseconds=round(float(value) * 1e6)) if domain is Domain.TIMESTAMP else value


def position_of(value: Any) -> float | str | None:
    """Return a value as engines hold it: days of a date, seconds of a time."""
    if isinstance(value, dt.datetime):
        return ((value - EPOCH) // dt.timedelta(microseconds=1)) / 1_000_000
    return value.toordinal() - EPOCH.toordinal() if isinstance(value, dt.date) else value


def _ordered(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _no(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _inside(node: Value, row: Row) -> Any:
    """Return a value for a computation: what a column holds is clamped, and a word that is too long is missing."""
    value = slow_value(node, row)
    if not isinstance(node, ColumnReference) or value is None:
        return value
    if node.longest is not None and len(value) > node.longest:
        return None
    if node.bounds is not None:
        low, high = (of_position(limit, node.domain) for limit in node.bounds)
        value = min(max(value, low), high)
        if node.domain is Domain.NUMBER and abs(value) < TINY:
            return 0.0
    return value


def _arithmetic(sign: str, left: float | None, right: float | None) -> float | None:
    if left is None or right is None or (sign == "/" and right == 0):
        return None
    return {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
    }[sign]()


def _cast(value: Any, to: str) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        return _read(value, to)
    if to == "INTEGER":
        return float(math.floor(value + 0.5))
    return value.date() if to == "DATE" else dt.datetime.combine(value, dt.time())


def _read(text: str, to: str) -> Any:
    """Return what a text says, where it is written as such."""
    shapes = {"INTEGER": r"[+-]?[0-9]{1,18}", "DOUBLE": r"[+-]?([0-9]{1,18}(\.[0-9]*)?|\.[0-9]+)"}
    if to in shapes:
        return float(text) if re.fullmatch(shapes[to], text) else None
    try:
        if to == "DATE":
            return dt.date(*map(int, text.split("-"))) if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None
        return dt.datetime.fromisoformat(text) if len(text) == 19 else None
    except ValueError:
        return None


def _call(function: str, values: list[Any], options: tuple[Any, ...]) -> Any:
    there = [value for value in values if value is not None]
    if function == "COALESCE":
        return there[0] if there else None
    if function in {"LEAST", "GREATEST"}:
        return {"LEAST": min, "GREATEST": max}[function](there) if there else None
    if function == "NULLIF":
        return None if values[0] == values[1] else values[0]
    return CALLS[function](*values, *options) if len(there) == len(values) else None


def _round(value: float, places: int) -> float:
    scale = 10.0 ** abs(places)
    if places > 0:
        return math.floor(value * scale + 0.5) / scale
    return math.floor(value / scale + 0.5) * scale


def _extract(value: dt.date, unit: str) -> float:
    time = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    parts = {
        "YEAR": time.year,
        "QUARTER": (time.month - 1) // 3 + 1,
        "MONTH": time.month,
        "WEEK": time.isocalendar().week,
        "DAY": time.day,
        "DOW": time.isoweekday() % 7,
        "ISODOW": time.isoweekday(),
        "DOY": int(time.strftime("%j")),
        "HOUR": time.hour,
        "MINUTE": time.minute,
        "SECOND": time.second,
        "EPOCH": position_of(time),
    }
    return float(parts[unit] or 0)


def _begin(value: dt.date, unit: str) -> dt.date:
    if isinstance(value, dt.datetime):
        start = value.replace(microsecond=0, second=0)
        if unit == "MINUTE":
            return start
        start = start.replace(minute=0)
        return start if unit == "HOUR" else dt.datetime.combine(_begin(value.date(), unit), dt.time())
    if unit == "WEEK":
        return value - dt.timedelta(days=value.weekday())
    month = {"DAY": value.month, "MONTH": value.month, "QUARTER": {1: 1, 2: 4, 3: 7, 4: 10}.get(-(-value.month // 3))}
    return value if unit == "DAY" else value.replace(month=month.get(unit) or 1, day=1)


def _later(value: dt.date, number: int, unit: str) -> dt.date | None:
    try:
        if unit != "month":
            return value + dt.timedelta(days=number) if unit == "day" else value + dt.timedelta(seconds=number)
        year, month = value.year, value.month
        for _ in range(abs(number)):
            month += 1 if number > 0 else -1
            year, month = (year + 1, 1) if month == 13 else (year - 1, 12) if month == 0 else (year, month)
        return value.replace(year=year, month=month, day=min(value.day, calendar.monthrange(year, month)[1]))
    except (OverflowError, ValueError):
        return None


def _difference(one: dt.date, other: dt.date) -> float:
    between = one - other
    if isinstance(one, dt.datetime):
        return (between // dt.timedelta(microseconds=1)) / 1_000_000
    return float(between.days)


def _other_case(text: str, old: str, new: str) -> str:
    """Return a text with letters of another case, found by their names."""
    return "".join(_other_letter(letter, old, new) for letter in text)


def _other_letter(letter: str, old: str, new: str) -> str:
    name = unicodedata.name(letter, "")
    if not re.match(f"(LATIN|GREEK|CYRILLIC) {old} (LETTER|LIGATURE)", name):
        return letter
    try:
        other = unicodedata.lookup(name.replace(f" {old} ", f" {new} ", 1))
    except KeyError:
        return letter
    return other if _has_pair(letter) and _has_pair(other) else letter


def _has_pair(letter: str) -> bool:
    """Return whether a letter is in the blocks that docs/algorithms/expressions.md lists."""
    return any(ord(letter) in block for block in (range(0x180), range(0x370, 0x3D0), range(0x400, 0x500)))


CALLS: dict[str, Callable[..., Any]] = {
    "ABS": abs,
    "FLOOR": lambda x: float(math.floor(x)),
    "CEIL": lambda x: float(math.ceil(x)),
    "ROUND": _round,
    "MOD": math.fmod,
    "EXTRACT": _extract,
    "DATE_TRUNC": _begin,
    "SHIFT": _later,
    "DAYS_AFTER": lambda day, number: _later(day, int(number), "day"),
    "DIFFERENCE": _difference,
    "LOWER": lambda text: _other_case(text, "CAPITAL", "SMALL"),
    "UPPER": lambda text: _other_case(text, "SMALL", "CAPITAL"),
    "TRIM": lambda text: re.sub(r"^ +| +$", "", text),
    "LENGTH": lambda text: float(len(list(text))),
    "SUBSTRING": lambda text, start, count=None: "".join(list(text)[start - 1 :][:count]),
    "RIGHT": lambda text, count: "".join(list(text)[::-1][:count][::-1]),
    "CONCAT": lambda *texts: "".join(texts),
}
