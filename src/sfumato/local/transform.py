"""Sylvester's Hadamard matrix without writing it down: random rows of a column's sign, and the fast transform.

Rows and columns are numbers; the sign is the parity of their common bits (Fino & Algazi 1976 for the transform).
"""

from __future__ import annotations

import numpy as np

from sfumato.local.arrays import Codes, Integers
from sfumato.local.packing import words64
from sfumato.random import Source


def random_rows_of(columns: Codes, rows: int, plus: int, source: Source) -> Codes:
    """Return for each column a uniform row among those with a plus, with chance plus/2^64, else with a minus.

    >>> from sfumato.random import SeededSource
    >>> random_rows_of(np.array([1, 1]), 2, 2**64 - 1, SeededSource(1)).tolist()
    [0, 0]
    """
    drawn = (source.words(len(columns)) & np.uint32(rows - 1)).astype(np.int64)  # rows are a power of two
    wanted_minus = words64(len(columns), source) >= np.uint64(plus)
    minus = np.bitwise_count(drawn & columns) & 1 == 1
    return np.where(minus == wanted_minus, drawn, drawn ^ (columns & -columns))


def hadamard_transform(counts: Integers) -> Integers:
    """Return the sums of counts with the signs of each column; the length is a power of two.

    >>> hadamard_transform(np.array([3, 1, 0, 2])).tolist()
    [6, 0, 2, 4]
    """
    sums = counts.copy()
    step = 1
    while step < sums.size:
        pairs = sums.reshape(-1, 2, step)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        step *= 2
    return sums
