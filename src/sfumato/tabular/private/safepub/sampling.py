"""Secret sampling: its draw, its exact δ when suppression follows, and the rate or class size that keeps a given δ.

Every row stays with the same exact probability. One random word decides nearly always; a word that lies on the edge is
decided by further words, so that the probability is the fraction itself (the idea of Lumbroso 2013 for exact draws).
Li, Qardaji & Su 2012, theorem 1, bound δ by a binomial tail; here it is the largest hockey-stick divergence itself
(Barthe & Olmedo 2013), over every size a class can have. Proof: docs/algorithms/safepub.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from sfumato.core.seam import choose
from sfumato.errors import ParameterError
from sfumato.random import Source
from sfumato.random.discrete import Draws
from sfumato.random.laws import HiddenSample

Floats = npt.NDArray[np.float64]
MARGIN = 1 + 1e-8  # the sums are floats; what is promised is above what they can be off by
WORD = 1 << 32
RATES = 10_000  # sampling rates are tried as multiples of this part


def sample_rows(rows: int, rate: Fraction, source: Source) -> npt.NDArray[np.bool_]:
    """Return which of `rows` rows stay, each with probability `rate`.

    >>> from sfumato.random import SeededSource
    >>> int(sample_rows(1000, Fraction(1, 10), SeededSource(1)).sum())
    96
    """
    return choose(lambda: HiddenSample(rows, rate), lambda: _sample(rows, rate, source))


def _sample(rows: int, rate: Fraction, source: Source) -> npt.NDArray[np.bool_]:
    words = source.words(rows)
    whole, rest = divmod(rate * WORD, 1)
    stays = words < whole
    draws = Draws(source)
    for row in np.flatnonzero(words == whole):
        stays[row] = draws.bernoulli(rest)
    return stays


def exact_delta(k: int, beta: float, epsilon: float) -> float:
    """Return the smallest δ for which sampling with rate `beta` and suppressing classes below k is (ε, δ)-private.

    >>> f"{exact_delta(10, 0.1, 1.0):.1e}", exact_delta(10, 0.1, 0.1)
    ('1.0e-08', 1.0)
    """
    if epsilon < -math.log1p(-beta):
        return 1.0  # a class that vanishes gives away more than ε, however large k is
    gamma = crossing(beta, epsilon)
    largest, size = 0.0, k
    while largest < _chernoff(size, gamma, beta):
        largest = max(largest, divergence(size, k, beta, epsilon))
        size += 1
    return min(1.0, largest * MARGIN)


def crossing(beta: float, epsilon: float) -> float:
    """Return γ: an outcome above γ·n is more than e^ε times as likely with n rows in a class as with n-1.

    >>> round(crossing(0.1, 1.0), 4)
    0.6689
    """
    return -math.expm1(math.log1p(-beta) - epsilon)


def divergence(size: int, k: int, beta: float, epsilon: float) -> float:
    """Return how far a class of `size` rows and the same class with one row less are apart, beyond e^ε.

    >>> divergence(9, 10, 0.1, 1.0)
    0.0
    """
    first = max(k, math.floor(crossing(beta, epsilon) * size) + 1)
    counts = np.arange(first, size + 1)
    excess = 1 - math.exp(epsilon) / (1 - beta) * (size - counts) / size
    return float((_binomial(size, counts, beta) * np.maximum(excess, 0.0)).sum())


def li_bound(k: int, beta: float, epsilon: float) -> float:
    """Return the bound of Li, Qardaji & Su 2012: the largest P[Bin(n, β) > γn] over n of at least ⌈k/γ - 1⌉.

    >>> f"{li_bound(10, 0.1, 1.0):.1e}"
    '6.8e-08'
    """
    gamma = crossing(beta, epsilon)
    largest, size = 0.0, max(1, math.ceil(k / gamma - 1))
    while largest < _chernoff(size, gamma, beta):
        counts = np.arange(math.floor(gamma * size) + 1, size + 1)
        largest = max(largest, float(_binomial(size, counts, beta).sum()))
        size += 1
    return largest


def least_k(beta: float, epsilon: float, delta: float) -> int:
    """Return the smallest k whose exact δ is at most `delta`; a larger k only suppresses more.

    >>> least_k(0.1, 1.0, 1e-6)
    8
    """
    if epsilon < -math.log1p(-beta):
        most = math.floor(-math.expm1(-epsilon) * RATES) / RATES
        raise ParameterError(f"a sampling rate of {beta:g} cannot keep epsilon {epsilon:g}; at most {most:g} can")
    low, high = 1, 2
    while exact_delta(high, beta, epsilon) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if exact_delta(middle, beta, epsilon) <= delta else (middle, high)
    return high


def largest_beta(k: int, epsilon: float, delta: float) -> Fraction:
    """Return the largest sampling rate, in ten thousandths, whose exact δ at k is at most `delta`.

    >>> largest_beta(10, 1.0, 1e-6)
    Fraction(1719, 10000)
    """
    low, high = 0, RATES
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exact_delta(k, middle / RATES, epsilon) <= delta else (low, middle)
    if low == 0:
        raise ParameterError(
            f"k={k} is too small for epsilon {epsilon:g} and delta {delta:g} at any sampling rate; give a larger k"
        )
    return Fraction(low, RATES)


def _binomial(size: int, counts: npt.NDArray[np.int64], rate: float) -> Floats:
    """Return P[Bin(size, rate) = j] for every j in `counts`."""
    logs = _log_factorials(1 << size.bit_length())
    ways = logs[size] - logs[counts] - logs[size - counts]
    chances: Floats = np.exp(ways + counts * math.log(rate) + (size - counts) * math.log1p(-rate))
    return chances


@cache
def _log_factorials(most: int) -> Floats:
    return np.array([math.lgamma(number + 1) for number in range(most + 1)])


def _chernoff(size: int, gamma: float, rate: float) -> float:
    """Return a bound on P[Bin(size, rate) > γ·size], and so on the divergence; it falls as `size` grows."""
    if gamma >= 1:
        return 0.0
    distance = gamma * math.log(gamma / rate) + (1 - gamma) * math.log((1 - gamma) / (1 - rate))
    return math.exp(-size * distance)
