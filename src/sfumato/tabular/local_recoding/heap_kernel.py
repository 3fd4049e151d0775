"""A heap of numbered costs, the least on top (Williams 1964): Python's own, compiled, could not be kept on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@kernel
def push(costs: Floats, items: Int64s, size: int, cost: float, item: int) -> int:
    """Put an item on the heap; return how many it then has. Of equal costs the lower item stands higher."""
    place = size
    while place > 0:
        above = (place - 1) // 2
        if not before(cost, item, costs[above], items[above]):
            break
        costs[place], items[place] = costs[above], items[above]
        place = above
    costs[place], items[place] = cost, item
    return size + 1


@kernel
def pop(costs: Floats, items: Int64s, size: int) -> int:
    """Take the top away; return how many are left. Whoever wants the top reads place 0 first."""
    size -= 1
    cost, item, place = costs[size], items[size], 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and before(costs[below + 1], items[below + 1], costs[below], items[below]):
            below += 1
        if not before(costs[below], items[below], cost, item):
            break
        costs[place], items[place] = costs[below], items[below]
        place = below
    costs[place], items[place] = cost, item
    return size


@kernel
def before(cost: float, item: int, other_cost: float, other: int) -> bool:
    """Return whether one entry stands above another."""
    return bool(cost < other_cost or (cost == other_cost and item < other))
