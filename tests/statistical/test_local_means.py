"""Means from local reports are unbiased and as precise as their formula: accepted at it, rejected 30 % off."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.local.means.base import MeanProtocol
from sfumato.local.means.protocols import Duchi, Hybrid, LaplaceMean, Piecewise
from sfumato.random import SeededSource

KINDS: list[type[MeanProtocol]] = [LaplaceMean, Duchi, Piecewise, Hybrid]
USERS = 200_000
FARTHEST = {"laplace": 0.0, "duchi": 0.0, "piecewise": 1.0, "hybrid": 0.0}  # where the variance is largest


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.4, 1.0, 3.0])
def test_mean_and_variance_are_those_of_the_formula(kind: type[MeanProtocol], epsilon: float) -> None:
    protocol = kind(-1, 1, epsilon)
    value = FARTHEST[protocol.name]
    found = protocol.estimate(
        protocol.aggregate(protocol.report_many(np.full(USERS, value), SeededSource(17))), consistent=False
    )
    deviation = math.sqrt(protocol.worst_variance / USERS)
    assert abs(found.mean - value) < 5 * deviation
    ratio = found.variance * USERS / protocol.worst_variance
    assert abs(ratio - 1) < 0.05
    assert not abs(ratio * 1.3 - 1) < 0.05
    assert not abs(ratio / 1.3 - 1) < 0.05


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon, users", [(2.0, 40), (6.0, 20), (6.0, 200), (12.0, 20), (12.0, 200)])
def test_intervals_cover_the_mean_of_few_alike_values(kind: type[MeanProtocol], epsilon: float, users: int) -> None:
    """Their reports are often all the same, and their spread then says that nothing is uncertain."""
    protocol, source = kind(-1, 1, epsilon), SeededSource(29)
    for value in (0.0, 0.9, 0.999, 1.0):
        tallies = (protocol.aggregate(protocol.report_many(np.full(users, value), source)) for _ in range(200))
        found = [protocol.estimate(tally, consistent=False) for tally in tallies]
        assert np.mean([one.low <= value <= one.high for one in found]) > 0.87
        assert max(one.variance for one in found) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_the_true_mean(kind: type[MeanProtocol]) -> None:
    protocol = kind(16, 94, 1.0)
    ages = np.random.default_rng(3).gamma(5, 9.5, 2000).clip(16, 94)
    covered = 0
    for seed in range(300):
        found = protocol.estimate(protocol.aggregate(protocol.report_many(ages, SeededSource(seed))), consistent=False)
        covered += found.low <= ages.mean() <= found.high
    assert 0.90 < covered / 300 < 0.99
