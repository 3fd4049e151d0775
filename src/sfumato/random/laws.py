"""The laws of random choices as a twin run sees them: what is public, and what an outcome tells between neighbours.

Losses are those of Dwork & Roth (2014): the log-ratio of probabilities, at its largest over what can come out; under
zero-concentrated privacy those of Bun & Steinke (2016) and, for selection, of Cesar & Rogers (2021).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Weighted = tuple[Any, float]


@dataclass(frozen=True)
class Loss:
    """What a choice tells: log-ratios in both directions, ρ, and the chance δ of an outcome that one side lacks.

    >>> Loss(0.5, 0.25) + Loss(0.5, 0.5)
    Loss(forward=1.0, backward=0.75, rho=0.0, delta=0.0)
    """

    forward: float = 0.0
    backward: float = 0.0
    rho: float = 0.0
    delta: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            self.forward + other.forward,
            self.backward + other.backward,
            self.rho + other.rho,
            self.delta + other.delta,
        )

    @property
    def epsilon(self) -> float:
        """The larger of the two log-ratios."""
        return max(self.forward, self.backward)

    @classmethod
    def of_pure(cls, forward: float, backward: float | None = None) -> Loss:
        """Return the loss of a choice that is purely private; ρ is ε²/2."""
        other = forward if backward is None else backward
        return cls(forward, other, max(forward, other) ** 2 / 2)


NOTHING = Loss()


@dataclass(frozen=True, eq=False)
class Additive:
    """Noise around some centres, one draw each.

    >>> left, right = DiscreteLaplace([5, 7], Fraction(2)), DiscreteLaplace([5, 8], Fraction(2))
    >>> left.public == right.public, left.loss(right, [4, 9]).epsilon
    (True, 0.5)
    """

    centres: Sequence[int] | npt.NDArray[Any]
    scale: Fraction

    @property
    def public(self) -> tuple[Any, ...]:
        return type(self).__name__, np.shape(self.centres), self.scale

    @property
    def bits(self) -> float:
        """About how many random bits the draws hold."""
        return float(np.size(self.centres) * math.log2(1 + self.scale))

    def noise(self, outcome: Any) -> Reals:
        """Return the noise of an outcome, in scales."""
        drawn = [got - centre for got, centre in zip(_whole(outcome), _whole(self.centres), strict=True)]
        return np.array([float(one / Fraction(self.scale)) for one in drawn])

    def moves(self, other: Self) -> list[int]:
        """Return how far each centre is from the neighbour's."""
        pairs = zip(_whole(self.centres), _whole(other.centres), strict=True)
        return [abs(left - right) for left, right in pairs]


class DiscreteLaplace(Additive):
    """Discrete Laplace noise: |Δ|/scale, in sum over the draws."""

    def loss(self, other: DiscreteLaplace, outcome: object) -> Loss:
        """Return Σ|Δ|/scale, which outcomes beyond both centres reach."""
        del outcome
        return Loss.of_pure(float(sum(self.moves(other)) / Fraction(self.scale)))


class DiscreteGaussian(Additive):
    """Discrete Gaussian noise, `scale` being its variance: Δ²/(2σ²) in ρ, and no ε at all.

    >>> DiscreteGaussian([0], Fraction(4)).loss(DiscreteGaussian([2], Fraction(4)), [1]).rho
    0.5
    >>> DiscreteGaussian([0], Fraction(10**12)).noise([2_000_000]).tolist()  # in standard deviations
    [2.0]
    """

    @property
    def bits(self) -> float:
        return float(np.size(self.centres) * math.log2(1 + self.scale) / 2)

    def noise(self, outcome: Any) -> Reals:
        found: Reals = super().noise(outcome) * math.sqrt(self.scale)
        return found

    def loss(self, other: DiscreteGaussian, outcome: object) -> Loss:
        """Return ΣΔ²/(2σ²)."""
        del outcome
        rho = float(sum(move**2 for move in self.moves(other)) / (2 * Fraction(self.scale)))
        pure = math.inf if rho else 0.0
        return Loss(pure, pure, rho)


@dataclass(frozen=True, eq=False)
class Selected(ABC):
    """One of several candidates by integer scores; subclasses say how likely each is.

    >>> left, right = Exponential([0, 1], Fraction(1)), Exponential([0, 2], Fraction(1))
    >>> round(left.loss(right, 1).epsilon, 4)
    0.8137
    """

    scores: Sequence[int]
    scale: Fraction

    @property
    def public(self) -> tuple[Any, ...]:
        return type(self).__name__, len(self.scores), self.scale

    def gaps(self) -> Reals:
        """Return every score less the best one, in scales."""
        best = max(self.scores)
        return np.array([float((int(score) - int(best)) / Fraction(self.scale)) for score in self.scores])

    @abstractmethod
    def logs(self) -> Reals:
        """Return the logarithm of every candidate's probability."""

    def outcomes(self) -> Iterator[Weighted]:
        """Yield every candidate with its probability."""
        yield from enumerate(np.exp(self.logs()).tolist())


class Exponential(Selected):
    """The exponential mechanism: probabilities proportional to exp(score/scale)."""

    def logs(self) -> Reals:
        gaps = self.gaps()
        found: Reals = gaps - math.log(np.exp(gaps).sum())
        return found

    def loss(self, other: Exponential, outcome: object) -> Loss:
        """Return the largest log-ratio over the candidates; ρ is an eighth of its squared range."""
        del outcome
        ratios = self.logs() - other.logs()
        return Loss(float(ratios.max()), float(-ratios.min()), float(np.ptp(ratios)) ** 2 / 8)


