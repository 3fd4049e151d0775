"""A share of the budget for one aggregate, and the noise that it buys for one unit's greatest influence.

The norms follow from the unit and its neighbours (Dwork & Roth 2014, section 3.3; McSherry 2009 for disjoint groups):
one unit has at most `rows` rows in each of at most `groups` groups; under presence neighbours they come or go, under
changed values they may leave as many groups and enter as many others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.dp.mechanisms import AdditiveNoise, ExponentialMechanism, Gaussian, Laplace
from sfumato.promise.cost import Accountant
from sfumato.promise.unit import Neighbours


@dataclass(frozen=True)
class Norms:
    """How far one unit moves a vector of group answers, each row adding at most `most` or changing by at most `swing`.

    >>> Norms(rows=1, groups=1, grouped=True, neighbours=Neighbours.VALUE).l1(1, 1)
    2
    """

    rows: int
    groups: int
    grouped: bool
    neighbours: Neighbours

    @property
    def touched_groups(self) -> int:
        """In how many groups one unit can change anything."""
        moves = self.grouped and self.neighbours is Neighbours.VALUE
        return 2 * self.groups if moves else self.groups

    def l1(self, most: int, swing: int) -> int:
        """The largest sum of changes over all groups; at least 1, also where the bounds are a single point."""
        if self.neighbours is Neighbours.PRESENCE:
            return max(1, self.groups * self.rows * most)
        if not self.grouped:
            return max(1, self.rows * swing)
        return max(1, self.groups * self.rows * max(2 * most, swing))

    def l2_squared(self, most: int, swing: int) -> int:
        """The largest sum of squared changes over all groups; at least 1, as for `l1`."""
        if self.neighbours is Neighbours.PRESENCE:
            return max(1, self.groups * (self.rows * most) ** 2)
        if not self.grouped:
            return max(1, (self.rows * swing) ** 2)
        return max(1, self.groups * self.rows**2 * max(2 * most**2, swing**2))

    def per_person(self) -> Norms:
        """The same where a unit counts once in each group, however many rows it has there."""
        return replace(self, rows=1)


@dataclass(frozen=True)
class Share:
    """An amount of ε (pure) or of ρ (zCDP) for one vector of answers.

    >>> norms = Norms(rows=1, groups=1, grouped=False, neighbours=Neighbours.PRESENCE)
    >>> Share(Accountant.PURE, Fraction(1, 10), norms).additive(1, 1).scale
    Fraction(10, 1)
    """

    accountant: Accountant
    amount: Fraction
    norms: Norms

    def part(self, share: Fraction) -> Share:
        """The same for a part of the amount."""
        return replace(self, amount=self.amount * share)

    def per_person(self) -> Share:
        """The same where a unit counts once in each group."""
        return replace(self, norms=self.norms.per_person())

    def additive(self, most: int, swing: int) -> AdditiveNoise:
        """The noise to add to integers of which one row adds at most `most` and changes at most `swing`."""
        if self.accountant is Accountant.PURE:
            return Laplace.for_epsilon(self.amount, self.norms.l1(most, swing))
        return Gaussian.for_rho(self.amount, self.norms.l2_squared(most, swing))

    def selection(self, sensitivity: int) -> ExponentialMechanism:
        """The mechanism that chooses in each group, for scores that one unit moves by at most `sensitivity`."""
        touched = self.norms.touched_groups
        if self.accountant is Accountant.PURE:
            return ExponentialMechanism(self.amount / touched, sensitivity)
        return ExponentialMechanism.for_rho(self.amount / touched, sensitivity)


def noise_cost(mechanism: AdditiveNoise, norms: Norms, reach: tuple[int, int]) -> Fraction:
    """Return what additive noise costs units that move the numbers so far: ε of Laplace noise, ρ of Gaussian.

    >>> norms = Norms(rows=2, groups=1, grouped=False, neighbours=Neighbours.PRESENCE)
    >>> noise_cost(Laplace(Fraction(10)), norms, (1, 1)), noise_cost(Gaussian(Fraction(10)), norms, (1, 1))
    (Fraction(1, 5), Fraction(1, 5))
    """
    return mechanism.cost(norms.l1(*reach) if isinstance(mechanism, Laplace) else norms.l2_squared(*reach))
