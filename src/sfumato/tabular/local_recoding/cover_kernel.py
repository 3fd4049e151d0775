"""The smallest cover of a set of rows, column by column, and what it costs to take one row more: O(columns).

Xu et al. 2006 (certainty penalty). All lies in three plain arrays, since every array handed around costs time: facts of
each column, the nodes of trees, and costs. A cover is a row of integers: two for each column, then the bits of sets.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.local_recoding.penalties import BITS, KIND, LINE, MISSING, PAIRS, SIZE, START, TREE, WEIGHT

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@kernel
def begin(facts: Int64s, codes: Int32s, cell: int, covers: Int64s, slot: int) -> None:
    """Make a cover that has one cell alone."""
    columns = len(facts)
    for place in range(2 * columns, covers.shape[1]):
        covers[slot, place] = 0
    for column in range(columns):
        code = np.int64(codes[cell, column])
        kind = facts[column, KIND]
        covers[slot, 2 * column] = code
        covers[slot, 2 * column + 1] = 0 if kind == TREE else (code if kind == LINE else 1)
        if kind != TREE and kind != LINE:  # noqa: PLR1714 - compiled faster
            covers[slot, facts[column, BITS] + (code >> 6)] |= np.int64(1) << (code & 63)


@kernel
def widen(facts: Int64s, nodes: Int32s, codes: Int32s, cell: int, covers: Int64s, slot: int) -> None:
    """Make a cover as wide as it must be to have one more cell."""
    for column in range(len(facts)):
        code = np.int64(codes[cell, column])
        kind = facts[column, KIND]
        if kind == TREE:
            level, size = covers[slot, 2 * column + 1], facts[column, SIZE]
            base, first = facts[column, START] + level * size, covers[slot, 2 * column]
            while nodes[base + first] != nodes[base + code]:
                level += 1
                base += size
            covers[slot, 2 * column + 1] = level
        elif kind == LINE:
            covers[slot, 2 * column] = min(covers[slot, 2 * column], code)
            covers[slot, 2 * column + 1] = max(covers[slot, 2 * column + 1], code)
        else:
            word, bit = facts[column, BITS] + (code >> 6), np.int64(1) << (code & 63)
            if covers[slot, word] & bit == 0:
                covers[slot, word] |= bit
                covers[slot, 2 * column + 1] += 1


@kernel
def cheapest(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    covers: Int64s,
    slot: int,
    cells: Int64s,
    floors: Floats,
    start: int,
    end: int,
    enough: float,
) -> tuple[int, float]:
    """Return which of the cells start…end-1 a cover takes in at the least cost, and what it then costs.

    A cover never costs less for being wider, so what a cell cost once is its floor from then on, kept in `floors` (0
    where nothing is known). The first cell at a cost of `enough` or less is taken. Without cells the place is -1. One
    call looks at many cells, since a call costs more than a cell does.
    """
    best, place, columns = np.inf, -1, len(facts)
    for index in range(start, end):
        if floors[index] >= best:
            continue
        cell, total = cells[index], 0.0
        for column in range(columns):
            code, base, kind = np.int64(codes[cell, column]), facts[column, START], facts[column, KIND]
            first, second = covers[slot, 2 * column], covers[slot, 2 * column + 1]
            if kind == TREE:
                size = facts[column, SIZE]
                base += second * size
                while nodes[base + first] != nodes[base + code]:
                    base += size
                total += costs[base + first]
            elif kind == LINE:
                low, high = min(first, code), max(second, code)
                if low < high:
                    blank = low < facts[column, MISSING]
                    total += costs[facts[column, WEIGHT]] if blank else costs[base + high] - costs[base + low]
            else:
                words = facts[column, BITS]
                values = second + (covers[slot, words + (code >> 6)] >> (code & 63) & 1 == 0)
                blank = facts[column, MISSING] and values > 1 and (code == 0 or covers[slot, words] & 1)
                total += costs[facts[column, WEIGHT]] if blank else costs[base + values]
            if total >= best:
                break
        floors[index] = total
        if total < best:
            best, place = total, index
            if total <= enough:
                break
    return place, best


@kernel
def contains(facts: Int64s, nodes: Int32s, codes: Int32s, covers: Int64s, slot: int, cell: int) -> bool:
    """Return whether a cover has a cell already."""
    for column in range(len(facts)):
        code, kind = np.int64(codes[cell, column]), facts[column, KIND]
        first, second = covers[slot, 2 * column], covers[slot, 2 * column + 1]
        if kind == TREE:
            base = facts[column, START] + second * facts[column, SIZE]
            if nodes[base + first] != nodes[base + code]:
                return False
        elif kind == LINE:
            if code < first or code > second:
                return False
        elif covers[slot, facts[column, BITS] + (code >> 6)] >> (code & 63) & 1 == 0:
            return False
    return True


@kernel
def cost_with(
    facts: Int64s, nodes: Int32s, costs: Floats, codes: Int32s, covers: Int64s, slot: int, cell: int, most: float
) -> float:
    """Return what a cover costs with one cell more, or infinity where that is more than `most`."""
    total = 0.0
    for column in range(len(facts)):
        code, base, kind = np.int64(codes[cell, column]), facts[column, START], facts[column, KIND]
        first, second = covers[slot, 2 * column], covers[slot, 2 * column + 1]
        if kind == TREE:
            size = facts[column, SIZE]
            base += second * size
            while nodes[base + first] != nodes[base + code]:
                base += size
            total += costs[base + first]
        elif kind == LINE:
            low, high = min(first, code), max(second, code)
            if low < high:
                blank = low < facts[column, MISSING]
                total += costs[facts[column, WEIGHT]] if blank else costs[base + high] - costs[base + low]
        else:
            words = facts[column, BITS]
            values = second + (covers[slot, words + (code >> 6)] >> (code & 63) & 1 == 0)
            blank = facts[column, MISSING] and values > 1 and (code == 0 or covers[slot, words] & 1)
            total += costs[facts[column, WEIGHT]] if blank else costs[base + values]
        if total > most:
            return np.inf
    return total


@kernel
def apart(facts: Int64s, nodes: Int32s, costs: Floats, column: int, one: int, other: int) -> float:
    """Return what one column costs for two different codes in one class, the lower one first."""
    start, size, kind = facts[column, START], facts[column, SIZE], facts[column, KIND]
    if kind == TREE:
        while nodes[start + one] != nodes[start + other]:
            start += size
        found = costs[start + one]
    elif one < facts[column, MISSING]:
        found = costs[facts[column, WEIGHT]]
    elif kind == LINE:
        found = costs[start + other] - costs[start + one]
    else:
        found = costs[start + 2]
    return float(found)


@kernel
def fill_pairs(facts: Int64s, nodes: Int32s, costs: Floats) -> None:
    """Write the costs of all pairs of codes of the columns that have room for them."""
    for column in range(len(facts)):
        start, size = facts[column, PAIRS], facts[column, SIZE]
        if start >= 0:
            for one in range(size):
                for other in range(one + 1, size):
                    cost = apart(facts, nodes, costs, column, one, other)
                    costs[start + one * size + other] = costs[start + other * size + one] = cost