class PermuteAndFlip(Selected):
    """Permute-and-flip: candidate i with wᵢ·∫₀¹ ∏ⱼ≠ᵢ (1 - wⱼt) dt (McKenna & Sheldon 2020, proposition 2)."""

    def logs(self) -> Reals:
        gaps = self.gaps()
        weights = np.exp(gaps)
        places, widths = np.polynomial.legendre.leggauss(len(weights) // 2 + 1)
        factors = 1 - weights[:, None] * (places + 1) / 2
        others = [np.delete(factors, place, axis=0).prod(axis=0) for place in range(len(weights))]
        return gaps + np.log([(widths * rest).sum() / 2 for rest in others])

    def loss(self, other: PermuteAndFlip, outcome: object) -> Loss:
        """Return the largest log-ratio over the candidates."""
        del outcome
        ratios = self.logs() - other.logs()
        return Loss.of_pure(float(ratios.max()), float(-ratios.min()))


@dataclass(frozen=True, eq=False)
class Response:
    """One category told truly with probability `truth`, else any other one.

    >>> round(Response(0, 2, Fraction(3, 4)).loss(Response(1, 2, Fraction(3, 4)), 0).epsilon, 6)  # ln 3
    1.098612
    """

    value: int
    categories: int
    truth: Fraction

    @property
    def public(self) -> tuple[Any, ...]:
        return "randomised response", self.categories, self.truth

    def loss(self, other: Response, outcome: object) -> Loss:
        """Return the log-ratio of the truth to a lie, where the values differ."""
        del outcome
        return NOTHING if self.value == other.value else Loss.of_pure(self._ratio())

    def outcomes(self) -> Iterator[Weighted]:
        """Yield every category with its probability."""
        lie = (1 - self.truth) / (self.categories - 1)
        for category in range(self.categories):
            yield category, float(self.truth if category == self.value else lie)

    def _ratio(self) -> float:
        return abs(math.log(self.truth * (self.categories - 1)) - math.log(1 - self.truth))


@dataclass(frozen=True, eq=False)
class Responses:
    """One bit for each record, told truly with probability `truth`; `asked` is what all know of the questions.

    >>> bits = np.array([1, 0]), np.array([1, 1])
    >>> left, right = (Responses(one, Fraction(3, 4)) for one in bits)
    >>> round(left.loss(right, None).epsilon, 6)
    1.098612
    """

    centres: npt.NDArray[Any]
    truth: Fraction
    asked: bytes = b""

    @property
    def public(self) -> tuple[Any, ...]:
        return "randomised responses", len(self.centres), self.truth, self.asked

    @property
    def bits(self) -> float:
        """About how many random bits the coins hold."""
        truth = float(self.truth)
        return -len(self.centres) * (truth * math.log2(truth) + (1 - truth) * math.log2(1 - truth))

    def noise(self, outcome: Any) -> Reals:
        """Return 1 for every lie."""
        lies: Reals = (np.asarray(outcome) != np.asarray(self.centres)).astype(np.float64)
        return lies

    def loss(self, other: Responses, outcome: object) -> Loss:
        """Return the log-ratio of the truth to a lie for every bit that differs."""
        del outcome
        differ = int(np.count_nonzero(np.asarray(self.centres) != np.asarray(other.centres)))
        return Loss.of_pure(differ * abs(math.log(self.truth) - math.log(1 - self.truth))) if differ else NOTHING


@dataclass(frozen=True)
class Uniform:
    """A draw that no record decides: an order of `count` things, a public lot, a secret of so many bytes.

    >>> Uniform("order", 3).loss(Uniform("order", 3), None).epsilon
    0.0
    """

    kind: str
    count: int = 0

    @property
    def public(self) -> tuple[Any, ...]:
        return self.kind, self.count

    def loss(self, other: Uniform, outcome: object) -> Loss:
        """Return nothing: both sides draw alike."""
        del other, outcome
        return NOTHING


@dataclass(frozen=True)
class HiddenSample:
    """Which of some rows stay, each with probability `rate`: a secret that is summed out, never forced.

    >>> [round(chance, 2) for _, chance in HiddenSample(2, Fraction(1, 4)).outcomes()]
    [0.56, 0.19, 0.19, 0.06]
    """

    rows: int
    rate: Fraction

    @property
    def public(self) -> tuple[Any, ...]:
        return "hidden sample", self.rate

    def loss(self, other: HiddenSample, outcome: object) -> Loss:
        """Return that nothing can be said of one sample: rows that stay are not released as such."""
        del other, outcome
        return Loss(math.inf, math.inf, math.inf)

    def outcomes(self) -> Iterator[Weighted]:
        """Yield every sample with its probability."""
        rate = float(self.rate)
        for code in range(2**self.rows):
            stays = (code >> np.arange(self.rows) & 1).astype(np.bool_)
            kept = int(stays.sum())
            yield stays, rate**kept * (1 - rate) ** (self.rows - kept)


def _whole(centres: Sequence[int] | npt.NDArray[Any]) -> list[int]:
    return [int(centre) for centre in np.ravel(np.asarray(centres, dtype=object)).tolist()]
