"""What single analysts may spend of a ledger: a share of their own, in the coin that the ledger counts.

A share of ε under zero-concentrated accounting is the ρ that keeps it at the budget's δ (Bun & Steinke 2016).
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from sfumato.errors import ParameterError
from sfumato.promise.cost import Accountant, Budget, Cost, amount
from sfumato.promise.zcdp import rho_of


def read_shares(entries: Iterable[str]) -> dict[str, Decimal] | None:
    """Return the analysts' shares that `NAME=EPSILON` names, or None where there is none and anybody may ask.

    >>> read_shares(["ana=0.5", "bo=0.25"])
    {'ana': Decimal('0.5'), 'bo': Decimal('0.25')}
    >>> read_shares(["ana"])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the analyst 'ana' is not of the form NAME=EPSILON
    """
    shares: dict[str, Decimal] = {}
    for entry in entries:
        name, equals, share = entry.rpartition("=")
        if not equals or not name:
            raise ParameterError(f"the analyst '{entry}' is not of the form NAME=EPSILON")
        if name in shares:
            raise ParameterError(f"the analyst '{name}' is named twice; give each one share")
        shares[name] = amount(share)
    return shares or None


def share_of(budget: Budget, epsilon: Decimal) -> Cost:
    """Return an analyst's ε in the coin of the ledger: itself, or the ρ that keeps it at the budget's δ.

    >>> share_of(Budget(epsilon=1), Decimal("0.5")).epsilon
    Decimal('0.5')
    """
    share = amount(epsilon)
    if not share:
        raise ParameterError("an analyst's share is 0; give a number above 0 or leave the analyst out")
    if budget.accountant is Accountant.PURE:
        return Cost(epsilon=share)
    return Cost(rho=rho_of(share, budget.delta - budget.keys))
