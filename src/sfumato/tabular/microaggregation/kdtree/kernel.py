"""A kd-tree that records can be taken out of one by one, and its exact nearest and farthest records.

Bentley, "Multidimensional binary search trees used for associative searching" (1975). Bounds
add up columns in the order of the distances, and rounding is monotone, so a bound never
exceeds (undercuts) a distance it stands for: results are those of a full scan to the last
bit, with the lowest record winning ties. The heap of nearest candidates is that of
Williams, "Algorithm 232: Heapsort" (1964).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

LEAF = 32

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class KDTree(NamedTuple):
    """A balanced tree in heap order (root 1, children 2i and 2i+1) with column-major leaves.

    Column-major leaves let one instruction handle several records, so the tree
    degrades to a fast scan, not to a slow one, where many columns defeat pruning.
    An empty node has ``low`` = +inf and ``high`` = -inf.
    """

    blocks: Floats  # (leaves, columns, capacity)
    ids: Integers  # (leaves, capacity): record of each slot
    alive: Integers  # (leaves,): slots 0..alive-1 are in use
    low: Floats  # (nodes, columns): smallest value below a node
    high: Floats  # (nodes, columns): largest value below a node
    slot: Integers  # (records,): leaf * capacity + position


@kernel
def widest(x: Floats, order: Integers, start: int, stop: int) -> int:
    """Return the column with the largest range among the records order[start:stop]."""
    best, best_range = 0, -1.0
    for j in range(x.shape[1]):
        low = high = x[order[start], j]
        for i in range(start + 1, stop):
            value = x[order[i], j]
            low = min(low, value)
            high = max(high, value)
        if high - low > best_range:
            best, best_range = j, high - low
    return best


@kernel
def halve(x: Floats, order: Integers, start: int, stop: int, middle: int) -> None:
    """Reorder order[start:stop] so that no value before ``middle`` exceeds one after it."""
    column = widest(x, order, start, stop)
    left, right = start, stop - 1
    while left < right:
        pivot = x[order[(left + right) // 2], column]
        i, j = left, right
        while i <= j:
            while x[order[i], column] < pivot:
                i += 1
            while x[order[j], column] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return


@kernel
def build(x: Floats, members: Integers) -> KDTree:
    """Return a tree over the records ``members`` of ``x``."""
    n, d = members.size, x.shape[1]
    leaves = 1
    while leaves * LEAF < n:
        leaves *= 2
    order = members.copy()
    width = leaves
    while width > 1:
        for part in range(leaves // width):
            start, stop = n * part * width // leaves, n * (part + 1) * width // leaves
            middle = n * (2 * part + 1) * (width // 2) // leaves
            if stop > start:
                halve(x, order, start, stop, middle)
        width //= 2
    tree = KDTree(
        np.zeros((leaves, d, LEAF)),
        np.zeros((leaves, LEAF), np.int64),
        np.zeros(leaves, np.int64),
        np.full((2 * leaves, d), np.inf),
        np.full((2 * leaves, d), -np.inf),
        np.full(x.shape[0], -1, np.int64),
    )
    for leaf in range(leaves):
        start, stop = n * leaf // leaves, n * (leaf + 1) // leaves
        tree.alive[leaf] = stop - start
        for i in range(stop - start):
            record = order[start + i]
            tree.ids[leaf, i] = record
            tree.slot[record] = leaf * LEAF + i
            for j in range(d):
                tree.blocks[leaf, j, i] = x[record, j]
        fit_leaf(tree, leaf)
    for node in range(leaves - 1, 0, -1):
        fit_inner(tree, node)
    return tree


@kernel
def fit_leaf(tree: KDTree, leaf: int) -> bool:
    """Shrink the box of a leaf to its records; return whether it changed."""
    node = leaf + tree.alive.size
    changed = False
    for j in range(tree.blocks.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(tree.alive[leaf]):
            low = min(low, tree.blocks[leaf, j, i])
            high = max(high, tree.blocks[leaf, j, i])
        if low != tree.low[node, j] or high != tree.high[node, j]:
            tree.low[node, j], tree.high[node, j] = low, high
            changed = True
    return changed


@kernel
def fit_inner(tree: KDTree, node: int) -> bool:
    """Shrink the box of an inner node to its children; return whether it changed."""
    changed = False
    for j in range(tree.blocks.shape[1]):
        low = min(tree.low[2 * node, j], tree.low[2 * node + 1, j])
        high = max(tree.high[2 * node, j], tree.high[2 * node + 1, j])
        if low != tree.low[node, j] or high != tree.high[node, j]:
            tree.low[node, j], tree.high[node, j] = low, high
            changed = True
    return changed


@kernel
def remove(tree: KDTree, record: int) -> None:
    """Take ``record`` out of the tree and tighten the boxes above it."""
    leaf, i = tree.slot[record] // LEAF, tree.slot[record] % LEAF
    tree.alive[leaf] -= 1
    last = tree.alive[leaf]
    moved = tree.ids[leaf, last]
    tree.ids[leaf, i] = moved
    tree.slot[moved] = leaf * LEAF + i
    tree.slot[record] = -1
    for j in range(tree.blocks.shape[1]):
        tree.blocks[leaf, j, i] = tree.blocks[leaf, j, last]
    changed = fit_leaf(tree, leaf)
    node = (leaf + tree.alive.size) // 2
    while changed and node >= 1:
        changed = fit_inner(tree, node)
        node //= 2


@kernel
def leaf_distances(tree: KDTree, leaf: int, point: Floats, distances: Floats) -> None:
    """Write the squared distances from ``point`` to the records of a leaf."""
    size = tree.alive[leaf]
    distances[:size] = 0.0
    for j in range(point.size):
        value = point[j]
        column = tree.blocks[leaf, j]
        for i in range(size):
            gap = column[i] - value
            distances[i] += gap * gap


@kernel
def least(tree: KDTree, node: int, point: Floats) -> float:
    """Return a lower bound on the squared distance from ``point`` to records below ``node``."""
    bound = 0.0
    for j in range(point.size):
        gap = max(tree.low[node, j] - point[j], point[j] - tree.high[node, j], 0.0)
        bound += gap * gap
    return bound


@kernel
def most(tree: KDTree, node: int, point: Floats) -> float:
    """Return an upper bound on the squared distance, and -1 for an empty node."""
    if tree.low[node, 0] > tree.high[node, 0]:
        return -1.0
    bound = 0.0
    for j in range(point.size):
        gap = max(point[j] - tree.low[node, j], tree.high[node, j] - point[j])
        bound += gap * gap
    return bound


@kernel
def offer(near: Floats, records: Integers, found: int, distance: float, record: int) -> int:
    """Put a candidate into the heap (worst on top) if it belongs there; return the new size."""
    if found < near.size:
        i = found
        while i > 0:
            above = (i - 1) // 2
            if not (distance > near[above] or (distance == near[above] and record > records[above])):
                break
            near[i], records[i] = near[above], records[above]
            i = above
        near[i], records[i] = distance, record
        return found + 1
    if distance > near[0] or (distance == near[0] and record > records[0]):
        return found
    i = 0
    while 2 * i + 1 < found:
        below = 2 * i + 1
        other = below + 1
        if other < found and (
            near[other] > near[below] or (near[other] == near[below] and records[other] > records[below])
        ):
            below = other
        if not (near[below] > distance or (near[below] == distance and records[below] > record)):
            break
        near[i], records[i] = near[below], records[below]
        i = below
    near[i], records[i] = distance, record
    return found


@kernel
def nearest(tree: KDTree, point: Floats, near: Floats, records: Integers) -> int:
    """Fill ``records`` with those nearest to ``point`` (a heap by ``near``); return how many."""
    leaves, wanted, found = tree.alive.size, near.size, 0
    stack = np.empty(64, np.int64)
    bounds = np.empty(64)
    distances = np.empty(LEAF)
    stack[0], bounds[0], top = 1, 0.0, 1
    while top > 0:
        top -= 1
        node = stack[top]
        if found == wanted and bounds[top] > near[0]:
            continue
        while node < leaves:
            left, right = least(tree, 2 * node, point), least(tree, 2 * node + 1, point)
            node = 2 * node if left <= right else 2 * node + 1
            stack[top], bounds[top] = node ^ 1, max(left, right)
            top += 1
        leaf = node - leaves
        leaf_distances(tree, leaf, point, distances)
        for i in range(tree.alive[leaf]):
            if found < wanted or distances[i] <= near[0]:
                found = offer(near, records, found, distances[i], tree.ids[leaf, i])
    return found


@kernel
def farthest(tree: KDTree, point: Floats) -> int:
    """Return the record farthest from ``point``, the lowest one on ties."""
    leaves, best, record = tree.alive.size, -1.0, -1
    stack = np.empty(64, np.int64)
    bounds = np.empty(64)
    distances = np.empty(LEAF)
    stack[0], bounds[0], top = 1, np.inf, 1
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] < best:
            continue
        while node < leaves:
            left, right = most(tree, 2 * node, point), most(tree, 2 * node + 1, point)
            node = 2 * node if left >= right else 2 * node + 1
            stack[top], bounds[top] = node ^ 1, min(left, right)
            top += 1
        leaf = node - leaves
        leaf_distances(tree, leaf, point, distances)
        for i in range(tree.alive[leaf]):
            candidate = tree.ids[leaf, i]
            if distances[i] > best or (distances[i] == best and candidate < record):
                best, record = distances[i], candidate
    return record


@kernel
def fill_nearest(tree: KDTree, x: Floats, start: int, stop: int, result: npt.NDArray[np.int32]) -> None:
    """Fill rows ``start`` to ``stop - 1`` of ``result`` with the records nearest to each, itself left out."""
    reach = result.shape[1]
    near, records = np.empty(reach + 1), np.empty(reach + 1, np.int64)
    for i in range(start, stop):
        nearest(tree, x[i], near, records)
        filled = 0
        for slot in np.argsort(near):
            # Among many copies of a record it may not find itself; then the last one goes.
            if records[slot] != i and filled < reach:
                result[i, filled] = records[slot]
                filled += 1
