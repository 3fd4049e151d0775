"""Pitman's formula beside its likelihood written out, and beside the chances of the next person one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.evaluate.population.pitman import LEAST_ALPHA, SHOWN, PitmanFit, fit_pitman, pitman_uniques
from sfumato.evaluate.population.sampled import SampledClasses


def slow_likelihood(sample: SampledClasses, theta: float, alpha: float) -> float:
    """The log-likelihood, factor by factor."""
    total = sum(math.log(theta + i * alpha) for i in range(1, int(sample.classes)))
    total -= sum(math.log(theta + i) for i in range(1, int(sample.rows)))
    for size, number in zip(sample.sizes, sample.numbers, strict=True):
        total += number * sum(math.log(j - alpha) for j in range(1, int(size)))
    return total


def slow_uniques(theta: float, alpha: float, people: int) -> float:
    """Expected classes of one, person by person: a new key has the chance (θ + αK)/(θ + n), an old one (size - α)/…."""
    classes, uniques = 1.0, 1.0
    for n in range(1, people):
        new = (theta + alpha * classes) / (theta + n)
        uniques += new - uniques * (1 - alpha) / (theta + n)
        classes += new
    return uniques


SAMPLES = {
    "rare": np.repeat([1, 2, 3, 5, 9, 40], [400, 60, 25, 9, 4, 1]),
    "even": np.repeat([1, 2, 3, 4, 5, 6, 7], [150, 110, 70, 40, 22, 12, 7]),
    "Ewens": np.repeat([1, 2, 3, 4, 6, 11, 30], [40, 21, 13, 10, 6, 4, 1]),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_no_other_parameters_are_more_likely(name: str) -> None:
    sample = SampledClasses.of(SAMPLES[name], 50_000)
    fit = fit_pitman(sample)
    assert fit is not None
    best = slow_likelihood(sample, fit.theta, fit.alpha)
    moves = [1.0, 0.999, 1.001, 0.9, 1.1]
    for theta in (fit.theta * move for move in moves):
        for alpha in [fit.alpha * move for move in moves] if fit.alpha else [0.0]:
            if alpha < 1 and theta + alpha * (sample.classes - 1) > 0:
                assert slow_likelihood(sample, theta, alpha) <= best + 1e-7


def test_the_signs_of_alpha() -> None:
    signs = {}
    for name, sizes in SAMPLES.items():
        fit = fit_pitman(SampledClasses.of(sizes, 50_000))
        assert fit is not None
        signs[name] = np.sign(fit.alpha)
        assert not 0 < abs(fit.alpha) < LEAST_ALPHA
    assert signs == {"rare": 1, "even": -1, "Ewens": 0}


@given(st.lists(st.integers(1, 12), min_size=3, max_size=60))
def test_a_negative_alpha_is_taken_only_where_the_sample_shows_it(sizes: list[int]) -> None:
    sample = SampledClasses.of(np.array(sizes), 10_000)
    fit = fit_pitman(sample)
    if not 1 < sample.classes < sample.rows:
        assert fit is None
        return
    assert fit is not None
    if fit.alpha < 0:
        ewens = max(slow_likelihood(sample, theta, 0.0) for theta in np.geomspace(1e-3, 1e5, 300))
        assert slow_likelihood(sample, fit.theta, fit.alpha) > ewens + SHOWN - 0.01


@pytest.mark.parametrize("theta, alpha", [(5.0, 0.0), (0.5, 0.6), (20.0, 0.3), (12.0, -0.4), (1e6, -1e4)])
def test_expected_uniques_person_by_person(theta: float, alpha: float) -> None:
    for people in (1, 2, 50, 800):
        assert PitmanFit(theta, alpha).uniques(people) == pytest.approx(slow_uniques(theta, alpha, people), rel=1e-6)


def test_no_solution_for_all_unique_or_all_alike() -> None:
    assert pitman_uniques(SampledClasses.of(np.ones(30, dtype=np.int64), 900)) is None
    assert pitman_uniques(SampledClasses.of(np.array([30]), 900)) is None


@pytest.mark.parametrize("population", [4_000, 10**9])
@pytest.mark.parametrize(
    "sizes",
    [
        np.repeat([1, 2], [3999, 1]),
        np.repeat([1, 2000], [1999, 1]),
        np.repeat([2], [1000]),
        np.repeat([1, 2], [1, 1000]),
        np.arange(1, 80),
        np.array([1, 3_000]),
    ],
)
def test_odd_samples_have_finite_parameters(sizes: np.ndarray[tuple[int], np.dtype[np.int64]], population: int) -> None:
    sample = SampledClasses.of(sizes, max(population, int(sizes.sum())))
    fit = fit_pitman(sample)
    assert fit is not None
    assert math.isfinite(fit.theta)
    assert -1e-6 <= fit.uniques(sample.population) <= sample.population * (1 + 1e-6)
