"""Values that people can exchange: whoever has the same signature in every release may have any value of it.

The proof of Xiao & Tao 2007 (theorem 1), read backwards. Let everybody have a set of values, the *signature*, and a
class of each release, so that every class has room for as many whole sets as it needs. Then people of one signature can
permute its values, whoever else is there, and all published counts still agree. One linear programme looks for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sfumato.core.progress import tell
from sfumato.series.cells import Cells, Integers
from sfumato.series.equations import Truths
from sfumato.series.programme import Floats

Signature = frozenset[int]
Person = tuple[int, int]  # a cell, and the value that some of its people have
LARGEST = 1_500_000
SECONDS = 60.0
ROUNDS = 3
NEARLY = 1 - 1e-6


def exchangeable(cells: Cells, own: Integers, least: int) -> Truths:
    """Return values that agreeing counts give to one person of each cell, by exchange with others.

    `own[j, v]` of the people of cell j have value v in truth, so there is a world to start from; everybody is known to
    be there. What is not found may be possible all the same.

    >>> from sfumato.series.cells import ClassCounts
    >>> release = ClassCounts(np.array([[1, 1, 1]]), whole=False)
    >>> cells = Cells.of([release, release], [[(0,), (0,)], [(0,), ()]])
    >>> exchangeable(cells, np.array([[1, 0, 0], [0, 1, 0]]), 3).tolist()
    [[True, True, True], [True, True, True]]
    """
    found: Truths = np.zeros(own.shape, dtype=np.bool_)
    worlds = Worlds(cells, own, least)
    for _ in range(ROUNDS):
        try:
            solution = worlds.solve(found.sum(axis=1) < least if found.any() else None)
        except ImportError:
            break
        if solution is None:
            break
        for person in worlds.shares:
            found[person[0]] |= worlds.reached(person, solution)
        if (found.sum(axis=1) >= least)[[cell for cell, _ in worlds.shares]].all():
            break
    return found


@dataclass(eq=False)
class Worlds:
    """The programme: who has which signature, who is in which class, and how many whole sets a class has room for."""

    cells: Cells
    own: Integers
    least: int
    shares: dict[Person, list[tuple[Signature | None, int]]] = field(default_factory=dict)
    cost: list[float] = field(default_factory=list)
    right: list[tuple[float, float]] = field(default_factory=list)
    entries: list[tuple[int, int, float]] = field(default_factory=list)
    _rows: dict[tuple[object, ...], int] = field(default_factory=dict)

    def reached(self, person: Person, solution: Floats) -> Truths:
        """Return the values that one whole person of a kind can be given."""
        reached = np.zeros(self.cells.values)
        for signature, unknown in self.shares[person]:
            reached[list(signature or {person[1]})] += solution[unknown]
        return np.asarray(reached >= NEARLY)

    def solve(self, undivided: Truths | None = None) -> Floats | None:
        """Return a solution in which as many people as possible have a signature of `least` values, if there is one.

        People of `undivided` cells have one signature each, and not parts of several.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        if not (self.shares or self._build()):
            return None
        tell(0.1, f"signatures of {len(self.shares)} kinds of people")
        row, column, factor = zip(*self.entries, strict=True)
        matrix = coo_array((factor, (row, column)), shape=(len(self.right), len(self.cost))).tocsr()
        low, high = np.array(self.right).T
        options = {"time_limit": SECONDS}
        rules = LinearConstraint(matrix, low, high)
        whole = np.zeros(len(self.cost))
        for (cell, _), shares in self.shares.items():
            whole[[unknown for _, unknown in shares]] = undivided is not None and undivided[cell]
        found = milp(
            np.array(self.cost), integrality=whole, constraints=rules, bounds=Bounds(0, np.inf), options=options
        )
        solution: Floats | None = None if found.status else found.x
        return solution

    def _build(self) -> bool:
        """Write the programme down; return whether it is small enough to be solved."""
        supports = [
            [frozenset(np.flatnonzero(row).tolist()) for row in release.counts] for release in self.cells.releases
        ]
        sets = sorted({one for some in supports for one in some if len(one) >= self.least}, key=sorted)
        holds = [[{one for one in sets if one <= shown} for shown in some] for some in supports]
        for cell, value in np.argwhere(self.own > 0).tolist():
            self._add(cell, value, holds)
            if len(self.entries) > LARGEST:
                return False
        return bool(self.shares)

    def _add(self, cell: int, value: int, holds: list[list[set[Signature]]]) -> None:
        """Add the people of a cell who have a value: each has one signature, or keeps the value, everywhere."""
        there = [(release, places[cell]) for release, places in enumerate(self.cells.places) if places[cell]]
        if not there:
            return
        each = [set[Signature]().union(*(holds[release][place] for place in places)) for release, places in there]
        candidates = sorted((one for one in set.intersection(*each) if value in one), key=sorted)
        people = float(self.own[cell, value])
        total = self._row(people, people)
        self.shares[cell, value] = []
        for signature in (None, *candidates):
            share = self._unknown(1.0 if signature is None else 0.0)
            self.shares[cell, value].append((signature, share))
            self.entries.append((total, share, 1.0))
            for release, _ in there:
                link = self._row(0.0, 0.0)
                self.entries.append((link, share, -1.0))
                for room in self._rooms(release, cell, value, signature, holds[release]):
                    part = self._unknown(0.0)
                    self.entries += [(link, part, 1.0), (room, part, 1.0)]

    def _rooms(
        self, release: int, cell: int, value: int, own: Signature | None, holds: list[set[Signature]]
    ) -> Iterator[int]:
        """Yield the rows that count people of a value and a signature in the classes that have room for them."""
        for place in self.cells.places[release][cell]:
            if own is None and self.cells.releases[release].counts[place, value]:
                yield self._shown(release, place, value)
            elif own is not None and own in holds[place]:
                yield self._room(release, place, value, own)

    def _room(self, release: int, place: int, value: int, own: Signature) -> int:
        """Return the row that keeps the people of a value in a class at most as many as its sets of a signature."""
        key = (release, place, value, own)
        if key not in self._rows:
            if (release, place, own) not in self._rows:
                sets = self._rows[release, place, own] = self._unknown(0.0)
                self.entries += [(self._shown(release, place, one), sets, 1.0) for one in sorted(own)]
            self._rows[key] = self._row(-np.inf, 0.0)
            self.entries.append((self._rows[key], self._rows[release, place, own], -1.0))
        return self._rows[key]

    def _shown(self, release: int, place: int, value: int) -> int:
        """Return the row that keeps all of a value in a class at most as many as it shows."""
        key = (release, place, value)
        if key not in self._rows:
            self._rows[key] = self._row(-np.inf, float(self.cells.releases[release].counts[place, value]))
        return self._rows[key]

    def _row(self, low: float, high: float) -> int:
        self.right.append((low, high))
        return len(self.right) - 1

    def _unknown(self, cost: float) -> int:
        self.cost.append(cost)
        return len(self.cost) - 1
