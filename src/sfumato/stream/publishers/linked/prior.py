"""What earlier reports say about how the values are distributed: a prior for free, since reports are public by then.

Debiased answers at public thresholds give the survival function, made monotone by isotonic regression (Barlow,
Bartholomew, Bremner & Brunk 1972) and shrunk where it is within its noise (James & Stein 1961).
"""

from __future__ import annotations

import numpy as np

from sfumato.stream.base import Integers, Numbers
from sfumato.stream.publishers.linked.kernel import Bits

CAUTION = 1.5  # how many variances of its noise a share must exceed to be kept at all
UNIFORM = 1e-4  # the share of a uniform distribution that never goes, so that no cell is thought impossible


class Prior:
    """Counts and sums of debiased answers at the `bins`−1 inner thresholds of a public range.

    >>> prior = Prior(2, 0.75)
    >>> prior.learn(np.ones(1000, dtype=np.int64), np.repeat(np.array([0, 1], dtype=np.uint8), [300, 700]))
    >>> prior.cells().round(2).tolist()
    [0.09, 0.91]
    """

    def __init__(self, bins: int, truth: float) -> None:
        self.bins, self.truth = bins, truth
        self.even = 1 - np.arange(1, bins) / bins
        self.answers = np.ones(bins - 1)
        self.sums = self.even.copy()

    @property
    def noise(self) -> float:
        """The variance of one debiased answer."""
        return self.truth * (1 - self.truth) / (2 * self.truth - 1) ** 2

    def learn(self, thresholds: Integers, reports: Bits) -> None:
        """Add reports about thresholds 1…bins−1."""
        places = thresholds - 1
        self.answers += np.bincount(places, minlength=self.bins - 1)
        self.sums += np.bincount(places, weights=self.debiased(reports), minlength=self.bins - 1)

    def debiased(self, reports: Bits) -> Numbers:
        """The reports as numbers whose mean is the true share of values above the threshold."""
        signal: Numbers = (reports.astype(np.float64) - (1 - self.truth)) / (2 * self.truth - 1)
        return signal

    def survival(self) -> Numbers:
        """The probability of lying above each inner threshold."""
        from sfumato.stream.publishers.rank.kernel import isotonic

        rising = -(self.sums / self.answers)[None]
        isotonic(rising, self.answers)
        levels, pools = np.unique(rising[0], return_inverse=True)
        noise = (self.noise / np.bincount(pools, weights=self.answers))[pools]
        above = np.clip(-levels, 0, 1)[pools]
        shrunk = np.where(above < 0.5, _shrunk(above, noise), 1 - _shrunk(1 - above, noise))
        mixed: Numbers = (1 - UNIFORM) * np.minimum.accumulate(shrunk) + UNIFORM * self.even
        return mixed

    def cells(self) -> Numbers:
        """The probability of each of the `bins` equal cells of the range."""
        return -np.diff(np.concatenate([[1.0], self.survival(), [0.0]]))


def _shrunk(share: Numbers, noise: Numbers) -> Numbers:
    """Return shares pulled to 0 as far as they can be noise."""
    kept: Numbers = share * np.clip(1 - CAUTION * noise / np.maximum(share, 1e-12) ** 2, 0, 1)
    return kept
