"""What becomes of a bad record: text in a number, NaN, a value out of bounds, a missing one; nothing is lost silently.

A differentially private publisher maps it to a public value in its place, since dropping it would tell that it was bad
and shift every window behind it; one that promises nothing may put it aside in a file, as it was written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import OneOf, Validated
from sfumato.errors import InputError, ParameterError
from sfumato.stream.intake import CellFlags
from sfumato.stream.runtime.batch import PLAIN_MARKS, Batch, CellMarks, Numbers, WantedColumns

Bounds = tuple[float, float] | None
Places = npt.NDArray[np.bool_]
BROKEN = "the line is broken: a quote stays open, or it has too few or too many fields"


@dataclass(frozen=True)
class OnBad(Validated):
    """What to do: clamp numbers and map the rest to the public default, map all to it, or put records aside in a file.

    >>> OnBad.read("quarantine:bad.jsonl").file
    PosixPath('bad.jsonl')
    >>> OnBad.read("drop")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: --on-bad is 'drop'; give clamp, default or quarantine:FILE
    """

    action: str = "clamp"
    file: Path | None = None

    RULES: ClassVar = {"action": OneOf(("clamp", "default", "quarantine"))}

    @classmethod
    def read(cls, text: str) -> OnBad:
        """Return what the words of the command line ask for."""
        action, _, file = text.partition(":")
        if action == "quarantine" and file:
            return cls("quarantine", Path(file))
        if text in {"clamp", "default"}:
            return cls(text)
        raise ParameterError(f"--on-bad is '{text}'; give clamp, default or quarantine:FILE")


@dataclass(frozen=True, eq=False)
class Screened:
    """Records that a publisher can take, which of the batch they are, and those put aside, as lines of JSON.

    `cells` says of each column what its cells were, and `persons` whose the records are where that is known; both are
    the steward's.

    >>> Screened(np.array([5.0])).aside
    b''
    """

    values: Numbers
    kept: Places | None = None
    aside: bytes = b""
    cells: Mapping[str, CellFlags] = field(default_factory=dict)
    persons: Numbers | None = None


class Screen(Protocol):
    """What stands between a feed and a publisher: the columns to read, those released, and what becomes of bad records.

    >>> screen: Screen = NumberScreen({"hours": (0.0, 10.0)})
    >>> screen.released
    ('hours',)
    """

    @property
    def on_bad(self) -> OnBad: ...
    @property
    def wanted(self) -> WantedColumns: ...
    @property
    def released(self) -> tuple[str, ...]: ...
    def __call__(self, batch: Batch, first: int) -> Screened: ...


@dataclass(frozen=True)
class NumberScreen:
    """Lets good records of some number columns through and does with bad ones what was asked for.

    The public default of a column is the middle of its bounds.

    >>> batch = Batch(3, {"hours": np.array([4.0, np.nan, 12.0])})
    >>> NumberScreen({"hours": (0.0, 10.0)})(batch, 0).values.tolist()
    [4.0, 5.0, 10.0]
    >>> NumberScreen({"hours": (0.0, 10.0)}, OnBad("default"))(batch, 0).values.tolist()
    [4.0, 5.0, 5.0]
    """

    bounds: Mapping[str, Bounds]
    on_bad: OnBad = OnBad()
    marks: Mapping[str, CellMarks] = field(default_factory=dict)

    @property
    def wanted(self) -> WantedColumns:
        """The columns to read."""
        return WantedColumns(tuple(self.bounds), marks=self.marks)

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that rows leave under."""
        return tuple(self.bounds)

    def __call__(self, batch: Batch, first: int) -> Screened:
        """Return the records of a batch whose first one has the number `first`."""
        if self.on_bad.action == "quarantine":
            return self._put_aside(batch, first)
        cells = {name: self._flags(batch, name, limits) for name, limits in self.bounds.items()}
        columns = [self._map_bad(batch, name, limits, first) for name, limits in self.bounds.items()]
        return Screened(_stack_columns(columns), cells=cells)

    def _flags(self, batch: Batch, name: str, limits: Bounds) -> CellFlags:
        values, failed = batch.numbers[name], batch.failed_in(name) | batch.unreadable
        low, high = limits or (-math.inf, math.inf)
        return CellFlags(np.isnan(values) & ~failed, failed, (values < low) | (values > high))

    def _map_bad(self, batch: Batch, name: str, limits: Bounds, first: int) -> Numbers:
        values = batch.numbers[name]
        if limits is None:
            wrong = np.isnan(values)
            if wrong.any():
                place = int(np.argmax(wrong))
                raise InputError(
                    f"record {first + place}: '{batch.written(place)}' has no number in '{name}'; give --bounds, whose "
                    "middle stands for it, or --on-bad quarantine:FILE"
                )
            return values
        if self.on_bad.action == "clamp":
            return np.nan_to_num(np.clip(values, *limits), copy=False, nan=default_of(limits))
        return np.where((values >= limits[0]) & (values <= limits[1]), values, default_of(limits))

    def _put_aside(self, batch: Batch, first: int) -> Screened:
        kept = np.ones(batch.count, dtype=np.bool_)
        for name, limits in self.bounds.items():
            values, (low, high) = batch.numbers[name], limits or (-math.inf, math.inf)
            kept &= (values >= low) & (values <= high)
        lines = put_aside(batch, first, kept, self._reason)
        cells = {name: self._flags(batch, name, limits) for name, limits in self.bounds.items()}
        return Screened(_stack_columns([batch.numbers[name][kept] for name in self.bounds]), kept, lines, cells)

    def _reason(self, batch: Batch, place: int) -> str:
        values = {name: batch.numbers[name][place] for name in self.bounds}
        name = next((name for name, value in values.items() if math.isnan(value)), None)
        if name is not None:
            return f"no number in '{name}'"
        outside = next(
            name for name, limits in self.bounds.items() if limits and not limits[0] <= values[name] <= limits[1]
        )
        return f"'{outside}' is out of bounds"


