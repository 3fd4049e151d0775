"""A stream charged to a ledger before its first noise is drawn, once: a restarted stream is found there again.

A charge is kept as a question with the stream's own id; what was settled is not charged twice (Rogers, Roth, Ullman &
Vadhan 2016 for why every charge stands). Under zero-concentrated accounting ε costs ε²/2 (Bun & Steinke 2016).
"""

from __future__ import annotations

from decimal import Decimal
from importlib import import_module
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.release import Card

ANALYST = "stream"


def refuse_uncharged(card: Card) -> None:
    """Refuse to charge a release that promises no ε.

    >>> from sfumato.stream import NaiveLaplace
    >>> refuse_uncharged(NaiveLaplace(sensitivity=1).card("hours"))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: laplace promises no differential privacy here, so that a ledger cannot be charged \
for it; leave --ledger out or choose a publisher with a proof
    """
    if "epsilon" not in card.guarantee.parameters:
        raise ParameterError(
            f"{card.algorithm} promises no differential privacy here, so that a ledger cannot be charged for it; leave "
            "--ledger out or choose a publisher with a proof"
        )


def debit(path: Path, card: Card, column: str, stream: str) -> None:
    """Charge the stream to the ledger unless it was; the ledger refuses what it cannot afford."""
    ledgers, amounts = import_module("sfumato.dp.ledger.ledger"), import_module("sfumato.dp.ledger.amount")
    ledger = ledgers.Ledger.open(path)
    epsilon = Decimal(repr(card.guarantee.parameters["epsilon"]))
    pure = ledger.budget.accountant is amounts.Accountant.PURE
    cost = amounts.Cost(epsilon=epsilon) if pure else amounts.Cost(rho=epsilon * epsilon / 2)
    question = f"stream {stream}: {card.algorithm} of {column}, epsilon {epsilon}"
    if ledger.find(question, ledger.version, ANALYST) is None:
        ledger.settle(ledger.debit(question, ledger.version, ANALYST, cost), stream.encode())
