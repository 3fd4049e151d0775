"""The keys of groups as SQL: the same cell in every engine, or the place of a value among the declared ones.

Rows whose key is not among the declared ones are in no group, so that which groups exist tells nothing (Wilson et al.
2020, section 3.3, on why undeclared groups need a threshold).
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from typing import Protocol

from sfumato.dp.questions.calendar import CLOCK, DAY, is_run
from sfumato.dp.questions.clock import seconds_of
from sfumato.dp.questions.derived import DerivedAttribute
from sfumato.dp.questions.expression import EPOCH, Domain
from sfumato.dp.questions.request import Binned, Cell, Declared, Key, Request
from sfumato.dp.rows.dialect import Dialect, double
from sfumato.dp.rows.places import bin_by_halving, even_bin, is_even, place_by_halving
from sfumato.dp.rows.positions import NUMERIC, NUMERIC_WORDS
from sfumato.errors import InputError, ParameterError
from sfumato.promise.unit import ProtectPersons
from sfumato.schema import Attribute, Kind

NARROW = 2**62  # beyond it a product needs integers wider than 64 bits
LENGTHS = {**CLOCK, "DAY": DAY, "WEEK": 7 * DAY}  # seconds of the periods that are all alike
PLACED = {Kind.NUMBER, Kind.TIMESTAMP}  # kinds whose declared cells are known by their places


class KeyBindings(Protocol):
    """What a key needs of its statement: the request, the cells of columns, and texts that become parameters."""

    request: Request
    dialect: Dialect

    def cell(self, column: str) -> str: ...
    def attribute(self, column: str) -> Attribute: ...
    def one_of(self, values: Sequence[str]) -> str: ...


def select_key(key: Key, statement: KeyBindings) -> str:
    """Return what rows are grouped by: the cell, its place among the declared cells, or the number of its bin."""
    cell = statement.cell(key.column)
    if isinstance(key, Declared) and statement.attribute(key.column).kind in PLACED:
        return f"CAST({cell} AS BIGINT)" if _run_of_seconds(key, statement) else _place_of_key(cell, key, statement)
    if not isinstance(key, Binned):
        return cell
    if statement.attribute(key.column).kind not in NUMERIC:
        raise InputError(f"column '{key.column}' has no numbers to bin; declare its type as {NUMERIC_WORDS}")
    if len(key.edges) < 2 or any(a >= b for a, b in zip(key.edges, key.edges[1:], strict=False)):
        raise ParameterError(f"the edges of '{key.column}' must be two or more rising numbers")
    x = f"CAST({cell} AS {statement.dialect.double})"
    inside = f"{x} >= {double(key.edges[0])} AND {x} <= {double(key.edges[-1])}"
    return f"CASE WHEN {inside} THEN {_bin(x, key.edges, statement)} END"


def _place_of_key(cell: str, key: Declared, statement: KeyBindings) -> str:
    """Return which of the declared numbers or times a cell is: engines write doubles in different ways."""
    values = placed_values(key, statement.attribute(key.column).kind)
    x = f"CAST({cell} AS {statement.dialect.double})"
    size = _length_of_period(key.column, statement)
    if size and _is_run(list(values), key.column, statement):
        place = f"CAST(({x} - {double(values[0])}) / {double(size)} AS BIGINT)"
        return f"CASE WHEN {x} BETWEEN {double(values[0])} AND {double(values[-1])} THEN {place} END"
    return f"CASE WHEN {x} IS NOT NULL THEN {place_by_halving(x, values, str, lambda _: 'NULL')} END"


def told_key(key: Key, name: str, statement: KeyBindings) -> str:
    """Return a key as the statement tells it: periods of whole seconds are placed once for each group."""
    seconds = _run_of_seconds(key, statement)
    return _place_of_key(name, key, statement) if isinstance(key, Declared) and seconds else name


def _run_of_seconds(key: Key, statement: KeyBindings) -> list[int]:
    """Return the declared periods of a column that holds nothing else, where they begin at whole seconds.

    Places are what is hashed of a person's groups, so where persons are bounded every row is placed.
    """
    persons = isinstance(statement.request.unit, ProtectPersons)
    if persons or not isinstance(key, Declared) or statement.attribute(key.column).kind is not Kind.TIMESTAMP:
        return []
    values = list(placed_values(key, Kind.TIMESTAMP))
    whole = all(value.is_integer() and abs(value) < NARROW for value in values)
    return [int(value) for value in values] if whole and _is_run(values, key.column, statement) else []


def _bin(x: str, edges: tuple[float, ...], statement: KeyBindings) -> str:
    """Return the number of the bin that holds a value between the edges."""
    listed = ", ".join(double(edge) for edge in edges[:-1])
    if statement.dialect.lists:
        return f"width_bucket({x}, CAST(ARRAY[{listed}] AS DOUBLE PRECISION[])) - 1"
    if not is_even(edges):
        return bin_by_halving(x, edges, 0, len(edges) - 1)
    return even_bin(x, edges, lambda place: statement.dialect.item.format(list=listed, place=place))


def in_group(key: Key, name: str, statement: KeyBindings) -> str:
    """Return the test that a key, under its name, is one that is answered."""
    kind = statement.attribute(key.column).kind
    if seconds := _run_of_seconds(key, statement):
        return f"{name} BETWEEN {seconds[0]} AND {seconds[-1]}"
    if not isinstance(key, Declared) or kind in PLACED:
        return f"{name} IS NOT NULL"
    values = [key_value(cell, kind, key.column) for cell in key.cells]
    texts = [value for value in values if isinstance(value, str)]
    if texts:
        return f"{name} {statement.one_of(texts)}"
    numbers = [value for value in values if not isinstance(value, str)]
    if _is_run(numbers, key.column, statement):
        return f"{name} BETWEEN {double(numbers[0])} AND {double(numbers[-1])}"
    return _one_of_numbers(name, numbers)


def _length_of_period(column: str, statement: KeyBindings) -> int | None:
    """Return the seconds of each period whose starts a column holds, where all are alike."""
    attribute = statement.attribute(column)
    period = attribute.period if isinstance(attribute, DerivedAttribute) else None
    return LENGTHS.get(period or "")


def _is_run(numbers: list[int] | list[float], column: str, statement: KeyBindings) -> bool:
    """Return whether numbers are all periods from the first to the last of a column that holds nothing else."""
    attribute = statement.attribute(column)
    if not isinstance(attribute, DerivedAttribute) or attribute.period is None:
        return False
    domain = Domain.DATE if attribute.kind is Kind.DATE else Domain.TIMESTAMP
    return is_run([float(number) for number in numbers], attribute.period, domain)


def _one_of_numbers(x: str, numbers: list[int] | list[float]) -> str:
    """Return the test that a number is one of some, neighbouring integers as one range."""
    whole = all(isinstance(number, int) for number in numbers)
    if whole and numbers and max(numbers) - min(numbers) + 1 == len(set(numbers)):
        return f"{x} BETWEEN {min(numbers)} AND {max(numbers)}"
    return (
        f"{x} IN ({', '.join(str(number) if whole else double(number) for number in numbers)})" if numbers else "FALSE"
    )


def placed_values(key: Declared, kind: Kind | None) -> tuple[float, ...]:
    """Return declared numbers or times as engines hold them; they must rise, for cells are found among them by halving.

    >>> placed_values(Declared("fare", (0.5, 2)), Kind.NUMBER)
    (0.5, 2.0)
    """
    values = tuple(float(key_value(cell, kind, key.column)) for cell in key.cells)
    if any(low >= high for low, high in itertools.pairwise(values)):
        raise ParameterError(f"the declared cells of '{key.column}' must be rising numbers")
    return values


def key_value(cell: Cell, kind: Kind | None, column: str) -> Cell:
    """Return a declared cell as the engine holds it: an integer, a double, days or a text.

    >>> key_value("1970-01-03", Kind.DATE, "day"), key_value(2.0, Kind.INTEGER, "hour"), key_value(2, None, "zip")
    (2, 2, '2')
    """
    if kind not in NUMERIC:
        return str(cell)
    try:
        if kind is Kind.DATE:
            return (dt.date.fromisoformat(cell) - EPOCH).days if isinstance(cell, str) else int(cell)
        if kind is Kind.TIMESTAMP:
            return seconds_of(cell)
        number = float(cell)
        if kind is Kind.NUMBER:
            return number
        if number.is_integer():
            return int(cell)
    except (ValueError, OverflowError):
        pass
    raise InputError(f"key '{column}': the declared cell '{cell}' is no {kind}; declare cells of the column's type")
