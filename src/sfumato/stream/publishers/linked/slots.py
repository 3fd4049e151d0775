"""Which threshold each slot is asked about: mostly the best cut, and others as far as knowing more pays off.

The trade between asking well now and learning is that of optimal allocation (Neyman 1934): the answers at a threshold
grow with the root of what they teach over what they cost. Everything here is computed from earlier reports.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.core.kernel import kernel
from sfumato.stream.base import Integers, Numbers
from sfumato.stream.publishers.linked.prior import Prior
from sfumato.stream.publishers.linked.staircase import explained

GOLDEN = (math.sqrt(5) - 1) / 2
HORIZON = 5  # what is learnt now should serve a stream so many times as long as the one so far
WORTH = 2  # an error of the mean counts twice: rows follow the means of the two sides, which vary more
ROUNDS = 40


def shares(prior: Prior, middles: Numbers, seen: int) -> Numbers:
    """Return which share of the slots each inner threshold gets after `seen` records; all the same at the start.

    An answer explains less than one at the best cut by `loss`; n answers at a threshold leave noise·width²/n of the
    mean's variance. Over a horizon of H records the least sum of both has √(H·lesson/(loss+λ)) answers at a threshold,
    of which those given already count.

    >>> shares(Prior(3, 0.75), np.array([1.0, 3.0, 5.0]), 0).tolist()
    [0.5, 0.5]
    """
    cells = prior.cells()
    if seen == 0:
        return np.full(len(cells) - 1, 1 / (len(cells) - 1))
    told = explained(cells, middles, prior.truth)
    variance = float(cells @ (middles - cells @ middles) ** 2)
    lesson = WORTH * prior.noise * float(middles[1] - middles[0]) ** 2 / variance
    missing = allocate((told.max() - told) / variance, prior.answers, lesson * HORIZON * seen, HORIZON * seen)
    missing /= missing.sum()
    return missing


@kernel
def allocate(loss: Numbers, answers: Numbers, lesson: float, total: float) -> Numbers:
    """Return the answers still wanted at each threshold, about `total` in all, by bisection on the multiplier λ."""
    low, high = 1e-12, 1e3
    for _ in range(ROUNDS):
        middle = math.sqrt(low * high)
        if np.maximum(np.sqrt(lesson / (loss + middle)) - answers, 0).sum() > total:
            low = middle
        else:
            high = middle
    return np.maximum(np.sqrt(lesson / (loss + high)) - answers, 0) + 1e-9 * total


def thresholds(slots: Integers, parts: Numbers) -> Integers:
    """Return the threshold 1…bins−1 of each numbered slot, spread evenly over time (Weyl's sequence).

    >>> thresholds(np.arange(4), np.array([0.5, 0.5])).tolist()
    [2, 1, 2, 1]
    """
    turns = (slots * GOLDEN + 0.5) % 1
    found: Integers = np.minimum(np.searchsorted(np.cumsum(parts), turns, side="right"), len(parts) - 1) + 1
    return found
