"""Blocks cut askew: a k-d tree over turned axes, whose borders cross those of any tree over the columns themselves.

Random rotations of k-d trees are an old remedy for what a tree misses at its borders (Silpa-Anan & Hartley 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
Cuts: TypeAlias = "int | tuple[int, float, Cuts, Cuts]"


@dataclass(frozen=True, eq=False)
class SkewTree:
    """Axes, and the cuts along them: each cut is (axis, value, its left tree, its right tree), and a leaf its number.

    >>> points = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]])
    >>> tree = SkewTree.of(points, np.ones(4, dtype=np.int64), 2, seed=0)
    >>> np.bincount(tree.leaf(points)).tolist()
    [2, 2]
    """

    axes: Points
    cuts: Cuts

    @classmethod
    def of(cls, points: Points, weights: Int64s, leaves: int, seed: int) -> SkewTree:
        """Return a tree of at most `leaves` leaves of like weight; the seed turns the axes, nothing else."""
        drawn = np.random.default_rng(seed).normal(size=(points.shape[1], points.shape[1]))
        axes = np.linalg.qr(drawn)[0]
        return cls(axes, _cut(points @ axes, weights, leaves, 0))

    def leaf(self, points: Points) -> Int64s:
        """Return the number of the leaf of every point."""
        found = np.zeros(len(points), dtype=np.int64)
        _follow(self.cuts, points @ self.axes, np.arange(len(points)), found)
        return found


def _cut(points: Points, weights: Int64s, leaves: int, first: int) -> Cuts:
    if leaves < 2 or len(points) < 2:
        return first
    axis = int(np.argmax(points.std(axis=0)))
    order = np.argsort(points[:, axis], kind="stable")
    running = np.cumsum(weights[order])
    middle = int(np.searchsorted(running, running[-1] * (leaves // 2) / leaves))
    value = float(points[order[min(middle, len(order) - 1)], axis])
    left = points[:, axis] <= value
    if left.all():
        return first
    half = leaves // 2
    return (
        axis,
        value,
        _cut(points[left], weights[left], half, first),
        _cut(points[~left], weights[~left], leaves - half, first + half),
    )


def _follow(cuts: Cuts, points: Points, rows: Int64s, found: Int64s) -> None:
    if isinstance(cuts, int):
        found[rows] = cuts
        return
    axis, value, left, right = cuts
    goes = points[rows, axis] <= value
    _follow(left, points, rows[goes], found)
    _follow(right, points, rows[~goes], found)
