"""The individual risk beside sums over every possible population frequency, and beside the hypergeometric function."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.evaluate.population.individual import inverse_variance, mean_inverse


def slow_moments(f: int, p: float, alpha: float) -> tuple[float, float]:
    """E[1/F] and E[1/F²], summed over all F; F - f is negative binomial with shape f - α."""
    shape, first, second, unseen, seen = f - alpha, 0.0, 0.0, 0, 0.0
    while seen < 1 - 1e-13 and unseen < 400_000:
        log_choose = math.lgamma(shape + unseen) - math.lgamma(shape) - math.lgamma(unseen + 1)
        chance = math.exp(log_choose + shape * math.log(p) + (unseen * math.log1p(-p) if p < 1 else 0.0))
        if p == 1:
            chance = float(unseen == 0)
        first, second, seen = first + chance / (f + unseen), second + chance / (f + unseen) ** 2, seen + chance
        unseen += 1
    return first, second


def risk(f: float, p: float, alpha: float = 0.0) -> float:
    return float(mean_inverse(np.array([float(f)]), np.array([p]), alpha)[0])


def test_closed_forms_of_one_two_and_three() -> None:
    for p in (0.001, 0.02, 0.3, 0.49, 0.51, 0.8):
        q = 1 - p
        assert risk(1, p) == pytest.approx(-p / q * math.log(p), rel=1e-12)
        assert risk(2, p) == pytest.approx(p / q**2 * (p * math.log(p) + q), rel=1e-10)
        assert risk(3, p) == pytest.approx(p / (2 * q**3) * (q * (3 * q - 2) - 2 * p**2 * math.log(p)), rel=1e-9)


@given(st.integers(1, 70), st.floats(0.05, 1), st.sampled_from([0.0, 0.3, 0.9, -0.4, -3.0]))
def test_risk_and_variance_are_those_of_the_sum_over_all_frequencies(f: int, p: float, alpha: float) -> None:
    first, second = slow_moments(f, p, alpha)
    assert risk(f, p, alpha) == pytest.approx(first, rel=1e-7)
    variance = float(inverse_variance(np.array([float(f)]), np.array([p]), alpha)[0])
    assert variance == pytest.approx(second - first**2, rel=1e-4, abs=1e-13)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.99, -0.5, -40.0])
@pytest.mark.parametrize("f", [1, 2, 3, 7, 49, 50, 51, 99, 400, 5000])
def test_risk_is_the_hypergeometric_function_at_any_size(f: int, alpha: float) -> None:
    mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")
    with mpmath.workdps(40):
        for p in (1e-5, 1e-3, 0.1, 0.4999, 0.5, 0.9, 0.9999):
            exact = mpmath.mpf(p) / f * mpmath.hyp2f1(1 + mpmath.mpf(alpha), 1, f + 1, 1 - mpmath.mpf(p))
            close = 1e-9 if alpha >= 0 or f < 100 else 1e-2  # two leading terms of a moment that hardly varies
            assert risk(f, p, alpha) == pytest.approx(float(exact), rel=close)


@given(st.integers(1, 300), st.floats(1e-4, 1))
def test_risk_falls_with_the_frequency_and_lies_between_the_bounds(f: int, p: float) -> None:
    assert risk(f + 1, p) <= risk(f, p) * (1 + 1e-12)
    assert min(p / f, 1 / f) * (1 - 1e-9) <= risk(f, p) <= 1 / f * (1 + 1e-9)  # Jensen; F is at least f


def test_everybody_drawn_means_one_in_f() -> None:
    assert mean_inverse(np.array([1.0, 4.0]), np.array([1.0, 1.0])).tolist() == [1.0, 0.25]
    assert inverse_variance(np.array([1.0, 4.0, 200.0]), np.ones(3)).tolist() == [0, 0, 0]
