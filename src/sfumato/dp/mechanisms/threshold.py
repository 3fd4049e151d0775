"""A threshold for keys that are not public: a key leaves only when the noisy count of its units is large enough.

Korolova, Kenthapadi, Mishra & Ntoulas (2009) for the idea, Wilson et al. (2020) for persons in several groups; the
proof for units of several rows, for changed values and for zCDP is in `docs/algorithms/mechanisms.md`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from sfumato.core.parameters import OneOf, Rule, Whole
from sfumato.core.seam import choose
from sfumato.dp.mechanisms.additive import TRIAL_DELTA, AdditiveNoise, Gaussian, Laplace
from sfumato.dp.mechanisms.base import Mechanism, Number, Positive, exact, outside_probability
from sfumato.dp.mechanisms.trial import Trial
from sfumato.promise.cost import Accountant
from sfumato.promise.unit import Neighbours
from sfumato.random import Noise, Source, noise_from
from sfumato.random.laws import Loss

HALF = Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class Passing:
    """The law of a threshold, as a twin run sees it: the number of units by key, the noise, and the least to leave.

    >>> noise = Laplace(Fraction(2))
    >>> one, none = Passing({"a": 9, "b": 1}, noise, 30), Passing({"a": 8}, noise, 30)
    >>> loss = one.loss(none, {})
    >>> loss.epsilon, loss.delta < 1e-6
    (0.5, True)
    """

    counts: Mapping[Hashable, int]
    mechanism: AdditiveNoise
    least: int

    @property
    def public(self) -> tuple[Any, ...]:
        return "threshold", self.mechanism, self.least

    def loss(self, other: Passing, outcome: object) -> Loss:
        """Return what common keys tell by their noise, and the chance that a key leaves that one side lacks."""
        del outcome
        alone = self.counts.keys() ^ other.counts.keys()
        delta = sum(self._chance({**self.counts, **other.counts}[key]) for key in alone)
        moves = [abs(self.counts[key] - other.counts[key]) for key in self.counts.keys() & other.counts.keys()]
        if isinstance(self.mechanism, Laplace):
            pure = float(self.mechanism.cost(sum(moves)))
            return Loss(pure, pure, pure**2 / 2, delta)
        rho = float(self.mechanism.cost(sum(move**2 for move in moves)))
        return Loss(math.inf if rho else 0.0, math.inf if rho else 0.0, rho, delta)

    def _chance(self, count: int) -> float:
        """The probability that a key with so many units passes."""
        return float(self.mechanism.tail(self.least - count)) if self.least > count else 1.0


@dataclass(frozen=True)
class Threshold(Mechanism):
    """Noise on the number of units per key, and the least noisy number with which a key may leave.

    One unit adds at most `rows` to a key and at most `rows`·`groups` in all: a person counts once in each of `groups`
    keys; a unit of several rows may spread them or put them in one key. `amount` is ε, or ρ under zCDP.

    >>> two_keys = Threshold(Fraction(1), Fraction(1, 10**6), groups=2)
    >>> two_keys.mechanism, two_keys.least
    (Laplace(scale=Fraction(2, 1)), 30)
    """

    amount: Fraction
    delta: Fraction
    rows: int = 1
    groups: int = 1
    neighbours: Neighbours = Neighbours.PRESENCE
    accountant: Accountant = Accountant.PURE

    RULES: ClassVar[dict[str, Rule]] = {
        "amount": Positive(),
        "delta": Positive(below=HALF),
        "rows": Whole(1),
        "groups": Whole(1),
        "neighbours": OneOf(tuple(Neighbours)),
        "accountant": OneOf(tuple(Accountant)),
    }
    EXACT: ClassVar[tuple[str, ...]] = ("amount", "delta")
    name: ClassVar[str] = "threshold"
    words: ClassVar[str] = "noisy threshold"
    sentence: ClassVar[str] = "A key that is not public leaves only when the noisy number of its units is large enough."

    @classmethod
    def sample(cls, epsilon: Number = 1) -> Self:
        return cls(exact(epsilon), exact(TRIAL_DELTA))

    def trial(self) -> Trial:
        """Return trials on the number of units that one key has: its noisy number, or 0 where the key stays inside."""

        def run(value: int, count: int, source: Source) -> list[int]:
            there = [value] * count if value else []  # a key that nobody has cannot leave
            passing = self.keep(there, noise_from(source))
            return [passing.get(place, 0) for place in range(count)]

        counts = (0, 1, self.least, 2 * self.least)
        return Trial(run, [(count, count + self.rows) for count in counts], float(self.delta))

    def law(self, value: int) -> Mapping[int, float]:
        if not value:
            return {0: 1.0}
        noisy = self.mechanism.law(value)
        leaving = {count: chance for count, chance in noisy.items() if count >= self.least}
        return {0: 1 - sum(leaving.values()), **leaving}

    @cached_property
    def mechanism(self) -> AdditiveNoise:
        """The noise on the counts; under changed values a unit leaves as many keys as it enters."""
        sides = 2 if self.neighbours is Neighbours.VALUE else 1
        if self.accountant is Accountant.PURE:
            return Laplace.for_epsilon(self.amount, sides * self.groups * self.rows)
        return Gaussian.for_rho(self.amount, sides * self.groups * self.rows**2)

    @cached_property
    def least(self) -> int:
        """The smallest threshold that keys of one unit alone pass with probability at most δ, all of them together."""
        low, high = 1, 1
        while self._leak(high) > self.delta:
            low, high = high + 1, 2 * high
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._leak(middle) <= self.delta else (middle + 1, high)
        return low + self.rows

    def present_from(self, confidence: float) -> int:
        """Return the number of units from which a key leaves with at least this probability.

        >>> threshold = Threshold(Fraction(1), Fraction(1, 10**6))
        >>> threshold.least, threshold.present_from(0.95)
        (15, 17)
        """
        outside = outside_probability(confidence)
        low, high = 0, 1
        while self.mechanism.tail(high + 1) > outside:
            low, high = high + 1, 2 * high
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.mechanism.tail(middle + 1) <= outside else (middle + 1, high)
        return self.least + low

    def keep(
        self, counts: Sequence[int], noise: Noise | None = None, keys: Sequence[Hashable] | None = None
    ) -> dict[int, int]:
        """Return the noisy count of every key that may leave, by the key's place in `counts`.

        `keys` names them for whoever watches the draw: a neighbour may lack one of them.

        >>> from sfumato.random import SeededNoise
        >>> Threshold(Fraction(1), Fraction(1, 10**6)).keep([1, 500, 2], SeededNoise(1)).keys()
        dict_keys([1])
        """
        named = list(range(len(counts))) if keys is None else list(keys)

        def draw() -> dict[Hashable, int]:
            noisy = zip(named, self.mechanism.release(counts, noise), strict=True)
            return {key: count for key, count in noisy if count >= self.least}

        passing = choose(lambda: Passing(dict(zip(named, counts, strict=True)), self.mechanism, self.least), draw)
        return {place: passing[key] for place, key in enumerate(named) if key in passing}

    def _leak(self, above: int) -> Fraction:
        """Bound the chance that any key of one unit alone passes a threshold of `rows` + `above`.

        Tails are convex, so per row nothing is likelier to pass than a key with one row or a key with all of them.
        """
        apart = self.rows * self.groups * self.mechanism.tail(above + self.rows - 1)
        return max(apart, self.groups * self.mechanism.tail(above))
