"""The durable ledger: every question is charged before any noise is drawn, and no total is ever overspent.

It is a privacy filter (Rogers, Roth, Ullman & Vadhan 2016; Feldman & Zrnic 2021 for Rényi and zero-concentrated
privacy): a question is refused when its cost would pass the total, so questions and their amounts may be chosen in
the light of all earlier answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from sfumato.dp.ledger.sqlite import SqliteStore
from sfumato.dp.ledger.store import Account, Book, EntryRecord, LedgerStore, Purse
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.promise.cost import Accountant, Budget, Cost, amount
from sfumato.promise.zcdp import rho_of
from sfumato.random import SecureSource

SECRET_WORDS = 8  # of 32 bits


@dataclass(frozen=True)
class Debit:
    """A charge that is on the disk: an `answer` that is there already must be shown in place of a new one.

    >>> Debit(1, "count", 1, "ana", Cost()).answer is None
    True
    """

    number: int
    question: str
    version: int
    analyst: str
    cost: Cost
    answer: bytes | None = None


class Ledger:
    """A budget on the disk that survives crashes, races and forks (module docstring; docs/algorithms/ledger.md).

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rides.ledger"
    >>> ledger = Ledger.create(path, Budget(epsilon=1), {"data": "rides.csv"})
    >>> entry = ledger.debit("count of rides, epsilon 0.4", 1, "ana", Cost(epsilon=0.4))
    >>> ledger.settle(entry, b"17"), ledger.find("count of rides, epsilon 0.4", 1, "ana")
    (b'17', b'17')
    >>> Ledger.open(path).left.epsilon
    Decimal('0.6')
    >>> ledger.debit("mean", 1, "ana", Cost(epsilon=1))
    Traceback (most recent call last):
    sfumato.errors.BudgetExceeded: the question costs epsilon 1 and the ledger has epsilon 0.6 left; ask for less
    """

    def __init__(self, store: LedgerStore) -> None:
        self._store = store

    @classmethod
    def create(
        cls,
        path: str | Path,
        budget: Budget,
        facts: Mapping[str, Any],
        *,
        analysts: Mapping[str, Decimal] | None = None,
    ) -> Ledger:
        """Return a new ledger about `facts`; with `analysts`, only they may ask, each up to an ε of their own."""
        shares = None if analysts is None else {_name(who): _share(budget, share) for who, share in analysts.items()}
        if shares is not None and not shares:
            raise ParameterError("the ledger names no analyst; name some, or give None to let anybody ask")
        store = SqliteStore(Path(path).absolute())
        secret = SecureSource().words(SECRET_WORDS).tobytes()
        store.create(budget, shares, secret, (_now(), _json(facts)))
        return cls(store)

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """Return the ledger at a path, after a look whether it is whole."""
        store = SqliteStore(Path(path).absolute())
        store.check()
        return cls(store)

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        return self._terms().budget

    @property
    def spent(self) -> Cost:
        """What all entries together have cost the ledger."""
        return self._terms().spent

    @property
    def left(self) -> Cost:
        """What is left of the budget."""
        return self._terms().left

    @property
    def version(self) -> int:
        """The number of the data version declared last."""
        with self._store.reading() as book:
            return book.version()

    @property
    def facts(self) -> dict[str, Any]:
        """What was declared with the current version."""
        with self._store.reading() as book:
            return _read_facts(book, book.version())

    def facts_of(self, version: int) -> dict[str, Any]:
        """Return what was declared with a version."""
        with self._store.reading() as book:
            return _read_facts(book, version)

    def secret(self) -> bytes:
        """Return the 32 random bytes that key the bounding of persons; they are never shown."""
        with self._store.reading() as book:
            return book.secret()

    def spent_by(self, analyst: str) -> Cost:
        """Return what an analyst's questions have cost that analyst, answers paid for by others first included."""
        with self._store.reading() as book:
            return _purse(book, book.account(), analyst).spent

    def left_for(self, analyst: str) -> Cost:
        """Return what an analyst can spend on a new question: the smaller of the own share's rest and the ledger's."""
        with self._store.reading() as book:
            account = book.account()
            rest = _rest(account, _purse(book, account, analyst))
            return account.left if rest is None else rest.smaller(account.left)

    def find(self, question: str, version: int, analyst: str) -> bytes | None:
        """Return the stored answer if this analyst has paid for it."""
        key, name = _key(question), _name(analyst)
        with self._store.reading() as book:
            return None if book.first_payment(key, version, name) is None else book.answer(key, version)

    def debit(self, question: str, version: int, analyst: str, cost: Cost) -> Debit:
        """Return the charge, on the disk; refuse one that is not affordable, and then nothing has changed.

        An answer that somebody has paid for before comes with it, charged to this analyst's share alone: the same
        numbers once more reveal nothing more. If this analyst has paid for it, nothing is charged.
        """
        key = _key(question)
        with self._store.writing() as book:
            account = book.account()
            account.budget.check(cost)
            purse = _purse(book, account, analyst)
            _read_facts(book, version)
            answer, paid = book.answer(key, version), book.first_payment(key, version, analyst)
            if answer is not None and paid is not None:
                return Debit(paid, question, version, analyst, Cost(), answer)
            again = answer is not None
            record = EntryRecord(0, _now(), analyst, version, question, cost, again=again, answered=again)
            _charge(book, account, purse, record)
            return Debit(book.add(key, record), question, version, analyst, cost, answer)

    def settle(self, entry: Debit, answer: bytes) -> bytes:
        """Return the answer to show, on the disk: this one, or the one that was stored for the question before."""
        key = _key(entry.question)
        with self._store.writing() as book:
            if not book.settle(entry.number, key, entry.version):
                raise ParameterError(f"entry {entry.number} is not in this ledger; settle what its debit returned")
            stored = book.answer(key, entry.version)
            if stored is None:
                book.keep(key, entry.version, answer)
            return answer if stored is None else stored

    def declare_version(self, facts: Mapping[str, Any]) -> int:
        """Return the number of a new data version; what was spent on earlier ones stays spent."""
        with self._store.writing() as book:
            return book.add_version(_now(), _json(facts))

    def entries(self) -> Iterator[EntryRecord]:
        """Yield every entry in order, a page at a time, so that nobody waits for a slow reader."""
        after = 0
        while True:
            with self._store.reading() as book:
                page = book.page(after)
            if not page:
                return
            yield from page
            after = page[-1].number

    def account(self) -> dict[str, Any]:
        """Return the whole account as plain values: promise, budget, spent, left, the data's facts, and every entry.

        What leads back to the rows (their fingerprint and the secret) is left out.

        >>> import tempfile
        >>> ledger = Ledger.create(f"{tempfile.mkdtemp()}/rides.ledger", Budget(epsilon=1), {"table": "rides"})
        >>> account = ledger.account()
        >>> account["budget"], account["left"]["epsilon"], account["facts"]
        ({'epsilon': 1.0, 'delta': 0.0}, 1.0, {'table': 'rides'})
        """
        budget = self.budget
        return {
            "accountant": str(budget.accountant),
            "promise": {"epsilon": float(budget.epsilon), "delta": float(budget.delta)},
            "budget": budget.numbers(budget.total),
            "spent": budget.numbers(self.spent),
            "left": budget.numbers(self.left),
            "version": self.version,
            "facts": {name: value for name, value in self.facts.items() if name != "fingerprint"},
            "entries": [_plain_entry(budget, entry) for entry in self.entries()],
        }

    def _terms(self) -> Account:
        with self._store.reading() as book:
            return book.account()


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


