"""The noise of window statistics has the law of its share of ε, and tests tell it from one that is 30 % off."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato.random import SecureSource, SeededSource, Source
from sfumato.random.discrete import exponential_choice
from sfumato.stream import ClockStatistics, StatisticWindows
from sfumato.stream.base import Numbers

UNLIKELY = 1e-6
TICKS = 12_000


def released(publisher: ClockStatistics, records: Numbers, ticks: int) -> Numbers:
    """The values of every tick, whose pane always has the same records."""
    rows = []
    for _ in range(ticks):
        publisher.push_many(records)
        rows.append(publisher.tick().values[:, 0])
    return np.array(rows)


def chance(noise: Numbers, scale: float) -> float:
    """How likely noise is so far from its mean size, if it is Laplace noise of that scale (normal by its number)."""
    ratio = np.exp(-1 / scale)
    size = 2 * ratio / (1 - ratio**2)  # of discrete Laplace noise, in steps
    deviation = np.sqrt(2 * ratio / (1 - ratio) ** 2 - size**2)
    far = (np.abs(noise).mean() - size) / (deviation / np.sqrt(len(noise)))
    return float(2 * stats.norm.sf(abs(far)))


@pytest.mark.long
@pytest.mark.parametrize("source", [SeededSource(5), SecureSource()], ids=["seeded", "secure"])
def test_each_part_has_the_noise_of_its_share(source: Source) -> None:
    """Count, sum and histogram share ε = 1 as 1 : 2 : 1; a record is at most 8 from 0, in steps of a power of two."""
    publisher = ClockStatistics({"x": (-2.0, 8.0)}, "count, sum:2, histogram", bins=2, rng=source)
    found = released(publisher, np.full(5, 1.0), TICKS)
    step = 2.0**-13  # the widest of which 2^16 fit into the ten between the bounds
    parts = {"count": (found[:, 0] - 5, 4.0), "sum": ((found[:, 1] - 5) / step, 16 / step)}
    parts["histogram"] = (np.concatenate([found[:, 2] - 5, found[:, 3]]), 4.0)
    for name, (noise, scale) in parts.items():
        assert np.allclose(noise, np.rint(noise)), name
        assert chance(noise, scale) > UNLIKELY, name
        assert chance(noise, 1.3 * scale) < UNLIKELY, name
        assert chance(noise, 0.7 * scale) < UNLIKELY, name


@pytest.mark.long
def test_a_window_has_the_noise_of_its_panes_and_shares_it_with_the_next() -> None:
    panes = 4
    publisher = ClockStatistics({"x": (0.0, 8.0)}, "count, sum", panes, rng=SeededSource(6))
    noise = released(publisher, np.full(5, 1.0), TICKS)[panes - 1 :, 0] - 5 * panes
    ratio = np.exp(-1 / 2)
    one = 2 * ratio / (1 - ratio) ** 2  # the variance of discrete Laplace noise of scale 2
    for apart in range(panes + 2):
        shared = max(0, panes - apart)
        found = float(np.mean(noise[apart:] * noise[: len(noise) - apart]))
        assert abs(found - shared * one) < 0.3 * one, apart


@pytest.mark.long
@pytest.mark.parametrize("panes", [1, 3])
def test_a_choice_has_the_law_of_its_share(panes: int) -> None:
    """Two candidates of 2 and 5 records: one is a rank and a half from the median of seven, the other one holds it."""
    epsilon = 1.5
    asked, records = "median at 1 7", np.array([1.0] * 2 + [7.0] * 5)
    publisher = StatisticWindows({"x": (0.0, 8.0)}, asked, 7, 7 * panes, epsilon * panes)
    firsts = []
    for seed in range(TICKS):  # first windows alone, since later ones have more records
        publisher.begin(SeededSource(seed))
        firsts.append(publisher.push_many(records).values[0, 0])
    chosen = int(np.sum(np.array(firsts) == 1.0))

    def likely(epsilon: float) -> float:
        weight = np.exp(-epsilon * 3 / (2 * 2))  # score -3 in halves of a rank, which one record moves by 2
        return float(stats.binomtest(chosen, TICKS, weight / (1 + weight)).pvalue)

    assert likely(epsilon) > UNLIKELY
    assert likely(1.3 * epsilon) < UNLIKELY
    assert likely(0.7 * epsilon) < UNLIKELY


@pytest.mark.long
def test_a_choice_among_many_follows_the_exponential_mechanism() -> None:
    scores, scale, source = [0, -1, -1, -4, -9, -(10**6)], Fraction(7, 3), SecureSource()
    chosen = np.bincount([exponential_choice(scores, scale, source) for _ in range(40_000)], minlength=6)

    def fits(scale: float) -> float:
        weights = np.exp(np.array(scores) / scale)
        law = 40_000 * (weights / weights.sum())[:5]
        return float(stats.chisquare(chosen[:5], law * chosen[:5].sum() / law.sum()).pvalue)

    assert chosen[5] == 0
    assert fits(7 / 3) > UNLIKELY
    assert fits(1.3 * 7 / 3) < UNLIKELY
    assert fits(0.7 * 7 / 3) < UNLIKELY


def test_a_choice_takes_scores_of_any_size_and_few_words() -> None:
    assert exponential_choice([0, -(2**70)], Fraction(5), SeededSource(1)) == 0
    far = [-50_000] * 5000 + [0]  # nearly every candidate is drawn in vain, so that words run out
    assert exponential_choice(far, Fraction(2), SeededSource(1)) == 5000
