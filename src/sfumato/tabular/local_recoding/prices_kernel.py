"""Slacks of groups of cells under prices, and the direction in which prices raise a bound.

Subgradients: Held, Wolfe & Crowder, "Validation of subgradient optimization" (1974).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@kernel
def fill_dearest(starts: Int64s, members: Int32s, counts: Int64s, prices: Floats, group: int, dearest: Floats) -> float:
    """Write the prices of a group's dearest rows in falling order, as many as there is room for; return their sum."""
    filled, least, total = 0, len(dearest), 0.0
    for index in range(starts[group], starts[group + 1]):
        price = prices[members[index]]
        for _ in range(min(counts[members[index]], least)):
            if filled == least and price <= dearest[least - 1]:
                break
            place = min(filled, least - 1)
            filled = place + 1
            while place > 0 and dearest[place - 1] < price:
                dearest[place] = dearest[place - 1]
                place -= 1
            dearest[place] = price
    for price in dearest:
        total += price
    return total


@kernel
def fill_slack(
    starts: Int64s,
    penalty: Floats,
    members: Int32s,
    counts: Int64s,
    prices: Floats,
    least: int,
    slack: Floats,
    chosen: Int64s,
) -> None:
    """Write the least slack of the groups that hold each cell, and which group it is."""
    dearest = np.empty(least)
    slack[:] = np.inf
    for group in range(len(penalty)):
        found = penalty[group] - fill_dearest(starts, members, counts, prices, group, dearest) / least
        for index in range(starts[group], starts[group + 1]):
            cell = members[index]
            if found < slack[cell]:
                slack[cell], chosen[cell] = found, group


@kernel
def fill_slope(
    starts: Int64s, members: Int32s, counts: Int64s, prices: Floats, least: int, chosen: Int64s, slope: Floats
) -> None:
    """Write by how much the bound grows with the price of one row of each cell; rows of equal price share evenly."""
    rows, dearest = np.zeros(len(starts) - 1), np.empty(least)
    for cell in range(len(counts)):
        rows[chosen[cell]] += counts[cell]
    slope[:] = 1.0
    for group in range(len(rows)):
        if rows[group] == 0:
            continue
        fill_dearest(starts, members, counts, prices, group, dearest)
        lowest, equal, above = dearest[least - 1], 0, 0
        for price in dearest:
            above += price > lowest
        for index in range(starts[group], starts[group + 1]):
            equal += counts[members[index]] * (prices[members[index]] == lowest)
        share = (least - above) / equal
        for index in range(starts[group], starts[group + 1]):
            price = prices[members[index]]
            if price >= lowest:
                slope[members[index]] -= rows[group] / least * (1.0 if price > lowest else share)
