"""Lists of columns, and a number for each of some columns, as people give them: in Python, or as text.

On a command line they are written `age,sex` and `income=100,age=5`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from sfumato.errors import ParameterError

Names = str | Sequence[str]
Amounts = str | Mapping[str, Any]
SMALLEST, LARGEST = Decimal("1e-12"), Decimal("1e15")


@dataclass(frozen=True)
class ColumnNames:
    """Names of columns: a list, or a text that commas divide.

    >>> ColumnNames().accepts("age, sex"), ColumnNames().accepts(["age"]), ColumnNames().accepts(" , ")
    (True, True, False)
    """

    wanted: str = "names of columns, as in 'age,sex'"

    def accepts(self, value: object) -> bool:
        if isinstance(value, str):
            return bool(names_in(value))
        return isinstance(value, list | tuple) and bool(value) and all(isinstance(n, str) and n for n in value)

    def bad_values(self) -> list[object]:
        return ["", 7, [], [""], [3]]


@dataclass(frozen=True)
class ColumnAmounts:
    """A number for each of some columns: a mapping, or a text like `income=100,age=5`; `positive` ones unless told.

    >>> ColumnAmounts().accepts("income=100"), ColumnAmounts().accepts({"age": 0}), ColumnAmounts().accepts("income")
    (True, False, False)
    """

    positive: bool = True

    @property
    def wanted(self) -> str:
        return f"a number{' above 0' * self.positive} for each of some columns, as in 'income=100,age=5'"

    def accepts(self, value: object) -> bool:
        try:
            found = amounts_in(value)  # type: ignore[arg-type]  # whatever it is
        except (ParameterError, TypeError):
            return False
        return bool(found) and all(amount > 0 or not self.positive for amount in found.values())

    def bad_values(self) -> list[object]:
        return ["", "income", "income=much", "=3", 7, {}, {"age": "x"}, *([{"age": 0}] if self.positive else [])]


def names_in(given: Names | None) -> tuple[str, ...]:
    """Return the columns of a list, each once; none where nothing was given.

    >>> names_in("age, sex"), names_in(["age", "age"]), names_in(None)
    (('age', 'sex'), ('age',), ())
    """
    parts = given.split(",") if isinstance(given, str) else given or ()
    return tuple(dict.fromkeys(part.strip() if isinstance(given, str) else part for part in parts if part.strip()))


def amounts_in(given: Amounts | None) -> dict[str, Decimal]:
    """Return the number of each column, as the decimal that was written.

    >>> amounts_in("income=100, age=0.5"), amounts_in({"age": 5})
    ({'income': Decimal('100'), 'age': Decimal('0.5')}, {'age': Decimal('5')})
    >>> amounts_in("income")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: 'income' is not of the form income=100
    """
    pairs = _pairs(given) if isinstance(given, str) else dict(given or {})
    return {name: _number(name, value) for name, value in pairs.items()}


def _pairs(text: str) -> dict[str, str]:
    found = {}
    for part in text.split(","):
        name, equals, value = part.strip().rpartition("=")
        if not (equals and name.strip() and value.strip()):
            raise ParameterError(f"'{part.strip()}' is not of the form income=100")
        found[name.strip()] = value.strip()
    return found


def _number(name: str, value: object) -> Decimal:
    try:
        number = Decimal(repr(value) if isinstance(value, float | bool) else value)  # type: ignore[arg-type]  # refused
    except (InvalidOperation, TypeError, ValueError):
        raise ParameterError(f"{name}={value} is not a number; give one, as in {name}=100") from None
    if not number.is_finite() or (number and not SMALLEST <= abs(number) <= LARGEST):
        raise ParameterError(f"{name}={value} is not a number from {SMALLEST} to {LARGEST}; give one, as in {name}=100")
    return number
