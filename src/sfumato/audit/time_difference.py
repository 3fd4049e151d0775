"""Whether two lists of times, taken in pairs, differ by more than chance.

The signed ranks of the differences find a shift (Wilcoxon 1945), the largest gap between the two distributions finds
any other change (Smirnov 1948); the smaller p-value counts, doubled (Bonferroni), since it is the better of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Times = Sequence[float] | npt.NDArray[np.float64]
TERMS = 100  # of a series that falls off as exp(-2k²x²)


def difference_chance(left: Times, right: Times) -> float:
    """Return how likely so large a difference is where there is none.

    >>> difference_chance([1.0, 1.2, 1.1, 1.3] * 10, [1.1, 1.2, 1.3, 1.0] * 10) > 0.1
    True
    >>> difference_chance([1.0, 1.2, 1.1, 1.3] * 10, [2.1, 2.2, 2.3, 2.0] * 10) < 1e-6
    True
    """
    return min(1.0, 2 * min(signed_rank_chance(left, right), smirnov_chance(left, right)))


def signed_rank_chance(left: Times, right: Times) -> float:
    """Return the two-sided p-value of the signed ranks, by their normal approximation; equal pairs do not count.

    >>> signed_rank_chance([1.0, 2.0], [1.0, 2.0])
    1.0
    """
    gaps = np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64)
    gaps = gaps[gaps != 0]
    if not len(gaps):
        return 1.0
    _, places, counts = np.unique(np.abs(gaps), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # equal gaps share the middle of their ranks
    spread = math.sqrt(float((ranks**2).sum()))
    return math.erfc(abs(float((np.sign(gaps) * ranks).sum())) / spread / math.sqrt(2))


def smirnov_chance(left: Times, right: Times) -> float:
    """Return the p-value of the largest gap between two distributions, by its asymptotic law.

    >>> smirnov_chance([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    """
    one, other = np.sort(np.asarray(left, dtype=np.float64)), np.sort(np.asarray(right, dtype=np.float64))
    both = np.concatenate([one, other])
    shares = [np.searchsorted(side, both, side="right") / len(side) for side in (one, other)]
    gap = float(np.abs(shares[0] - shares[1]).max())
    scaled = gap * math.sqrt(len(one) * len(other) / (len(one) + len(other)))
    if scaled < 0.2:  # where the series converges slowly, to 1
        return 1.0
    series = math.fsum((-1.0) ** (k - 1) * math.exp(-2 * k * k * scaled * scaled) for k in range(1, TERMS))
    return min(1.0, max(0.0, 2 * series))
