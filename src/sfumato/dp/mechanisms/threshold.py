"""A threshold for keys that are not public: a key leaves only when the noisy count of its units is large enough.

Korolova, Kenthapadi, Mishra & Ntoulas (2009) for the idea, Wilson et al. (2020) for persons in several groups; the
proof for units of several rows, for changed values and for zCDP is in `docs/algorithms/mechanisms.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from sfumato.core.parameters import OneOf, Rule, Whole
from sfumato.dp.ledger.amount import Accountant
from sfumato.dp.mechanisms.additive import Gaussian, Laplace, gaussian_tail, laplace_tail
from sfumato.dp.mechanisms.base import Mechanism, Positive
from sfumato.dp.unit import Neighbours
from sfumato.random import Noise

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
    words: ClassVar[str] = "noisy threshold"

    @cached_property
    def mechanism(self) -> Laplace | Gaussian:
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
        apart = self.rows * self.groups * _tail(self.mechanism, above + self.rows - 1)
        return max(apart, self.groups * _tail(self.mechanism, above))


def _tail(mechanism: Laplace | Gaussian, at: int) -> Fraction:
    """Return P(noise >= at), rounded up."""
    if isinstance(mechanism, Laplace):
        return Fraction(laplace_tail(mechanism.scale, at)) * (1 + Fraction(1, 10**40))
    return Fraction(gaussian_tail(mechanism.variance, at))
