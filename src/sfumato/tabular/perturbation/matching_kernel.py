"""The loops of local suppression: on which columns rows agree, and the cheapest cells whose suppression is enough."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Integers = npt.NDArray[np.int64]
Cells = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]
Masks = npt.NDArray[np.int32]
STAR = -1


@kernel
def agreements(cells: Cells, asked: Cells, masks: Masks, count: int) -> None:
    """Set for each of the first cases the columns, one bit each, on which it agrees with the cells asked for."""
    masks[:count] = 0
    for column in range(cells.shape[0]):
        value, bit, line = asked[column], np.int32(1 << column), cells[column]
        if value == STAR:
            for case in range(count):
                masks[case] |= bit
        else:
            for case in range(count):
                masks[case] |= bit * np.int32((line[case] == value) | (line[case] == STAR))


@kernel
def whole_matches(cells: Cells, times: Integers, asked: Cells, masks: Masks, count: int) -> int:
    """How many rows of the first cases agree with the cells asked for on all columns."""
    every, total = (1 << cells.shape[0]) - 1, 0
    agreements(cells, asked, masks, count)
    for case in range(count):
        total += times[case] * (masks[case] == every)
    return total


@kernel
def count_matches(cells: Cells, times: Integers, asked: Cells, found: Integers, done: Integers) -> None:
    """Set for each asked case how many rows agree with it on all columns."""
    masks = np.empty(cells.shape[1], dtype=np.int32)
    for case in range(asked.shape[1]):
        found[case] = whole_matches(cells, times, asked[:, case].copy(), masks, masks.size)
        done[0] = case


@kernel
def cheapest_set(counts: Integers, prices: Reals, k: int) -> int:
    """The columns to star, by their bits: of least price, then with most rows that agree, then the first.

    `counts` has for each set of columns how many rows agree on exactly these; it becomes "on at least these".
    """
    sets, bit = prices.size, 1
    while bit < sets:
        for part in range(sets):
            if part & bit == 0:
                counts[part] += counts[part | bit]
        bit <<= 1
    best = -1
    for starred in range(sets):
        enough = counts[sets - 1 - starred]
        if enough < k:
            continue
        cheaper = best < 0 or prices[starred] < prices[best]
        if cheaper or (prices[starred] == prices[best] and enough > counts[sets - 1 - best]):
            best = starred
    return best


@kernel
def suppress_cases(cells: Cells, times: Integers, order: Integers, k: int, prices: Reals, done: Integers) -> None:
    """Star, case after case, the cells of least price in all that let at least `k` rows agree with the case.

    `prices` has the price of every set of columns, by its bits. Rows with stars are kept beside the others, since
    only they can agree with a case that differs from all others.
    """
    width = cells.shape[0]
    masks = np.empty(cells.shape[1], dtype=np.int32)
    counts = np.empty(prices.size, dtype=np.int64)
    starred, starred_times = np.empty((width, order.size), dtype=np.int32), np.empty(order.size, dtype=np.int64)
    known = 0
    for number in range(order.size):
        case = order[number]
        done[0] = number
        asked = cells[:, case].copy()
        if times[case] + whole_matches(starred, starred_times, asked, masks, known) >= k:
            continue
        agreements(cells, asked, masks, masks.size)
        counts[:] = 0
        for other in range(masks.size):
            counts[masks[other]] += times[other]
        best = cheapest_set(counts, prices, k)
        for column in range(width):
            if best >> column & 1:
                cells[column, case] = STAR
            starred[column, known] = cells[column, case]
        starred_times[known] = times[case]
        known += 1
