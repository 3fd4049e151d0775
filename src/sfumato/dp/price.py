"""The price of a question: what the caller names, in the currency that the ledger counts.

Under zCDP ε buys ρ = ε²/2 (Bun & Steinke 2016, proposition 1.4). A price that the question cannot use is refused before
anything is spent.
"""

from __future__ import annotations

from sfumato.dp.questions.compiled import Compiled
from sfumato.errors import ParameterError
from sfumato.promise.cost import Accountant, Budget, Cost, Number, amount
from sfumato.promise.zcdp import rho_of_pure


def price_of_question(
    accountant: Accountant, epsilon: Number | None, delta: Number = 0, rho: Number | None = None
) -> Cost:
    """Return what a question costs by its ledger's accountant.

    >>> price_of_question(Accountant.PURE, "0.5").epsilon
    Decimal('0.5')
    >>> price_of_question(Accountant.ZCDP, 1).rho
    Decimal('0.5')
    >>> price_of_question(Accountant.PURE, None)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: a question needs one price; give epsilon, or rho under a zCDP ledger
    """
    if (epsilon is None) == (rho is None):
        raise ParameterError("a question needs one price; give epsilon, or rho under a zCDP ledger")
    if accountant is Accountant.PURE:
        if epsilon is None:
            raise ParameterError("the ledger counts epsilon and delta; give epsilon, not rho")
        return Cost(epsilon=amount(epsilon), delta=amount(delta))
    return Cost(rho=amount(rho) if rho is not None else rho_of_pure(amount(epsilon or 0)), delta=amount(delta))


def check_price(compiled: Compiled, cost: Cost, budget: Budget) -> None:
    """Refuse a price of nothing, a missing δ where keys must be found, and a δ that nothing needs."""
    if not (cost.epsilon or cost.rho):
        raise ParameterError("the price of a question is 0; give an epsilon above 0")
    if compiled.unknown and not (cost.delta and budget.keys):
        names = ", ".join(f"'{key.column}'" for key in compiled.keys if not hasattr(key, "cells"))
        flag = "--delta" if budget.accountant is Accountant.PURE else "--delta-keys"
        how = "give one" if budget.keys else f"this budget has none (make one with {flag})"
        raise ParameterError(
            f"the values of {names} are not declared, so finding them needs a delta; {how}, or declare the categories "
            "in the schema"
        )
    if cost.delta and not compiled.unknown:
        raise ParameterError("the question's keys are all declared, so that it needs no delta; leave it out")
