"""What became of the records of a feed: per column how many cells were read, missing, failed and out of bounds.

A steward reads it in a file of their own; it is computed from the records and is never public. A feed whose cells do
not parse is refused before anything is drawn, as an act of the steward (van den Burg, Nazabal & Sutton 2019 on files
that are read wrongly without a word).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]
SHOWN = 10  # record numbers of each sort that are kept
JUDGED = 1000  # records by which a feed is judged before the first row leaves
NAMELESS = -1.0  # whoever a record without a person is of
SHARE = 0.01  # of the filled cells of a column that may fail, unless said otherwise


@dataclass(frozen=True, eq=False)
class CellFlags:
    """Which cells of a column of some records are missing, could not be read, and lie out of bounds.

    >>> CellFlags.of(missing=np.array([True, False])).failed.tolist()
    [False, False]
    """

    missing: Flags
    failed: Flags
    outside: Flags

    @classmethod
    def of(cls, *, missing: Flags, failed: Flags | None = None, outside: Flags | None = None) -> CellFlags:
        """Return flags of which some are not set."""
        nowhere = np.zeros_like(missing)
        return cls(missing, nowhere if failed is None else failed, nowhere if outside is None else outside)

    def first(self, count: int) -> CellFlags:
        """Return the flags of the first records alone."""
        return CellFlags(self.missing[:count], self.failed[:count], self.outside[:count])


class CellCount(msgspec.Struct, frozen=True):
    """How many cells of a sort there are, and the numbers of the first records that have one, counted from 0.

    >>> CellCount.of(np.array([False, True]), first=10)
    CellCount(cells=1, first_records=[11])
    """

    cells: int = 0
    first_records: list[int] = msgspec.field(default_factory=list)

    @classmethod
    def of(cls, flags: Flags, first: int) -> CellCount:
        """Return the count of the flags that are set; `first` is the number of the first record."""
        places = np.flatnonzero(flags)
        return cls(len(places), [first + place for place in places[:SHOWN].tolist()])

    def plus(self, later: CellCount) -> CellCount:
        """Return both counts together."""
        return CellCount(self.cells + later.cells, [*self.first_records, *later.first_records][:SHOWN])


class ColumnCount(msgspec.Struct, frozen=True):
    """The cells of one column: how many, and how many are missing, could not be read, and lie out of bounds.

    >>> ColumnCount(10, missing=CellCount(2)).filled
    8
    """

    cells: int = 0
    missing: CellCount = CellCount()
    failed: CellCount = CellCount()
    outside: CellCount = CellCount()

    @property
    def filled(self) -> int:
        """The cells that are not missing."""
        return self.cells - self.missing.cells

    def plus(self, later: ColumnCount) -> ColumnCount:
        """Return the counts of both parts of a column."""
        sorts = (getattr(self, name).plus(getattr(later, name)) for name in ("missing", "failed", "outside"))
        return ColumnCount(self.cells + later.cells, *sorts)

    @property
    def words(self) -> str:
        """The counts in words."""
        told = [f"{self.cells} cells read", f"{self.missing.cells} missing", f"{self.failed.cells} not readable"]
        return ", ".join([*told, f"{self.outside.cells} out of bounds"])


class Intake(msgspec.Struct, frozen=True, kw_only=True):
    """What came: records, those whose line is broken, each column's cells, and what publishers left out and why.

    >>> flags = {"hours": CellFlags.of(missing=np.array([False, True]))}
    >>> one = Intake.of(flags, np.array([False, False]), first=0)
    >>> one.plus(one).columns["hours"].missing.cells
    2
    """

    records: int = 0
    broken: CellCount = CellCount()
    columns: dict[str, ColumnCount] = msgspec.field(default_factory=dict)
    left_out: dict[str, int] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, cells: Mapping[str, CellFlags], broken: Flags, first: int) -> Intake:
        """Return the counts of some records; `first` is the number of the first one."""
        columns = {
            name: ColumnCount(
                len(broken), *(CellCount.of(sort, first) for sort in (flags.missing, flags.failed, flags.outside))
            )
            for name, flags in cells.items()
        }
        return cls(records=len(broken), broken=CellCount.of(broken, first), columns=columns)

    def plus(self, later: Intake) -> Intake:
        """Return both together."""
        names = dict.fromkeys([*self.columns, *later.columns])
        nothing, reasons = ColumnCount(), dict.fromkeys([*self.left_out, *later.left_out])
        return Intake(
            records=self.records + later.records,
            broken=self.broken.plus(later.broken),
            columns={name: self.columns.get(name, nothing).plus(later.columns.get(name, nothing)) for name in names},
            left_out={why: self.left_out.get(why, 0) + later.left_out.get(why, 0) for why in reasons},
        )

    def with_left_out(self, left_out: Mapping[str, int]) -> Intake:
        """Return the same with what a publisher left out since."""
        return self.plus(Intake(left_out=dict(left_out))) if left_out else self

    def lines(self) -> list[str]:
        """Return what a steward must know, a line each."""
        broken = f", {self.broken.cells} of them broken lines" if self.broken.cells else ""
        told = [f"{self.records} records read{broken}"]
        told += [f"column '{name}': {count.words}" for name, count in self.columns.items()]
        return told + [f"{why}: {count}" for why, count in self.left_out.items() if count]

    def exceeding(self, share: float) -> str | None:
        """Return the first column of which more than a share of the filled cells failed."""
        return next((name for name, one in self.columns.items() if one.failed.cells > max(1, share * one.filled)), None)


@dataclass
class Trial:
    """The first records of a feed, judged before anything is drawn: whether their cells are what was declared.

    One unit of the promise alone, a record or a person, never decides where others can be read: at least two must have
    failed. `share` is the largest share of filled cells that may fail in a column.

    >>> trial = Trial()
    >>> trial.add({"day": CellFlags.of(missing=np.zeros(3, bool), failed=np.ones(3, bool))}, np.zeros(3, bool), None)
    >>> trial.refuse()
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'day': 3 of the first 3 filled cells cannot be read, the first one at record 0, \
and 1 % may fail; name another column, say how it is written, or give --max-failed
    """

    share: float = SHARE
    intake: Intake = field(default_factory=Intake)
    _failed: dict[str, set[float]] = field(default_factory=dict)  # the units that did, by column

    def add(self, cells: Mapping[str, CellFlags], broken: Flags, persons: Numbers | None) -> None:
        """Take some more of the first records; `persons` are theirs where persons are protected."""
        first, room = self.intake.records, JUDGED - self.intake.records
        broken, persons = broken[:room], None if persons is None else persons[:room]
        cells = {name: flags.first(room) for name, flags in cells.items()}
        units = np.arange(first, first + len(broken)) if persons is None else np.nan_to_num(persons, nan=NAMELESS)
        for name, flags in cells.items():
            self._failed.setdefault(name, set()).update(units[flags.failed].tolist())
        self.intake = self.intake.plus(Intake.of(cells, broken, first))

    def refuse(self) -> None:
        """Refuse a column of which too many cells failed, or none holds a value."""
        for name, count in self.intake.columns.items():
            failed = count.failed.cells
            if count.cells > 1 and count.filled == 0:
                raise InputError(f"column '{name}': the first {count.cells} cells are all empty; name another column")
            decided = len(self._failed[name]) > 1 or failed == count.filled > 1
            if decided and failed > self.share * count.filled:
                raise InputError(
                    f"column '{name}': {failed} of the first {count.filled} filled cells cannot be read, the first one "
                    f"at record {count.failed.first_records[0]}, and {100 * self.share:g} % may fail; name another "
                    "column, say how it is written, or give --max-failed"
                )
