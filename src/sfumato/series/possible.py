"""The values that a series of releases leaves possible for everybody, against an attacker who adds up.

A value is excluded for a cell when no counts, not even fractions of people, agree with all releases and give it to one
person (the linear relaxation of the attacker of Xiao & Tao 2007). Whatever is not excluded is not refuted, never safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfumato.core.progress import tell
from sfumato.series.bounds import Bounds
from sfumato.series.cells import Cells, Integers
from sfumato.series.certificate import Certificate, Prover
from sfumato.series.changes import fewest_changes
from sfumato.series.equations import CELL, TO, Equations, Truths
from sfumato.series.programme import decide

LARGEST = 400_000


@dataclass(eq=False)
class Solved:
    """One system of equations over some of the cells, and what is excluded in it."""

    numbers: Integers  # of the cells in the whole series
    prover: Prover
    budget: int | None = None
    undecided: Sequence[int] = ()

    @property
    def equations(self) -> Equations:
        """The equations."""
        return self.prover.bounds.equations

    @cached_property
    def excluded(self) -> Truths:
        """Which unknowns are below one."""
        out = self.prover.bounds.upper < 1
        out[list(self.prover.found)] = True
        return out

    @cached_property
    def _asked(self) -> Truths:
        """Which unknowns, if they can be one, make a value possible for their owner."""
        return asked(self.prover.cells, self.equations)

    def possible(self) -> Truths:
        """Return which values each of the cells may have."""
        cells, equations = self.prover.cells, self.equations
        possible = np.zeros((cells.count, cells.values), dtype=np.bool_)
        own = self._asked & ~self.excluded & (equations.owner >= 0)
        possible[equations.owner[own], equations.value[own]] = True
        for unknown in np.flatnonzero(~self.excluded & (equations.owner == TO)).tolist():
            release, place = int(equations.release[unknown]), int(equations.place[unknown])
            owners, places = cells.pairs(release)
            possible[owners[places == place], int(equations.value[unknown])] = True
        return possible

    def certificates(self, cell: int, value: int) -> list[Certificate]:
        """Return why a cell cannot have a value: one certificate for each way in which it might."""
        equations = self.equations
        mine = np.flatnonzero(self._asked & (equations.owner == cell) & (equations.value == value)).tolist()
        changed = np.flatnonzero((equations.owner == TO) & (equations.value == value)).tolist()
        places = [one[cell] for one in self.prover.cells.places]
        mine += [one for one in changed if int(equations.place[one]) in places[int(equations.release[one])]]
        if not mine:
            return [self.prover.unshown(cell, value)]
        return [self.prover.below_one(unknown) for unknown in mine]


def asked(cells: Cells, equations: Equations) -> Truths:
    """Return the unknowns that decide: the count of a cell that is surely somewhere, else its part in each class."""
    surely = np.zeros(cells.count, dtype=np.bool_)
    for number, release in enumerate(cells.releases):
        if release.certain:
            surely |= np.array([bool(place) for place in cells.places[number]], dtype=np.bool_)
    sure = surely[np.maximum(equations.owner, 0)] & (equations.owner >= 0)
    wanted: Truths = np.where(sure, equations.release < 0, (equations.owner >= 0) & (equations.release >= 0))
    return wanted


@dataclass(eq=False)
class PossibleValues:
    """What a series leaves everybody: `possible[j, v]` says whether people of cell j may have value v.

    >>> from sfumato.series.cells import Cells, ClassCounts
    >>> swap = [ClassCounts(np.array([[1, 1, 0]])), ClassCounts(np.array([[1, 0, 1]]))]
    >>> found = PossibleValues.of(Cells.of(swap, [[(0,), (0,), ()], [(0,), (), (0,)]]), ["flu", "cancer", "asthma"])
    >>> found.possible.tolist()
    [[False, False, True], [False, True, False], [True, False, False]]
    """

    cells: Cells
    words: Sequence[str]
    parts: list[Solved] = field(default_factory=list)
    unclear: Truths = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @classmethod
    def of(
        cls, cells: Cells, words: Sequence[str], *, known: Truths | None = None, patience: int | None = None
    ) -> PossibleValues:
        """Return the values that a series leaves its cells.

        Who has the people's own values gives them as `known` to be possible; `patience` leaves undecided what so many
        rounds of programmes do not settle.
        """
        tell(0.05, f"{cells.count} cells of people")
        found = cls(cells, words, unclear=np.zeros(cells.count, dtype=np.bool_))
        component = cells.components()
        good = np.ones(cells.count, dtype=np.bool_)
        while good.any():
            solved, broken = _solve(cells, good, words, known=known, patience=patience)
            bad = np.isin(component, component[broken])
            if not bad.any():
                found.parts.append(solved)
                break
            good &= ~bad
        for number in np.unique(component[~good]).tolist():
            found._solve_changed(component == number)
        return found

    @classmethod
    def alone(cls, cells: Cells, words: Sequence[str]) -> PossibleValues:
        """Return the values that all classes of a person show, to an attacker who knows nobody else."""
        found = cls(cells, words, unclear=np.zeros(cells.count, dtype=np.bool_))
        zeros = np.zeros(0, dtype=np.int64)
        nothing = Equations.of(cells.only(np.zeros(cells.count, dtype=np.bool_)))
        bounds = Bounds(nothing, zeros, zeros, np.zeros(0, dtype=np.bool_))
        names = [str(number) for number in range(cells.count)]
        found.parts.append(Solved(np.arange(cells.count), Prover(cells, names, bounds, words)))
        found.possible = cells.allowed()
        return found

    def _solve_changed(self, kept: Truths) -> None:
        """Take in a part of the series in which values have changed, by as few changes as its counts allow."""
        part = self.cells.only(kept)
        budget = fewest_changes(part)
        if budget is None:
            self.unclear |= kept
            return
        solved, broken = _solve(self.cells, kept, self.words, budget)
        if len(broken):
            self.unclear |= kept
        else:
            self.parts.append(solved)

    @cached_property
    def possible(self) -> Truths:
        """Which values each cell may have; all that its classes show where nothing was concluded."""
        possible = np.zeros((self.cells.count, self.cells.values), dtype=np.bool_)
        for part in self.parts:
            possible[part.numbers] = part.possible()
        possible[self.unclear] = self._shown[self.unclear]
        return possible

    @property
    def undecided(self) -> int:
        """How many pairs of a cell and a value nobody decided; they count as possible."""
        return sum(len(part.undecided) for part in self.parts)

    @cached_property
    def sure(self) -> Truths:
        """The values that are known to be possible for each cell: nobody left them undecided."""
        sure = self.possible.copy()
        for part in self.parts:
            unknowns = np.array(part.undecided, dtype=np.int64)
            owners = part.equations.owner[unknowns]
            own = owners >= 0
            sure[part.numbers[owners[own]], part.equations.value[unknowns[own]]] = False
        sure[self.unclear] = False
        return sure

    def settled_by(self, closer: PossibleValues, cells: Truths) -> PossibleValues:
        """Return what was found, with some cells as another search found them."""
        both = PossibleValues(self.cells, self.words, [*closer.parts, *self.parts], self.unclear)
        both.possible = np.where(cells[:, None], closer.possible, self.possible)
        both.sure = np.where(cells[:, None], closer.sure, self.sure)
        return both

    @property
    def changes(self) -> int:
        """How many values must have changed, each of one person in one release."""
        return sum(part.budget or 0 for part in self.parts)

    @cached_property
    def left(self) -> Integers:
        """How many values each cell is left with."""
        left: Integers = self.possible.sum(axis=1)
        return left

    @cached_property
    def settled(self) -> Integers:
        """How many values each cell is surely left with: what nobody decided does not count."""
        settled: Integers = self.sure.sum(axis=1)
        return settled

    @cached_property
    def candidates(self) -> Integers:
        """How many records a person of each cell may be, in the release with the fewest: those of possible values."""
        return self.records(self.possible)

    def records(self, values: Truths) -> Integers:
        """Return how many records of given values a cell's classes show, in the release with the fewest."""
        least = np.full(self.cells.count, np.iinfo(np.int64).max)
        for number, release in enumerate(self.cells.releases):
            if not release.certain:
                continue  # who may be in none of its rows is not one of a few
            owners, places = self.cells.pairs(number)
            shown = (release.counts[places] * values[owners]).sum(axis=1)
            records = np.bincount(owners, weights=shown, minlength=self.cells.count).astype(np.int64)
            present = np.unique(owners)
            least[present] = np.minimum(least[present], records[present])
        return least

    @cached_property
    def _shown(self) -> Truths:
        return self.cells.shown()

    def certificates(self, cell: int) -> Iterator[Certificate]:
        """Yield the certificates of all values that a class of the cell shows and the series excludes."""
        for part in self.parts:
            place = int(np.searchsorted(part.numbers, cell))
            if place < len(part.numbers) and part.numbers[place] == cell:
                for value in np.flatnonzero(self._shown[cell] & ~self.possible[cell]).tolist():
                    yield from part.certificates(place, value)


