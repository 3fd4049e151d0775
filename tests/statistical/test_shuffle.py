"""The shuffle is uniform: a powered test accepts the true law and rejects one that is 30 % off in one cell."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.random import SecureSource, permutation

TRIALS = 60_000
SIDES = 8
CRITICAL = 90.0  # chi-square with 49 degrees of freedom exceeds this with probability about 3e-4


def statistic(counts: np.ndarray[tuple[int, ...], np.dtype[np.float64]], expected: float) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


def place_counts() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    counts = np.zeros((SIDES, SIDES))
    source = SecureSource()
    for _ in range(TRIALS):
        counts[np.arange(SIDES), permutation(SIDES, source)] += 1
    return counts


@pytest.mark.long
def test_every_number_is_equally_likely_in_every_place() -> None:
    counts = place_counts()
    expected = TRIALS / SIDES
    assert statistic(counts, expected) < CRITICAL
    skewed = counts.copy()
    skewed[0, 0] *= 1.3
    assert statistic(skewed, expected) > CRITICAL
