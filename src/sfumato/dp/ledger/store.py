"""What a ledger keeps, and the seam behind which a file or a database on a server keeps it.

A store gives transactions in the sense of Gray & Reuter (1993): alone, whole, and durable once they end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from sfumato.core.hash_chain import Head
from sfumato.promise.cost import Budget, Cost


class DamagedError(Exception):
    """What a ledger holds is nothing that a ledger writes; its store says so in a sentence.

    >>> issubclass(DamagedError, ValueError)
    False
    """


@dataclass(frozen=True)
class Account:
    """What a ledger may spend and has spent; `closed` where only named analysts may ask.

    >>> Account(Budget(epsilon=1), closed=False, spent=Cost(epsilon="0.3")).left
    Cost(epsilon=Decimal('0.7'), delta=Decimal('0'), rho=Decimal('0'))
    """

    budget: Budget
    closed: bool
    spent: Cost
    frozen: str | None = None

    @property
    def left(self) -> Cost:
        """What is left of the budget."""
        return self.budget.total.less(self.spent)


@dataclass(frozen=True)
class Purse:
    """What one analyst may spend (None: as much as the ledger) and has spent.

    >>> Purse(None, Cost()).share is None
    True
    """

    share: Cost | None
    spent: Cost


@dataclass(frozen=True)
class EntryRecord:
    """One line of the ledger; `again` where an answer was shown to one more analyst and cost the ledger nothing.

    `outside` where a release has no price: it is listed, and the bound does not count it.

    >>> EntryRecord(1, "2026-01-01T00:00:00+00:00", "ana", 1, "count", Cost(), again=False, answered=False).answered
    False
    """

    number: int
    time: str
    analyst: str
    version: int
    question: str
    cost: Cost
    again: bool
    answered: bool
    door: str = "query"
    data: str | None = None
    outside: bool = False


EntryRow = tuple[
    int, str, str, int, bytes, str, str, str, str, bool | int, bool | int, str, str | None, bool | int
]  # number, time, analyst, version, hash, question, three amounts, again, answered, door, data, outside


class Link(NamedTuple):
    """One link of the ledger's chain: its number, what kind of thing happened, as JSON, and the hash after it.

    >>> Link(3, "thawed", "{}", bytes(32)).head.number
    3
    """

    number: int
    kind: str
    happened: str
    digest: bytes

    @property
    def head(self) -> Head:
        """The head after this link."""
        return Head(self.number, self.digest)


class Book(Protocol):
    """What one transaction may read and write; a question is known by its hash."""

    def account(self) -> Account:
        """Return the ledger's terms and total."""

    def spend(self, spent: Cost) -> None:
        """Set the ledger's total."""

    def secret(self) -> bytes:
        """Return the random bytes made with the ledger."""

    def purse(self, analyst: str) -> Purse | None:
        """Return an analyst's share and total, or None for one who is not in the ledger yet."""

    def fill_purse(self, analyst: str, spent: Cost) -> None:
        """Set an analyst's total, and add one who is not in the ledger yet."""

    def look(self, question: bytes, version: int, analyst: str) -> None:
        """Read at once what a debit asks for: it need not, and then each question is read by itself."""

    def version(self) -> int:
        """Return the number of the version declared last."""

    def facts(self, version: int) -> str | None:
        """Return the JSON declared with a version, or None if there is no such version."""

    def add_version(self, time: str, facts: str) -> int:
        """Add a version and return its number."""

    def first_payment(self, question: bytes, version: int, analyst: str) -> int | None:
        """Return the number of the first entry by which an analyst paid for a question, or None."""

    def answer(self, question: bytes, version: int) -> bytes | None:
        """Return the stored answer, or None."""

    def keep(self, question: bytes, version: int, answer: bytes) -> None:
        """Store the first answer to a question."""

    def add(self, question: bytes, record: EntryRecord) -> int:
        """Add an entry and return its number; the record's own number is not looked at."""

    def settle(self, number: int, question: bytes, version: int) -> bool:
        """Mark an entry as answered; return whether there is such an entry for this question."""

    def page(self, after: int) -> list[EntryRecord]:
        """Return some entries that follow a number, in order; none at the end."""

    def rows(self, after: int) -> list[EntryRow]:
        """Return some entries that follow a number as they are written; none at the end."""

    def purses(self) -> dict[str, Purse]:
        """Return every analyst's purse."""

    def versions(self) -> list[tuple[int, str, str]]:
        """Return number, time and facts of every version."""

    def answers(self) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield the question's hash, the version and the stored answer, one after the other."""

    def terms(self) -> str:
        """Return the JSON of the terms declared with the ledger."""

    def declare_terms(self, terms: str) -> None:
        """Set the JSON of the terms."""

    def freeze(self, reason: str | None) -> None:
        """Set why nothing is answered now; None lifts it."""

    def head(self) -> Head:
        """Return the newest link of the chain."""

    def link(self, kind: str, happened: str) -> Head:
        """Add what happened, as JSON, to the chain and return its head."""

    def links(self, after: int) -> list[Link]:
        """Return some links that follow a number, in order; none at the end."""

    def chain_key(self) -> bytes:
        """Return the secret key of the chain."""


class LedgerStore(Protocol):
    """Transactions over a book: `writing` is alone, and durable when its block ends; an error in it undoes all.

    `name` is what errors call the ledger; `opening` reads, having refused what is no ledger or what the store itself
    finds damaged.
    """

    @property
    def name(self) -> str: ...
    def opening(self) -> AbstractContextManager[Book]: ...
    def reading(self) -> AbstractContextManager[Book]: ...
    def writing(self) -> AbstractContextManager[Book]: ...


@runtime_checkable
class HomedStore(LedgerStore, Protocol):
    """A store that can make its ledger, and look for others that may know the same rows.

    `place` is how a list notes it. `alone` lets nobody make a ledger beside it meanwhile, `neighbours` are the ledgers
    that lie at the same place, and `glance` reads what all versions declared, having refused a ledger that is damaged.
    """

    @property
    def place(self) -> str: ...
    def create(
        self,
        budget: Budget,
        shares: Mapping[str, Cost] | None,
        secrets: tuple[bytes, bytes],
        begin: Callable[[Book], None],
    ) -> None: ...
    def alone(self) -> AbstractContextManager[None]: ...
    def neighbours(self) -> Iterable[HomedStore]: ...
    def is_there(self) -> bool: ...
    def is_same(self, other: HomedStore) -> bool: ...
    def glance(self) -> list[str]: ...