def _solve(
    cells: Cells,
    kept: Truths,
    words: Sequence[str],
    budget: int | None = None,
    *,
    known: Truths | None = None,
    patience: int | None = None,
) -> tuple[Solved, Integers]:
    """Return some cells solved, and those among them whose counts contradict each other."""
    numbers = np.flatnonzero(kept)
    part = cells if kept.all() else cells.only(kept)
    equations = Equations.of(part, budget)
    bounds = Bounds.of(equations)
    names = [str(number) for number in numbers.tolist()]
    solved = Solved(numbers, Prover(part, names, bounds, words), budget)
    broken = np.zeros(part.count, dtype=np.bool_)
    _mark(broken, equations, np.flatnonzero(bounds.broken), np.flatnonzero(bounds.lower > bounds.upper))
    if not broken.any():
        wanted = asked(part, equations) | (equations.owner == TO)
        if known is not None:
            wanted &= ~known[numbers][equations.owner, equations.value]
        targets = np.flatnonzero(wanted & (bounds.lower < 1) & (bounds.upper >= 1))
        verdicts = decide(bounds, targets, LARGEST, patience)
        _mark(broken, equations, np.array(verdicts.broken, dtype=np.int64), np.zeros(0, dtype=np.int64))
        solved.prover.found, solved.undecided = verdicts.excluded, verdicts.undecided
    return solved, numbers[broken]


def _mark(broken: Truths, equations: Equations, rows: Integers, unknowns: Integers) -> None:
    """Mark the cells that broken rows or crossed bounds are about; a row without any of them says nothing."""
    hit = np.concatenate([unknowns, equations.unknown[np.isin(equations.row, rows)]])
    owners = equations.owner[hit]
    broken[owners[owners >= 0]] = True
    facts = equations.facts[rows]
    broken[facts[facts[:, 0] == CELL, 2]] = True
