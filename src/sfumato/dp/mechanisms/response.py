"""Randomised response: a category is told truly with a known probability, else another one is named.

Warner (1965) for two categories, Kairouz, Bonawitz & Ramage (2016) for many; the probability of the truth is rounded
down to a binary fraction, so that the promise is kept exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from sfumato.core.parameters import Rule
from sfumato.dp.mechanisms.base import Mechanism, Number, Positive, exact
from sfumato.dp.mechanisms.trial import Trial
from sfumato.errors import InputError
from sfumato.random import Noise, Source, noise_from

WORK = Context(prec=60, rounding=ROUND_FLOOR)
LARGEST_EPSILON = 30  # beyond, the truth is so likely that a float cannot tell it from 1


@dataclass(frozen=True)
class DifferentOnes:
    """A tuple of two or more different values.

    >>> DifferentOnes().accepts(("no", "yes")), DifferentOnes().accepts(("no", "no"))
    (True, False)
    """

    wanted: str = "two or more different ones"

    def accepts(self, value: object) -> bool:
        return isinstance(value, tuple) and 2 <= len(value) == len(set(value))

    def bad_values(self) -> list[object]:
        return [(), ("no",), ("no", "yes", "no"), 3, None]


@dataclass(frozen=True)
class RandomizedResponse(Mechanism):
    """The true category with probability e^ε/(e^ε + c - 1), any of the other c - 1 with the rest in equal parts.

    >>> coin = RandomizedResponse(("no", "yes"), Fraction(1))
    >>> round(float(coin.truth), 4), round(float(coin.lie), 4)
    (0.7311, 0.2689)
    """

    categories: tuple[str | int, ...]
    epsilon: Fraction

    RULES: ClassVar[dict[str, Rule]] = {"categories": DifferentOnes(), "epsilon": Positive(below=LARGEST_EPSILON)}
    EXACT: ClassVar[tuple[str, ...]] = ("epsilon",)
    name: ClassVar[str] = "randomized-response"
    words: ClassVar[str] = "randomised response"
    sentence: ClassVar[str] = "A category is told truly with a known probability, else another one is named."

    def __post_init__(self) -> None:
        if isinstance(self.categories, Iterable):
            object.__setattr__(self, "categories", tuple(self.categories))
        super().__post_init__()

    @classmethod
    def sample(cls, epsilon: Number = 1) -> Self:
        return cls(("no", "yes"), exact(epsilon))

    def trial(self) -> Trial:
        def run(value: str | int, count: int, source: Source) -> list[str | int]:
            noise = noise_from(source)
            return [self.respond(value, noise) for _ in range(count)]

        return Trial(run, [(self.categories[0], other) for other in self.categories[1:]])

    def law(self, value: str | int) -> Mapping[str | int, float]:
        return {category: float(self.truth if category == value else self.lie) for category in self.categories}

    @cached_property
    def truth(self) -> Fraction:
        """The probability of the true category: the largest binary fraction that keeps ε, in at most 53 bits."""
        with localcontext(WORK):
            power = (Decimal(self.epsilon.numerator) / Decimal(self.epsilon.denominator)).exp()
            odds = Fraction(power) * (1 - Fraction(1, 10**50))
        limit = odds / (odds + len(self.categories) - 1)
        nearest = float(limit)
        return Fraction(nearest if Fraction(nearest) <= limit else math.nextafter(nearest, 0.0))

    @property
    def lie(self) -> Fraction:
        """The probability of each of the other categories."""
        return (1 - self.truth) / (len(self.categories) - 1)

    @property
    def rho(self) -> Fraction:
        """What a response costs under zCDP: ε²/2 (Bun & Steinke 2016)."""
        return self.epsilon**2 / 2

    def respond(self, value: str | int, noise: Noise | None = None) -> str | int:
        """Return the category that is told in place of the true one."""
        if value not in self.categories:
            raise InputError("the value to be told is none of the declared categories")
        place = self.categories.index(value)
        drawn = (noise or noise_from()).randomized_response(place, len(self.categories), self.truth)
        return self.categories[drawn]

    def estimate(self, told: Mapping[str | int, int]) -> dict[str | int, float]:
        """Return for each category the unbiased estimate of how many truly have it, from how many told it.

        >>> coin = RandomizedResponse(("no", "yes"), Fraction(1))
        >>> sum(coin.estimate({"no": 70, "yes": 30}).values())
        100.0
        """
        total = sum(told.values())
        return {
            category: float((told.get(category, 0) - total * self.lie) / (self.truth - self.lie))
            for category in self.categories
        }
