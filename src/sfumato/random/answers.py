"""Exact noise for single answers, behind one seam: OpenDP's samplers for releases, our own under a seed for tests.

Both draw the discrete Laplace and discrete Gaussian of Canonne, Kamath & Steinke (2020) and select by the exponential
mechanism (McSherry & Talwar 2007) or by permute-and-flip (McKenna & Sheldon 2020). Noise is drawn around zero and added
to Python integers, so no sum can overflow; a scale becomes a binary fraction only upwards, never to less noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Protocol

from sfumato.core.seam import choose
from sfumato.random import laws
from sfumato.random.discrete import LARGEST_SCALE_TERM, Draws, discrete_laplace
from sfumato.random.source import SecureSource, SeededSource, Source

WIDEST = (
    2**50
)  # a 64-bit draw of this scale saturates with probability exp(-2^13); above, integers of any size are used
FARTHEST = 2**62


class Noise(Protocol):
    """What a mechanism needs of randomness; `secure` says whether a real release may use it.

    >>> noise: Noise = OpenDPNoise()
    >>> noise.secure, len(noise.laplace([10, 20], Fraction(3)))
    (True, 2)
    """

    @property
    def secure(self) -> bool: ...
    def laplace(self, values: Sequence[int], scale: Fraction) -> list[int]: ...
    def gaussian(self, values: Sequence[int], variance: Fraction) -> list[int]: ...
    def exponential(self, scores: Sequence[int], scale: Fraction) -> int: ...
    def permute_and_flip(self, scores: Sequence[int], scale: Fraction) -> int: ...
    def randomized_response(self, value: int, categories: int, truth: Fraction) -> int: ...


class SeamNoise(ABC):
    """Noise whose every choice passes the seam, where a twin run may watch; a subclass draws.

    >>> isinstance(SeededNoise(1), SeamNoise), isinstance(OpenDPNoise(), SeamNoise)
    (True, True)
    """

    def laplace(self, values: Sequence[int], scale: Fraction) -> list[int]:
        """Return every value with discrete Laplace noise of its own."""
        return choose(lambda: laws.DiscreteLaplace(values, scale), lambda: self.draw_laplace(values, scale))

    def gaussian(self, values: Sequence[int], variance: Fraction) -> list[int]:
        """Return every value with discrete Gaussian noise of its own."""
        return choose(lambda: laws.DiscreteGaussian(values, variance), lambda: self.draw_gaussian(values, variance))

    def exponential(self, scores: Sequence[int], scale: Fraction) -> int:
        """Return an index that the exponential mechanism selects."""
        return choose(lambda: laws.Exponential(scores, scale), lambda: self.draw_exponential(scores, scale))

    def permute_and_flip(self, scores: Sequence[int], scale: Fraction) -> int:
        """Return an index that permute-and-flip selects."""
        return choose(lambda: laws.PermuteAndFlip(scores, scale), lambda: self.draw_flipped(scores, scale))

    def randomized_response(self, value: int, categories: int, truth: Fraction) -> int:
        """Return the value with probability `truth`, else another category."""
        law = laws.Response(value, categories, truth)
        return choose(lambda: law, lambda: self.draw_response(value, categories, truth))

    @abstractmethod
    def draw_laplace(self, values: Sequence[int], scale: Fraction) -> list[int]: ...
    @abstractmethod
    def draw_gaussian(self, values: Sequence[int], variance: Fraction) -> list[int]: ...
    @abstractmethod
    def draw_exponential(self, scores: Sequence[int], scale: Fraction) -> int: ...
    @abstractmethod
    def draw_flipped(self, scores: Sequence[int], scale: Fraction) -> int: ...
    @abstractmethod
    def draw_response(self, value: int, categories: int, truth: Fraction) -> int: ...


class SeededNoise(SeamNoise):
    """Reproducible noise for tests, from integers alone; what is drawn from it must never be called private.

    >>> SeededNoise(1).laplace([0, 0, 0], Fraction(5)) == SeededNoise(1).laplace([0, 0, 0], Fraction(5))
    True
    """

    secure = False

    def __init__(self, seed: int | Source) -> None:
        self._source = SeededSource(seed) if isinstance(seed, int) else seed
        self._draws = Draws(self._source)

    def draw_laplace(self, values: Sequence[int], scale: Fraction) -> list[int]:
        if max(scale.numerator, scale.denominator) <= LARGEST_SCALE_TERM:
            drawn: list[int] = discrete_laplace(len(values), scale, self._source).tolist()
            return _plus(values, drawn)
        return _plus(values, [self._draws.laplace(scale) for _ in values])

    def draw_gaussian(self, values: Sequence[int], variance: Fraction) -> list[int]:
        return _plus(values, [self._draws.gaussian(variance) for _ in values])

    def draw_exponential(self, scores: Sequence[int], scale: Fraction) -> int:
        return self._draws.exponential(scores, scale)

    def draw_flipped(self, scores: Sequence[int], scale: Fraction) -> int:
        return self._draws.permute_and_flip(scores, scale)

    def draw_response(self, value: int, categories: int, truth: Fraction) -> int:
        other = self._draws.below(categories - 1)
        return value if self._draws.bernoulli(truth) else other + (other >= value)


class OpenDPNoise(SeamNoise):
    """OpenDP's exact samplers, seeded by the operating system: for every real answer.

    A scale beyond 2^50 is drawn by our own integers from the secure source, since OpenDP's draws have 64 bits.

    >>> OpenDPNoise().exponential([0, 1_000_000], Fraction(2))
    1
    """

    secure = True

    def draw_laplace(self, values: Sequence[int], scale: Fraction) -> list[int]:
        if scale > WIDEST:
            return _plus(values, [_own().laplace(scale) for _ in values])
        dp = _opendp()
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        return _plus(values, dp.m.make_laplace(*space, scale=float_above(scale))([0] * len(values)))

    def draw_gaussian(self, values: Sequence[int], variance: Fraction) -> list[int]:
        if variance > WIDEST**2:
            return _plus(values, [_own().gaussian(variance) for _ in values])
        dp = _opendp()
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
        return _plus(values, dp.m.make_gaussian(*space, scale=root_above(variance))([0] * len(values)))

    def draw_exponential(self, scores: Sequence[int], scale: Fraction) -> int:
        gaps = _gaps(scores)
        if gaps is None:
            return _own().exponential(scores, scale)
        return _select(gaps, scale, _opendp().zero_concentrated_divergence())  # this measure makes the noise Gumbel's

    def draw_flipped(self, scores: Sequence[int], scale: Fraction) -> int:
        gaps = _gaps(scores)
        if gaps is None:
            return _own().permute_and_flip(scores, scale)
        return _select(gaps, scale, _opendp().max_divergence())

    def draw_response(self, value: int, categories: int, truth: Fraction) -> int:
        probability = float(truth)
        if Fraction(probability) > truth:
            probability = math.nextafter(probability, 0.0)
        response = _opendp().m.make_randomized_response(list(range(categories)), probability, T="i64")
        return int(response(value))


def noise_from(source: Source | None = None) -> Noise:
    """Return the noise that goes with a source: OpenDP's for none or a secure one, reproducible for a seeded one.

    >>> noise_from().secure, noise_from(SeededSource(7)).secure
    (True, False)
    """
    return OpenDPNoise() if source is None or source.secure else SeededNoise(source)


def float_above(value: Fraction) -> float:
    """Return the smallest float that is not below `value`.

    >>> Fraction(float_above(Fraction(1, 10))) >= Fraction(1, 10), float_above(Fraction(3))
    (True, 3.0)
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def root_above(value: Fraction) -> float:
    """Return a float whose exact square is not below `value`, and that is within two steps of the root.

    >>> root_above(Fraction(9)), Fraction(root_above(Fraction(2))) ** 2 >= 2
    (3.0, True)
    """
    root = math.sqrt(value)
    while Fraction(root) ** 2 < value:
        root = math.nextafter(root, math.inf)
    return root


@cache
def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")  # OpenDP's name for parts whose proofs are public and not yet vetted twice
    return dp


def _own() -> Draws:
    return Draws(SecureSource())


def _plus(values: Sequence[int], drawn: Sequence[int]) -> list[int]:
    return [int(value) + noise for value, noise in zip(values, drawn, strict=True)]


def _gaps(scores: Sequence[int]) -> list[int] | None:
    """Return every score less the best one, which is all that selection depends on; None beyond 62 bits."""
    best = max(scores)
    return None if best - min(scores) > FARTHEST else [int(score) - best for score in scores]


def _select(gaps: list[int], scale: Fraction, measure: Any) -> int:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    return int(dp.m.make_noisy_max(*space, measure, scale=float_above(scale))(gaps))
