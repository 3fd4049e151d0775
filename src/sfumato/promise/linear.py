"""Noise on a linear map of the records: its cost follows from how far one record moves the map, and from the noise.

Laplace noise of scale b costs ε = reach/b where the reach is measured in L1 (Dwork, McSherry, Nissim & Smith 2006);
Gaussian noise of variance v costs ρ = reach/(2v) where it is measured in L2, squared (Bun & Steinke 2016, proposition
1.6; discrete: Canonne, Kamath & Steinke 2020, theorem 4). `docs/algorithms/running-totals.md` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from sfumato.promise.chain import Distance, PerRow
from sfumato.promise.cost import Cost
from sfumato.promise.unit import Neighbours

_UP = Context(prec=20, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class LinearNoise:
    """Whole numbers that one row moves by at most `reach`, with discrete noise on each.

    `gaussian` says which noise; `scale` is then its variance, and the reach is of squares.

    >>> LinearNoise(20, Fraction(40), gaussian=False, neighbours=Neighbours.PRESENCE).cost.epsilon
    Decimal('0.5')
    >>> LinearNoise(20, Fraction(40), gaussian=True, neighbours=Neighbours.PRESENCE).cost.rho
    Decimal('0.25')
    """

    reach: int
    scale: Fraction
    gaussian: bool
    neighbours: Neighbours

    @property
    def cost(self) -> Cost:
        """What one row costs, never rounded down."""
        loss = Fraction(self.reach) / self.scale
        return Cost(rho=decimal_above(loss / 2)) if self.gaussian else Cost(epsilon=decimal_above(loss))

    def privacy(self, near: Distance) -> Cost:
        """Return what several rows cost, by group privacy."""
        return PerRow(self.cost, self.neighbours).privacy(near)


@dataclass(frozen=True)
class Disjoint:
    """Mechanisms on disjoint stretches of a stream: a row is in one of them, and pays for the dearest.

    >>> from sfumato.promise import Metric, ProtectRows
    >>> near = Distance.between(Metric(ProtectRows(), Neighbours.PRESENCE))
    >>> first, second = (LinearNoise(4, Fraction(scale), gaussian=False, neighbours=near.metric.neighbours)
    ...                  for scale in (4, 2))
    >>> Disjoint((first, second)).privacy(near).epsilon
    Decimal('2')
    """

    stretches: tuple[LinearNoise, ...]

    def privacy(self, near: Distance) -> Cost:
        """Return what the dearest stretch costs."""
        costs = [stretch.privacy(near) for stretch in self.stretches]
        return max(costs, key=lambda cost: (cost.rho, cost.epsilon))


def decimal_above(value: Fraction) -> Decimal:
    """Return a decimal of at least a fraction, and of that fraction where 20 digits hold it.

    >>> decimal_above(Fraction(1, 8)), decimal_above(Fraction(1, 3)) > Decimal(1) / 3
    (Decimal('0.125'), True)
    """
    return _UP.divide(Decimal(value.numerator), Decimal(value.denominator))
