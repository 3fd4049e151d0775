"""What is asked of the rows: exact integers for each group, on public grids, with every person bounded first.

Nothing here is noisy and nothing here leaves: `QueryableRows` (a file, a frame, a server) answer a `Request` with
`Tallies`, and a mechanism makes them public. Sums are taken over integer positions on a public grid, so that a sum is
exact and its sensitivity is an integer (Casacuberta, Shoemate, Vadhan & Wagaman 2022 show what goes wrong otherwise).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from sfumato.dp.questions.expression import Predicate
from sfumato.dp.questions.stages import Stage, with_made
from sfumato.promise.unit import Unit
from sfumato.schema import Schema

Cell = str | int | float
Cells = tuple[Cell, ...]


@dataclass(frozen=True)
class Declared:
    """A key whose values are public: every one is answered, and a row with any other value is in no group.

    >>> Declared("hour", (0, 1, 2)).cells
    (0, 1, 2)
    """

    column: str
    cells: Cells


@dataclass(frozen=True)
class Binned:
    """A numeric key cut at public edges: bin i holds edges[i] <= x < edges[i+1], the last one its upper edge too.

    >>> Binned("age", (0.0, 50.0, 100.0)).cells
    (0.0, 50.0)
    """

    column: str
    edges: tuple[float, ...]

    @property
    def cells(self) -> Cells:
        """The lower edge of every bin."""
        return self.edges[:-1]


@dataclass(frozen=True)
class Unknown:
    """A key whose values are not public: only keys that pass a noisy threshold may leave.

    >>> Unknown("station").column
    'station'
    """

    column: str


Key = Declared | Binned | Unknown


@dataclass(frozen=True)
class Count:
    """How many rows a group has.

    >>> Count()
    Count()
    """


@dataclass(frozen=True)
class Persons:
    """How many different persons a group has (rows, where the unit is a row).

    >>> Persons()
    Persons()
    """


@dataclass(frozen=True)
class Distinct:
    """How many different values the rows of a group have in a column; a missing one is none.

    Values are cells as they are declared: two texts that write the same number or day are one value.

    >>> Distinct("station").column
    'station'
    """

    column: str


@dataclass(frozen=True)
class ColumnGrid:
    """The public grid of a numeric column: positions 0…steps between its declared bounds; values outside are clamped.

    A value x lies at position round((x - low)·steps/(high - low)); a missing one has no position. Dates count as days
    since 1970-01-01.

    >>> ColumnGrid("age", 0.0, 100.0, 100).value(17)
    17.0
    """

    column: str
    low: float
    high: float
    steps: int

    def value(self, position: float) -> float:
        """Return the value at a position."""
        return self.low + (self.high - self.low) * position / self.steps if self.steps else self.low


@dataclass(frozen=True)
class CandidateGrid:
    """Public values in rising order, as places on the line with the gaps between them; nothing is clamped or rounded.

    Position 2i + 1 is value i itself, position 2i the gap below it, and the last one what lies above all values.

    >>> grid = CandidateGrid("fare", (5.0, 7.5))
    >>> grid.steps, grid.value(3)
    (4, 7.5)
    """

    column: str
    values: tuple[float, ...]

    @property
    def steps(self) -> int:
        """The last position."""
        return 2 * len(self.values)

    def value(self, position: int) -> float:
        """Return the value at a position that is one."""
        return self.values[position // 2]


@dataclass(frozen=True)
class Present:
    """How many rows of a group have a value in a column.

    >>> Present(ColumnGrid("age", 0.0, 100.0, 100)).grid.column
    'age'
    """

    grid: ColumnGrid


@dataclass(frozen=True)
class Total:
    """The sum of (position - origin)^power over the rows of a group that have a value.

    >>> Total(ColumnGrid("age", 0.0, 100.0, 100), origin=50, power=2).power
    2
    """

    grid: ColumnGrid
    origin: int = 0
    power: int = 1


@dataclass(frozen=True)
class PositionCounts:
    """How many rows of a group lie at each position 0…steps of a grid, or at and between given values.

    >>> PositionCounts(ColumnGrid("age", 0.0, 100.0, 100)).grid.steps
    100
    """

    grid: ColumnGrid | CandidateGrid


Measure = Count | Persons | Distinct | Present | Total | PositionCounts


@dataclass(frozen=True)
class Request:
    """Groups, measures and which rows count; `secret` keys the choice of the rows of a person who has too many.

    >>> from sfumato.promise.unit import ProtectRows
    >>> Request(measures=(Count(),), unit=ProtectRows()).size
    1
    """

    measures: tuple[Measure, ...]
    unit: Unit
    keys: tuple[Key, ...] = ()
    where: Predicate | None = None
    secret: bytes = b""
    stages: tuple[Stage, ...] = ()  # what is done to the rows first; keys, measures and `where` may use what they add

    def declared(self, schema: Schema) -> Schema:
        """Return the schema of the rows with the columns that the stages add."""
        return with_made(schema, self.stages)

    @property
    def size(self) -> int | None:
        """How many groups are answered, or None where keys are unknown."""
        counts = [None if isinstance(key, Unknown) else len(key.cells) for key in self.keys]
        known = [count for count in counts if count is not None]
        return math.prod(known) if len(known) == len(counts) else None


@dataclass(frozen=True)
class Tallies:
    """The exact answers: group i has the key `cells[i]` and, for measure j, the number `columns[j][i]`.

    Declared keys come in full, in declared order (the last key moves fastest), empty groups with zeros; unknown ones
    as they were found. `PositionCounts` give an array of counts in place of a number. Secret: never printed or saved.

    >>> Tallies([(0,), (1,)], [[5, 0]]).columns[0]
    [5, 0]
    """

    cells: list[Cells]
    columns: list[Sequence[int] | Sequence[npt.NDArray[np.int64]]]

    def __repr__(self) -> str:
        return f"Tallies(<{len(self.cells)} groups, secret>)"


class QueryableRows(Protocol):
    """Where the rows are: answers requests there, and tells whether the rows are still the declared ones.

    `check` refuses, by public facts alone, what `collect` could not carry out: a request is checked before it is paid.
    `look` gives the rows as they are at one moment: what is hashed there is what is collected there, or it refuses.
    """

    def check(self, request: Request) -> None: ...
    def collect(self, request: Request) -> Tallies: ...
    def fingerprint(self) -> str: ...
    def look(self) -> AbstractContextManager[QueryableRows]: ...


@runtime_checkable
class EngineRows(QueryableRows, Protocol):
    """Rows that an engine has opened already, given to a session in place of a file's name or a dataframe.

    `address` is where that engine finds them again (None for a dataframe), `table` what SQL calls them; `under` gives
    the same rows as another schema declares them, and `declare` refuses what cannot be read as declared.
    """

    engine: str

    @property
    def address(self) -> str | None: ...
    @property
    def table(self) -> str: ...
    def under(self, schema: Schema) -> Self: ...
    def declare(self) -> None: ...
