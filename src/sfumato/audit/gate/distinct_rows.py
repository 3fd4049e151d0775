"""The different rows of a release: attacks look at each kind once, however many people share it.

A released class is many equal rows, so this changes how long an attack takes and nothing that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.table.distinct import distinct

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Distances = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Kinds of rows in the order in which they first appear; `second` is the number of all rows where one is alone.

    >>> rows = DistinctRows.of([np.array([5, 3, 5, 5], dtype=np.int32)])
    >>> rows.first.tolist(), rows.second.tolist(), rows.times.tolist()
    ([0, 1], [2, 4], [3, 1])
    """

    first: Integers  # where the first row of each kind stands
    second: Integers  # where the second one stands
    times: Integers  # how many rows there are of each kind

    @classmethod
    def of(cls, columns: Sequence[Codes]) -> DistinctRows:
        """Return the kinds of rows of coded columns."""
        numbered, size = distinct(columns, [int(column.max()) + 1 for column in columns]), len(columns[0])
        first = _earliest(numbered.ids, np.arange(size), np.full(numbered.count, size))
        alone = np.zeros(size, dtype=np.bool_)
        alone[first] = True
        later = np.flatnonzero(~alone)
        second = _earliest(numbered.ids[later], later, np.full(numbered.count, size))
        order = np.argsort(first)
        return cls(first[order], second[order], numbered.counts[order])

    @property
    def kinds(self) -> int:
        """How many different rows there are."""
        return len(self.first)

    def draw_nearest(self, distances: Distances, draw: np.random.Generator) -> tuple[int, int]:
        """Return one of the nearest rows at random, and its kind; of a kind, the second stands for all but the first.

        >>> rows = DistinctRows.of([np.array([5, 3, 5, 5], dtype=np.int32)])
        >>> sorted({rows.draw_nearest(np.array([0, 1]), np.random.default_rng(seed))[0] for seed in range(20)})
        [0, 2]
        """
        kinds = np.flatnonzero(distances == distances.min())
        ends = np.cumsum(self.times[kinds])
        chosen = int(draw.integers(ends[-1]))
        place = int(np.searchsorted(ends, chosen, "right"))
        kind = int(kinds[place])
        is_first = chosen == ends[place] - self.times[kind]
        return int((self.first if is_first else self.second)[kind]), kind

    def nearest(self, distances: Distances, own: int) -> tuple[int, int]:
        """Return the first of the nearest rows, and the first one if the row `own` were not there.

        >>> rows = DistinctRows.of([np.array([5, 3, 5, 5], dtype=np.int32)])
        >>> rows.nearest(np.array([0, 1]), 0), rows.nearest(np.array([1, 0]), 1), rows.nearest(np.array([0, 1]), 2)
        ((0, 2), (1, 0), (0, 0))
        """
        kind = int(distances.argmin())
        found = int(self.first[kind])
        if found != own:
            return found, found
        others = distances.copy()
        others[kind] = np.iinfo(others.dtype).max
        other = int(others.argmin())
        if self.times[kind] == 1:
            return found, int(self.first[other])
        twin = int(self.second[kind])
        return found, min(twin, int(self.first[other])) if others[other] == distances[kind] else twin


def _earliest(ids: Integers, rows: Integers, none: Integers) -> Integers:
    """Return the lowest row of each id; of several that are written to one place, the last one stays."""
    none[ids[::-1]] = rows[::-1]
    return none
