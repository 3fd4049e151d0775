"""The naive release: noise of the scale it says, bounds that hold, and a promise only where there are bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError, ParameterError
from sfumato.random import SeededSource
from sfumato.stream.publishers.laplace import NaiveLaplace

DRAWS = 200_000


def p_is_tiny(values: np.ndarray[tuple[int], np.dtype[np.float64]], scale: float) -> bool:
    """Whether the mean of |values|/scale is ten standard deviations from that of Laplace noise (mean 1, variance 1)."""
    return bool(abs(np.abs(values).sum() / scale - len(values)) > 10 * np.sqrt(len(values)))


def test_the_noise_has_the_scale_it_says() -> None:
    publisher = NaiveLaplace(bounds=(0, 300), epsilon=1.5, rng=SeededSource(1))
    noise = publisher.push_many(np.full(DRAWS, 100.0)).values - 100.0
    assert not p_is_tiny(noise, 200.0)
    assert p_is_tiny(noise, 260.0)
    assert p_is_tiny(noise, 140.0)


@given(
    low=st.integers(-1000, 1000),
    width=st.floats(0.001, 1e6),
    epsilon=st.floats(0.001, 50),
    values=st.lists(st.floats()),
)
def test_the_scale_covers_the_bounds_on_the_grid(low: int, width: float, epsilon: float, values: list[float]) -> None:
    publisher = NaiveLaplace(bounds=(low, low + width), epsilon=epsilon)
    fitted = publisher._clamp_all(np.array([low, low + width, *values], dtype=float))
    steps = np.rint(fitted / publisher._step)
    assert Fraction(publisher._scale) * Fraction(epsilon) >= int(steps.max() - steps.min())


def test_values_are_clamped_and_nothing_stops_a_private_release() -> None:
    publisher = NaiveLaplace(bounds=(0, 10), epsilon=1e6, rng=SeededSource(1))
    bad = np.array([-5.0, 25.0, np.nan, np.inf, -np.inf])
    assert np.round(publisher.push_many(bad).values, 2).tolist() == [0, 10, 5, 10, 0]
    assert [round(float(publisher.push(value).values[0]), 2) for value in bad] == [0, 10, 5, 10, 0]


def test_only_bounds_make_a_promise() -> None:
    bounded = NaiveLaplace(bounds=(0, 10), epsilon=0.5).card("hours")
    assert (bounded.guarantee.model, bounded.guarantee.parameters) == ("differential privacy", {"epsilon": 0.5})
    trusted = NaiveLaplace(sensitivity=10).card("hours")
    assert (trusted.guarantee.model, trusted.guarantee.parameters) == ("none", {})
    assert any(warning.startswith("no differential privacy guarantee") for warning in trusted.warnings)


def test_without_bounds_a_record_must_be_a_number() -> None:
    publisher = NaiveLaplace(sensitivity=10)
    publisher.push(1.0)
    with pytest.raises(InputError, match=r"record 1: nan is not a finite number"):
        publisher.push(float("nan"))
    with pytest.raises(InputError, match=r"record 2: inf is not a finite number"):
        publisher.push_many(np.array([1.0, np.inf]))
    with pytest.raises(ParameterError, match="needs bounds, or a sensitivity"):
        NaiveLaplace()
    with pytest.raises(ParameterError, match="too far from 0"):
        NaiveLaplace(bounds=(1e15, 1e15 + 1))
