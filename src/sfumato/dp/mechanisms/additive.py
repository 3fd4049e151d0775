"""Laplace and Gaussian noise on integers: the mechanisms for counts and sums on a public grid.

Dwork, McSherry, Nissim & Smith (2006) for the scale of Laplace noise, Ghosh, Roughgarden & Sundararajan (2009) for its
discrete form, Canonne, Kamath & Steinke (2020, theorem 4) for the discrete Gaussian; proofs in
`docs/algorithms/mechanisms.md`. The tail of a wide Gaussian is bounded by the continuous one, a step closer, which errs
to the safe side.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar, Self

import numpy as np

from sfumato.core.parameters import Rule
from sfumato.dp.mechanisms.base import Mechanism, Number, Positive, exact, outside_probability
from sfumato.dp.mechanisms.trial import Trial, number_pairs
from sfumato.errors import ParameterError
from sfumato.promise.cost import amount
from sfumato.promise.zcdp import rho_of
from sfumato.random import Noise, Source, noise_from
from sfumato.random.answers import root_above

WORK = Context(prec=50)
WIDE = 2**12  # above this deviation a sum over the law gives way to the bound by the continuous one
REACH = 40  # deviations beyond which a Gaussian weighs less than any float
ROUNDING = 1 + 1e-9  # far above the rounding of a sum of floats
TRIAL_DELTA = 1e-6  # the δ at which a Gaussian's ε is put to trials
NEARLY_ALL = 0.999999  # of the noise that a stated law names one by one


class AdditiveNoise(Mechanism):
    """Base for noise that is added to integers, each with a draw of its own.

    >>> Laplace(10).release_on_grid("3.14159", "0.01") % Fraction("0.01")
    Fraction(0, 1)
    """

    delta: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """The parameter by which the field names the noise: Laplace's scale, the Gaussian's standard deviation."""

    @abstractmethod
    def cost(self, sensitivity: Number) -> Fraction:
        """Return what answers cost that one unit moves so far."""

    @abstractmethod
    def half_width(self, confidence: float) -> int:
        """Return the smallest h such that the noise lies within ±h with at least this probability."""

    @abstractmethod
    def tail(self, at: int) -> Fraction:
        """Return the probability that the noise is at least `at`, from 1 on, rounded up."""

    @abstractmethod
    def release(self, values: Sequence[int], noise: Noise | None = None) -> list[int]:
        """Return every value with noise of its own."""

    @abstractmethod
    def weigh(self, offset: int) -> float:
        """Return the weight of a draw, proportional to its probability."""

    def release_on_grid(self, value: Number, step: Number, noise: Noise | None = None) -> Fraction:
        """Return a number with noise, on the public grid of multiples of `step`; the noise counts steps.

        The value is rounded to the grid first, so a number that one unit moves by Δ moves by at most ⌈Δ/step⌉ steps.

        >>> from sfumato.random import SeededNoise
        >>> Laplace.for_epsilon(1, l1=100).release_on_grid("3.14159", "0.01", SeededNoise(1)) % Fraction("0.01")
        Fraction(0, 1)
        """
        width = _above_zero(step, "step of the grid")
        return self.release([round(exact(value) / width)], noise)[0] * width

    def trial(self) -> Trial:
        def run(value: int, count: int, source: Source) -> list[int]:
            return self.release([value] * count, noise_from(source))

        return Trial(run, list(number_pairs()), self.delta)

    def law(self, value: int) -> Mapping[int, float]:
        reach = self.half_width(NEARLY_ALL)
        offsets = range(-2 * reach - 1, 2 * reach + 2)  # beyond, what is left out is below any float's rounding
        weights = {offset: self.weigh(offset) for offset in offsets}
        whole = math.fsum(weights.values())
        return {value + offset: weight / whole for offset, weight in weights.items()}


@dataclass(frozen=True)
class Laplace(AdditiveNoise):
    """Discrete Laplace noise: an integer x is added with probability proportional to exp(-|x|/scale).

    Answers that one unit moves by at most `l1` in sum cost ε = l1/scale.

    >>> mechanism = Laplace.for_epsilon("0.1", l1=1)
    >>> mechanism.scale, mechanism.cost(1), mechanism.half_width(0.95)
    (Fraction(10, 1), Fraction(1, 10), 30)
    """

    scale: Fraction

    RULES: ClassVar[dict[str, Rule]] = {"scale": Positive()}
    EXACT: ClassVar[tuple[str, ...]] = ("scale",)
    name: ClassVar[str] = "laplace"
    words: ClassVar[str] = "discrete Laplace"
    sentence: ClassVar[str] = "Discrete Laplace noise is added to every number."

    @classmethod
    def for_epsilon(cls, epsilon: Number, l1: int) -> Self:
        """Return the mechanism that costs exactly ε where one unit moves the answers by at most `l1` in sum."""
        return cls(_sensitivity(l1) / _above_zero(epsilon, "epsilon"))

    @classmethod
    def sample(cls, epsilon: Number = 1) -> Self:
        return cls.for_epsilon(epsilon, l1=1)

    @property
    def noise_scale(self) -> float:
        return float(self.scale)

    @property
    def variance(self) -> float:
        """The variance of the noise, 2q/(1-q)² with q = exp(-1/scale)."""
        return 0.5 / math.sinh(0.5 / float(self.scale)) ** 2 if self.scale > Fraction(1, 1000) else 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(self.variance)

    def cost(self, l1: Number) -> Fraction:
        """Return ε for answers that one unit moves by at most `l1` in sum."""
        return exact(l1) / self.scale

    def half_width(self, confidence: float) -> int:
        return laplace_reach(self.scale, outside_probability(confidence))

    def tail(self, at: int) -> Fraction:
        return Fraction(laplace_tail(self.scale, at)) * (1 + Fraction(1, 10**40))

    def release(self, values: Sequence[int], noise: Noise | None = None) -> list[int]:
        return (noise or noise_from()).laplace(values, self.scale)

    def weigh(self, offset: int) -> float:
        return math.exp(-abs(offset) / self.scale)


@dataclass(frozen=True)
class Gaussian(AdditiveNoise):
    """Discrete Gaussian noise: an integer x is added with probability proportional to exp(-x²/(2·variance)).

    Answers that one unit moves by at most `l2_squared` in the sum of squares cost ρ = l2_squared/(2·variance).

    >>> mechanism = Gaussian.for_rho("0.005", l2_squared=1)
    >>> mechanism.variance, mechanism.cost(1), mechanism.half_width(0.95)
    (Fraction(100, 1), Fraction(1, 200), 20)
    """

    variance: Fraction

    RULES: ClassVar[dict[str, Rule]] = {"variance": Positive()}
    EXACT: ClassVar[tuple[str, ...]] = ("variance",)
    name: ClassVar[str] = "gaussian"
    words: ClassVar[str] = "discrete Gaussian"
    sentence: ClassVar[str] = "Discrete Gaussian noise is added to every number."
    delta: ClassVar[float] = TRIAL_DELTA

    @classmethod
    def for_rho(cls, rho: Number, l2_squared: int) -> Self:
        """Return the mechanism that costs exactly ρ where one unit moves the answers by at most √`l2_squared`."""
        return cls(_sensitivity(l2_squared) / (2 * _above_zero(rho, "rho")))

    @classmethod
    def sample(cls, epsilon: Number = 1) -> Self:
        return cls.for_rho(str(rho_of(amount(float(exact(epsilon))), amount(TRIAL_DELTA))), l2_squared=1)

    @property
    def noise_scale(self) -> float:
        return self.deviation

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, or a little more where that is below one."""
        return math.sqrt(self.variance)

    def cost(self, l2_squared: Number) -> Fraction:
        """Return ρ for answers that one unit moves by at most `l2_squared` in the sum of squares."""
        return exact(l2_squared) / (2 * self.variance)

    def half_width(self, confidence: float) -> int:
        return gaussian_reach(self.variance, outside_probability(confidence))

    def tail(self, at: int) -> Fraction:
        return Fraction(gaussian_tail(self.variance, at))

    def release(self, values: Sequence[int], noise: Noise | None = None) -> list[int]:
        return (noise or noise_from()).gaussian(values, self.variance)

    def weigh(self, offset: int) -> float:
        return math.exp(-(offset**2) / (2 * self.variance))


