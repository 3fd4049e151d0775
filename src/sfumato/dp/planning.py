"""The price of an accuracy, from public numbers alone, before anything is spent.

The error of an answer is the half width of its noise's interval; it falls as the price rises, so the price is found by
bisection (Ge, He, Ilyas & Machanavajjhala 2019 plan the other way round in the same manner).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from fractions import Fraction

from sfumato.dp.budget_split import only_counts_units
from sfumato.dp.ledger.amount import Accountant, Cost, amount
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.estimators import Averaging, Spreading
from sfumato.dp.share import Share
from sfumato.errors import ParameterError, UnsatisfiableError

DIGITS = 4
LEAST, MOST = Fraction(1, 10**6), Fraction(10**4)


@dataclass(frozen=True)
class Plan:
    """A price that reaches an accuracy: the cost, the half width it gives, and whether the budget still affords it.

    >>> Plan(Cost("0.6"), error=5.0, confidence=0.95, affordable=True).epsilon
    Decimal('0.6')
    """

    cost: Cost
    error: float
    confidence: float
    affordable: bool

    @property
    def epsilon(self) -> Decimal:
        """The ε to ask with (under zCDP the ε whose ρ = ε²/2 is the price)."""
        if self.cost.epsilon:
            return self.cost.epsilon
        return Decimal(math.sqrt(2 * float(self.cost.rho))).quantize(Decimal("1e-6"), rounding=ROUND_UP)


def plan_amount(compiled: Compiled, ledger: Ledger, error: float, confidence: float, rows: int | None) -> Plan:
    """Return the least price, to four digits, at which every aggregate's half width is at most `error`."""
    if not (math.isfinite(error) and error > 0):
        raise ParameterError(f"the error is {error}; give a number above 0")
    if not 0 < confidence < 1:
        raise ParameterError(f"the confidence is {confidence}; give a number between 0 and 1")
    if rows is None and any(isinstance(entry, Averaging | Spreading) for entry in compiled.estimators):
        raise ParameterError("the error of a mean or variance depends on how many rows there are; give a public guess")
    if rows is not None and rows < 1:
        raise ParameterError(f"the guess of the rows is {rows}; give a whole number of at least 1")
    accountant = ledger.budget.accountant
    low, high = LEAST, MOST
    if _error(compiled, accountant, high, confidence, rows) > error:
        raise UnsatisfiableError(f"no price up to {MOST} keeps the error below {error}; allow a larger error")
    while high > low * Fraction(10**DIGITS + 1, 10**DIGITS):
        middle = (low + high) / 2 if high < 2 * low else Fraction(math.sqrt(float(low * high)))
        if _error(compiled, accountant, middle, confidence, rows) <= error:
            high = middle
        else:
            low = middle
    price = _rounded_up(high)
    cost = Cost(epsilon=price) if accountant is Accountant.PURE else Cost(rho=price)
    reached = _error(compiled, accountant, Fraction(price), confidence, rows)
    return Plan(cost, reached, confidence, affordable=cost <= ledger.left)


def _error(compiled: Compiled, accountant: Accountant, price: Fraction, confidence: float, rows: int | None) -> float:
    finding = Fraction(1, 2) if compiled.unknown and not only_counts_units(compiled) else Fraction(1)
    share = Share(accountant, price * finding / len(compiled.estimators), compiled.norms)
    return max(entry.error(share, confidence, rows) for entry in compiled.estimators)


def _rounded_up(value: Fraction) -> Decimal:
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    step = Decimal(1).scaleb(exact.adjusted() - DIGITS + 1)
    return amount(exact.quantize(step, rounding=ROUND_UP))
