"""Scales of exact noise."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.stream.noise import noise_scale


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 1.0, 123.456])
def test_scales_are_never_below_what_epsilon_asks_for(epsilon: float) -> None:
    for sensitivity in (1, 2, 99618):
        scale = noise_scale(sensitivity, epsilon)
        exact = Fraction(sensitivity) / Fraction(repr(epsilon))
        assert exact <= scale <= exact * Fraction(1_000_001, 1_000_000) + Fraction(1, 2**20)
