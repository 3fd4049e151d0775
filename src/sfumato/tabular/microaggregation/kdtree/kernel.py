"""A kd-tree that records can be taken out of one by one, and its exact nearest and farthest records.

Bentley, "Multidimensional binary search trees used for associative searching" (1975). Bounds
add up columns in the order of the distances, and rounding is monotone, so a bound never
exceeds (undercuts) a distance it stands for: results are those of a full scan to the last
bit, with the lowest record winning ties. The heap of nearest candidates is that of
Williams, "Algorithm 232: Heapsort" (1964). Where a code stands for coordinates, boxes are sets of codes.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.box_kernel import (
    add_least_prices,
    add_most_prices,
    add_numbers,
    add_prices,
    fit_inner,
    fit_leaf,
    least_gap,
    list_inner,
    list_leaf,
    most_gap,
)
from sfumato.tabular.microaggregation.kdtree.coded_kernel import Bits, Codebook, Coded, Codes, ask, uncoded

LEAF = 32

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class KDTree(NamedTuple):
    """A balanced tree in heap order (root 1, children 2i and 2i+1) with column-major leaves.

    Column-major leaves let one instruction handle several records, so the tree
    degrades to a fast scan, not to a slow one, where many columns defeat pruning.
    An empty node has ``low`` = +inf and ``high`` = -inf, and no codes.
    """

    book: Codebook
    blocks: Floats  # (leaves, numbers, capacity)
    codes: Codes  # (leaves, runs, capacity)
    ids: Integers  # (leaves, capacity): record of each slot
    alive: Integers  # (leaves,): slots 0..alive-1 are in use
    low: Floats  # (nodes, numbers): smallest value below a node
    high: Floats  # (nodes, numbers): largest value below a node
    present: Bits  # (nodes, runs): set of codes below a node
    slot: Integers  # (records,): leaf * capacity + position


@kernel
def widest(coded: Coded, order: Integers, start: int, stop: int) -> int:
    """Return the number with the largest range among the records order[start:stop], or the run (after all numbers)."""
    x, best, best_range = coded.numbers, 0, -1.0
    for j in range(x.shape[1]):
        low = high = x[order[start], j]
        for i in range(start + 1, stop):
            value = x[order[i], j]
            low = min(low, value)
            high = max(high, value)
        if high - low > best_range:
            best, best_range = j, high - low
    for run in range(coded.codes.shape[1]):
        if coded.book.spread[run] > best_range:
            for i in range(start + 1, stop):
                if coded.codes[order[i], run] != coded.codes[order[start], run]:
                    best, best_range = x.shape[1] + run, coded.book.spread[run]
                    break
    return best


@kernel
def select(x: Floats | Codes, order: Integers, start: int, stop: int, middle: int, column: int) -> None:
    """Reorder order[start:stop] so that no value of a column before ``middle`` exceeds one after it.

    Hoare, "Algorithm 65: Find" (1961).
    """
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
def halve(coded: Coded, order: Integers, start: int, stop: int, middle: int) -> None:
    """Reorder order[start:stop] so that nothing in its widest column before ``middle`` exceeds what is after it."""
    column, numbers = widest(coded, order, start, stop), coded.numbers.shape[1]
    if column < numbers:
        select(coded.numbers, order, start, stop, middle, column)
    elif coded.codes.shape[1] > 0:
        select(coded.codes, order, start, stop, middle, column - numbers)


@kernel
def build(x: Floats, members: Integers) -> KDTree:
    """Return a tree over the records ``members`` of ``x``, by coordinates alone."""
    return build_coded(uncoded(x), members)


@kernel
def build_coded(coded: Coded, members: Integers) -> KDTree:
    """Return a tree over some records."""
    n, d, runs = members.size, coded.numbers.shape[1], coded.codes.shape[1]
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
                halve(coded, order, start, stop, middle)
        width //= 2
    tree = KDTree(
        coded.book,
        np.zeros((leaves, d, LEAF)),
        np.zeros((leaves, runs, LEAF), np.uint8),
        np.zeros((leaves, LEAF), np.int64),
        np.zeros(leaves, np.int64),
        np.full((2 * leaves, d), np.inf),
        np.full((2 * leaves, d), -np.inf),
        np.zeros((2 * leaves, runs), np.uint64),
        np.full(coded.numbers.shape[0], -1, np.int64),
    )
    for leaf in range(leaves):
        start, stop = n * leaf // leaves, n * (leaf + 1) // leaves
        tree.alive[leaf] = stop - start
        for i in range(stop - start):
            record = order[start + i]
            tree.ids[leaf, i] = record
            tree.slot[record] = leaf * LEAF + i
            for j in range(d):
                tree.blocks[leaf, j, i] = coded.numbers[record, j]
            for run in range(runs):
                tree.codes[leaf, run, i] = coded.codes[record, run]
        fit_leaf(tree.blocks, leaf, stop - start, tree.low, tree.high)
        list_leaf(tree.codes, leaf, stop - start, tree.present)
    for node in range(leaves - 1, 0, -1):
        fit_inner(tree.low, tree.high, node)
        list_inner(tree.present, node)
    return tree


@kernel
def remove_each(tree: KDTree, records: Integers) -> None:
    """Take records out of the tree and tighten the boxes above them.

    One call for all of them: passing a whole tree costs as much as taking one out.
    """
    slot, ids, alive, blocks, codes = tree.slot, tree.ids, tree.alive, tree.blocks, tree.codes
    low, high, present = tree.low, tree.high, tree.present
    for record in records:
        leaf, i = slot[record] // LEAF, slot[record] % LEAF
        alive[leaf] -= 1
        last = alive[leaf]
        moved = ids[leaf, last]
        ids[leaf, i] = moved
        slot[moved] = leaf * LEAF + i
        slot[record] = -1
        for j in range(blocks.shape[1]):
            blocks[leaf, j, i] = blocks[leaf, j, last]
        for run in range(codes.shape[1]):
            codes[leaf, run, i] = codes[leaf, run, last]
        changed = fit_leaf(blocks, leaf, last, low, high)
        listed = present.shape[1] > 0 and list_leaf(codes, leaf, last, present)
        node = (leaf + alive.size) // 2
        while (changed or listed) and node >= 1:
            changed = changed and fit_inner(low, high, node)
            listed = listed and list_inner(present, node)
            node //= 2


@kernel
def remove(tree: KDTree, record: int) -> None:
    """Take ``record`` out of the tree."""
    remove_each(tree, np.array([record]))


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
    query = ask(tree.book, point)
    # What the loop needs of them, by itself: calls with a whole tree cost more than the work.
    numbers, low, high, runs = query.numbers, tree.low, tree.high, tree.codes.shape[1]
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
            left, right = least_gap(low, high, 2 * node, numbers), least_gap(low, high, 2 * node + 1, numbers)
            if runs > 0:
                left = add_least_prices(tree.present, 2 * node, query, left)
                right = add_least_prices(tree.present, 2 * node + 1, query, right)
            node = 2 * node if left <= right else 2 * node + 1
            stack[top], bounds[top] = node ^ 1, max(left, right)
            top += 1
        leaf = node - leaves
        size = tree.alive[leaf]
        add_numbers(tree.blocks, leaf, numbers, size, distances)
        if runs > 0:
            add_prices(tree.codes, leaf, query.prices, size, distances)
        for i in range(size):
            if found < wanted or distances[i] <= near[0]:
                found = offer(near, records, found, distances[i], tree.ids[leaf, i])
    return found


@kernel
def farthest(tree: KDTree, point: Floats) -> int:
    """Return the record farthest from ``point``, the lowest one on ties."""
    query = ask(tree.book, point)
    numbers, low, high, runs = query.numbers, tree.low, tree.high, tree.codes.shape[1]
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
            left, right = most_gap(low, high, 2 * node, numbers), most_gap(low, high, 2 * node + 1, numbers)
            if runs > 0:
                left = add_most_prices(tree.present, 2 * node, query, left)
                right = add_most_prices(tree.present, 2 * node + 1, query, right)
            node = 2 * node if left >= right else 2 * node + 1
            stack[top], bounds[top] = node ^ 1, min(left, right)
            top += 1
        leaf = node - leaves
        size = tree.alive[leaf]
        add_numbers(tree.blocks, leaf, numbers, size, distances)
        if runs > 0:
            add_prices(tree.codes, leaf, query.prices, size, distances)
        for i in range(size):
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
