"""The loops behind running totals: rows of a Toeplitz product, and the nodes of a binary tree.

Sums are taken in a fixed order, so that the same numbers give the same totals wherever a stream was cut. The tree is
that of Chan, Shi & Song (2011).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


@kernel
def weigh(weights: Integers, kept: Integers, first: int, out: Integers) -> None:
    """Fill `out` with the rows from `first` on of the Toeplitz product of whole weights and what is kept."""
    for row in range(out.shape[0]):
        last = first + row
        for column in range(out.shape[1]):
            total = np.int64(0)
            for back in range(last + 1):
                total += weights[back] * kept[last - back, column]
            out[row, column] = total


@kernel
def unweigh(weights: Numbers, noisy: Integers, first: int, out: Numbers) -> None:
    """Fill `out` likewise from real weights: what was weighed is summed up."""
    for row in range(out.shape[0]):
        last = first + row
        for column in range(out.shape[1]):
            total = 0.0
            for back in range(last + 1):
                total += weights[back] * np.float64(noisy[last - back, column])
            out[row, column] = total


@kernel
def level_of(number: int) -> int:
    """The level of the node that ends with a window: how often its number, counted from 1, halves."""
    level = 0
    while number & 1 == 0:
        number >>= 1
        level += 1
    return level


@kernel
def close_nodes(windows: Integers, begun: int, open_nodes: Integers, limit: int, out: Integers) -> None:
    """Fill `out` with the exact sum of the node that ends with each window, `begun` windows having come before.

    Windows and nodes are clamped to the limit, so that no sum leaves 64 bits; a clamped sum moves no further.
    """
    for row in range(windows.shape[0]):
        level = level_of(begun + row + 1)
        for column in range(windows.shape[1]):
            total = min(max(windows[row, column], -limit), limit)
            for below in range(level):
                total += open_nodes[below, column]
                open_nodes[below, column] = 0
            total = min(max(total, -limit), limit)
            open_nodes[level, column] = total
            out[row, column] = total


@kernel
def sum_nodes(noisy: Integers, begun: int, nodes: Integers, out: Integers) -> None:
    """Fill `out` with the noisy total behind each window: the sum of the nodes that together hold all windows."""
    for row in range(noisy.shape[0]):
        level = level_of(begun + row + 1)
        for column in range(noisy.shape[1]):
            nodes[:level, column] = 0
            nodes[level, column] = noisy[row, column]
            total = np.int64(0)
            for held in range(nodes.shape[0]):
                total += nodes[held, column]
            out[row, column] = total
