"""A run of records as a feed gives them: numbers and texts by column, and each record as it was written.

What cannot be read as a number is NaN here; what becomes of it is decided where bad records are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Texts = Sequence[str | None]
NUMERAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class WantedColumns:
    """Which columns of a feed are wanted: those read as numbers, and those read as texts.

    >>> WantedColumns(("smart_9_raw",), ("drive",)).names
    ('smart_9_raw', 'drive')
    """

    numbers: tuple[str, ...]
    texts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, numbers first."""
        return (*self.numbers, *self.texts)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some records: how many, their wanted columns, and `written`, which gives a record back as it came in.

    >>> Batch.idle().count
    0
    """

    count: int
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    texts: Mapping[str, Texts] = field(default_factory=dict)
    written: Callable[[int], str] = str

    @classmethod
    def idle(cls) -> Batch:
        """No records: nothing has come for a while."""
        return cls(0)


class Parser(Protocol):
    """Reads the complete records at the start of some bytes."""

    def __call__(self, data: bytes) -> tuple[int, Batch]: ...


def number(value: object) -> float:
    """Return a value as the finite number that it is or is written as, NaN for everything else.

    >>> number("1e3"), number(" 7"), number("1_000"), number(True), number("inf")
    (1000.0, 7.0, nan, nan, nan)
    """
    if isinstance(value, str):
        value = float(value) if NUMERAL.fullmatch(value) else np.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("nan")
    try:
        found = float(value)
    except OverflowError:
        return float("nan")
    return found if np.isfinite(found) else float("nan")
