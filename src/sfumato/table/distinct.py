"""Distinct rows of integer columns: number them once, then work on the few instead of the many.

Rows become one integer key each in mixed radix; keys are counted in a table where that fits and
sorted where it does not (the counting idea is that of roll-up in LeFevre, DeWitt & Ramakrishnan 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int32] | npt.NDArray[np.int64]
LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class Numbering:
    """Which distinct row each row is: ids 0…count-1, how often each occurs, and one row that shows it.

    >>> numbering = distinct([np.array([3, 1, 3]), np.array([0, 0, 0])], [4, 1])
    >>> numbering.ids.tolist(), numbering.counts.tolist()
    ([1, 0, 1], [1, 2])
    """

    ids: Keys
    counts: Keys

    @property
    def count(self) -> int:
        """The number of distinct rows."""
        return len(self.counts)

    def with_weights(self, weights: Keys | None) -> Numbering:
        """The same distinct rows, each row counted as often as it weighs.

        >>> distinct([np.array([3, 1, 3])], [4]).with_weights(np.array([2, 5, 1])).counts.tolist()
        [5, 3]
        """
        return self if weights is None else replace(self, counts=tally(self.ids, weights, self.count))

    @cached_property
    def examples(self) -> Keys:
        """One row of each distinct kind."""
        rows = np.empty(self.count, dtype=np.int64)
        rows[self.ids] = np.arange(len(self.ids))
        return rows


def tally(numbers: Integers, weights: Keys | None = None, least: int = 0) -> Keys:
    """Return how often each number occurs, or what it weighs altogether; exact up to 2^53.

    >>> tally(np.array([1, 1, 0]), np.array([5, 2, 1])).tolist()
    [1, 7]
    """
    if weights is None:
        return np.bincount(numbers, minlength=least)
    return np.bincount(numbers, weights=weights, minlength=least).astype(np.int64)


def distinct(columns: Sequence[Integers], sizes: Sequence[int]) -> Numbering:
    """Return the distinct rows of coded columns; column j holds codes 0…sizes[j]-1.

    Ids follow the order of the rows' codes, first column first.
    """
    keys = columns[0].astype(np.int64)
    span = max(1, sizes[0])
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if span * size > LARGEST_KEY:
            keys, span = (packed := _number(keys, span)).ids.copy(), packed.count
        keys *= size
        keys += column
        span *= max(1, size)
    return _number(keys, span)


def _number(keys: Keys, span: int) -> Numbering:
    if span <= max(4 * len(keys), 1 << 16):
        counts = np.bincount(keys, minlength=span)
        occupied = counts > 0
        numbers = np.cumsum(occupied) - 1
        return Numbering(numbers[keys], counts[occupied])
    _, ids, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return Numbering(ids, counts)