def _plain_entry(budget: Budget, entry: EntryRecord) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": entry.time,
        "analyst": entry.analyst,
        "version": entry.version,
        "question": entry.question,
        "cost": budget.numbers(entry.cost),
        "answered": entry.answered,
    }


def _purse(book: Book, account: Account, analyst: str) -> Purse:
    """Return an analyst's purse; a ledger that names its analysts knows no others."""
    purse = book.purse(_name(analyst))
    if purse is None and account.closed:
        raise ParameterError(f"analyst '{analyst}' is not named in this ledger; only named ones may ask")
    return purse or Purse(None, Cost())


def _charge(book: Book, account: Account, purse: Purse, record: EntryRecord) -> None:
    """Charge the analyst and, unless the answer is shown again, the ledger; refuse before anything is written."""
    rest = _rest(account, purse)
    if rest is not None:
        _afford(account.budget, record.cost, rest, f"analyst '{record.analyst}'")
    if not record.again:
        _afford(account.budget, record.cost, account.left, "the ledger")
        book.spend(account.spent + record.cost)
    book.fill_purse(record.analyst, purse.spent + record.cost)


def _rest(account: Account, purse: Purse) -> Cost | None:
    """Return what is left of a share, if there is one; it bounds ε or ρ, and for δ the ledger's total is the bound."""
    if purse.share is None:
        return None
    return replace(purse.share, delta=account.budget.total.delta).less(purse.spent)


def _afford(budget: Budget, cost: Cost, left: Cost, whose: str) -> None:
    if not cost <= left:
        raise BudgetExceeded(budget.amounts(left), budget.amounts(cost), whose)


def _share(budget: Budget, epsilon: Decimal) -> Cost:
    """Return an analyst's ε in the coin of the ledger: itself, or the ρ that keeps it at the budget's δ."""
    share = amount(epsilon)
    if not share:
        raise ParameterError("an analyst's share is 0; give a number above 0 or leave the analyst out")
    return Cost(epsilon=share) if budget.accountant is Accountant.PURE else Cost(rho=rho_of(share, budget.delta))


def _name(analyst: str) -> str:
    if not analyst:
        raise ParameterError("the analyst has no name; give one")
    if str(analyst) != analyst or not analyst.isprintable():
        raise ParameterError(f"the analyst is called {analyst!r}; give a name of printable characters")
    return analyst


def _key(question: str) -> bytes:
    return hashlib.sha256(question.encode()).digest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _json(facts: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(facts), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"the ledger's facts cannot be written as JSON: {error}") from error


def _read_facts(book: Book, version: int) -> dict[str, Any]:
    text = book.facts(version)
    if text is None:
        raise ParameterError(f"version {version} is not declared in this ledger; the current one is {book.version()}")
    facts: dict[str, Any] = json.loads(text)
    return facts
