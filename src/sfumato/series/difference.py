"""The difference attack: a person in one release and not in the other has a value by which their classes differ.

Chapter 2 of Pereira 2014 (the case of André). It supposes that between the two releases rows were only added
(for newcomers) or only removed (for leavers); where counts contradict that, nothing is concluded. Rows that belong to
nobody, as cards declare them, may explain so much of a difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from sfumato.series.grid import PointGrid
from sfumato.series.space import Exposure, ExposureSearch, Integers, Layer, Space, Truths, supports


def differences(space: Space, present: int, absent: int, search: ExposureSearch) -> None:
    """Record what people in release `present` who are not in `absent` lose."""
    layer = Layer(present, supports(newcomers(space, present, absent)))
    few = [number for number, values in enumerate(layer.holds) if 0 < values.bit_count() < search.least]
    if not few:
        return
    grid = PointGrid.of(space)
    if grid.fits:
        painted = grid.paint(layer)
        sizes = np.bitwise_count(painted).sum(axis=1)
        cells = np.flatnonzero((sizes > 0) & (sizes < search.least))
        for box, values, point in grid.boxes(cells, painted[cells]):
            number = grid.holder(layer, point, values, search.least)
            if number is not None:
                search.exposures.append(Exposure("difference", (present,), (absent,), (number,), box, values))
        return
    for number in few:
        if space.holds[present][number].bit_count() >= search.least:
            found = space.narrow([layer], [number], space.boxes[present][number], search)
            if found is not None:
                search.exposures.append(Exposure("difference", (present,), (absent,), (number,), *found))


@lru_cache(maxsize=16)
def newcomers(space: Space, present: int, absent: int) -> Integers:
    """Return, for each class of `present` and each value, how many people not in `absent` can have it at most.

    People of an earlier class that overlaps one later class only must be in that one; people of earlier
    classes must be somewhere in the later classes connected with theirs. Rows of nobody in `absent` are no people.
    """
    overlap = space.overlap(present, absent)
    ours, theirs = space.counts[present], space.counts[absent]
    sole = np.flatnonzero(overlap.sum(axis=0) == 1)
    surely = np.zeros_like(ours)
    np.add.at(surely, overlap[:, sole].argmax(axis=0), theirs[sole])
    group, groups = _components(overlap)
    total, before = (np.zeros((groups, ours.shape[1]), dtype=np.int64) for _ in range(2))
    np.add.at(total, group[: len(ours)], ours)
    np.add.at(before, group[len(ours) :], theirs)
    nobody = space.nobody[absent]
    together = _rest(total, before, nobody)
    return np.minimum(_rest(ours, surely, nobody), together[group[: len(ours)]])


def _rest(whole: Integers, taken: Integers, nobody: int) -> Integers:
    """Return what is left of each class at most, if so many of the rows taken may belong to nobody.

    Where the counts contradict each other, it is the whole class.

    >>> _rest(np.array([[3, 1, 1]]), np.array([[3, 0, 2]]), 1).tolist(), _rest(np.eye(2), np.eye(2), 1).tolist()
    ([[0, 1, 0]], [[1.0, 0.0], [0.0, 1.0]])
    """
    rest = whole - taken
    missing = np.maximum(-rest, 0)  # rows that nobody can stand behind
    spare = nobody - missing.sum(axis=1, keepdims=True)
    most = np.minimum(rest + spare + missing, whole)
    return np.where(spare < 0, whole, most)


def _components(overlap: Truths) -> tuple[Integers, int]:
    """Return the connected group of each row and, after them, of each column of a table of overlaps."""
    rows, columns = overlap.shape
    group = np.full(rows + columns, -1, dtype=np.int64)
    count = 0
    for start in range(rows + columns):
        if group[start] >= 0:
            continue
        group[start] = count
        waiting = [start]
        while waiting:
            for place in _beside(overlap, waiting.pop()):
                if group[place] < 0:
                    group[place] = count
                    waiting.append(place)
        count += 1
    return group, count


def _beside(overlap: Truths, place: int) -> Iterator[int]:
    rows = overlap.shape[0]
    if place < rows:
        yield from (np.flatnonzero(overlap[place]) + rows).tolist()
    else:
        yield from np.flatnonzero(overlap[:, place - rows]).tolist()
