"""What a device is promised: the loss of one report by value, and what several reports of one person cost together.

The loss is worked out from the whole numbers that decide a report (Balcer & Vadhan 2019), rounded up; reports of one
person add up (Dwork & Roth 2014, theorem 3.16). Neighbours are values: that a device reports is not hidden.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal

from sfumato.promise import (
    CapPersons,
    Cost,
    Input,
    Metric,
    Neighbours,
    PerRow,
    Promise,
    ProtectPersons,
    ProtectRows,
    derive,
)
from sfumato.promise.cost import amount

SHORT = Context(prec=12, rounding=ROUND_CEILING)
REPORT = Metric(ProtectRows(), Neighbours.VALUE, Input.REPORTS)


def stated_loss(loss: Decimal, asked: float | None = None) -> Decimal:
    """Return a loss as it is charged: rounded up to twelve digits, and to no more than the ε asked for if it is below.

    >>> stated_loss(Decimal("0.09999999999999999"), 0.1), stated_loss(Decimal("0.2"), 0.1)
    (Decimal('0.1'), Decimal('0.2'))
    """
    short = SHORT.plus(loss).normalize()
    return amount(short if asked is None or loss > amount(asked) else min(short, amount(asked)))


def report_promise(loss: Decimal, asked: float | None = None) -> Promise:
    """Return the promise of one report whose loss between any two values is at most `loss`.

    >>> promise = report_promise(Decimal(1))
    >>> promise.metric.unit_words, promise.cost_for(ProtectRows(2), Neighbours.VALUE).epsilon
    ('report (what one device holds)', Decimal('2'))
    """
    return derive(REPORT, [], PerRow(Cost(epsilon=stated_loss(loss, asked)), Neighbours.VALUE))


def person_promise(promise: Promise, person: str, reports: int) -> Promise:
    """Return the promise to a person who sends at most `reports` fresh reports, whatever their values are.

    A device with a memory sends one and the same answer for one value: count its different values.

    >>> person_promise(report_promise(Decimal(1)), "rider", 3).cost.epsilon
    Decimal('3')
    """
    whole = Metric(ProtectPersons(person), Neighbours.VALUE, Input.REPORTS)
    return promise.before(CapPersons(person, reports), metric=whole)
