"""Discrete Laplace noise has the law it claims: the true scale is accepted, one 30 % off is not; OpenDP agrees."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from sfumato.random import SecureSource, SeededSource, Source, bernoulli_exp, discrete_laplace

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
DRAWS = 300_000
PARTS = 40
LIMIT = 5.5  # a normal variable exceeds this once in fifty million tries
SCALES = [Fraction(1, 3), Fraction(2), Fraction(20, 3), Fraction(99618), Fraction(2**40 - 1, 7), Fraction(2**40)]


def distribution(places: Numbers, scale: float) -> Numbers:
    """Return the exact probability of a draw at or below each whole number."""
    fade = math.exp(-1 / scale)
    tail = np.exp(-(np.abs(places) + (places >= 0)) / scale) / (1 + fade)
    return np.where(places >= 0, 1 - tail, np.exp(np.minimum(places, 0) / scale) / (1 + fade))


def cuts(scale: float) -> Numbers:
    """Return whole numbers that part the law into about equal parts."""
    shares = np.arange(1, PARTS) / PARTS
    centred = -np.sign(shares - 0.5) * np.log1p(-2 * np.abs(shares - 0.5))
    return np.unique(np.rint(scale * centred))


def normal_score(statistic: float, freedom: int) -> float:
    """Return a chi-square value as the normal score with the same tail (Wilson & Hilferty 1931)."""
    cube = float(np.cbrt(statistic / freedom))
    return (cube - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))


def misfit(draws: Integers, scale: float, places: Numbers) -> float:
    """Return how badly draws fit the law of a scale."""
    steps = np.concatenate([[0.0], distribution(places, scale), [1.0]])
    expected = np.diff(steps) * len(draws)
    found = np.bincount(np.searchsorted(places, draws, side="left"), minlength=len(expected))
    used = expected > 5
    statistic = float(((found - expected)[used] ** 2 / expected[used]).sum())
    return normal_score(statistic, max(int(used.sum()) - 1, 1))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("source", [SeededSource(3), SecureSource()], ids=["seeded", "secure"])
def test_the_true_scale_is_accepted_and_others_are_not(scale: Fraction, source: Source) -> None:
    draws = discrete_laplace(DRAWS, scale, source)
    places = cuts(float(scale)) if scale > 1 else np.arange(-3.0, 3.0)
    assert misfit(draws, float(scale), places) < LIMIT
    for wrong in (0.7, 1.3):
        assert misfit(draws, wrong * float(scale), places) > LIMIT


def test_each_small_number_has_its_exact_probability() -> None:
    scale = 2.0
    draws = discrete_laplace(1_000_000, Fraction(2), SeededSource(11))
    fade = math.exp(-1 / scale)
    for number in range(-6, 7):
        share = (1 - fade) / (1 + fade) * fade ** abs(number)
        error = (np.mean(draws == number) - share) / math.sqrt(share * (1 - share) / len(draws))
        assert abs(error) < LIMIT


def test_draws_do_not_depend_on_each_other() -> None:
    draws = discrete_laplace(DRAWS, Fraction(50), SeededSource(12)).astype(np.float64)
    for lag in (1, 2, 3, 7):
        assert abs(float(np.corrcoef(draws[:-lag], draws[lag:])[0, 1])) < LIMIT / math.sqrt(DRAWS)


def opendp_draws(count: int, scale: float) -> Integers:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return np.array(dp.m.make_laplace(*space, scale)([0] * count))


def difference(first: Integers, second: Integers, places: Numbers) -> float:
    """Return how badly two samples agree."""
    counts = np.array(
        [np.bincount(np.searchsorted(places, draws), minlength=len(places) + 1) for draws in (first, second)]
    )
    together = counts.sum(axis=0)
    expected = np.outer(counts.sum(axis=1), together) / together.sum()
    used = expected.min(axis=0) > 5
    statistic = float(((counts - expected)[:, used] ** 2 / expected[:, used]).sum())
    return normal_score(statistic, int(used.sum()) - 1)


@pytest.mark.parametrize("scale", [2.0, 20.0, 1000.0])
def test_opendp_draws_the_same_law(scale: float) -> None:
    reference = opendp_draws(20_000, scale)
    places = cuts(scale)
    same = discrete_laplace(DRAWS, Fraction(scale), SeededSource(13))
    assert difference(reference, same, places) < LIMIT
    for wrong in (Fraction(7, 10), Fraction(13, 10)):
        other = discrete_laplace(DRAWS, Fraction(scale) * wrong, SeededSource(13))
        assert difference(reference, other, places) > LIMIT


@pytest.mark.parametrize("ratio", [Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(2**39, 2**40 - 1)])
def test_exponential_trials_have_their_probability(ratio: Fraction) -> None:
    share = float(np.mean(bernoulli_exp(DRAWS, ratio, SeededSource(14))))

    def score(true: float) -> float:
        chance = math.exp(-true)
        return abs(share - chance) / math.sqrt(chance * (1 - chance) / DRAWS)

    assert score(float(ratio)) < LIMIT
    assert min(score(0.7 * float(ratio)), score(1.3 * float(ratio))) > LIMIT