def _above_zero(value: Number, name: str) -> Fraction:
    found = exact(value)
    if found <= 0:
        raise ParameterError(f"the {name} is {value}; give a number above 0")
    return found


def _sensitivity(value: int) -> Fraction:
    if value < 1 or value != int(value):
        raise ParameterError(f"the sensitivity is {value}; give an integer of at least 1")
    return Fraction(value)


def laplace_tail(scale: Fraction, at: int) -> Decimal:
    """Return P(X >= at) for at >= 1 and X discrete Laplace: q^at / (1 + q) with q = exp(-1/scale), to 50 digits.

    >>> round(laplace_tail(Fraction(2), 3), 6)
    Decimal('0.138889')
    """
    with localcontext(WORK):
        step = -1 / _decimal(scale)
        return (step * at).exp() / (1 + step.exp())


def laplace_reach(scale: Fraction, outside: Fraction) -> int:
    """Return the smallest integer h from 0 with P(|X| > h) <= outside: 2·P(X >= h + 1) solved for h.

    >>> laplace_reach(Fraction(10), Fraction(1, 20))
    30
    """
    with localcontext(WORK):
        ratio = _decimal(outside) * (1 + (-1 / _decimal(scale)).exp()) / 2
        return max(0, math.ceil(-ratio.ln() * _decimal(scale)) - 1)


def gaussian_tail(variance: Fraction, at: int) -> float:
    """Return P(X >= at) for at >= 1 and X discrete Gaussian, or a little more, never less.

    >>> round(gaussian_tail(Fraction(100), 16), 4)  # a normal of this variance has 0.0606 beyond 15.5
    0.0605
    """
    deviation = root_above(variance)
    if deviation > WIDE:
        return NormalDist().cdf(-(at - 1) / deviation) * ROUNDING
    spread = 2 * float(variance)
    beyond = np.arange(at, at + math.ceil(REACH * deviation) + 1, dtype=np.float64)
    whole = np.arange(1, math.ceil(REACH * deviation) + 1, dtype=np.float64)
    relative = np.exp((at**2 - beyond**2) / spread).sum()
    return float(relative / (1 + 2 * np.exp(-(whole**2) / spread).sum())) * math.exp(-(at**2) / spread) * ROUNDING


def gaussian_reach(variance: Fraction, outside: Fraction) -> int:
    """Return the smallest integer h from 0 with P(|X| > h) <= outside; for a wide Gaussian at most one more.

    >>> gaussian_reach(Fraction(100), Fraction(1, 20))
    20
    """
    deviation = root_above(variance)
    guess = -NormalDist().inv_cdf(float(outside) / 2) * deviation
    if deviation > WIDE:
        return math.ceil(guess)
    reach = max(0, math.floor(guess) - 2)
    while 2 * gaussian_tail(variance, reach + 1) > outside * ROUNDING:
        reach += 1
    return reach


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
