"""The privacy loss of a ratio of two exact probabilities: its logarithm, never rounded down."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 60


def loss_above(ratio: Fraction) -> Decimal:
    """Return a decimal of at least ln(ratio), for a ratio of 1 or more, above it by less than 10^-48.

    >>> loss_above(Fraction(1)) < Decimal("1e-48"), f"{loss_above(Fraction(3)):.15f}"
    (True, '1.098612288668110')
    """
    with localcontext(prec=DIGITS):
        return Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln() + Decimal("1e-50")
