"""The geometric mechanism: two-sided geometric noise on a count (Ghosh, Roughgarden & Sundararajan 2009)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from sfumato.dp.mechanisms.base import Mechanism, Number, Positive, exact
from sfumato.dp.mechanisms.trial import Trial, number_pairs
from sfumato.random import Noise, Source, noise_from

REACH = 40  # in units of 1/ε: what lies beyond is rarer than any float can say


@dataclass(frozen=True)
class Geometric(Mechanism):
    """A count plus x with probability (1 - q)/(1 + q)·q^|x|, where q = e^-ε.

    >>> Geometric("0.5").epsilon
    Fraction(1, 2)
    """

    epsilon: Fraction

    RULES: ClassVar = {"epsilon": Positive()}
    EXACT: ClassVar = ("epsilon",)
    name: ClassVar[str] = "geometric"
    words: ClassVar[str] = "two-sided geometric"
    sentence: ClassVar[str] = "Two-sided geometric noise is added to every count."

    @classmethod
    def sample(cls, epsilon: Number = 1) -> Self:
        return cls(exact(epsilon))

    def release(self, counts: Sequence[int], noise: Noise | None = None) -> list[int]:
        """Return every count with noise of its own; one person changes a count by at most 1."""
        return (noise or noise_from()).laplace(counts, 1 / self.epsilon)

    def trial(self) -> Trial:
        """Return how the auditor runs it: on neighbouring counts, many draws at once."""

        def run(value: int, count: int, source: Source) -> list[int]:
            return self.release([value] * count, noise_from(source))

        return Trial(run, list(number_pairs()))

    def law(self, value: int) -> Mapping[int, float]:
        """Return the law by the formula of the paper, which the conformance suite holds against the draws."""
        q = math.exp(-float(self.epsilon))
        reach = math.ceil(REACH / float(self.epsilon))
        return {value + x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-reach, reach + 1)}
