"""Boxes of a kd-tree and what they bound: ranges of numbers, sets of codes, and the distances of a leaf's records.

Bentley, "Multidimensional binary search trees used for associative searching" (1975). All take arrays, not a whole
tree, since a call with a tree costs more than the work.
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.coded_kernel import Bits, Codes, Query

Floats = npt.NDArray[np.float64]


@kernel
def fit_leaf(blocks: Floats, leaf: int, size: int, low: Floats, high: Floats) -> bool:
    """Shrink the box of a leaf to the numbers of its records; return whether it changed."""
    node = leaf + blocks.shape[0]
    changed = False
    for j in range(blocks.shape[1]):
        least, most = np.inf, -np.inf
        for i in range(size):
            least = min(least, blocks[leaf, j, i])
            most = max(most, blocks[leaf, j, i])
        if least != low[node, j] or most != high[node, j]:
            low[node, j], high[node, j] = least, most
            changed = True
    return changed


@kernel
def fit_inner(low: Floats, high: Floats, node: int) -> bool:
    """Shrink the box of an inner node to its children; return whether it changed."""
    changed = False
    for j in range(low.shape[1]):
        least = min(low[2 * node, j], low[2 * node + 1, j])
        most = max(high[2 * node, j], high[2 * node + 1, j])
        if least != low[node, j] or most != high[node, j]:
            low[node, j], high[node, j] = least, most
            changed = True
    return changed


@kernel
def list_leaf(codes: Codes, leaf: int, size: int, present: Bits) -> bool:
    """Set the codes of a leaf to those of its records; return whether they changed."""
    node = leaf + codes.shape[0]
    changed = False
    for run in range(codes.shape[1]):
        found = np.uint64(0)
        for i in range(size):
            found |= np.uint64(1) << np.uint64(codes[leaf, run, i])
        if found != present[node, run]:
            present[node, run] = found
            changed = True
    return changed


@kernel
def list_inner(present: Bits, node: int) -> bool:
    """Set the codes of an inner node to those of its children; return whether they changed."""
    changed = False
    for run in range(present.shape[1]):
        found = present[2 * node, run] | present[2 * node + 1, run]
        if found != present[node, run]:
            present[node, run] = found
            changed = True
    return changed


@kernel
def add_numbers(blocks: Floats, leaf: int, point: Floats, size: int, distances: Floats) -> None:
    """Write the squared distances of a leaf's records, by their numbers."""
    distances[:size] = 0.0
    for j in range(point.size):
        value = point[j]
        column = blocks[leaf, j]
        for i in range(size):
            gap = column[i] - value
            distances[i] += gap * gap


@kernel
def add_prices(codes: Codes, leaf: int, prices: Floats, size: int, distances: Floats) -> None:
    """Add the prices of the codes of a leaf's records."""
    for run in range(prices.shape[0]):
        for i in range(size):
            distances[i] += prices[run, codes[leaf, run, i]]


@kernel
def least_gap(low: Floats, high: Floats, node: int, point: Floats) -> float:
    """Return a lower bound on the squared distance of numbers below ``node``."""
    bound = 0.0
    for j in range(point.size):
        gap = max(low[node, j] - point[j], point[j] - high[node, j], 0.0)
        bound += gap * gap
    return bound


@kernel
def most_gap(low: Floats, high: Floats, node: int, point: Floats) -> float:
    """Return an upper bound on the squared distance of numbers, and -1 for an empty node."""
    bound = 0.0
    for j in range(point.size):
        if low[node, j] > high[node, j]:
            return -1.0
        gap = max(point[j] - low[node, j], high[node, j] - point[j])
        bound += gap * gap
    return bound


@kernel
def add_least_prices(present: Bits, node: int, query: Query, bound: float) -> float:
    """Return a lower bound plus the cheapest prices of the codes below ``node``; infinity where there are none."""
    for run in range(present.shape[1]):
        tier, here = 0, present[node, run]
        if here == 0:
            return np.inf
        while not query.tiers[run, tier] & here:
            tier += 1
        bound += query.least[run, tier]
    return bound


@kernel
def add_most_prices(present: Bits, node: int, query: Query, bound: float) -> float:
    """Return an upper bound plus the dearest prices of the codes below ``node``; -1 where there are none."""
    for run in range(present.shape[1]):
        tier, here = np.int64(query.tiers[run, -1]) - 1, present[node, run]
        if here == 0:
            return -1.0
        while not query.tiers[run, tier] & here:
            tier -= 1
        bound += query.most[run, tier]
    return bound
