"""Tails of the discrete Laplace and the discrete Gaussian: how likely noise is to reach a number.

Canonne, Kamath & Steinke (2020) give both laws, and for the Gaussian a bound by the continuous tail one step closer:
a falling sum is below its integral, and the discrete law is normalised by no less. It errs to the safe side.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from sfumato.random.answers import root_above

WORK = Context(prec=50)
WIDE = 2**12  # above this deviation a sum over the law gives way to the bound by the continuous one
REACH = 40  # deviations beyond which a Gaussian weighs less than any float
ROUNDING = 1 + 1e-9  # far above the rounding of a sum of floats


def laplace_tail(scale: Fraction, at: int) -> Decimal:
    """Return P(X >= at) for at >= 1 and X discrete Laplace: q^at / (1 + q) with q = exp(-1/scale), to 50 digits.

    >>> round(laplace_tail(Fraction(2), 3), 6)
    Decimal('0.138889')
    """
    with localcontext(WORK):
        step = -1 / _decimal(scale)
        return (step * at).exp() / (1 + step.exp())


def laplace_reach(scale: Fraction, outside: Fraction) -> int:
    """Return the smallest integer h from 0 with P(|X| > h) <= outside: 2·P(X >= h + 1) solved for h.

    >>> laplace_reach(Fraction(10), Fraction(1, 20))
    30
    """
    with localcontext(WORK):
        ratio = _decimal(outside) * (1 + (-1 / _decimal(scale)).exp()) / 2
        return max(0, math.ceil(-ratio.ln() * _decimal(scale)) - 1)


def gaussian_tail(variance: Fraction, at: int) -> float:
    """Return P(X >= at) for at >= 1 and X discrete Gaussian, or a little more, never less.

    >>> round(gaussian_tail(Fraction(100), 16), 4)  # a normal of this variance has 0.0606 beyond 15.5
    0.0605
    """
    deviation = root_above(variance)
    if deviation > WIDE:
        return NormalDist().cdf(-(at - 1) / deviation) * ROUNDING
    spread = 2 * float(variance)
    beyond = np.arange(at, at + math.ceil(REACH * deviation) + 1, dtype=np.float64)
    whole = np.arange(1, math.ceil(REACH * deviation) + 1, dtype=np.float64)
    relative = np.exp((at**2 - beyond**2) / spread).sum()
    return float(relative / (1 + 2 * np.exp(-(whole**2) / spread).sum())) * math.exp(-(at**2) / spread) * ROUNDING


def gaussian_reach(variance: Fraction, outside: Fraction) -> int:
    """Return the smallest integer h from 0 with P(|X| > h) <= outside; for a wide Gaussian at most one more.

    >>> gaussian_reach(Fraction(100), Fraction(1, 20))
    20
    """
    deviation = root_above(variance)
    guess = -NormalDist().inv_cdf(float(outside) / 2) * deviation
    if deviation > WIDE:
        return math.ceil(guess)
    reach = max(0, math.floor(guess) - 2)
    while 2 * gaussian_tail(variance, reach + 1) > outside * ROUNDING:
        reach += 1
    return reach


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
