"""Choosing one of many candidates by their scores: the exponential mechanism, report-noisy-max, scores of quantiles.

McSherry & Talwar (2007) for the first; McKenna & Sheldon (2020) for the second as permute-and-flip, which Ding et al.
(2021) show to be report-noisy-max with exponential noise. Cesar & Rogers (2021): the first costs ε²/8 under zCDP.
Smith (2011) chooses a quantile on ranks; here the score of a position is minus the distance of the wanted rank to the
ranks that rows at this position hold, so that ties cost nothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import OneOf, Rule, Whole
from sfumato.dp.mechanisms.base import Mechanism, Number, Positive, exact, outside_probability
from sfumato.dp.mechanisms.trial import Trial, vector_pairs
from sfumato.errors import InputError, ParameterError
from sfumato.promise.unit import Neighbours
from sfumato.random import Noise, Source, noise_from

ROOT_PRECISION = 10**12
FINEST = 10**6  # the largest denominator of a level: scores then fit 64 bits for 10^12 rows
CANDIDATES = 12  # in a trial


@dataclass(frozen=True)
class Selection(Mechanism):
    """Base for choosing one of several candidates by integer scores that one unit moves by at most `sensitivity`.

    A score may rise while another falls, which costs a factor of 2. Where one unit moves all scores in the same
    direction, say so by `monotone`.

    >>> ExponentialMechanism(Fraction(1), sensitivity=3).scale, ReportNoisyMax(Fraction(1), monotone=True).scale
    (Fraction(6, 1), Fraction(1, 1))
    """

    epsilon: Fraction
    sensitivity: int = 1
    monotone: bool = False

    RULES: ClassVar[dict[str, Rule]] = {
        "epsilon": Positive(),
        "sensitivity": Whole(1),
        "monotone": OneOf((False, True)),
    }
    EXACT: ClassVar[tuple[str, ...]] = ("epsilon",)

    @classmethod
    def sample(cls, epsilon: Number = 1) -> Self:
        return cls(exact(epsilon))

    @property
    def scale(self) -> Fraction:
        """The gap between two scores that makes the better one e times as likely: the scale of the noise on scores."""
        return (1 if self.monotone else 2) * self.sensitivity / self.epsilon

    def score_error(self, candidates: int, confidence: float) -> int:
        """Return by how much the chosen score is below the best one at most, with at least this probability.

        A candidate that far behind is chosen with at most exp(-gap/scale), and there are at most `candidates`.

        >>> ExponentialMechanism(Fraction(1)).score_error(1001, 0.95)
        20
        """
        return math.ceil(self.scale * exact(math.log(candidates / outside_probability(confidence)) * (1 + 1e-12)))

    @abstractmethod
    def choose(self, scores: Sequence[int], noise: Noise | None = None) -> int:
        """Return the index of the chosen candidate; the higher its score, the likelier."""

    def trial(self) -> Trial:
        def run(scores: Sequence[int], count: int, source: Source) -> list[int]:
            noise = noise_from(source)
            return [self.choose(scores, noise) for _ in range(count)]

        return Trial(run, list(vector_pairs(CANDIDATES, self.sensitivity)))

    def _weights(self, scores: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return exp(score/scale) of every candidate, the best one's set to 1."""
        gaps = np.asarray(scores, dtype=np.float64)
        weights: npt.NDArray[np.float64] = np.exp((gaps - gaps.max()) / float(self.scale))
        return weights


