"""Rank windows, compiled: values to a public integer grid, a radix sort, block sums; then the isotonic fit.

Sorting is by two digits of the grid (Knuth, vol. 3, section 5.2.5); the isotonic regression is the pool-adjacent-
violators algorithm (Barlow, Bartholomew, Bremner & Brunk 1972).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
DIGIT = 10
RADIX = 1 << DIGIT


@kernel
def to_grid(values: Numbers, low: float, step: float, steps: int, default: int, codes: Codes) -> None:
    """Write each value's place on the grid 0…steps: clamped, and a public default for what is no number."""
    for place in range(values.size):
        scaled = np.rint((values[place] - low) / step)
        if np.isnan(scaled):
            codes[place] = default
        else:
            codes[place] = np.int32(min(max(scaled, 0.0), float(steps)))


@kernel
def radix_sort(codes: Codes, spare: Codes, bits: int) -> None:
    """Sort numbers of at most `bits` bits in place."""
    counts = np.empty(RADIX, dtype=np.int32)
    shift = 0
    while shift < bits:
        counts[:] = 0
        for place in range(codes.size):
            counts[(codes[place] >> shift) & (RADIX - 1)] += 1
        total = 0
        for digit in range(RADIX):
            held = counts[digit]
            counts[digit] = total
            total += held
        for place in range(codes.size):
            digit = (codes[place] >> shift) & (RADIX - 1)
            spare[counts[digit]] = codes[place]
            counts[digit] += 1
        codes[:] = spare
        shift += DIGIT


@kernel
def block_sums(windows: Numbers, low: float, step: float, steps: int, default: int, block: int) -> Integers:
    """Return the sums of the rank blocks of every window, in steps of the grid."""
    count, size = windows.shape
    blocks = (size + block - 1) // block
    sums = np.zeros((count, blocks), dtype=np.int64)
    codes, spare = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    bits = 0
    while steps >> bits:
        bits += 1
    for window in range(count):
        to_grid(windows[window], low, step, steps, default, codes)
        radix_sort(codes, spare, bits)
        for place in range(size):
            sums[window, place // block] += codes[place]
    return sums


@kernel
def isotonic(levels: Numbers, weights: Numbers) -> None:
    """Replace each row of levels by its weighted least-squares fit among rows that never decrease."""
    rows, size = levels.shape
    value, weight, length = np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)
    for row in range(rows):
        top = 0
        for place in range(size):
            value[top], weight[top], length[top] = levels[row, place], weights[place], 1
            while top > 0 and value[top - 1] > value[top]:
                both = weight[top - 1] + weight[top]
                value[top - 1] = (value[top - 1] * weight[top - 1] + value[top] * weight[top]) / both
                weight[top - 1] = both
                length[top - 1] += length[top]
                top -= 1
            top += 1
        place = 0
        for pool in range(top):
            levels[row, place : place + length[pool]] = value[pool]
            place += length[pool]


@kernel
def spread(levels: Numbers, block: int, size: int) -> Numbers:
    """Return `size` values a row in rank order: straight lines through the blocks' means at their middle ranks."""
    rows, blocks = levels.shape
    values = np.empty((rows, size))
    for row in range(rows):
        for place in range(size):
            at = place // block
            middle = at * block + (min(block, size - at * block) - 1) / 2
            other = at + 1 if place > middle else at - 1
            if other < 0 or other >= blocks or place == middle:
                values[row, place] = levels[row, at]
                continue
            end = other * block + (min(block, size - other * block) - 1) / 2
            share = (place - middle) / (end - middle)
            values[row, place] = levels[row, at] + share * (levels[row, other] - levels[row, at])
    return values
