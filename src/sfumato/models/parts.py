"""Parts of a class: what a model must bear when a class is cut and nobody may look who holds which value.

Every part of a size is majorised by the least even one (Marshall, Olkin & Arnold 2011, chapter 1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


def worst_part(counts: Int64s, size: int, first: int | None = None) -> Int64s:
    """Return the least even part of `size` units: the most frequent values, one after the other, until it is full.

    `first` is a value that goes before all others: a missing one may count for nothing.

    >>> worst_part(np.array([1, 4, 2]), 5).tolist(), worst_part(np.array([1, 4, 2]), 5, first=0).tolist()
    ([0, 4, 1], [1, 4, 0])
    """
    order = np.argsort(-counts, kind="stable")
    if first is not None:
        order = np.concatenate([[first], order[order != first]])
    before = np.cumsum(counts[order]) - counts[order]
    part = np.zeros_like(counts)
    part[order] = np.clip(size - before, 0, counts[order])
    return part