@dataclass(frozen=True)
class ExponentialMechanism(Selection):
    """Candidate i with probability proportional to exp(ε·score/(2·sensitivity)), or without the 2 if `monotone`.

    >>> from sfumato.random import SeededNoise
    >>> ExponentialMechanism(Fraction(1)).choose([0, 5, 100], SeededNoise(1))
    2
    """

    name: ClassVar[str] = "exponential"
    words: ClassVar[str] = "exponential mechanism"
    sentence: ClassVar[str] = "A candidate is chosen with a probability that grows exponentially with its score."

    @classmethod
    def for_rho(cls, rho: Number, sensitivity: int = 1, *, monotone: bool = False) -> Self:
        """Return the mechanism that costs at most ρ under zCDP: ε = √(8ρ), rounded down to a fraction.

        >>> ExponentialMechanism.for_rho("0.125").epsilon
        Fraction(1, 1)
        """
        square = 8 * exact(rho)
        if square <= 0:
            raise ParameterError(f"the rho is {rho}; give a number above 0")
        root = math.isqrt(square.numerator * ROOT_PRECISION**2 // square.denominator)
        return cls(Fraction(root, ROOT_PRECISION), sensitivity, monotone)

    @property
    def rho(self) -> Fraction:
        """What a choice costs under zCDP: ε²/8, since its privacy loss has a range of ε (Cesar & Rogers 2021)."""
        return self.epsilon**2 / 8

    def choose(self, scores: Sequence[int], noise: Noise | None = None) -> int:
        return (noise or noise_from()).exponential(_some(scores), self.scale)

    def probabilities(self, scores: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return with which probability each candidate is chosen.

        >>> ExponentialMechanism(Fraction(2)).probabilities([0, 0]).tolist()
        [0.5, 0.5]
        """
        weights = self._weights(scores)
        chances: npt.NDArray[np.float64] = weights / weights.sum()
        return chances

    def law(self, value: Sequence[int]) -> Mapping[int, float]:
        return dict(enumerate(self.probabilities(value).tolist()))


@dataclass(frozen=True)
class ReportNoisyMax(Selection):
    """The candidate whose score is highest after exponential noise: the same ε, never a larger expected error.

    >>> from sfumato.random import SeededNoise
    >>> ReportNoisyMax(Fraction(1)).choose([0, 5, 100], SeededNoise(1))
    2
    """

    name: ClassVar[str] = "noisy-max"
    words: ClassVar[str] = "report noisy max (permute-and-flip)"
    sentence: ClassVar[str] = "The candidate is chosen whose score is highest after exponential noise."

    @property
    def rho(self) -> Fraction:
        """What a choice costs under zCDP: ε²/2, as for anything purely private (Bun & Steinke 2016)."""
        return self.epsilon**2 / 2

    def choose(self, scores: Sequence[int], noise: Noise | None = None) -> int:
        return (noise or noise_from()).permute_and_flip(_some(scores), self.scale)

    def law(self, value: Sequence[int]) -> Mapping[int, float]:
        """Return wᵢ · ∫₀¹ ∏ⱼ≠ᵢ (1 - wⱼt) dt, which is proposition 2 of McKenna & Sheldon (2020) summed up."""
        weights = self._weights(value)
        places, widths = np.polynomial.legendre.leggauss(len(weights) // 2 + 1)  # exact for a product of this degree
        factors = 1 - weights[:, None] * (places + 1) / 2
        others = (np.delete(factors, place, axis=0).prod(axis=0) for place in range(len(weights)))
        return {place: float(weights[place] * (widths * rest).sum() / 2) for place, rest in enumerate(others)}


def _some(scores: Sequence[int]) -> list[int]:
    """The scores as Python's own integers, whatever they come as, and at least one."""
    if len(scores) == 0:
        raise InputError("there is no candidate to choose; give at least one score")
    return [int(score) for score in scores]


def quantile_scores(counts: Sequence[int] | npt.NDArray[np.int64], alpha: Fraction, margin: int = 1) -> list[int]:
    """Return each position's score: minus the distance of the wanted rank to its own, times alpha's denominator.

    `counts[p]` rows lie at position p. With n rows the wanted rank is alpha·n. At the ends (alpha 0 or 1) it is
    `margin` rows inside, at most half the rows: without, every position outside the rows would be as good as the
    extreme itself. A group without rows scores 0 everywhere, so that every position is equally likely.

    >>> quantile_scores([0, 2, 0, 1, 1], Fraction(1, 2))
    [-4, 0, 0, 0, -2]
    >>> quantile_scores([0, 2, 0, 1, 1], Fraction(0)), quantile_scores([0, 2, 0, 1, 1], Fraction(1))
    ([-1, 0, -1, -1, -2], [-3, -1, -1, 0, 0])
    """
    level = _level(alpha)
    held = np.asarray(counts, dtype=np.int64)
    rank = _rank(level, int(held.sum()), margin)
    reached = level.denominator * np.cumsum(held)
    passed = reached - level.denominator * held
    scores: list[int] = np.minimum(0, np.minimum(reached - rank, rank - passed)).tolist()
    return scores


def quantile_sensitivity(alpha: Fraction, rows: int, neighbours: Neighbours) -> int:
    """Return by how much one unit with at most `rows` rows can move any score, whatever the margin.

    A row that comes or goes moves a rank by at most max(alpha, 1 - alpha) against the wanted one; a row that changes
    its value moves it by at most one; times alpha's denominator.

    >>> [quantile_sensitivity(Fraction(1, 4), 2, neighbours) for neighbours in Neighbours]
    [6, 8]
    """
    level = _level(alpha)
    if neighbours is Neighbours.VALUE:
        return rows * level.denominator
    return rows * max(level.numerator, level.denominator - level.numerator)


def _rank(level: Fraction, rows: int, margin: int) -> int:
    """The wanted rank times the level's denominator; between n and n + 1 rows it grows by at most one row."""
    inside = min(margin, (rows + 1) // 2)
    ends = {Fraction(0): inside, Fraction(1): rows - inside}
    return ends.get(level, level.numerator * rows)


def _level(alpha: Fraction) -> Fraction:
    level = Fraction(alpha)
    if not 0 <= level <= 1 or level.denominator > FINEST:
        raise ParameterError(f"the level of a quantile is {alpha}; give a fraction from 0 to 1 in terms up to {FINEST}")
    return level
