"""Exact discrete noise in integers alone: in bulk by kernels, one by one for parameters of any size.

Canonne, Kamath & Steinke (2020), "The Discrete Gaussian for Differential Privacy", algorithms 1, 2 and 3; the proof and
the bounds that exclude overflow in bulk are in `docs/algorithms/discrete-laplace.md`. Selection is by rejection, and by
flipping in random order (McKenna & Sheldon 2020, "Permute-and-Flip").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.random.ahead import WordsAhead
from sfumato.random.source import SecureSource, Source, Words

Integers = npt.NDArray[np.int64]

LARGEST_SCALE_TERM = 2**40
WORDS_PER_DRAW = 9  # about what one draw reads; too few only costs another round
LARGEST_ROUND = 2**22
SPARE = 64
WORD_BITS = 32
ROUND = 1024
FARTHEST = 2**62


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


def exponential_choice(scores: Sequence[int], scale: Fraction, source: Source | None = None) -> int:
    """Return an index i with probability proportional to exp(scores[i]/scale), as `Draws.exponential` does, in bulk.

    >>> from sfumato.random import SeededSource
    >>> exponential_choice([-900, 0, -900], Fraction(2), SeededSource(1))
    1
    """
    from sfumato.random.discrete_kernel import EMPTY, choose_from

    origin, best = SecureSource() if source is None else source, max(scores)
    top, bottom = _terms(scale)
    if (best - min(scores)) * bottom >= FARTHEST:
        return Draws(origin).exponential(scores, scale)
    gaps = np.array([best - score for score in scores], dtype=np.int64)
    words = origin.words(ROUND)
    while True:
        index, _ = choose_from(gaps, top, bottom, words)
        if index != EMPTY:
            return int(index)
        words = np.concatenate([words, origin.words(len(words))])


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


class Draws(WordsAhead):
    """Draws from a source, one after the other; every probability is exactly the fraction or exponential it names.

    >>> from sfumato.random.source import SeededSource
    >>> draws = Draws(SeededSource(1))
    >>> 0 <= draws.below(10**30) < 10**30
    True
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source, self._read = source, 0

    def below(self, bound: int) -> int:
        """Return a uniform integer in 0…bound-1: as many bits as it needs, drawn again while they are too large."""
        bits = (bound - 1).bit_length()
        while True:
            value = 0
            for _ in range(0, bits, WORD_BITS):
                value = value << WORD_BITS | self._word()
            value >>= -bits % WORD_BITS
            if value < bound:
                return value

    def bernoulli(self, probability: Fraction) -> bool:
        """Return True with that probability."""
        return self.below(probability.denominator) < probability.numerator

    def bernoulli_exp(self, ratio: Fraction) -> bool:
        """Return True with probability exp(-ratio), for any ratio from 0 (algorithm 1)."""
        whole = math.floor(ratio)
        if not all(self._exp_once(1, 1) for _ in range(whole)):
            return False
        rest = ratio - whole
        return self._exp_once(rest.numerator, rest.denominator)

    def laplace(self, scale: Fraction) -> int:
        """Return an integer x with probability proportional to exp(-|x|/scale) (algorithm 2)."""
        top, bottom = scale.numerator, scale.denominator
        while True:
            offset = self.below(top)
            if not self._exp_once(offset, top):
                continue
            whole = 0
            while self._exp_once(1, 1):
                whole += 1
            size, negative = (offset + top * whole) // bottom, self.below(2) == 1
            if size or not negative:
                return -size if negative else size

    def gaussian(self, variance: Fraction) -> int:
        """Return an integer x with probability proportional to exp(-x²/(2·variance)) (algorithm 3)."""
        envelope = math.isqrt(math.floor(variance)) + 1
        while True:
            value = self.laplace(Fraction(envelope))
            if self.bernoulli_exp((abs(value) - variance / envelope) ** 2 / (2 * variance)):
                return value

    def exponential(self, scores: Sequence[int], scale: Fraction) -> int:
        """Return an index i with probability proportional to exp(scores[i]/scale): drawn uniformly, kept by a coin."""
        best = max(scores)
        while True:
            index = self.below(len(scores))
            if self.bernoulli_exp((best - scores[index]) / scale):
                return index

    def permute_and_flip(self, scores: Sequence[int], scale: Fraction) -> int:
        """Return the first index, in random order, whose coin of probability exp(-(best - scores[i])/scale) falls."""
        best = max(scores)
        order = list(range(len(scores)))
        while True:  # the best score's coin always falls, so the order never runs out
            place = self.below(len(order))
            order[place], order[-1] = order[-1], order[place]
            index = order.pop()
            if self.bernoulli_exp((best - scores[index]) / scale):
                return index

    def _word(self) -> int:
        if self._read >= self.words.size:
            self.words, self._read = self._source.words(ROUND), 0
        self._read += 1
        return int(self.words[-self._read])

    def _exp_once(self, numerator: int, denominator: int) -> bool:
        """Return True with probability exp(-numerator/denominator), for a ratio of at most 1."""
        trial = 1
        while self.below(denominator * trial) < numerator:
            trial += 1
        return trial % 2 == 1
