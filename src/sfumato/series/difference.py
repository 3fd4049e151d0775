"""The difference attack: a person in one release and not in the other has a value by which their classes differ.

Chapter 2 of Pereira 2014 (the case of André). It supposes that between the two releases rows were only added
(for newcomers) or only removed (for leavers); where counts contradict that, nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.series.exposure import Exposure
from sfumato.series.space import Integers, Layer, Space, Truths, supports


def differences(space: Space, present: int, absent: int, least: int) -> list[Exposure]:
    """Return what people in release `present` who are not in `absent` lose: fewer than `least` values left."""
    left = newcomers(space, present, absent)
    layer = Layer(present, left)
    exposures = []
    for number, values in enumerate(left):
        if not 0 < values.bit_count() < least <= space.holds[present][number].bit_count():
            continue
        found = space.narrow([layer], [number], space.boxes[present][number], least)
        if found is not None:
            exposures.append(Exposure("difference", (present,), (absent,), (number,), *found))
    return exposures


def newcomers(space: Space, present: int, absent: int) -> list[int]:
    """Return, for each class of `present`, the values that people not in `absent` can have there, as bits.

    People of an earlier class that overlaps one later class only must be in that one; people of earlier
    classes must be somewhere in the later classes connected with theirs.
    """
    overlap = space.overlap(present, absent)
    ours, theirs = space.counts[present], space.counts[absent]
    sole = np.flatnonzero(overlap.sum(axis=0) == 1)
    surely = np.zeros_like(ours)
    np.add.at(surely, overlap[:, sole].argmax(axis=0), theirs[sole])
    alone = _possible(ours - surely, ours)
    group, groups = _components(overlap)
    total, before = (np.zeros((groups, ours.shape[1]), dtype=np.int64) for _ in range(2))
    np.add.at(total, group[: len(ours)], ours)
    np.add.at(before, group[len(ours) :], theirs)
    together = _possible(total - before, total)
    return [values & together[group[number]] for number, values in enumerate(alone)]


def _possible(rest: Integers, whole: Integers) -> list[int]:
    """Return the values in what is left of each class; all of its values where the counts contradict."""
    contradicted = (rest < 0).any(axis=1, keepdims=True)
    return supports(np.where(contradicted, whole, rest))


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
