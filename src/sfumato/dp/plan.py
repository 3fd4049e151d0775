"""Plans: which error a price buys, and which price an error needs; nothing is spent and no row is looked at.

The error of an answer is the half width of its noise's interval. It falls as the price rises, so that a price is found
by bisection (Ge, He, Ilyas & Machanavajjhala 2019 plan from the accuracy in the same manner). Everything in a plan
follows from the schema, the price and a public guess of the rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_UP, Decimal
from fractions import Fraction
from typing import Any

from sfumato.dp.budget_split import check_guess, check_noise, only_counts_units, share_of_each, whole_share
from sfumato.dp.limits import Limit, clipped_to, derived_columns, key_limits
from sfumato.dp.notes import withheld_words
from sfumato.dp.price import check_price
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.estimators import Averaging, Choosing, Estimator, Spreading
from sfumato.dp.rehearsal import rehearsed_error, unit_of_values
from sfumato.dp.share import Share
from sfumato.errors import ParameterError, UnsatisfiableError
from sfumato.promise.cost import MOST_DECIMALS, Accountant, Budget, Cost, amount
from sfumato.promise.unit import ProtectRows
from sfumato.schema import Schema

DIGITS = 4  # of a planned price
LEAST, MOST = Fraction(1, 10**6), Fraction(10**4)
OF_ROWS = Averaging | Spreading | Choosing  # whose error depends on how many rows there are
UNKNOWN = "unknown"  # without a guess of the rows
NUDGES = 100  # of a rounded price, where an error falls in steps


@dataclass(frozen=True)
class PlannedAnswer:
    """What a price buys for one aggregate: half the width of its interval, in `unit`, and the noise that makes it.

    `error` is None where it depends on the number of rows and no guess was given. `ranks` is by how many rows the rank
    of a quantile may be off, `least_rows` the rows that a group needs for it to be more than the median.

    >>> PlannedAnswer("count", Cost("0.1"), 30.0, "rows", 10.0, "rows").row
    ('count', '±30', 'rows', '10', 'epsilon 0.1')
    """

    name: str
    cost: Cost
    error: float | None
    unit: str
    scale: float | None
    unit_of_scale: str
    ranks: float | None = None
    least_rows: int | None = None

    @property
    def row(self) -> tuple[str, str, str, str, str]:
        """The name, the error, what it counts in, the scale and the price, as a table shows them."""
        error = UNKNOWN if self.error is None else f"±{_brief(self.error)}"
        other = f" {self.unit_of_scale}" if self.unit_of_scale != self.unit else ""
        scale = UNKNOWN if self.scale is None else f"{_brief(self.scale)}{other}"
        return self.name, error, self.unit, scale, str(self.cost)

    def to_dict(self) -> dict[str, Any]:
        """Return the parts by name, without those that this aggregate does not have."""
        parts = {
            "name": self.name,
            "error": self.error,
            "unit": self.unit,
            "noise_scale": self.scale,
            "unit_of_scale": self.unit_of_scale,
            "cost": self.cost.to_dict(),
        }
        ranks = {} if self.ranks is None else {"rank_error": self.ranks, "least_rows": self.least_rows}
        return {**parts, **ranks}


@dataclass(frozen=True)
class Plan:
    """A price and the accuracy it buys: for every aggregate and in all, and what would be left of the budget.

    `error` is the largest one, None where all depend on the number of rows and no guess was given.

    >>> plan = Plan(Cost("0.6"), error=5.0, confidence=0.95, left=Cost("1"))
    >>> plan.epsilon, plan.affordable, str(plan.left_after)
    (Decimal('0.6'), True, 'epsilon 0.4')
    """

    cost: Cost
    error: float | None
    confidence: float
    left: Cost
    answers: tuple[PlannedAnswer, ...] = ()
    clipped: dict[str, list[Limit]] = field(default_factory=dict)
    threshold: int | None = None
    present_from: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def affordable(self) -> bool:
        """Whether the budget left suffices."""
        return self.cost <= self.left

    @property
    def left_after(self) -> Cost:
        """What would be left of the budget."""
        return self.left.less(self.cost)

    @property
    def epsilon(self) -> Decimal:
        """The ε to ask with (under zCDP the ε whose ρ = ε²/2 is the price)."""
        if self.cost.epsilon:
            return self.cost.epsilon
        return Decimal(math.sqrt(2 * float(self.cost.rho))).quantize(Decimal("1e-6"), rounding=ROUND_UP)

    def to_json(self) -> str:
        """Return the plan as JSON.

        >>> print(Plan(Cost("0.6"), error=5.0, confidence=0.95, left=Cost("1")).to_json().splitlines()[1])
          "epsilon": 0.6,
        """
        content = {
            "epsilon": float(self.epsilon),
            "cost": self.cost.to_dict(),
            "error": self.error,
            "confidence": self.confidence,
            "affordable": self.affordable,
            "left": self.left.to_dict(),
            "left_after": self.left_after.to_dict() if self.affordable else None,
            "answers": [entry.to_dict() for entry in self.answers],
            "clipped_to": self.clipped,
            "threshold": self.threshold,
            "present_from": self.present_from,
            "notes": list(self.notes),
        }
        return json.dumps(content, indent=2, ensure_ascii=False)

    def to_text(self) -> str:
        """Return the plan as a small table, and what must be known of it in sentences.

        >>> count = PlannedAnswer("count", Cost("0.1"), 30.0, "rows", 10.0, "rows")
        >>> print(Plan(Cost("0.1"), 30.0, 0.95, Cost("1"), (count,)).to_text())
        price: epsilon 0.1; left: epsilon 1; left afterwards: epsilon 0.9
        answer  95 % error  unit  noise scale  price
        count   ±30         rows  10           epsilon 0.1
        """
        left = f"left afterwards: {self.left_after}" if self.affordable else "the budget left is too small"
        asked = "" if self.cost.epsilon else f" (epsilon {self.epsilon} to ask with)"
        first = f"price: {self.cost}{asked}; left: {self.left}; {left}"
        head = ("answer", f"{100 * self.confidence:g} % error", "unit", "noise scale", "price")
        return "\n".join([first, *_aligned([head, *(entry.row for entry in self.answers)]), *self.notes])


@dataclass(frozen=True)
class Planner:
    """A question, what is left of its budget, and a public guess of how many rows a group has.

    >>> from sfumato.dp.questions.compiled import compile_query
    >>> from sfumato.dp.questions.query import count
    >>> from sfumato.promise.unit import Neighbours
    >>> compiled = compile_query(count(), Schema(), ProtectRows(), Neighbours.PRESENCE)
    >>> planner = Planner(compiled, Schema(), Budget(epsilon=1), Cost("1"))
    >>> planner.at(Cost("0.1")).error, planner.for_error(30).epsilon
    (30.0, Decimal('0.09819'))
    """

    compiled: Compiled
    schema: Schema
    budget: Budget
    left: Cost
    confidence: float = 0.95
    rows: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ParameterError(f"the confidence is {self.confidence}; give a number between 0 and 1")
        if self.rows is not None:
            check_guess(self.rows)

    def at(self, cost: Cost) -> Plan:
        """Return which error a price buys."""
        if cost.delta or not self.compiled.unknown:
            check_price(self.compiled, cost, self.budget)
            check_noise(self.compiled, cost)
        share = share_of_each(self.compiled, whole_share(self.compiled, cost))
        answers = tuple(
            self._answer(entry.label, estimator, share)
            for entry, estimator in zip(self.compiled.query.aggregates, self.compiled.estimators, strict=True)
        )
        errors = [entry.error for entry in answers if entry.error is not None]
        limits = key_limits(self.compiled, cost) if cost.delta else {}
        clipped = clipped_to(self.compiled, self.schema)
        notes = (*self._split(), *_clipping(clipped), *self._keys(limits), *self._rehearsals(answers))
        return Plan(
            cost, max(errors, default=None), self.confidence, self.left, answers, clipped, **limits, notes=notes
        )

    def for_error(self, error: float, delta: Decimal = Decimal(0)) -> Plan:
        """Return the least price, to four digits, at which every aggregate's error is at most `error`."""
        if not (math.isfinite(error) and error > 0):
            raise ParameterError(f"the error is {error}; give a number above 0")
        if self.rows is None and any(isinstance(estimator, OF_ROWS) for estimator in self.compiled.estimators):
            raise ParameterError(
                "the error of a mean, variance or quantile depends on how many rows there are; give a public guess, or "
                "plan from a price"
            )
        low, high = LEAST, MOST
        if self._error(high) > error:
            raise UnsatisfiableError(f"no price up to {MOST} keeps the error below {error}; allow a larger error")
        while high > low * Fraction(10**DIGITS + 1, 10**DIGITS):
            middle = (low + high) / 2 if high < 2 * low else Fraction(math.sqrt(float(low * high)))
            if self._error(middle) <= error:
                high = middle
            else:
                low = middle
        return self.at(self._cost(self._rounded_up(high, error), delta))

    def _rounded_up(self, price: Fraction, error: float) -> Decimal:
        """Return the price in four digits at which the error is kept; an error that falls in steps may need a nudge."""
        rounded = _in_digits(price)
        for _ in range(NUDGES):
            if self._error(Fraction(rounded)) <= error:
                break
            rounded = _in_digits(Fraction(rounded) * Fraction(1001, 1000))
        return rounded

    def _cost(self, price: Decimal, delta: Decimal) -> Cost:
        return (
            Cost(epsilon=price, delta=delta)
            if self.budget.accountant is Accountant.PURE
            else Cost(rho=price, delta=delta)
        )

    def _error(self, price: Fraction) -> float:
        share = share_of_each(self.compiled, Share(self.budget.accountant, price, self.compiled.norms))
        return max(self._half_width(estimator, share) or 0.0 for estimator in self.compiled.estimators)

    def _half_width(self, estimator: Estimator, share: Share) -> float | None:
        if self.rows is None and isinstance(estimator, OF_ROWS):
            return None
        if isinstance(estimator, Choosing):
            return rehearsed_error(estimator, share, self.confidence, self.rows or 1)
        return estimator.error(share, self.confidence, self.rows)

    def _answer(self, name: str, estimator: Estimator, share: Share) -> PlannedAnswer:
        error, scale = self._half_width(estimator, share), estimator.scale(share, self.rows)
        price = _in_digits(share.amount, 12)
        cost = Cost(epsilon=price) if share.accountant is Accountant.PURE else Cost(rho=price)
        if not isinstance(estimator, Choosing):
            return PlannedAnswer(name, cost, error, estimator.unit, scale, estimator.unit)
        ranks, least = estimator.error(share, self.confidence, None), estimator.least_rows(share)
        return PlannedAnswer(name, cost, error, unit_of_values(estimator.line), scale, estimator.unit, ranks, least)

    def _split(self) -> list[str]:
        told = []
        if self.compiled.unknown and not only_counts_units(self.compiled):
            told.append("half of the price finds the keys that are not declared")
        many = len(self.compiled.estimators)
        if many > 1:
            told.append(f"{'the other half' if told else 'the price'} is shared evenly by {many} aggregates")
        if self.compiled.keys:
            told.append("the error is that of one group's answer; all groups together cost the price once")
        return [*told, *(f"{name} is computed: {text}" for name, text in derived_columns(self.compiled).items())]

    def _keys(self, limits: dict[str, int]) -> list[str]:
        if not self.compiled.unknown:
            return []
        if not limits:
            return ["finding keys that are not declared needs a delta; give one to see the threshold"]
        units = "rows" if isinstance(self.compiled.unit, ProtectRows) else "persons"
        return withheld_words(limits["threshold"], limits["present_from"], units)

    def _rehearsals(self, answers: Sequence[PlannedAnswer]) -> list[str]:
        told = [_rank_sentence(entry, self.confidence) for entry in answers if entry.ranks is not None]
        missing = [entry.name for entry in answers if entry.error is None]
        if missing:
            told.append(
                f"the error of {', '.join(missing)} depends on how many rows a group has, which is secret; give a "
                "public guess by rows"
            )
        if self.rows is None:
            return told
        told += [
            f"{entry.name} needs {entry.least_rows} rows in a group to be more than the median; you expect {self.rows}"
            for entry in answers
            if entry.least_rows is not None and entry.least_rows > self.rows
        ]
        rehearsed = [entry.name for entry in answers if entry.ranks is not None]
        if rehearsed:
            told.append(
                f"the error of {', '.join(rehearsed)} is that of a rehearsal on {self.rows} made-up rows, drawn evenly "
                "from the declared bounds; real rows are not even, so that theirs may differ"
            )
        return told


def _rank_sentence(entry: PlannedAnswer, confidence: float) -> str:
    return f"{entry.name} is within ±{entry.ranks:.0f} rows of its rank ({100 * confidence:g} %)"


def _clipping(clipped: dict[str, list[Limit]]) -> list[str]:
    return [f"values of {name} are clipped to [{low}, {high}]" for name, (low, high) in clipped.items()]


def _in_digits(value: Fraction, digits: int = DIGITS) -> Decimal:
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    step = Decimal(1).scaleb(max(exact.adjusted() - digits + 1, -MOST_DECIMALS))
    return amount(exact.quantize(step, rounding=ROUND_UP))


def _brief(value: float) -> str:
    """A number with four significant digits, or all before the point, with commas between thousands."""
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.4g}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
