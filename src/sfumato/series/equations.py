"""What a series of releases says about its cells, as equations over counts of people.

Unknown is how many people of a cell have a value. Known are the sizes of cells and the published counts of every class
(the marginals of a contingency table, as in Dobra & Fienberg 2000). Signs are 1 or -1, right sides are whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.series.cells import Cells, Integers

Truths = npt.NDArray[np.bool_]
CELL, CLASS, LINK, BALANCE, BUDGET = range(5)
TO, FROM = -1, -2


class Fact(NamedTuple):
    """What a row says: the kind of fact, and its release, class or cell, and value, -1 where it has none."""

    kind: int
    release: int
    place: int
    value: int


@dataclass(eq=False)
class Entries:
    """Rows in the making: facts with their right sides, and signed unknowns in them."""

    facts: list[Integers] = field(default_factory=list)
    right: list[Integers] = field(default_factory=list)
    equal: list[Truths] = field(default_factory=list)
    row: list[Integers] = field(default_factory=list)
    unknown: list[Integers] = field(default_factory=list)
    sign: list[Integers] = field(default_factory=list)
    rows: int = 0

    def add_rows(self, facts: Integers, right: Integers, *, equal: bool) -> int:
        """Add rows and return the number of the first one."""
        first = self.rows
        self.facts.append(facts)
        self.right.append(right.astype(np.int64))
        self.equal.append(np.full(len(right), equal))
        self.rows += len(right)
        return first

    def add(self, rows: Integers, unknowns: Integers, sign: int = 1) -> None:
        """Add unknowns to rows."""
        self.row.append(rows)
        self.unknown.append(unknowns)
        self.sign.append(np.full(len(rows), sign, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Equations:
    """Rows `sum of sign · unknown = right` (or at most right, where not `equal`) over unknowns that are at least 0.

    `owner` and `value` say whose count an unknown is; `release` and `place` where it counts one of several classes.
    Owner `TO` counts people of a class who show a value that is not their usual one, owner `FROM` the values not shown.
    """

    facts: Integers
    right: Integers
    equal: Truths
    row: Integers
    unknown: Integers
    sign: Integers
    owner: Integers
    value: Integers
    release: Integers
    place: Integers

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.right)

    @property
    def unknowns(self) -> int:
        """The number of unknowns."""
        return len(self.owner)

    def fact(self, row: int) -> Fact:
        """What a row says."""
        return Fact(*self.facts[row].tolist())

    @classmethod
    def of(cls, cells: Cells, budget: int | None = None) -> Equations:
        """Return the equations of cells; a count that a class shows to be 0 is no unknown.

        With a `budget`, so many values at most, each of one person in one release, are not the person's usual one.
        """
        allowed = cells.allowed() if budget is None else cells.shown()
        owner, value = np.nonzero(allowed)
        index = np.full(allowed.shape, -1, dtype=np.int64)
        index[owner, value] = np.arange(len(owner))
        entries = Entries()
        entries.add_rows(_facts(CELL, -1, np.arange(cells.count), -1), cells.sizes, equal=True)
        entries.add(owner, np.arange(len(owner)))
        unknowns = Unknowns(owner, value)
        for release in range(len(cells.releases)):
            number = _add_release(entries, unknowns, cells, release, index, changing=budget is not None)
            if budget is not None:
                _add_changes(entries, unknowns, release, number)
        if budget is not None:
            _add_budget(entries, unknowns, budget)
        return cls(
            facts=np.concatenate(entries.facts),
            right=np.concatenate(entries.right),
            equal=np.concatenate(entries.equal),
            row=np.concatenate(entries.row),
            unknown=np.concatenate(entries.unknown),
            sign=np.concatenate(entries.sign),
            **unknowns.columns(),
        )


class Unknowns:
    """Unknowns in the making: first the counts of cells, then those of cells in one of several classes."""

    def __init__(self, owner: Integers, value: Integers) -> None:
        none = np.full(len(owner), -1, dtype=np.int64)
        self.parts = [(owner, value, none, none)]
        self.count = len(owner)

    def add(self, owner: Integers, value: Integers, release: int, place: Integers) -> Integers:
        """Add unknowns and return their numbers."""
        self.parts.append((owner, value, np.full(len(owner), release, dtype=np.int64), place))
        first, self.count = self.count, self.count + len(owner)
        return np.arange(first, self.count)

    def columns(self) -> dict[str, Integers]:
        """Return the unknowns column by column."""
        names = ("owner", "value", "release", "place")
        return {name: np.concatenate(part) for name, part in zip(names, zip(*self.parts, strict=True), strict=True)}


def _add_release(
    entries: Entries, unknowns: Unknowns, cells: Cells, release: int, index: Integers, *, changing: bool
) -> Integers:
    """Add what one release says; return the row of each class and value."""
    known = cells.releases[release]
    shown = known.counts > 0
    place, value = np.nonzero(shown | shown.any(axis=1, keepdims=True) if changing else shown)
    number = np.full(known.counts.shape, -1, dtype=np.int64)
    first = entries.add_rows(_facts(CLASS, release, place, value), known.counts[place, value], equal=known.whole)
    number[place, value] = np.arange(first, first + len(place))
    owners, places = cells.pairs(release)
    settled = cells.settled(release)[owners]
    pair, value = np.nonzero(index[owners[settled]] >= 0)
    entries.add(number[places[settled][pair], value], index[owners[settled][pair], value])
    _add_choices(entries, unknowns, release, (owners[~settled], places[~settled]), number, index, equal=known.certain)
    return number


def _add_changes(entries: Entries, unknowns: Unknowns, release: int, number: Integers) -> None:
    """Add values that are not usual to the classes of a release: as many are shown as are not."""
    place, value = np.nonzero(number >= 0)
    classes, own = np.unique(place, return_inverse=True)
    balance = entries.add_rows(_facts(BALANCE, release, classes, -1), np.zeros(len(classes), np.int64), equal=True)
    for owner, sign in ((TO, 1), (FROM, -1)):
        fresh = unknowns.add(np.full(len(place), owner), value, release, place)
        entries.add(number[place, value], fresh, sign)
        entries.add(balance + own, fresh, sign)


def _add_budget(entries: Entries, unknowns: Unknowns, budget: int) -> None:
    row = entries.add_rows(_facts(BUDGET, -1, np.array([-1]), -1), np.array([budget]), equal=False)
    changed = np.flatnonzero(unknowns.columns()["owner"] == TO)
    entries.add(np.full(len(changed), row), changed)


def _add_choices(
    entries: Entries,
    unknowns: Unknowns,
    release: int,
    pairs: tuple[Integers, Integers],
    number: Integers,
    index: Integers,
    *,
    equal: bool,
) -> None:
    """Add the cells that may be in several classes of a release, or in none: their shares make up their counts."""
    owners, places = pairs
    if len(owners) == 0:
        return
    pair, shown = np.nonzero((index[owners] >= 0) & (number[places] >= 0))
    fresh = unknowns.add(owners[pair], shown, release, places[pair])
    entries.add(number[places[pair], shown], fresh)
    cell, value = np.nonzero(index[np.unique(owners)] >= 0)
    cell = np.unique(owners)[cell]
    link = np.full(index.shape, -1, dtype=np.int64)
    first = entries.add_rows(_facts(LINK, release, cell, value), np.zeros(len(cell), np.int64), equal=equal)
    link[cell, value] = np.arange(first, first + len(cell))
    entries.add(link[owners[pair], shown], fresh)
    entries.add(link[cell, value], index[cell, value], sign=-1)


def _facts(kind: int, release: int, place: Integers, value: Integers | int) -> Integers:
    facts = np.empty((len(place), 4), dtype=np.int64)
    facts[:, 0], facts[:, 1], facts[:, 2], facts[:, 3] = kind, release, place, value
    return facts
