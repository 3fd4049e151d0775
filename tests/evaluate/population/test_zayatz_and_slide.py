"""Zayatz's estimator and the slide law beside slow twins, and where they have no solution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import hypergeom

from sfumato.evaluate.population import slide
from sfumato.evaluate.population.sampled import SampledClasses
from sfumato.evaluate.population.slide import population_classes, slide_uniques
from sfumato.evaluate.population.zayatz import chance_of_one, zayatz_uniques

SIZES = np.repeat([1, 2, 3, 4, 7, 30], [120, 60, 30, 15, 3, 1])


@pytest.mark.parametrize("population", [445, 900, 5_000, 10**8])
def test_chances_are_hypergeometric(population: int) -> None:
    sample = SampledClasses.of(SIZES, population)
    slow = [hypergeom.pmf(1, population, int(size), int(sample.rows)) for size in sample.sizes]
    assert chance_of_one(sample) == pytest.approx(slow, rel=1e-6, abs=1e-300)


def test_zayatz_by_hand() -> None:
    sample = SampledClasses.of(np.array([1, 1, 2]), 8)
    weights = 2 / 3 * 0.5, 1 / 3 * hypergeom.pmf(1, 8, 2, 4)
    assert zayatz_uniques(sample) == pytest.approx(2 * weights[0] / sum(weights) / 0.5)
    assert zayatz_uniques(SampledClasses.of(np.array([2, 2]), 8)) == 0


def test_population_classes_term_by_term() -> None:
    sample = SampledClasses.of(SIZES, 5_000)
    q, n = sample.fraction, dict(zip(sample.sizes, sample.numbers, strict=True))
    first = sum(i * q**2 * (1 - q**2) ** (i - 1) * count for i, count in n.items())
    second = sum((1 - q) ** i * ((1 + q) ** i - 1) * count for i, count in n.items())
    third = sum((1 - q) ** i * count for i, count in n.items())
    fourth = sum(i * q * (1 - q) ** (i - 1) * count for i, count in n.items())
    slow = len(SIZES) + n[1.0] * first / second * (third / fourth) ** 2
    assert population_classes(sample) == pytest.approx(slow)


def slow_counts(classes: float, a: float, b: float, share: float) -> tuple[float, float, float]:
    """Expected sample classes of one and two, and people, when sizes are one more than negative binomial numbers."""
    one = two = people = 0.0
    for size in range(1, 4000):
        more = size - 1
        log_chance = math.lgamma(a + more) - math.lgamma(a) - math.lgamma(size) + a * math.log(b)
        chance = math.exp(log_chance + more * math.log1p(-b))
        people += classes * chance * size
        one += classes * chance * size * share * (1 - share) ** (size - 1)
        two += classes * chance * size * (size - 1) / 2 * share**2 * (1 - share) ** max(0, size - 2)
    return one, two, people


@pytest.mark.parametrize("a, b", [(0.5, 0.1), (1.0, 0.3), (3.0, 0.5), (0.05, 0.02)])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
def test_expected_counts_give_their_own_parameters_back(
    a: float, b: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, people = slow_counts(10_000, a, b, share)
    rest = share * people - one - 2 * two
    sample = SampledClasses(np.array([1.0, 2.0, 3.0]), np.array([one, two, rest / 3]), people)
    monkeypatch.setattr(slide, "population_classes", lambda _: 10_000.0)
    assert slide_uniques(sample) == pytest.approx(10_000 * b**a, rel=1e-5)


def test_no_solution_is_none() -> None:
    assert slide_uniques(SampledClasses.of(np.array([1, 1, 3]), 50)) is None  # no pairs
    assert slide_uniques(SampledClasses.of(np.array([2, 2, 3]), 70)) is None  # no uniques
    assert slide_uniques(SampledClasses.of(np.repeat([1, 2], [10, 400]), 81_000)) is None  # more pairs than any a gives


def test_a_simulated_slide_population_is_estimated() -> None:
    draw = np.random.default_rng(3)
    sizes = 1 + draw.negative_binomial(0.6, 0.25, 40_000)
    parts = draw.binomial(sizes, 0.3)
    sample = SampledClasses.of(parts[parts > 0], sizes.sum())
    assert slide_uniques(sample) == pytest.approx(float((sizes == 1).sum()), rel=0.15)
