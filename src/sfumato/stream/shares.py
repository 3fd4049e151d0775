"""Shares of categories or cells in each window, from noisy counts: filtered by what was released before, then rounded.

The filter is Wiener's (1949): a count is trusted as far as its own spread exceeds the known variance of the noise;
counts are projected to the simplex only behind the filter, so that small shares are not biased upwards.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.stream.base import Integers, Numbers

MEMORY = 300  # windows after which the past fades
FADE = 0.05  # how fast what is known about the windows' differences fades


class Shares:
    """What released counts say about the shares of `count` categories under noise of a scale.

    >>> shares = Shares(3, 2.0)
    >>> shares.learn(np.array([71, -2, 31]), 100).tolist()
    [70, 0, 30]
    """

    def __init__(self, count: int, scale: float) -> None:
        fade = math.exp(-1 / scale)
        self._noise = 2 * fade / (1 - fade) ** 2
        self._long = np.full(count, 1 / count)
        self._facts = np.zeros(3)  # windows seen, and the two sums whose ratio is how windows differ

    def arrays(self) -> dict[str, Numbers]:
        """What was learnt, as it stands in a state."""
        return {"long": self._long, "facts": self._facts}

    def learn(self, noisy: Integers, size: int) -> Integers:
        """Take the noisy counts of a window; return counts that add up to `size`."""
        seen = self._facts[0]
        expected = simplex(self._long) * size
        trusted = np.ones(len(noisy)) if seen == 0 else self._trust(noisy, expected)
        read = simplex((expected + trusted * (noisy - expected)) / max(size, 1)) * size
        self._long += max(1 / (seen + 1), 1 / MEMORY) * (noisy / max(size, 1) - self._long)
        self._facts[0] += 1
        return apportioned(read, size)

    def _trust(self, noisy: Integers, expected: Numbers) -> Numbers:
        """Return the weight of each count: its variance from window to window over that plus the noise's."""
        excess = float(((noisy - expected) ** 2 - self._noise - expected).sum())
        self._facts[1:] += FADE * (np.array([excess, float((expected**2).sum())]) - self._facts[1:])
        spread = max(self._facts[1] / max(self._facts[2], 1e-9), 0.0)
        variance = expected + spread * expected**2 + (spread > 0) * 1e-9
        weights: Numbers = variance / (variance + self._noise)
        return weights


def simplex(values: Numbers) -> Numbers:
    """Return the nearest probabilities to some numbers (Held, Wolfe & Crowder 1974).

    >>> simplex(np.array([0.9, 0.3, -0.2])).round(6).tolist()
    [0.8, 0.2, 0.0]
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    kept = int(np.flatnonzero(falling > excess)[-1])
    nearest: Numbers = np.maximum(values - excess[kept], 0)
    return nearest


def apportioned(shares: Numbers, total: int) -> Integers:
    """Return whole numbers nearest to some that add up to `total`: the largest remainders go up (Hamilton 1792).

    >>> apportioned(np.array([1.4, 1.4, 0.2]), 3).tolist()
    [2, 1, 0]
    """
    whole = np.floor(shares + 1e-9).astype(np.int64)
    missing = int(total - whole.sum())
    whole[np.argsort(whole - shares, kind="stable")[:missing]] += 1
    return whole
