"""Rows of one signature cut into groups with at most one row of each value, near each other.

The splitting step of Xiao & Tao 2007: a bucket is halved along its widest quasi-identifier until its parts have one
row of each value. A value with fewer rows than the bucket is high gives each half its share of them.
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.kernel import select

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
DEPTH = 66  # halves of halves of a bucket as high as an integer can say


@kernel
def widest_column(rows: Integers, low: Integers, high: Integers, positions: Floats) -> int:
    """Return the quasi-identifier with the largest range among the rows between `low` and `high` of every value."""
    best, best_range = 0, -1.0
    for column in range(positions.shape[1]):
        least, most = np.inf, -np.inf
        for value in range(low.size):
            for place in range(low[value], high[value]):
                position = positions[rows[place], column]
                least = min(least, position)
                most = max(most, position)
        if most - least > best_range:
            best, best_range = column, most - least
    return best


@kernel
def split_bucket(
    rows: Integers, starts: Integers, positions: Floats, first: int, groups: Integers, done: Integers
) -> int:
    """Number the groups of a bucket from `first` in `groups`, row by row; return how many there are.

    `rows` are sorted by value, value v's from starts[v] to starts[v+1]; they are reordered. `done` counts rows.
    """
    values = starts.size - 1
    low, high = np.empty((DEPTH, values), np.int64), np.empty((DEPTH, values), np.int64)
    slots = np.empty((DEPTH, 2), np.int64)
    low[0], high[0] = starts[:-1], starts[1:]
    slots[0, 0], slots[0, 1] = 0, np.max(starts[1:] - starts[:-1])
    count = int(slots[0, 1])
    top = 0 if count > 0 else -1
    while top >= 0:
        begin, size = slots[top, 0], slots[top, 1] - slots[top, 0]
        if size == 1:
            for value in range(values):
                for place in range(low[top, value], high[top, value]):
                    groups[rows[place]] = first + begin
                    done[0] += 1
            top -= 1
            continue
        column, left = widest_column(rows, low[top], high[top], positions), size // 2
        for value in range(values):
            start, stop = low[top, value], high[top, value]
            # The nearest whole number to this value's share; a value with a row for every group keeps one for each.
            middle = start + (2 * (stop - start) * left + size) // (2 * size)
            if start < middle < stop:
                select(positions, rows, start, stop, middle, column)
            low[top + 1, value], high[top + 1, value] = start, middle
            low[top, value] = middle
        slots[top + 1, 0], slots[top + 1, 1] = begin, begin + left
        slots[top, 0] = begin + left
        top += 1
    return count
