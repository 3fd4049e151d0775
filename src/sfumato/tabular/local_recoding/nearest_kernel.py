"""The cells that share a class with a cell at the least penalty, found in a tree of boxes.

A kd-tree (Bentley 1975; search by bounds: Friedman, Bentley & Finkel 1977) over codes in their order: a cover of two
codes is never cheaper than a cover of codes between them, so a box's nearest end bounds all that it holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.local_recoding.cover_kernel import apart
from sfumato.tabular.local_recoding.penalties import PAIRS, SIZE

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
LEAF = 48  # so many cells are compared one by one


class CellTree(NamedTuple):
    """Cells in an order in which each node's lie together: by node its first cell, its end, its left child and box."""

    order: Int64s
    start: Int64s
    end: Int64s
    left: Int64s
    low: Int32s
    high: Int32s


@kernel
def build_tree(facts: Int64s, nodes: Int32s, costs: Floats, codes: Int32s, cells: Int64s) -> CellTree:
    """Return the tree of some cells; children stand side by side, a leaf has no left child (-1)."""
    most = 4 * (len(cells) // LEAF + 1)
    columns = codes.shape[1]
    tree = CellTree(
        cells.copy(),
        np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype=np.int64),
        np.full(most, -1, dtype=np.int64),
        np.zeros((most, columns), dtype=np.int32),
        np.zeros((most, columns), dtype=np.int32),
    )
    tree.end[0] = len(cells)
    made, node = 1, 0
    while node < made:
        start, end = tree.start[node], tree.end[node]
        widest = fill_box(facts, nodes, costs, codes, tree, node)
        if end - start > LEAF and tree.low[node, widest] < tree.high[node, widest]:
            middle = (start + end) // 2
            part_at(codes, tree.order, widest, start, end, middle)
            tree.left[node] = made
            tree.start[made], tree.end[made] = start, middle
            tree.start[made + 1], tree.end[made + 1] = middle, end
            made += 2
        node += 1
    return tree


@kernel
def fill_box(facts: Int64s, nodes: Int32s, costs: Floats, codes: Int32s, tree: CellTree, node: int) -> int:
    """Write the lowest and highest codes of a node's cells; return the column in which they cost most together."""
    widest, most = 0, -1.0
    for column in range(codes.shape[1]):
        low = high = codes[tree.order[tree.start[node]], column]
        for place in range(tree.start[node] + 1, tree.end[node]):
            code = codes[tree.order[place], column]
            low, high = min(low, code), max(high, code)
        tree.low[node, column], tree.high[node, column] = low, high
        if low < high:
            cost = apart(facts, nodes, costs, column, low, high)
            if cost > most:
                widest, most = column, cost
    return widest


@kernel
def part_at(codes: Int32s, order: Int64s, column: int, start: int, end: int, middle: int) -> None:
    """Move the cells of the lowest codes of a column before `middle` (quickselect, Hoare 1961)."""
    low, high = start, end - 1
    while low < high:
        pivot = codes[order[(low + high) // 2], column]
        left, right = low, high
        while left <= right:
            while codes[order[left], column] < pivot:
                left += 1
            while codes[order[right], column] > pivot:
                right -= 1
            if left <= right:
                order[left], order[right] = order[right], order[left]
                left += 1
                right -= 1
        if middle <= right:
            high = right
        elif middle >= left:
            low = left
        else:
            return


@kernel
def box_penalty(
    facts: Int64s, nodes: Int32s, costs: Floats, codes: Int32s, cell: int, low: Int32s, high: Int32s, node: int
) -> float:
    """Return what a cell and any cell of a node's box cost at least."""
    total = 0.0
    for column in range(len(facts)):
        code = np.int64(codes[cell, column])
        end = min(max(code, np.int64(low[node, column])), np.int64(high[node, column]))
        if code != end:
            pairs = facts[column, PAIRS]
            if pairs >= 0:
                total += costs[pairs + code * facts[column, SIZE] + end]
            else:
                total += apart(facts, nodes, costs, column, int(min(code, end)), int(max(code, end)))
    return total


@kernel
def scan_leaf(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    cell: int,
    order: Int64s,
    start: int,
    end: int,
    near: Int32s,
    row: int,
    reached: Floats,
) -> None:
    """Put the cells of a leaf among those nearest to a cell, if they are."""
    last = len(reached) - 1
    for index in range(start, end):
        other, total = order[index], 0.0
        for column in range(len(facts)):
            one, two = np.int64(codes[cell, column]), np.int64(codes[other, column])
            if one != two:
                pairs = facts[column, PAIRS]
                if pairs >= 0:
                    total += costs[pairs + one * facts[column, SIZE] + two]
                else:
                    total += apart(facts, nodes, costs, column, int(min(one, two)), int(max(one, two)))
                if total >= reached[last]:
                    break
        if total < reached[last] and other != cell:
            place = last
            while place > 0 and reached[place - 1] > total:
                near[row, place], reached[place] = near[row, place - 1], reached[place - 1]
                place -= 1
            near[row, place], reached[place] = other, total


@kernel
def fill_nearest(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    tree: CellTree,
    places: Int64s,
    near: Int32s,
    first: int,
    last: int,
) -> None:
    """Write to rows first…last-1 of `near` the cells nearest to the cells at these places; -1 where there are fewer."""
    order, start, end, lefts, low, high = tree
    farthest = near.shape[1] - 1
    reached = np.empty(near.shape[1], dtype=np.float64)
    stack = np.empty(256, dtype=np.int64)
    bounds = np.empty(256, dtype=np.float64)
    for row in range(first, last):
        cell = places[row]
        near[row] = -1
        reached[:] = np.inf
        stack[0], bounds[0], waiting = 0, 0.0, 1
        while waiting > 0:
            waiting -= 1
            node = stack[waiting]
            if bounds[waiting] >= reached[farthest]:
                continue
            left = lefts[node]
            if left < 0:
                scan_leaf(facts, nodes, costs, codes, cell, order, start[node], end[node], near, row, reached)
                continue
            one = box_penalty(facts, nodes, costs, codes, cell, low, high, left)
            two = box_penalty(facts, nodes, costs, codes, cell, low, high, left + 1)
            nearer = left if one < two else left + 1  # what is pushed last is looked at first
            stack[waiting], bounds[waiting] = 2 * left + 1 - nearer, max(one, two)
            stack[waiting + 1], bounds[waiting + 1] = nearer, min(one, two)
            waiting += 2
