"""People whom a series of releases does not tell apart: those with the same classes in every release are one cell.

The attacker is that of Xiao & Tao 2007 (m-invariance): everybody's quasi-identifiers and presence are known, values are
not. Where a person may be in several classes of a release, or in none, the cell keeps all that is possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Places = Sequence[tuple[int, ...]]
ABSENT: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """One release: how often each of its classes shows each value, and what is known of who stands behind the rows.

    `certain`: whoever may be in a class of it surely is in one. `whole`: behind every row is one of the people.
    """

    counts: Integers
    certain: bool = True
    whole: bool = True


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of people: `places[r][j]` are the classes of release r that people of cell j may be in, () for absent.

    >>> releases = [ClassCounts(np.array([[1, 1]])), ClassCounts(np.array([[0, 1]]))]
    >>> cells = Cells.of(releases, [[(0,), (0,)], [(0,), ABSENT]])
    >>> cells.sizes.tolist(), cells.members.tolist(), cells.places
    ([1, 1], [1, 0], [[(0,), (0,)], [(), (0,)]])
    """

    releases: Sequence[ClassCounts]
    places: Sequence[Places]
    sizes: Integers
    members: Integers

    @classmethod
    def of(cls, releases: Sequence[ClassCounts], places: Sequence[Places]) -> Cells:
        """Return the cells of people, given for each release the classes that each person may be in."""
        if not places or not places[0]:
            return cls(releases, [[] for _ in releases], np.zeros(0, np.int64), np.zeros(0, np.int64))
        kinds = [sorted(set(one)) for one in places]
        codes = [{place: number for number, place in enumerate(kind)} for kind in kinds]
        columns = [[code[place] for place in one] for code, one in zip(codes, places, strict=True)]
        tuples, members, sizes = np.unique(np.array(columns).T, axis=0, return_inverse=True, return_counts=True)
        found = [[kind[code] for code in column] for kind, column in zip(kinds, tuples.T.tolist(), strict=True)]
        return cls(releases, found, sizes.astype(np.int64), members.ravel().astype(np.int64))

    @classmethod
    def settled_in(cls, releases: Sequence[ClassCounts], classes: Integers) -> Cells:
        """Return the cells of people whose class is known: `classes[r, p]` in release r, -1 for absent.

        >>> Cells.settled_in([ClassCounts(np.array([[2]]))], np.array([[0, -1, 0]])).sizes.tolist()
        [1, 2]
        """
        tuples, members, sizes = np.unique(classes.T, axis=0, return_inverse=True, return_counts=True)
        places = [[ABSENT if one < 0 else (one,) for one in column] for column in tuples.T.tolist()]
        return cls(releases, places, sizes.astype(np.int64), members.ravel().astype(np.int64))

    @property
    def count(self) -> int:
        """The number of cells."""
        return len(self.sizes)

    @property
    def values(self) -> int:
        """The number of sensitive values."""
        return int(self.releases[0].counts.shape[1])

    def pairs(self, release: int) -> tuple[Integers, Integers]:
        """Return all pairs of a cell and a class of a release that it may be in."""
        places = self.places[release]
        lengths = [len(place) for place in places]
        cells = np.repeat(np.arange(self.count), lengths)
        return cells, np.array([one for place in places for one in place], dtype=np.int64)

    def settled(self, release: int) -> npt.NDArray[np.bool_]:
        """Return which cells are surely in one known class of a release."""
        lengths = np.array([len(place) for place in self.places[release]], dtype=np.int64)
        settled: npt.NDArray[np.bool_] = (lengths == 1) & self.releases[release].certain
        return settled

    def allowed(self) -> npt.NDArray[np.bool_]:
        """Return which values each cell may have by its classes alone, each release taken by itself."""
        allowed = np.ones((self.count, self.values), dtype=np.bool_)
        for number, release in enumerate(self.releases):
            cells, classes = self.pairs(number)
            shown = np.zeros((self.count, self.values), dtype=np.bool_)
            np.logical_or.at(shown, cells, release.counts[classes] > 0)
            present = np.zeros(self.count, dtype=np.bool_)
            present[cells] = release.certain
            allowed &= shown | ~present[:, None]
        return allowed

    def shown(self) -> npt.NDArray[np.bool_]:
        """Return which values some class shows that people of each cell may be in."""
        shown = np.zeros((self.count, self.values), dtype=np.bool_)
        for number, release in enumerate(self.releases):
            cells, classes = self.pairs(number)
            np.logical_or.at(shown, cells, release.counts[classes] > 0)
        return shown

    def components(self) -> Integers:
        """Return a number for each cell, the same for cells that share classes, directly or through others."""
        parent = list(range(self.count))

        def root(cell: int) -> int:
            while parent[cell] != cell:
                parent[cell] = parent[parent[cell]]
                cell = parent[cell]
            return cell

        for number in range(len(self.releases)):
            first: dict[int, int] = {}
            for cell, place in zip(*(side.tolist() for side in self.pairs(number)), strict=True):
                parent[root(cell)] = root(first.setdefault(place, cell))
        return np.array([root(cell) for cell in range(self.count)], dtype=np.int64)

    def only(self, kept: npt.NDArray[np.bool_]) -> Cells:
        """Return some of the cells; classes without any of them show nothing then."""
        releases = []
        for number, release in enumerate(self.releases):
            cells, classes = self.pairs(number)
            counts = np.zeros_like(release.counts)
            used = np.unique(classes[kept[cells]])
            counts[used] = release.counts[used]
            releases.append(ClassCounts(counts, release.certain, release.whole))
        numbers = np.flatnonzero(kept).tolist()
        places = [[one[cell] for cell in numbers] for one in self.places]
        return Cells(releases, places, self.sizes[kept], np.full(len(self.members), -1, dtype=np.int64))
