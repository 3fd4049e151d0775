"""Group privacy: what a promise to one unit is worth to several units that change together.

Pure: r·ε (Dwork & Roth 2014, theorem 2.2); with δ: δ·(e^{rε} - 1)/(e^ε - 1) (Vadhan 2017, lemma 2.2);
zero-concentrated: r²·ρ (Bun & Steinke 2016, proposition 1.9).
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal, localcontext

from sfumato.errors import ParameterError
from sfumato.promise.cost import Cost

_WORK = Context(prec=60)
_DIGITS = Context(prec=12, rounding=ROUND_CEILING)
_SLACK = Decimal("1e-30")  # far above the error of 60-digit arithmetic, far below the 12 digits that are kept
MOST_SUMMED = Decimal(1000)  # beyond this loss e^{rε} is astronomic, and so is δ


def group(cost: Cost, size: int) -> Cost:
    """Return what changing `size` units together costs, where changing one costs `cost`.

    >>> group(Cost(epsilon="0.1"), 30).epsilon, group(Cost(rho="0.01"), 3).rho
    (Decimal('3'), Decimal('0.09'))
    >>> group(Cost(epsilon=1, delta="1e-6"), 2)
    Cost(epsilon=Decimal('2'), delta=Decimal('0.00000371828182846'), rho=Decimal('0'))
    """
    if size < 1 or size != int(size):
        raise ParameterError(f"a group has {size} units; give a whole number of at least 1")
    if size == 1:
        return cost
    if cost.rho and cost.delta:
        raise ParameterError(
            f"{cost} is proven for one unit, and nothing follows from it for {size}; protect the group"
        )
    with localcontext(Context(prec=150)):
        epsilon, rho = cost.epsilon * size, cost.rho * size * size
    return Cost(epsilon, _delta(cost, size), rho)


def _delta(cost: Cost, size: int) -> Decimal:
    """Return δ·(1 + e^ε + … + e^{(size-1)ε}), rounded up."""
    if not cost.delta:
        return cost.delta
    if cost.epsilon * size > MOST_SUMMED:
        raise ParameterError(_too_large(cost, size))
    with localcontext(_WORK):
        grown = cost.epsilon.exp()
        factor = Decimal(size) if not cost.epsilon else ((cost.epsilon * size).exp() - 1) / (grown - 1)
        delta = _DIGITS.plus(cost.delta * factor * (1 + _SLACK))
    if delta >= 1:
        raise ParameterError(_too_large(cost, size))
    return delta


def _too_large(cost: Cost, size: int) -> str:
    return (
        f"a group of {size} at {cost} has a delta of 1 or more, which promises nothing; give a smaller delta or group"
    )
