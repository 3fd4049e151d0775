"""Exact confidence limits of a probability, and the least ε that two observed frequencies allow.

Clopper & Pearson (1934) invert the binomial test through the incomplete beta function, computed here by the continued
fraction of Lentz (1976) as in Press et al. (2007, section 6.4); the step to ε follows Ding, Wang, Wang, Zhang & Kifer
(2018), "Detecting Violations of Differential Privacy".
"""

from __future__ import annotations

import math

TINY = 1e-300
PRECISE = 1e-14
MOST_STEPS = 100_000
HALVINGS = 100


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), the chance that a Beta(a, b) variable is below x.

    >>> round(incomplete_beta(2, 3, 0.5), 6)
    0.6875
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast below the mean only
        return 1 - incomplete_beta(b, a, 1 - x)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(scale) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    upper, lower = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value = lower
    for step in range(1, MOST_STEPS):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            lower = 1 / _apart(1 + term * lower)
            upper = _apart(1 + term / upper)
            change = lower * upper
            value *= change
        if abs(change - 1) < PRECISE:
            break
    return value


def _apart(value: float) -> float:
    """Return a value that can be divided by."""
    return value if abs(value) > TINY else TINY


def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the x at which I_x(a, b) is `share`, by bisection.

    >>> round(beta_quantile(0.6875, 2, 3), 6)
    0.5
    """
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if incomplete_beta(a, b, middle) < share else (low, middle)
    return (low + high) / 2


def lower_limit(hits: int, trials: int, outside: float) -> float:
    """Return a lower limit of a probability, wrong with probability `outside` at most.

    >>> lower_limit(0, 10, 0.05), round(lower_limit(10, 10, 0.05), 4)
    (0.0, 0.7411)
    """
    return 0.0 if hits == 0 else beta_quantile(outside, hits, trials - hits + 1)


def upper_limit(hits: int, trials: int, outside: float) -> float:
    """Return an upper limit of a probability, wrong with probability `outside` at most.

    >>> round(upper_limit(0, 10, 0.05), 4), upper_limit(10, 10, 0.05)
    (0.2589, 1.0)
    """
    return 1.0 if hits == trials else beta_quantile(1 - outside, hits + 1, trials - hits)


def least_epsilon(likelier: int, other: int, trials: int, delta: float, outside: float) -> float:
    """Return the least ε for which (ε, δ) allows an event that often on two inputs, wrong with `outside` at most.

    >>> round(least_epsilon(500, 184, 1000, 0.0, 0.001), 2)
    0.68
    >>> least_epsilon(5, 5, 1000, 0.0, 0.001)
    0.0
    """
    surely = lower_limit(likelier, trials, outside / 2) - delta
    at_most = upper_limit(other, trials, outside / 2)
    return max(0.0, math.log(surely / at_most)) if surely > 0 else 0.0
