"""A run of records as a feed gives them: numbers and texts by column, and each record as it was written.

What cannot be read as a number is NaN here; what becomes of it is decided where bad records are. A record that is
broken as a whole (RFC 4180 has no name for it) has no cell at all, and keeps its place and its number.
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
Flags = npt.NDArray[np.bool_]
NUMERAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class CellMarks:
    """How the cells of a column are written: the mark before decimals, between thousands, and for what is missing.

    An empty cell is always missing.

    >>> german = CellMarks(",", ".", ("k. A.",))
    >>> german.number("2.531,5"), german.number("2.53"), german.is_missing(" k. A.")
    (2531.5, nan, True)
    """

    decimal: str = "."
    thousands: str | None = None
    missing: tuple[str, ...] = ()

    def number(self, value: object) -> float:
        """Return a value as the finite number that it is or is written as, NaN for everything else."""
        if not isinstance(value, str):
            return number(value)
        text = value.strip()
        if self.thousands is not None and self.thousands in text:
            between, behind = re.escape(self.thousands), re.escape(self.decimal)
            if not re.fullmatch(rf"[+-]?\d{{1,3}}({between}\d{{3}})+({behind}\d*)?", text):
                return float("nan")
            text = text.replace(self.thousands, "")
        if self.decimal != ".":
            text = "" if "." in text else text.replace(self.decimal, ".")
        return number(text)

    def is_missing(self, value: object) -> bool:
        """Return whether a cell says that there is nothing in it."""
        if value is None:
            return True
        text = str(value).strip()
        return not text or text in self.missing

    def without(self, values: Numbers) -> Flags:
        """Return which numbers are marks of a missing value, as 999 may be."""
        marks = [number(mark) for mark in self.missing]
        return np.isin(values, [mark for mark in marks if not np.isnan(mark)])


PLAIN_MARKS = CellMarks()


@dataclass(frozen=True)
class WantedColumns:
    """Which columns of a feed are wanted: those read as numbers, and those read as texts; `marks` of some or all.

    >>> WantedColumns(("smart_9_raw",), ("drive",)).names
    ('smart_9_raw', 'drive')
    """

    numbers: tuple[str, ...]
    texts: tuple[str, ...] = ()
    marks: Mapping[str, CellMarks] = field(default_factory=dict, hash=False)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, numbers first."""
        return (*self.numbers, *self.texts)

    def marks_of(self, name: str) -> CellMarks:
        """Return how the cells of a column are written."""
        return self.marks.get(name, PLAIN_MARKS)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some records: how many, their wanted columns, and `written`, which gives a record back as it came in.

    `failed` says of the number columns which cells hold something that is no number, unlike those that hold nothing;
    `broken` says which records have no cells, since the line itself cannot be read.

    >>> Batch.idle().count
    0
    """

    count: int
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    texts: Mapping[str, Texts] = field(default_factory=dict)
    written: Callable[[int], str] = str
    failed: Mapping[str, Flags] = field(default_factory=dict)
    broken: Flags | None = None

    @classmethod
    def idle(cls) -> Batch:
        """No records: nothing has come for a while."""
        return cls(0)

    def failed_in(self, name: str) -> Flags:
        """Return which cells of a number column hold something that is no number."""
        found = self.failed.get(name)
        return np.isnan(self.numbers[name]) if found is None else found

    @property
    def unreadable(self) -> Flags:
        """Which records are broken as a whole."""
        return np.zeros(self.count, dtype=np.bool_) if self.broken is None else self.broken


class Parser(Protocol):
    """Reads some whole lines, each of which is one record at most."""

    def __call__(self, data: bytes) -> Batch: ...


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