@dataclass(frozen=True)
class CategoryScreen:
    """Turns the categories of one column into their codes, in declared order.

    >>> screen = CategoryScreen("colour", ("red", "blue"))
    >>> screen(Batch(3, texts={"colour": ["blue", "mauve", None]}), 0).values.tolist()
    [1.0, 0.0, 0.0]
    """

    column: str
    categories: tuple[str, ...]
    on_bad: OnBad = field(default_factory=OnBad)
    marks: CellMarks = PLAIN_MARKS

    @property
    def wanted(self) -> WantedColumns:
        """The column to read."""
        return WantedColumns((), (self.column,), {self.column: self.marks})

    @property
    def released(self) -> tuple[str, ...]:
        """The column that rows leave under."""
        return (self.column,)

    def __call__(self, batch: Batch, first: int) -> Screened:  # noqa: ARG002  # no record is ever refused by its number
        """Return the codes of a batch."""
        codes = {category: float(code) for code, category in enumerate(self.categories)}
        found = np.array([codes.get(text or "", np.nan) for text in batch.texts[self.column]], dtype=np.float64)
        flags = text_flags(batch, self.column, np.isnan(found), self.marks)
        return Screened(np.nan_to_num(found, nan=0.0), cells={self.column: flags})


def text_flags(batch: Batch, name: str, unread: Places, marks: CellMarks = PLAIN_MARKS) -> CellFlags:
    """Return which cells of a text column are missing and, of the others, which of those `unread` could not be read.

    >>> text_flags(Batch(2, texts={"day": ["", "soon"]}), "day", np.array([True, True])).failed.tolist()
    [False, True]
    """
    empty = np.array([marks.is_missing(text) for text in batch.texts[name]], dtype=np.bool_)
    missing = empty & ~batch.unreadable
    return CellFlags.of(missing=missing, failed=(unread | batch.unreadable) & ~missing)


def put_aside(batch: Batch, first: int, kept: Places, reason: Callable[[Batch, int], str]) -> bytes:
    r"""Return the records that are not kept as lines of JSON: number, what is wrong, and the record as it came.

    >>> put_aside(Batch(1, written=lambda place: "x,y"), 7, np.array([False]), lambda batch, place: "no number")
    b'{"record": 7, "reason": "no number", "line": "x,y"}\n'
    """
    aside = [
        {
            "record": first + place,
            "reason": BROKEN if batch.unreadable[place] else reason(batch, place),
            "line": batch.written(place),
        }
        for place in np.flatnonzero(~kept).tolist()
    ]
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in aside).encode()


def default_of(bounds: tuple[float, float]) -> float:
    """Return the public value that stands for a bad one.

    >>> default_of((0.0, 10.0))
    5.0
    """
    return bounds[0] + (bounds[1] - bounds[0]) / 2


def _stack_columns(columns: Sequence[Numbers]) -> Numbers:
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
