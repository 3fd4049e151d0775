"""Exact samplers over Python's own integers, for parameters of any size: slow, and right without a bound.

Canonne, Kamath & Steinke (2020), "The Discrete Gaussian for Differential Privacy", algorithms 1, 2 and 3; selection by
rejection, and by flipping in random order (McKenna & Sheldon 2020, "Permute-and-Flip").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sfumato.random.source import Source

WORD_BITS = 32
ROUND = 1024


class Draws:
    """Draws from a source, one after the other; every probability is exactly the fraction or exponential it names.

    >>> from sfumato.random.source import SeededSource
    >>> draws = Draws(SeededSource(1))
    >>> 0 <= draws.below(10**30) < 10**30
    True
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._words: list[int] = []

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
        if not self._words:
            self._words = self._source.words(ROUND).tolist()
        return self._words.pop()

    def _exp_once(self, numerator: int, denominator: int) -> bool:
        """Return True with probability exp(-numerator/denominator), for a ratio of at most 1."""
        trial = 1
        while self.below(denominator * trial) < numerator:
            trial += 1
        return trial % 2 == 1
