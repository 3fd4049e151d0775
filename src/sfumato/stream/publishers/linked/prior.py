"""What earlier reports say about how the values are distributed, and which threshold each slot is asked about next.

The prior is free, since reports are public by then: debiased answers at public thresholds give the survival function,
made monotone by isotonic regression (Barlow, Bartholomew, Bremner & Brunk 1972) and shrunk where it is within its noise
(James & Stein 1961). Slots are asked mostly about the best cut, and about others as far as knowing more pays off: the
answers at a threshold grow with the root of what they teach over what they cost (Neyman 1934).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.stream.base import Integers, Numbers
from sfumato.stream.publishers.linked.staircase import explained_variance

Bits = npt.NDArray[np.uint8]
CAUTION = 1.5  # how many variances of its noise a share must exceed to be kept at all
UNIFORM = 1e-4  # the share of a uniform distribution that never goes, so that no cell is thought impossible
GOLDEN = (math.sqrt(5) - 1) / 2
HORIZON = 5  # what is learnt now should serve a stream so many times as long as the one so far
WORTH = 2  # an error of the mean counts twice: rows follow the means of the two sides, which vary more


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
        self.sums += np.bincount(places, weights=self.debias(reports), minlength=self.bins - 1)

    def debias(self, reports: Bits) -> Numbers:
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
        shrunk = np.where(above < 0.5, _shrink(above, noise), 1 - _shrink(1 - above, noise))
        mixed: Numbers = (1 - UNIFORM) * np.minimum.accumulate(shrunk) + UNIFORM * self.even
        return mixed

    def cells(self) -> Numbers:
        """The probability of each of the `bins` equal cells of the range."""
        return -np.diff(np.concatenate([[1.0], self.survival(), [0.0]]))


def _shrink(share: Numbers, noise: Numbers) -> Numbers:
    """Return shares pulled to 0 as far as they can be noise."""
    kept: Numbers = share * np.clip(1 - CAUTION * noise / np.maximum(share, 1e-12) ** 2, 0, 1)
    return kept


def threshold_shares(prior: Prior, middles: Numbers, seen: int) -> Numbers:
    """Return which share of the slots each inner threshold gets after `seen` records; all the same at the start.

    An answer explains less than one at the best cut by `loss`; n answers at a threshold leave noise·width²/n of the
    mean's variance. Over a horizon of H records the least sum of both has √(H·lesson/(loss+λ)) answers at a threshold,
    of which those given already count.

    >>> threshold_shares(Prior(3, 0.75), np.array([1.0, 3.0, 5.0]), 0).tolist()
    [0.5, 0.5]
    """
    from sfumato.stream.publishers.linked.kernel import allocate

    cells = prior.cells()
    if seen == 0:
        return np.full(len(cells) - 1, 1 / (len(cells) - 1))
    told = explained_variance(cells, middles, prior.truth)
    variance = float(cells @ (middles - cells @ middles) ** 2)
    lesson = WORTH * prior.noise * float(middles[1] - middles[0]) ** 2 / variance
    missing = allocate((told.max() - told) / variance, prior.answers, lesson * HORIZON * seen, HORIZON * seen)
    missing /= missing.sum()
    return missing


def slot_thresholds(slots: Integers, parts: Numbers) -> Integers:
    """Return the threshold 1…bins−1 of each numbered slot, spread evenly over time (Weyl's sequence).

    >>> slot_thresholds(np.arange(4), np.array([0.5, 0.5])).tolist()
    [2, 1, 2, 1]
    """
    turns = (slots * GOLDEN + 0.5) % 1
    found: Integers = np.minimum(np.searchsorted(np.cumsum(parts), turns, side="right"), len(parts) - 1) + 1
    return found
