"""A threshold for keys that are not public: a key leaves only when the noisy count of its units is large enough.

Korolova, Kenthapadi, Mishra & Ntoulas (2009) for the idea, Wilson et al. (2020) for persons in several groups; the
proof for units of several rows, for changed values and for zCDP is in `docs/algorithms/mechanisms.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from sfumato.core.parameters import OneOf, Rule, Whole
from sfumato.dp.mechanisms.additive import TRIAL_DELTA, AdditiveNoise, Gaussian, Laplace
from sfumato.dp.mechanisms.base import Mechanism, Number, Positive, exact
from sfumato.dp.mechanisms.trial import Trial
from sfumato.promise.cost import Accountant
from sfumato.promise.unit import Neighbours
from sfumato.random import Noise, Source, noise_from

HALF = Fraction(1, 2)


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
            if not value:
                return [0] * count  # a key that nobody has cannot leave
            passing = self.keep([value] * count, noise_from(source))
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

    def keep(self, counts: Sequence[int], noise: Noise | None = None) -> dict[int, int]:
        """Return the noisy count of every key that may leave, by the key's place in `counts`.

        >>> from sfumato.random import SeededNoise
        >>> Threshold(Fraction(1), Fraction(1, 10**6)).keep([1, 500, 2], SeededNoise(1)).keys()
        dict_keys([1])
        """
        noisy = self.mechanism.release(counts, noise)
        return {place: count for place, count in enumerate(noisy) if count >= self.least}

    def _leak(self, above: int) -> Fraction:
        """Bound the chance that any key of one unit alone passes a threshold of `rows` + `above`.

        Tails are convex, so per row nothing is likelier to pass than a key with one row or a key with all of them.
        """
        apart = self.rows * self.groups * self.mechanism.tail(above + self.rows - 1)
        return max(apart, self.groups * self.mechanism.tail(above))
