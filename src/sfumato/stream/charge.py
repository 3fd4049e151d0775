"""A stream charged to a ledger before its first noise is drawn, once: a restarted stream is found there again.

A charge is kept as a question with the stream's own id; what was settled is not charged twice (Rogers, Roth, Ullman &
Vadhan 2016 for why every charge stands). Under zero-concentrated accounting ε costs ε²/2 (Bun & Steinke 2016).
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import ParameterError
from sfumato.promise.cost import Accountant, Cost
from sfumato.release import Card

ANALYST = "stream"


def refuse_uncharged(card: Card) -> None:
    """Refuse to charge a release that promises no ε, or one that begins anew.

    >>> from sfumato.stream import NaiveLaplace
    >>> refuse_uncharged(NaiveLaplace(sensitivity=1).card("hours"))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: laplace promises no differential privacy here, so that a ledger cannot be charged \
for it; leave --ledger out or choose a publisher with a proof
    """
    if card.released.settings.get("horizon") is not None:
        raise ParameterError("--ledger cannot charge a promise that begins anew with every --horizon; leave one out")
    if "epsilon" not in card.guarantee.parameters:
        raise ParameterError(
            f"{card.algorithm} promises no differential privacy here, so that a ledger cannot be charged for it; leave "
            "--ledger out or choose a publisher with a proof"
        )


def charge_stream(path: Path, card: Card, stream: str) -> None:
    """Charge the stream of an id to the ledger unless it was; the ledger refuses what it cannot afford.

    >>> import tempfile
    >>> from sfumato.dp import Budget
    >>> from sfumato.stream import NaiveLaplace
    >>> file = Path(tempfile.mkdtemp()) / "l"
    >>> ledger = Ledger.create(file, Budget(epsilon=2), {"data": "in.csv"})
    >>> for _ in range(2):
    ...     charge_stream(file, NaiveLaplace(bounds=(0, 1)).card("hours"), "0123")
    >>> ledger.spent.epsilon
    Decimal('1')
    """
    ledger = Ledger.open(path)
    epsilon = Decimal(repr(card.guarantee.parameters["epsilon"]))
    pure = ledger.budget.accountant is Accountant.PURE
    cost = Cost(epsilon=epsilon) if pure else Cost(rho=epsilon * epsilon / 2)
    columns = ", ".join(column.name for column in card.released.columns)
    question = f"stream {stream}: {card.algorithm} of {columns}, epsilon {epsilon}"
    if ledger.find(question, ledger.version, ANALYST) is None:
        ledger.settle(ledger.debit(question, ledger.version, ANALYST, cost), stream.encode())
