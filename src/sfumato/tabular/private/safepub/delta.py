"""The exact δ of secret sampling followed by suppression, and the rate or class size that keeps a given one.

Li, Qardaji & Su 2012, theorem 1, bound δ by a binomial tail; here it is the largest hockey-stick divergence itself
(Barthe & Olmedo 2013), in decimals that are rounded to the side of privacy. Proof: docs/algorithms/safepub.md.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from sfumato.errors import ParameterError

DIGITS = 80
UP = Context(prec=DIGITS, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)
DOWN = Context(prec=DIGITS, rounding=ROUND_FLOOR, Emin=-(10**9), Emax=10**9)
ENOUGH = Decimal("1e-12")  # what the terms left out may add, as a share of the sum
RATES = 10_000  # sampling rates are tried as multiples of this part
ONE = Decimal(1)


def exact_delta(k: int, beta: Fraction, epsilon: Fraction) -> Decimal:
    """Return the smallest δ for which sampling at `beta` and suppressing classes below k is (ε, δ)-private, or 1.

    It is never below the true one, and above it by less than one part in 10^11.

    >>> f"{exact_delta(10, Fraction(1, 10), Fraction(1)):.1e}", exact_delta(10, Fraction(1, 10), Fraction(1, 10))
    ('1.0e-8', Decimal('1'))
    >>> exact_delta(3, Fraction(1, 2), Fraction(100)) == Decimal("0.125")
    True
    """
    growth = growth_below(epsilon)
    if growth * (1 - beta) < 1:
        return ONE  # a class that vanishes gives away more than ε, however large k is
    return min(ONE, _divergence(worst_size(k, beta, growth), k, beta, growth))


def growth_below(epsilon: Fraction) -> Fraction:
    """Return a fraction of at most e^ε, below it by less than one part in 10^70.

    >>> float(growth_below(Fraction(1))), growth_below(Fraction(0)) < 1
    (2.718281828459045, True)
    """
    exponent = DOWN.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return Fraction(DOWN.exp(exponent).next_minus(DOWN))


def worst_size(k: int, beta: Fraction, growth: Fraction) -> int:
    """Return the size of a class that is told apart best from the same class with one row less.

    >>> worst_size(10, Fraction(1, 10), growth_below(Fraction(1)))
    14
    """
    return math.floor((k - 1) * growth / (growth - 1 + beta)) + 1


def _divergence(size: int, k: int, beta: Fraction, growth: Fraction) -> Decimal:
    """Return at least the sum over j ≥ k of P(j) - e^ε·Q(j), for `size` rows against one less; no term is negative.

    P(j + 1)/P(j) is below 1 and falls as j grows, so that what is left out is below a geometric series.
    """
    odds = beta / (1 - beta)
    chance = _binomial_above(size, k, beta)
    total = Decimal(0)
    for count in range(k, size + 1):
        excess = 1 - growth * (size - count) / (size * (1 - beta))
        total = UP.add(total, UP.multiply(chance, _above(excess)))
        step = _above(odds * Fraction(size - count, count + 1))
        chance = UP.multiply(chance, step)
        rest = UP.divide(chance, DOWN.subtract(ONE, step))
        if rest < UP.multiply(total, ENOUGH):
            return UP.add(total, rest)
    return total


def _binomial_above(size: int, count: int, rate: Fraction) -> Decimal:
    """Return at least P[Bin(size, rate) = count]."""
    ways = UP.create_decimal(math.comb(size, count))
    hits, misses = _power_above(_above(rate), count), _power_above(_above(1 - rate), size - count)
    return UP.multiply(ways, UP.multiply(hits, misses))


def _power_above(base: Decimal, exponent: int) -> Decimal:
    """Return at least base^exponent, by squaring."""
    power = ONE
    while exponent:
        power = UP.multiply(power, base) if exponent & 1 else power
        base = UP.multiply(base, base)
        exponent >>= 1
    return power


def _above(value: Fraction) -> Decimal:
    return UP.divide(Decimal(value.numerator), Decimal(value.denominator))


def largest_rate(epsilon: Fraction) -> Fraction:
    """Return the largest sampling rate that ε allows at all, 1 - e^(-ε), rounded down to ten thousandths.

    >>> largest_rate(Fraction(1))
    Fraction(6321, 10000)
    """
    growth = growth_below(epsilon)
    return Fraction(max(0, math.floor(RATES * (1 - 1 / growth))), RATES)


def least_k(beta: Fraction, epsilon: Fraction, delta: Decimal) -> int:
    """Return the smallest k, at least 2, whose exact δ is at most `delta`; a larger k only suppresses more.

    >>> least_k(Fraction(1, 10), Fraction(1), Decimal("1e-6"))
    8
    """
    if growth_below(epsilon) * (1 - beta) < 1:
        most = _shown_down(1 - 1 / max(growth_below(epsilon), Fraction(1)))
        raise ParameterError(
            f"a sampling rate of {float(beta):g} cannot keep epsilon {float(epsilon):g}; at most {most} can"
        )
    low, high = 1, 2
    while exact_delta(high, beta, epsilon) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if exact_delta(middle, beta, epsilon) <= delta else (middle, high)
    return high


def largest_beta(k: int, epsilon: Fraction, delta: Decimal) -> Fraction:
    """Return the largest sampling rate, in ten thousandths, whose exact δ at k is at most `delta`.

    >>> largest_beta(10, Fraction(1), Decimal("1e-6"))
    Fraction(1719, 10000)
    """
    low, high = 0, int(largest_rate(epsilon) * RATES) + 1
    if high == 1:
        raise ParameterError(
            f"epsilon {float(epsilon):g} allows no sampling rate of a ten-thousandth; give a larger epsilon, or a "
            "smaller sampling rate yourself"
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exact_delta(k, Fraction(middle, RATES), epsilon) <= delta else (low, middle)
    if low == 0:
        raise ParameterError(
            f"k={k} is too small for epsilon {float(epsilon):g} and delta {delta:g} at any sampling rate; "
            "give a larger k"
        )
    return Fraction(low, RATES)


def _shown_down(value: Fraction) -> str:
    """Return a number to three digits, rounded down."""
    return f"{Context(prec=3, rounding=ROUND_FLOOR).divide(Decimal(value.numerator), Decimal(value.denominator)):g}"
