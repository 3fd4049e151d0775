"""What a price buys: its split among aggregates, the keys that may leave, and the price that reaches an accuracy.

Aggregates share the price evenly. Where keys are unknown, half of it finds the keys that enough persons have (Korolova,
Kenthapadi, Mishra & Ntoulas 2009; Wilson et al. 2020), and only those get further answers. The error of an answer is
the half width of its noise's interval; it falls as the price rises, so that a price is found by bisection (Ge, He,
Ilyas & Machanavajjhala 2019 plan the other way round in the same manner).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from fractions import Fraction
from typing import Any

from sfumato.dp.answer import CONFIDENCE, AnswerColumn
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.mechanisms.threshold import Threshold
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.estimators import Averaging, Choosing, Counting, Spreading, count_column
from sfumato.dp.questions.request import Cells, Count, Persons, Tallies
from sfumato.dp.share import Share
from sfumato.errors import ParameterError, UnsatisfiableError
from sfumato.promise.cost import Accountant, Cost, amount
from sfumato.promise.unit import ProtectRows
from sfumato.random import Noise

DIGITS = 4  # of a planned price
LEAST, MOST = Fraction(1, 10**6), Fraction(10**4)


def whole_share(compiled: Compiled, cost: Cost) -> Share:
    """Return the whole price of a question as a share of noise.

    The accountant is told by what the cost is counted in.
    """
    if cost.rho:
        return Share(Accountant.ZCDP, Fraction(cost.rho), compiled.norms)
    return Share(Accountant.PURE, Fraction(cost.epsilon), compiled.norms)


def check_noise(compiled: Compiled, cost: Cost) -> None:
    """Refuse a price for which there is no noise, before it is paid."""
    share = whole_share(compiled, cost)
    if compiled.unknown:
        _ = threshold_of(compiled, cost, share).least
    for estimator in compiled.estimators:
        estimator.error(share.part(Fraction(1, 2 * len(compiled.estimators))), CONFIDENCE, None)


def check_ranks(compiled: Compiled, cost: Cost, rows: int | None) -> None:
    """Refuse a minimum, maximum or quantile that would be the median in a group of `rows` rows, before it is paid.

    How many rows there are is secret, so that only a public guess can refuse; without one the answer says how many
    rows it needs.
    """
    if rows is None:
        return
    _check_guess(rows)
    share = share_of_each(compiled, whole_share(compiled, cost))
    for entry, estimator in zip(compiled.query.aggregates, compiled.estimators, strict=True):
        if isinstance(estimator, Choosing) and estimator.least_rows(share) > rows:
            raise ParameterError(
                f"{entry.text} at this price needs {estimator.least_rows(share)} rows in a group to be more than the "
                f"median, and you expect {rows}; give a larger epsilon, or ask for fewer aggregates at once"
            )


def answer_columns(
    compiled: Compiled, tallies: Tallies, cost: Cost, noise: Noise
) -> tuple[list[Cells], list[AnswerColumn]]:
    """Return the groups that leave and their noisy answers."""
    share = whole_share(compiled, cost)
    if not compiled.unknown:
        return tallies.cells, _columns(compiled, tallies.columns, share, noise)
    threshold = threshold_of(compiled, cost, share)
    passing = threshold.keep([int(units) for units in tallies.columns[0]], noise, tallies.cells)
    order = sorted(passing, key=lambda place: _order(tallies.cells[place]))
    kept = [tallies.cells[place] for place in order]
    if only_counts_units(compiled):
        name = compiled.query.aggregates[0].label
        return kept, [count_column(name, [passing[place] for place in order], threshold.mechanism)]
    columns = [[column[place] for place in order] for column in tallies.columns[1:]]
    return kept, _columns(compiled, columns, share.part(Fraction(1, 2)), noise)


def threshold_of(compiled: Compiled, cost: Cost, share: Share) -> Threshold:
    """Return what lets unknown keys out, for half of the price, or all of it where it answers the question itself."""
    price = share.amount if only_counts_units(compiled) else share.amount / 2
    unit = compiled.unit
    rows, groups = (unit.rows, 1) if isinstance(unit, ProtectRows) else (1, unit.groups)
    return Threshold(price, Fraction(cost.delta), rows, groups, compiled.neighbours, share.accountant)


def only_counts_units(compiled: Compiled) -> bool:
    """Return whether the threshold's own noisy counts already answer the question."""
    if len(compiled.estimators) != 1 or not isinstance(compiled.estimators[0], Counting):
        return False
    measure = compiled.estimators[0].measure
    return isinstance(measure, Persons) or (isinstance(measure, Count) and isinstance(compiled.unit, ProtectRows))


def _columns(compiled: Compiled, columns: Sequence[Any], share: Share, noise: Noise) -> list[AnswerColumn]:
    part = share.part(Fraction(1, len(compiled.estimators)))
    made, place = [], 0
    for estimator in compiled.estimators:
        after = place + len(estimator.measures)
        made.append(estimator.answer(columns[place:after], part, noise))
        place = after
    return made


def _order(cells: Cells) -> tuple[str, ...]:
    return tuple(str(cell) for cell in cells)


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

    def to_json(self) -> str:
        """Return the plan as JSON.

        >>> print(Plan(Cost("0.6"), error=5.0, confidence=0.95, affordable=True).to_json().splitlines()[1])
          "epsilon": 0.6,
        """
        entry = {"epsilon": float(self.epsilon), "cost": self.cost.to_dict(), "error": self.error}
        return json.dumps({**entry, "affordable": self.affordable}, indent=2)


def plan_amount(compiled: Compiled, ledger: Ledger, error: float, confidence: float, rows: int | None) -> Plan:
    """Return the least price, to four digits, at which every aggregate's half width is at most `error`."""
    if not (math.isfinite(error) and error > 0):
        raise ParameterError(f"the error is {error}; give a number above 0")
    if not 0 < confidence < 1:
        raise ParameterError(f"the confidence is {confidence}; give a number between 0 and 1")
    if rows is None and any(isinstance(entry, Averaging | Spreading) for entry in compiled.estimators):
        raise ParameterError("the error of a mean or variance depends on how many rows there are; give a public guess")
    if rows is not None:
        _check_guess(rows)
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


def _check_guess(rows: int) -> None:
    if rows < 1:
        raise ParameterError(f"the guess of the rows is {rows}; give a whole number of at least 1")


def share_of_each(compiled: Compiled, share: Share) -> Share:
    """The share of the whole price that each aggregate gets, where keys are found first after that."""
    finding = Fraction(1, 2) if compiled.unknown and not only_counts_units(compiled) else Fraction(1)
    return share.part(finding / len(compiled.estimators))


def _error(compiled: Compiled, accountant: Accountant, price: Fraction, confidence: float, rows: int | None) -> float:
    share = share_of_each(compiled, Share(accountant, price, compiled.norms))
    return max(entry.error(share, confidence, rows) for entry in compiled.estimators)


def _rounded_up(value: Fraction) -> Decimal:
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    step = Decimal(1).scaleb(exact.adjusted() - DIGITS + 1)
    return amount(exact.quantize(step, rounding=ROUND_UP))
