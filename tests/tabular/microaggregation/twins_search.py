"""Slow, obvious versions of the moves of the local search, by computing errors anew."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sfumato.tabular.microaggregation.loss import Labels, Records, squared_error

Near = npt.NDArray[np.int32]
Move = dict[int, int]  # record -> new group


def near_groups(labels: Labels, near: Near, record: int, exclude: set[int]) -> set[int]:
    """Groups of the near records of ``record``."""
    return {int(labels[i]) for i in near[record]} - exclude


def one_moves(labels: Labels, near: Near, k: int, record: int) -> Iterator[Move]:
    """Relocations and swaps of ``record``."""
    home = int(labels[record])
    sizes = np.bincount(labels)
    for group in near_groups(labels, near, record, {home}):
        if sizes[home] > k and sizes[group] < 2 * k - 1:
            yield {record: group}
        for other in np.flatnonzero(labels == group):
            yield {record: group, int(other): home}


def chains(labels: Labels, near: Near, k: int, record: int) -> Iterator[Move]:
    """Chains of three groups that start at ``record``."""
    home = int(labels[record])
    sizes = np.bincount(labels)
    for middle in near_groups(labels, near, record, {home}):
        for second in map(int, np.flatnonzero(labels == middle)):
            for end in near_groups(labels, near, second, {home, middle}):
                if sizes[home] > k and sizes[end] < 2 * k - 1:
                    yield {record: middle, second: end}
                for third in map(int, np.flatnonzero(labels == end)):
                    yield {record: middle, second: end, third: home}


def change_of(x: Records, labels: Labels, move: Move) -> float:
    """Change of the error by a move."""
    moved = labels.copy()
    for record, group in move.items():
        moved[record] = group
    return squared_error(x, moved) - squared_error(x, labels)


def splitmix(state: int) -> tuple[int, int]:
    """Next state and word of the generator, in unbounded integers."""
    mask = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    word = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return state, word ^ (word >> 31)
