"""What a noisy count says about a bin: likelihoods and posterior moments of Poisson counts under known noise.

The noise's law is public (Canonne, Kamath & Steinke 2020), so a noisy count can be read as exactly as it was written;
a Poisson law convolved with a two-sided geometric one needs two passes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sfumato.stream.base import Integers, Numbers

LEAST, STEPS = 0.02, 4  # rates on a geometric grid: from LEAST, STEPS to each doubling
EVERY_COUNT = np.iinfo(np.int64).max
TINY = 1e-290  # no count is impossible at any rate, or a division would fail
LARGEST = 4096  # counts above it are read as they are: there the noise is small


class Tables(NamedTuple):
    """By rate (the last one is 0) and noisy count: the likelihood, and the posterior mean and variance of the count.

    A noisy count below 0 says as much as 0 does, and one above the largest possible count as much as that: the tails
    of Laplace noise fall by the same factor whatever the count. From `beyond` on, counts are read as they are.
    """

    likelihood: Numbers
    mean: Numbers
    variance: Numbers
    beyond: int

    @property
    def zero(self) -> int:
        """The row of the rate 0."""
        return len(self.likelihood) - 1

    def rows(self, rates: Numbers) -> Integers:
        """The rows nearest to some rates."""
        nearest = np.rint(STEPS * np.log2(np.maximum(rates, LEAST) / LEAST))
        found: Integers = np.clip(nearest, 0, self.zero - 1).astype(np.int64)
        return found


@lru_cache(maxsize=16)
def tables(scale: float, most: int) -> Tables:
    """Return the tables for noise of a scale and counts up to `most`.

    >>> made = tables(2.0, 10)
    >>> bool(2.9 < made.mean[made.rows(np.array([3.0]))[0], 3] < 3.1)
    True
    """
    beyond = LARGEST if most > LARGEST else EVERY_COUNT
    most = min(most, LARGEST)
    rates = LEAST * 2 ** (np.arange(math.ceil(STEPS * math.log2(max(2, most) / LEAST)) + 1) / STEPS)
    counts = np.arange(most + 1)
    logs = counts * np.log(rates[:, None]) - rates[:, None] - np.array([math.lgamma(c + 1) for c in counts])
    prior = np.vstack([np.exp(logs), np.where(counts == 0, 1.0, 0.0)])
    likelihood = _noisy(prior, scale) + TINY
    mean = _noisy(prior * counts, scale) / likelihood
    variance = np.maximum(_noisy(prior * counts**2, scale) / likelihood - mean**2, 0)
    return Tables(likelihood, mean, variance, beyond)


def _noisy(rows: Numbers, scale: float) -> Numbers:
    """Return each row convolved with the law of discrete Laplace noise."""
    fade = math.exp(-1 / scale)
    left, right = rows.copy(), rows.copy()
    for place in range(1, rows.shape[1]):
        left[:, place] += fade * left[:, place - 1]
        right[:, -place - 1] += fade * right[:, -place]
    convolved: Numbers = (1 - fade) / (1 + fade) * (left + right - rows)
    return convolved
