"""The square root of the prefix-sum matrix in whole numbers, how far one record moves its image, and what undoes it.

Henzinger, Upadhyay & Upadhyay (2023) and Fichtenberger, Henzinger & Upadhyay (2023): the matrix A of prefix sums is the
square of a lower triangular Toeplitz matrix. Ours is that root rounded to whole numbers, R; L = A·R⁻¹ undoes exactly
the rounded one, so that nothing is biased and the sensitivity is an integer (`docs/algorithms/running-totals.md`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from sfumato.stream.base import Integers, Numbers

UNIT = 2**12  # what the root's first coefficient, 1, is rounded to
LARGEST = 2**12  # the most windows of one factor: a window costs as many products as windows came before it
ROOM = 2**62  # what exact numbers stay below, so that they and their noise fit into 64 bits


@dataclass(frozen=True)
class RootFactor:
    """The root for `size` windows, rounded: `weights` is the first column of R, `inverse` that of L.

    >>> factor = RootFactor(4)
    >>> factor.weights.tolist(), factor.reach, factor.inverse.shape
    ([4096, 2048, 1536, 1280], 24969216, (4,))
    """

    size: int

    @cached_property
    def weights(self) -> Integers:
        """The rounded coefficients of (1-x)^(-1/2): 1, 1/2, 3/8, …, in units."""
        places = np.arange(1, self.size)
        exact = np.cumprod(np.concatenate([[1.0], (2 * places - 1) / (2 * places)]))
        rounded: Integers = np.rint(UNIT * exact).astype(np.int64)
        return rounded

    @cached_property
    def inverse(self) -> Numbers:
        """The coefficients of 1/((1-x)·r(x)), where r has the rounded ones: their products with R are prefix sums."""
        weights, found = self.weights.astype(np.float64), np.empty(self.size)
        for place in range(self.size):
            found[place] = (1.0 - weights[1 : place + 1] @ found[:place][::-1]) / weights[0]
        return found

    @cached_property
    def reach(self) -> int:
        """The squared length of the longest column of R: of the first one."""
        return sum(weight * weight for weight in self.weights.tolist())

    @cached_property
    def limit(self) -> int:
        """What a row is clamped to, so that no product leaves 64 bits; a clamped row moves no further than the row."""
        return ROOM // int(self.weights.sum())

    def variances(self) -> Numbers:
        """Return the variance of the total behind each window, for noise of variance 1."""
        found: Numbers = np.cumsum(self.inverse**2)
        return found


@dataclass(frozen=True)
class RootPlan:
    """How `horizon` windows are cut into blocks: totals of whole blocks by one factor, inside a block by another.

    Up to 4096 windows are one factor's. A record is in one block and, unless in its last window, in one place inside,
    so that the squares of both reaches add up.

    >>> RootPlan(1000).block, RootPlan(1000).top.size, RootPlan(10**6).block, RootPlan(10**6).top.size
    (1, 1000, 1000, 1000)
    """

    horizon: int

    @property
    def block(self) -> int:
        """The windows of a block; 1 where there are no blocks."""
        return 1 if self.horizon <= LARGEST else math.isqrt(self.horizon - 1) + 1

    @cached_property
    def top(self) -> RootFactor:
        """The factor of whole blocks."""
        return RootFactor(-(-self.horizon // self.block))

    @cached_property
    def inside(self) -> RootFactor | None:
        """The factor inside a block, whose last window is the top's; None where there are no blocks."""
        return None if self.block == 1 else RootFactor(self.block - 1)

    @property
    def reach(self) -> int:
        """By how much, squared and in units, a record that moves its window by 1 moves all that noise is added to."""
        return self.top.reach + (0 if self.inside is None else self.inside.reach)

    def variances(self) -> Numbers:
        """Return the variance of the total behind each window, for noise of variance 1.

        >>> RootPlan(8).variances().round(9).tolist() == (RootFactor(8).variances()).round(9).tolist()
        True
        """
        above = self.top.variances()
        if self.inside is None:
            return above[: self.horizon]
        inside = np.concatenate([self.inside.variances(), [0.0]])
        found: Numbers = np.concatenate([[0.0], above[:-1]])[:, None] + inside
        found[:, -1] = above
        return found.ravel()[: self.horizon]


@lru_cache(maxsize=64)
def root_plan(horizon: int) -> RootPlan:
    """Return the plan of a horizon, made once.

    >>> root_plan(9) is root_plan(9)
    True
    """
    return RootPlan(horizon)
