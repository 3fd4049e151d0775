"""Discrete Laplace noise and Bernoulli(exp(-p/q)) in bulk: integers alone, no floating point anywhere.

Canonne, Kamath & Steinke (2020), "The Discrete Gaussian for Differential Privacy", algorithms 1 and 2; the proof and
the bounds that exclude overflow are in `docs/algorithms/discrete-laplace.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.random.source import SecureSource, Source, Words

Integers = npt.NDArray[np.int64]

LARGEST_SCALE_TERM = 2**40
WORDS_PER_DRAW = 9  # about what one draw reads; too few only costs another round
LARGEST_ROUND = 2**22
SPARE = 64


def discrete_laplace(count: int, scale: Fraction | float, source: Source | None = None) -> Integers:
    """Return `count` integers, each x with probability proportional to exp(-|x|/scale).

    The scale is a fraction whose two terms are at most 2^40 (a float is read as the exact fraction it is, and refused
    when its terms are larger): `Fraction(sensitivity, 1) / Fraction("0.1")`.

    >>> from sfumato.random import SeededSource
    >>> discrete_laplace(4, Fraction(10, 1), SeededSource(1)).dtype.name
    'int64'
    """
    from sfumato.random.discrete_kernel import fill_laplace

    top, bottom = _terms(scale)
    return _draw(count, source, lambda out, done, words: fill_laplace(out, done, top, bottom, words))


def bernoulli_exp(count: int, ratio: Fraction, source: Source | None = None) -> Integers:
    """Return `count` draws of 0 or 1, each 1 with probability exp(-ratio), for a ratio between 0 and 1.

    >>> bernoulli_exp(3, Fraction(0)).tolist()
    [1, 1, 1]
    """
    from sfumato.random.discrete_kernel import fill_exp

    if not 0 <= ratio <= 1 or ratio.denominator > LARGEST_SCALE_TERM:
        raise ParameterError(f"the ratio of bernoulli_exp is {ratio}; give a fraction between 0 and 1 in small terms")
    top, bottom = ratio.numerator, ratio.denominator
    return _draw(count, source, lambda out, done, words: fill_exp(out, done, top, bottom, words))


def _terms(scale: Fraction | float) -> tuple[int, int]:
    exact = Fraction(scale)
    if exact <= 0 or max(exact.numerator, exact.denominator) > LARGEST_SCALE_TERM:
        raise ParameterError(
            f"the scale of the noise is {scale}; it must be above 0, in a fraction of terms up to {LARGEST_SCALE_TERM}"
        )
    return exact.numerator, exact.denominator


def _draw(count: int, source: Source | None, fill: Callable[[Integers, int, Words], tuple[int, int]]) -> Integers:
    """Run a kernel until `count` draws are done, giving it again the words of a draw that ran out of them."""
    origin = SecureSource() if source is None else source
    out = np.empty(count, dtype=np.int64)
    done, unread = 0, np.empty(0, dtype=np.uint32)
    while done < count:
        fresh = origin.words(min(WORDS_PER_DRAW * (count - done) + SPARE, LARGEST_ROUND))
        words = np.concatenate([unread, fresh])
        done, place = fill(out, done, words)
        unread = words[place:]
    return out
