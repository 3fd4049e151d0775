"""How far the noise of several panes together reaches: the quantile of a sum of independent discrete Laplace draws.

The law is convolved numerically. Where the scale is large, draws are rounded away from zero to a coarser grid, which
can only widen the interval: symmetric unimodal laws keep the order of their peakedness in sums (Birnbaum 1948).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

FINE = 1024  # steps to a scale, over the root of the number of draws
TAIL = 40  # scales beyond which a draw weighs less than any float


@lru_cache(maxsize=4096)
def noise_reach(scale: Fraction, draws: int, outside: float) -> int:
    """Return the smallest h, or a little more, such that so many draws add up to more than ±h with that probability.

    >>> noise_reach(Fraction(10), 1, 0.05), noise_reach(Fraction(10), 100, 0.05)
    (30, 277)
    """
    unit = max(1, math.ceil(float(scale) * math.sqrt(draws) / FINE))
    one = _rounded_law(float(scale), unit)
    spread = float(scale) / unit
    room = math.ceil((12 * math.sqrt(2 * draws) + TAIL) * spread) + len(one)
    size = 1 << (2 * room).bit_length()
    circle = np.zeros(size)
    circle[: len(one)] = one
    circle[size - len(one) + 1 :] = one[:0:-1]
    law = np.fft.irfft(np.fft.rfft(circle) ** draws, size)[:room].clip(0.0)
    beyond = 1 - law[0] - 2 * np.concatenate([[0.0], np.cumsum(law[1:])])
    return int(np.argmax(beyond <= outside)) * unit


def _rounded_law(scale: float, unit: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the probabilities of 0, 1, 2 … units of a draw that is rounded away from zero, each for one sign."""
    ratio = math.exp(-1 / scale)
    count = math.ceil(TAIL * scale / unit) + 2
    at_least = ratio ** (np.arange(count, dtype=np.float64) * unit + 1) / (1 + ratio)  # more than that many units
    law = np.empty(count)
    law[0] = (1 - ratio) / (1 + ratio)
    law[1:] = at_least[:-1] - at_least[1:]
    return law
