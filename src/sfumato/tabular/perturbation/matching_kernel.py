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
def agreements(cells: Cells, asked: Cells, masks: Masks) -> None:
    """Set for every case the columns, one bit each, on which it agrees with the cells that are asked for."""
    masks[:] = 0
    for column in range(cells.shape[0]):
        value, bit, line = asked[column], np.int32(1 << column), cells[column]
        if value == STAR:
            for case in range(masks.size):
                masks[case] |= bit
        else:
            for case in range(masks.size):
                masks[case] |= bit * np.int32((line[case] == value) | (line[case] == STAR))


@kernel
def count_matches(cells: Cells, times: Integers, asked: Cells, found: Integers, done: Integers) -> None:
    """Set for each asked case how many rows agree with it on all columns."""
    masks = np.empty(cells.shape[1], dtype=np.int32)
    every = (1 << cells.shape[0]) - 1
    for case in range(asked.shape[1]):
        agreements(cells, asked[:, case].copy(), masks)
        total = 0
        for other in range(masks.size):
            total += times[other] * (masks[other] == every)
        found[case] = total
        done[0] = case


@kernel
def suppress_cases(cells: Cells, times: Integers, order: Integers, k: int, prices: Reals, done: Integers) -> None:
    """Star, case after case, the cells of least price in all that let at least `k` rows agree with the case.

    `prices` has the price of every set of columns, by its bits. Among sets of one price the one is taken with which
    most rows agree, then the first.
    """
    width, sets = cells.shape[0], prices.size
    masks = np.empty(cells.shape[1], dtype=np.int32)
    counts = np.empty(sets, dtype=np.int64)
    for number in range(order.size):
        case = order[number]
        agreements(cells, cells[:, case].copy(), masks)
        counts[:] = 0
        for other in range(masks.size):
            counts[masks[other]] += times[other]
        for column in range(width):  # from "exactly these columns" to "at least these columns"
            bit = 1 << column
            for part in range(sets):
                if part & bit == 0:
                    counts[part] += counts[part | bit]
        best = -1
        for starred in range(sets):
            enough = counts[sets - 1 - starred]
            if enough < k:
                continue
            if (
                best < 0
                or prices[starred] < prices[best]
                or (prices[starred] == prices[best] and enough > counts[sets - 1 - best])
            ):
                best = starred
        for column in range(width):
            if best >> column & 1:
                cells[column, case] = STAR
        done[0] = number
