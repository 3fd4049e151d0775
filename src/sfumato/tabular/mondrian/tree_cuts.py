"""The cuts of a column along its hierarchy, in plain Python: what the kernel's `best_cut` chooses from, in its order.

A cut is worth the loss (Xu et al. 2006) that it saves, over the geometric mean of the rows on its sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.tabular.mondrian.nodes import Nodes

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
NO_CUT = -1.0


@dataclass(frozen=True)
class Cut:
    """The codes from `first` to `last` against the others, and what this cut is worth."""

    worth: float
    first: int
    last: int

    def left(self, codes: Int64s) -> Bools:
        """Return which members have one of the codes."""
        return np.asarray((codes >= self.first) & (codes <= self.last))


def tree_cuts(nodes: Nodes, codes: Int64s, weights: Int64s, least: int) -> list[Cut]:
    """Return every cut that leaves `least` rows on both sides, the one that is worth most first.

    The codes up to one of them are cut off, or those of one node.

    >>> nodes = Nodes(np.array([[3, 1], [3, 1], [3, 3], [3, 3]]), np.array([[1.0, 0.5]] * 4))
    >>> cuts = tree_cuts(nodes, np.arange(4), np.array([5, 5, 5, 5]), 5)
    >>> [(cut.first, cut.last, round(cut.worth, 2)) for cut in cuts]
    [(0, 1, 1.0), (0, 0, 0.58), (0, 2, 0.58), (1, 1, 0.58), (2, 2, 0.58)]
    """
    values, places = np.unique(codes, return_inverse=True)
    masses = np.bincount(places, weights=weights).astype(np.int64)
    total, before = int(masses.sum()), _loss(nodes, values)
    cuts = []
    for first, last in sorted(set(_pieces(nodes, values))):
        inside = slice(first, last + 1)
        left = int(masses[inside].sum())
        if min(left, total - left) >= least:
            lost = left * _loss(nodes, values[inside]), (total - left) * _loss(nodes, np.delete(values, inside))
            saved = max(0.0, total * before - lost[0] - lost[1])
            cuts.append(Cut(saved / math.sqrt(float(left) * (total - left)), int(values[first]), int(values[last])))
    return sorted(cuts, key=lambda cut: -cut.worth)


def _pieces(nodes: Nodes, values: Int64s) -> Iterator[tuple[int, int]]:
    """Yield the places, from the first to the last, of values that a cut may part from the others."""
    yield from ((0, last) for last in range(len(values) - 1))
    for level in range(nodes.lasts.shape[1]):
        ends = nodes.lasts[values, level]
        firsts = np.flatnonzero(np.diff(ends, prepend=-1))
        runs = zip(firsts.tolist(), [*(firsts[1:] - 1).tolist(), len(values) - 1], strict=True)
        yield from ((first, last) for first, last in runs if first > 0 and last < len(values) - 1)
    yield from ((place, place) for place in range(1, len(values) - 1))


def _loss(nodes: Nodes, values: Int64s) -> float:
    """Return what a cell loses that shows the smallest node over some values."""
    if len(values) == 1:
        return 0.0
    held = nodes.lasts[values[0]] >= values[-1]
    return float(nodes.losses[values[0], np.flatnonzero(held)[-1]])
