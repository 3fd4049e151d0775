"""A stream paid for from a ledger before its first noise is drawn, once: a restarted stream is found there again.

The price is what the stream's promise costs in the ledger's terms; a stream without one is listed outside the bound
(Rogers, Roth, Ullman & Vadhan 2016 for why every charge stands).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.places import LedgerPlace
from sfumato.dp.ledger.till import Purchase, list_outside, pay, price
from sfumato.promise import Promise, outside_the_bound
from sfumato.release import Card
from sfumato.stream.base import Publisher
from sfumato.stream.wrappers import WrappingPublisher

ANALYST, DOOR = "stream", "stream"


@dataclass(frozen=True)
class StreamBill:
    """Who pays for a stream, what it promises, its card before a row has left, and what it was fed from.

    `what` is the publisher and the source's columns, for people; by default those of the card.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from sfumato.promise import Budget
    >>> from sfumato.stream import NaiveLaplace
    >>> file, publisher = Path(tempfile.mkdtemp()) / "l", NaiveLaplace(bounds=(0, 1))
    >>> ledger = Ledger.create(file, Budget(epsilon=2), {"protect": "rows", "neighbours": "value"})
    >>> bill = StreamBill(file, publisher.promise(), publisher.card("hours"))
    >>> for _ in range(2):
    ...     bill.pay("0123")
    >>> ledger.spent.epsilon
    Decimal('1')
    """

    ledger: LedgerPlace
    promise: Promise | None
    card: Card
    data: str | None = None
    what: str = ""

    def refuse(self) -> None:
        """Refuse what the ledger cannot price, before anything is opened, drawn or charged."""
        ledger = Ledger.open(self.ledger)
        if self.promise is not None:
            price(ledger, self.promise)

    def pay(self, stream: str) -> None:
        """Charge or list the stream of an id unless that was done."""
        ledger = Ledger.open(self.ledger)
        if self.promise is None:
            list_outside(ledger, self.card.guarantee.model, self._purchase(stream, "outside"), analyst=ANALYST)
            return
        what = self._purchase(stream, str(self.promise.cost))
        if ledger.find(what.question, ledger.version, ANALYST) is None:
            ledger.settle(pay(ledger, self.promise, what, analyst=ANALYST), stream.encode())

    def sign(self, card: Card) -> Card:
        """Return the card of what has left with the ledger's head, and what it must say if nothing was charged."""
        model = self.card.guarantee.model
        named = f"a release by {self.card.algorithm}" if model == "none" else model
        outside = [outside_the_bound(named)] if self.promise is None else []
        card = msgspec.structs.replace(card, warnings=[*card.warnings, *outside])
        return card.for_ledger(Ledger.open(self.ledger).head.text)

    def _purchase(self, stream: str, cost: str) -> Purchase:
        columns = ", ".join(column.name for column in self.card.released.columns)
        what = self.what or f"{self.card.algorithm} of {columns}"
        return Purchase(DOOR, f"stream {stream}: {what}, {cost}", self.data)


def source_words(publisher: Publisher, columns: Sequence[str]) -> str:
    """Return what a ledger's entry says of a stream: the publisher behind all wrappers, and the columns of the source.

    >>> from sfumato.stream import CappedPersons, RankWindows
    >>> source_words(CappedPersons(RankWindows((0, 9))), ["cost"])
    'rank of cost'
    """
    while isinstance(publisher, WrappingPublisher):
        publisher = publisher.publisher
    return f"{publisher.name} of {', '.join(columns)}"
