"""What the cuts of a column with a hierarchy save: before and after a cut, a side loses what its smallest node loses.

Top-down specialisation (Fung, Wang & Yu 2005) also weighs what a cut gains against what it uses up. Here that is how
evenly it divides the rows: half of a large class can be cut again, the small side of an uneven cut can not.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import inlined, kernel
from sfumato.tabular.mondrian.memory import AFTER, BETWEEN, CODES, CUT, FIRST, LAST, MASSES, NODES
from sfumato.tabular.mondrian.nodes import Nodes

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NO_CUT = -1.0


@kernel
def shared_levels(lasts: Int32s, first: int, last: int) -> int:
    """Return on which level the smallest node that holds the codes from `first` to `last` lies."""
    level = 0
    while level + 1 < lasts.shape[1] and lasts[first, level + 1] >= last:
        level += 1
    return level


@kernel
def worth_of(left: int, right: int, before: float, left_loss: float, right_loss: float) -> float:
    """Return the loss that a cut into `left` and `right` rows saves, over the geometric mean of the two."""
    saved = (left + right) * before - left * left_loss - right * right_loss
    return max(0.0, saved) / math.sqrt(float(left) * right)


@inlined
def best_cut(
    nodes: Nodes,
    columns: Int64s,
    worths: Floats,
    scratch: Int64s,
    column: int,
    count: int,
    total: int,
    least: int,
) -> float:
    """Return the worth of the best allowable cut that comes behind the one noted last, and note it; or `NO_CUT`.

    Among cuts of equal worth, the one with the lower number comes first: its first code, then its last one.
    """
    offset, below, after = columns[column, NODES], worths[column], columns[column, CUT]
    compare_neighbours(nodes.lasts, scratch, offset, count)
    best, chosen = best_between(nodes, scratch, offset, count, total, least, below, after)
    best, chosen = best_around(nodes, scratch, offset, count, total, least, below, after, best, chosen)
    if best >= 0.0:
        columns[column, CUT] = chosen
        columns[column, FIRST] = scratch[CODES, chosen // count]
        columns[column, LAST] = scratch[CODES, chosen % count]
    return best


@inlined
def compare_neighbours(lasts: Int32s, scratch: Int64s, offset: int, count: int) -> None:
    """Fill scratch with the level that each code shares with the next one, and with that of all codes after it."""
    share = lasts.shape[1]
    for place in range(count - 2, -1, -1):
        low, high = offset + scratch[CODES, place], offset + scratch[CODES, place + 1]
        scratch[AFTER, place], scratch[BETWEEN, place] = share, shared_levels(lasts, low, high)
        share = min(share, scratch[BETWEEN, place])


@inlined
def best_between(
    nodes: Nodes,
    scratch: Int64s,
    offset: int,
    count: int,
    total: int,
    least: int,
    below: float,
    after: int,
) -> tuple[float, int]:
    """Return the worth and the number of the best cut between two neighbouring codes."""
    low, high = offset + scratch[CODES, 0], offset + scratch[CODES, count - 1]
    before = nodes.losses[low, shared_levels(nodes.lasts, low, high)]
    best, chosen, share = NO_CUT, 0, nodes.lasts.shape[1]
    left = int(0)  # noqa: RUF046, UP018 - a bare 0 has its own type, for which Numba compiles callees again
    for place in range(count - 1):
        left += scratch[MASSES, place]
        if place > 0:
            share = min(share, scratch[BETWEEN, place - 1])
        if left >= least and total - left >= least:
            left_loss = nodes.losses[low, share] if place > 0 else 0.0
            right_loss = nodes.losses[high, scratch[AFTER, place]] if place < count - 2 else 0.0
            worth = worth_of(left, total - left, before, left_loss, right_loss)
            if worth > best and (worth < below or (worth == below and place > after)):
                best, chosen = worth, place
    return best, chosen


@inlined
def best_around(
    nodes: Nodes,
    scratch: Int64s,
    offset: int,
    count: int,
    total: int,
    least: int,
    below: float,
    after: int,
    best: float,
    chosen: int,
) -> tuple[float, int]:
    """Return what `best_between` does, of it and the cuts that part the codes of one node from others on both sides.

    Level by level, codes under one node stand side by side; those others reach as far as before, and lose as much.
    """
    low, high = offset + scratch[CODES, 0], offset + scratch[CODES, count - 1]
    level = shared_levels(nodes.lasts, low, high)
    before, joined = nodes.losses[low, level], True
    while joined:
        level, joined = level + 1, False
        first, left, share = 0, int(0), nodes.lasts.shape[1]  # noqa: RUF046, UP018 - as above
        for place in range(count):
            left += scratch[MASSES, place]
            if place + 1 < count and scratch[BETWEEN, place] >= level:
                share, joined = min(share, scratch[BETWEEN, place]), True
                continue
            if first > 0 and place + 1 < count and left >= least and total - left >= least:
                left_loss = nodes.losses[offset + scratch[CODES, place], share] if first < place else 0.0
                worth, number = worth_of(left, total - left, before, left_loss, before), first * count + place
                better = worth > best or (worth == best and number < chosen)
                if better and (worth < below or (worth == below and number > after)):
                    best, chosen = worth, number
            first, left, share = place + 1, int(0), nodes.lasts.shape[1]  # noqa: RUF046, UP018 - as above
    return best, chosen
