"""Functions of numbers and texts as SQL that no row can fail, and that gives the same in every engine.

Halves go up when a number is rounded. Letters change their case by a list of pairs, since an engine's own LOWER goes by
the locale of its server; characters are code points. LEAST, GREATEST and COALESCE pass over missing values; everything
else is missing where a part is (as in PostgreSQL).
"""

from __future__ import annotations

from typing import Protocol

from sfumato.dp.questions.expression import Call, Domain
from sfumato.dp.questions.extent import SAFE, extent
from sfumato.dp.questions.texts import LARGE, SMALL
from sfumato.dp.rows.calendar import calendar_sql
from sfumato.dp.rows.dialect import Dialect, double


class Words(Protocol):
    """Where texts become parameters."""

    dialect: Dialect

    def text(self, value: str) -> str: ...


def call_sql(call: Call, xs: list[str], words: Words) -> str:
    """Return the SQL of a function, from that of its arguments.

    >>> from sfumato.dp.questions.expression import ColumnReference
    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> class Texts:
    ...     dialect = DUCKDB
    >>> age = ColumnReference("age", Domain.NUMBER, (0.0, 99.0))
    >>> call_sql(Call("FLOOR", (age,), Domain.NUMBER), ["c0"], Texts())
    'floor(c0)'
    """
    if call.function in {"LEAST", "GREATEST", "COALESCE", "NULLIF"}:
        chosen = f"{call.function}({', '.join(xs)})"
        return words.dialect.text.format(x=chosen) if call.domain is Domain.TEXT else chosen
    domain = call.arguments[0].domain
    if domain is Domain.TEXT:
        return _text_sql(call, xs, words)
    if domain is Domain.NUMBER:
        return _number_sql(call, xs[0], words.dialect)
    return calendar_sql(call, xs, words.dialect)


def _number_sql(call: Call, x: str, dialect: Dialect) -> str:
    small = extent(call.arguments[0])[1] < SAFE
    floor = (dialect.small_floor if small else dialect.floor).format
    match call.function:
        case "ABS":
            return f"abs({x})"
        case "FLOOR":
            return floor(x=x)
        case "CEIL":
            return f"(0e0 - {floor(x=f'(0e0 - {x})')})"
        case "MOD":
            divisor = double(int(call.options[0]))
            rest = f"(abs({x}) - {divisor} * {floor(x=f'(abs({x}) / {divisor})')})"
            return f"(sign({x}) * {rest})"
    places = int(call.options[0])  # of ROUND
    scale, up, down = double(10.0 ** abs(places)), *(("*", "/") if places > 0 else ("/", "*"))
    return f"({dialect.floor.format(x=f'({x} {up} {scale} + 0.5e0)')} {down} {scale})"


def _text_sql(call: Call, xs: list[str], words: Words) -> str:
    dialect, x = words.dialect, xs[0]
    numbers = ", ".join(str(int(option)) for option in call.options)
    match call.function:
        case "LOWER" | "UPPER":
            made = _other_case(call.function.lower(), x, words)
        case "TRIM":
            made = dialect.trimmed.format(x=x)
        case "LENGTH":
            return f"CAST({dialect.characters.format(x=x)} AS {dialect.double})"
        case "CONCAT":
            made = f"({' || '.join(xs)})"
        case function:
            made = f"{function.lower()}({x}, {numbers})"
    return dialect.text.format(x=made)


def _other_case(function: str, x: str, words: Words) -> str:
    """Return a text in another case: by the list of pairs, or where all its letters are plain by the engine's own way.

    The list takes some 30 µs for a text in DuckDB, the engine's own way a thousandth of that.
    """
    old, new = (LARGE, SMALL) if function == "lower" else (SMALL, LARGE)
    by_list = f"translate({x}, {words.text(old)}, {words.text(new)})"
    plain = words.dialect.plain.get(function)
    if plain is None:
        return by_list
    own = f"{function}({words.dialect.text.format(x=x)})"  # in PostgreSQL by no locale
    return f"CASE WHEN {words.dialect.matches(x, plain)} THEN {own} ELSE {by_list} END"
