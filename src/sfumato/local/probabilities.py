"""Probabilities as exact integers out of 2^64, rounded to the side of privacy, and the ε that they give.

A draw is a 64-bit word compared with a threshold, as Balcer & Vadhan (2019), "Differential Privacy on Finite
Computers", ask: what is promised is computed from the numbers that are used, not from those that were meant.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

SCALE = 2**64
DIGITS = 60
SLACK = Fraction(1, 10**50)  # far above the rounding of 60 digits, far below one part in 2^64


def exp_below(exponent: Fraction | float) -> Fraction:
    """Return a fraction of at most exp(exponent), smaller than it by less than one part in 10^49.

    >>> float(exp_below(1))
    2.718281828459045
    """
    exact = Fraction(exponent)
    with localcontext(prec=DIGITS):
        power = (Decimal(exact.numerator) / Decimal(exact.denominator)).exp()
    return Fraction(power) * (1 - SLACK)


def asked_loss(epsilon: float) -> Fraction:
    """Return the ε that a number asks for: a binary fraction stands for itself and for its decimal text, the smaller.

    >>> asked_loss(0.1), asked_loss(0.3) < Fraction(3, 10)
    (Fraction(1, 10), True)
    """
    return min(Fraction(epsilon), Fraction(repr(float(epsilon))))


def log_above(ratio: Fraction) -> float:
    """Return a float of at least ln(ratio), for a ratio of 1 or more: the next one where rounding is in doubt.

    >>> log_above(Fraction(3)), log_above(Fraction(1))
    (1.0986122886681098, 0.0)
    """
    if ratio == 1:
        return 0.0
    with localcontext(prec=DIGITS):
        exact = Fraction(Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln())
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def threshold_below(probability: Fraction) -> int:
    """Return the largest threshold out of 2^64 that is not above a probability.

    >>> threshold_below(Fraction(1, 2)) == 2**63
    True
    """
    return SCALE * probability.numerator // probability.denominator


def threshold_above(probability: Fraction) -> int:
    """Return the smallest threshold out of 2^64 that is not below a probability.

    >>> threshold_above(Fraction(1, 3)) - threshold_below(Fraction(1, 3))
    1
    """
    return -(-SCALE * probability.numerator // probability.denominator)
