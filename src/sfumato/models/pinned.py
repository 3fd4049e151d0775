"""Diversity among persons who have several values: one value pinned on each, as unevenly as the counts allow.

l-diversity (Machanavajjhala et al. 2007) supposes one value for each person. Where persons have several, a class may
show many values although all its persons share one of them; so each person is counted for one value alone, the most
frequent first. With one value each nothing changes. docs/algorithms/models.md has the definition and its proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


def pinned(counts: Iterable[int], holders: int) -> list[int]:
    """Return how many persons each value is pinned on, largest first, when `holders` persons have a value.

    >>> pinned([2, 2], 2), pinned([2, 2, 1], 4), pinned([3, 1], 4)
    ([2], [2, 2], [3, 1])
    """
    found, left = [], holders
    for count in sorted(map(int, counts), reverse=True):
        if count and left:
            found.append(min(count, left))
            left -= found[-1]
    return found


class PinnedCounts(NamedTuple):
    """Every class's pinned counts, largest first: whose class each is, the count, and the persons of larger ones."""

    classes: Counts
    counts: Counts
    before: Counts


def pin_classes(classes: Counts, counts: Counts, holders: Counts) -> PinnedCounts:
    """Return what `pinned` does for all classes at once; `classes` and `counts` are of values, without missing ones.

    >>> pin_classes(np.array([0, 0, 1]), np.array([1, 2, 1]), np.array([2, 1])).counts.tolist()
    [2, 1]
    """
    order = np.lexsort((-counts, classes))
    classes, counts = classes[order], counts[order]
    running = np.cumsum(counts) - counts
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    before = running - np.repeat(running[starts], np.diff(starts, append=len(classes)))
    left = np.maximum(0, holders[classes] - before)
    kept = left > 0
    return PinnedCounts(classes[kept], np.minimum(counts, left)[kept], before[kept])
