"""From zero-concentrated differential privacy to (ε, δ) and back, in decimals, always rounded to the safe side.

A ρ-zCDP mechanism is (α, αρ)-Rényi private for every α > 1, and Canonne, Kamath & Steinke (2020, proposition 12 and
corollary 13) turn each α into a valid δ = exp((α-1)(αρ-ε)) · (1-1/α)^(α-1) / α. Any α gives a true bound, so the search
for the best one needs no proof; only the last evaluation and its rounding do.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from functools import lru_cache

from sfumato.errors import ParameterError

DIGITS = 12
_WORK = Context(prec=60)
_SLACK = Decimal("1e-30")  # far above the error of 60-digit arithmetic, far below the 12 digits that are kept
_SMALLEST = Decimal("1e-60")  # below it, no smaller δ is told
_GOLDEN = Decimal("0.6180339887498948482045868344")
_NARROWEST, _WIDEST = Decimal(-23), Decimal(60)  # the search runs over ln(α-1)
_STEPS = 110


def rho_of_pure(epsilon: Decimal) -> Decimal:
    """Return the ρ that a purely ε-private answer costs, ε²/2, exactly (Bun & Steinke 2016, proposition 1.4).

    >>> rho_of_pure(Decimal("0.1"))
    Decimal('0.005')
    """
    with localcontext(_WORK) as context:
        context.prec = 200
        return epsilon * epsilon / 2


@lru_cache
def rho_of(epsilon: Decimal, delta: Decimal) -> Decimal:
    """Return a ρ, rounded down to 12 digits, such that every ρ-zCDP mechanism is (ε, δ)-differentially private.

    It is the largest that Canonne, Kamath & Steinke's conversion allows: solved for ρ, each α of theirs allows
    (ε + (ln δ + ln α)/(α-1) - ln(1-1/α)) / α.

    >>> rho_of(Decimal(1), Decimal("1e-6"))
    Decimal('0.0243559703595')
    """
    _check(epsilon, delta, "epsilon")
    with localcontext(_WORK):
        log_delta = delta.ln()

        def largest_rho(over: Decimal) -> Decimal:
            return (epsilon + _gain(over, log_delta)) / (1 + over)

        return _round_to_digits(_best(largest_rho) * (1 - _SLACK), ROUND_FLOOR)


@lru_cache
def epsilon_of(rho: Decimal, delta: Decimal) -> Decimal:
    """Return an ε, rounded up to 12 digits, such that every ρ-zCDP mechanism is (ε, δ)-differentially private.

    It is the smallest that Canonne, Kamath & Steinke's conversion gives.

    >>> epsilon_of(Decimal("0.0243559703595"), Decimal("1e-6"))
    Decimal('1')
    >>> epsilon_of(Decimal(0), Decimal("1e-6"))
    Decimal('0')
    """
    if rho == 0:
        return Decimal(0)
    _check(rho, delta, "rho")
    with localcontext(_WORK):
        log_delta = delta.ln()
        least = -_best(lambda over: _gain(over, log_delta) - (1 + over) * rho)
        return _round_to_digits(least * (1 + _SLACK), ROUND_CEILING) if least > 0 else Decimal(0)


@lru_cache
def delta_of(rho: Decimal, epsilon: Decimal) -> Decimal:
    """Return a δ, rounded up, such that every ρ-zCDP mechanism is (ε, δ)-differentially private.

    >>> Decimal("9.99e-7") < delta_of(Decimal("0.0243559703595"), Decimal(1)) < Decimal("1e-6")
    True
    """
    if rho == 0:
        return Decimal(0)
    _check(rho, Decimal("0.5"), "rho")
    with localcontext(_WORK):

        def log_worth(over: Decimal) -> Decimal:
            alpha = 1 + over
            return -(over * (alpha * rho - epsilon) + over * (over / alpha).ln() - alpha.ln())

        least = max((-_best(log_worth)).exp() * (1 + _SLACK), _SMALLEST)
        return min(Decimal(1), Context(prec=2 * DIGITS, rounding=ROUND_CEILING).plus(least))


def _gain(over: Decimal, log_delta: Decimal) -> Decimal:
    """Return (ln δ + ln α)/(α-1) - ln(1-1/α) at α = 1 + over."""
    alpha = 1 + over
    return (log_delta + alpha.ln()) / over - (over / alpha).ln()


def _best(worth: Callable[[Decimal], Decimal]) -> Decimal:
    """Return the highest worth that a golden-section search over α-1 finds; decimals make it the same everywhere."""
    low, high = _NARROWEST, _WIDEST
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = worth(left.exp()), worth(right.exp())
    for _ in range(_STEPS):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = worth(left.exp())
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = worth(right.exp())
    return max(at_left, at_right)


def _round_to_digits(value: Decimal, direction: str) -> Decimal:
    return Context(prec=DIGITS, rounding=direction).plus(value).normalize()


def _check(first: Decimal, delta: Decimal, name: str) -> None:
    if not (first.is_finite() and first > 0):
        raise ParameterError(f"{name} is {first}; zero-concentrated privacy needs a number above 0")
    if not 0 < delta < 1:
        raise ParameterError(f"delta is {delta}; zero-concentrated privacy needs one above 0 and below 1")
