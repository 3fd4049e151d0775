"""The durable ledger: every question is charged before any noise is drawn, and no total is ever overspent.

It is a privacy filter (Rogers, Roth, Ullman & Vadhan 2016; Feldman & Zrnic 2021 for Rényi and zero-concentrated
privacy): a question is refused when its cost would pass the total, so questions and their amounts may be chosen in
the light of all earlier answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sfumato.core.display import as_html, one_line
from sfumato.core.hash_chain import Head
from sfumato.dp.ledger import events
from sfumato.dp.ledger.affordable import analyst_name, charge, purse_of, rest_of_share
from sfumato.dp.ledger.places import LedgerPlace, store_of
from sfumato.dp.ledger.receipts import RECEIPTS
from sfumato.dp.ledger.register import known_elsewhere, one_at_a_time, remember
from sfumato.dp.ledger.shares import share_of
from sfumato.dp.ledger.store import Account, Book, EntryRecord, HomedStore, LedgerStore
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.ledger.wholeness import hash_of, refuse_damaged, refuse_younger
from sfumato.errors import InputError, ParameterError
from sfumato.promise.cost import Budget, Cost
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


@dataclass(frozen=True)
class Contract:
    """All that decides a price: the budget, the terms, and what was declared with a version of the data.

    >>> Contract(1, Budget(epsilon=1), Terms(), {}).version
    1
    """

    version: int
    budget: Budget
    terms: Terms
    facts: dict[str, Any]


class Ledger:
    """A budget on the disk that survives crashes, races and forks (module docstring; docs/algorithms/ledger.md).

    >>> import tempfile
    >>> from pathlib import Path
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
        self._last = (0, Cost())  # the newest link and the total that this object has charged to

    @classmethod
    def create(
        cls,
        place: LedgerPlace,
        budget: Budget,
        facts: Mapping[str, Any],
        *,
        analysts: Mapping[str, Decimal] | None = None,
        terms: Terms = Terms(),  # noqa: B008 - frozen
    ) -> Ledger:
        """Return a new ledger about `facts`, in a file or in PostgreSQL (`postgresql://…?ledger=NAME`).

        With `analysts`, only they may ask, each up to an ε of their own. Rows that another ledger knows are refused,
        since nobody's losses would add up, unless the terms say that the two are about other people.
        """
        shares = (
            None
            if analysts is None
            else {analyst_name(who): share_of(budget, share) for who, share in analysts.items()}
        )
        if shares is not None and not shares:
            raise ParameterError("the ledger names no analyst; name some, or give None to let anybody ask")
        store, first = store_of(place), _json(facts)
        source = SecureSource()
        secrets = source.words(SECRET_WORDS).tobytes(), source.words(SECRET_WORDS).tobytes()

        def begin(book: Book) -> None:
            book.declare_terms(terms.to_json())
            book.link(events.OPENED, events.opened(budget, shares, terms.to_json(), secrets[0]))
            _declare(book, first)

        with one_at_a_time(store):
            if not terms.other_people:
                _refuse_second(known_elsewhere(facts, store))
            remember(store, facts)  # first: a ledger that a crash leaves unlisted would let a second one be made
            store.create(budget, shares, secrets, begin)
        return cls(store)

    @classmethod
    def open(cls, place: LedgerPlace) -> Ledger:
        """Return the ledger at a place, after a look whether it is whole (`sfumato.dp.ledger.wholeness`)."""
        return cls.of_store(store_of(place))

    @classmethod
    def of_store(cls, store: LedgerStore) -> Ledger:
        """Return the ledger in a store; refuse one that is damaged."""
        with store.opening() as book:
            refuse_damaged(book, store.name)
        return cls(store)

    @property
    def name(self) -> str:
        """What the ledger is called where others may read it: its file, or its address without the user."""
        return self._store.name

    def _facts(self) -> dict[str, object]:
        return {
            "table": self.facts.get("table"),
            "version": self.version,
            "budget": str(self.budget.total),
            "spent": str(self.spent),
            "left": str(self.left),
        }

    def __repr__(self) -> str:
        return one_line("Ledger", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Ledger", self._facts())

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

    @property
    def terms(self) -> Terms:
        """What was declared with the ledger beside its budget."""
        with self._store.reading() as book:
            return Terms.from_json(book.terms())

    @property
    def head(self) -> Head:
        """The newest link of the chain; a card that carries it can prove later that nothing before it changed."""
        with self._store.reading() as book:
            return book.head()

    @property
    def frozen(self) -> str | None:
        """Why nothing is answered now, or None."""
        return self._terms().frozen

    def freeze(self, reason: str) -> None:
        """Answer nothing more until `thaw`."""
        with self._store.writing() as book:
            if book.account().frozen is None:
                book.freeze(reason)
                book.link(events.FROZEN, events.reason(reason))

    def thaw(self) -> str | None:
        """Answer questions again; return why the ledger was frozen, None if it was not."""
        with self._store.writing() as book:
            reason = book.account().frozen
            if reason is not None:
                book.freeze(None)
                book.link(events.THAWED, events.reason(reason))
            return reason

    def contract(self, version: int | None = None) -> Contract:
        """Return what decides the price of a release about a version, read at one moment; None is the current one."""
        with self._store.reading() as book:
            number = book.version() if version is None else version
            terms = Terms.from_json(book.terms())
            return Contract(number, book.account().budget, terms, _read_facts(book, number))

    def secret(self) -> bytes:
        """Return the 32 random bytes that key the bounding of persons; they are never shown."""
        with self._store.reading() as book:
            return book.secret()

    def spent_by(self, analyst: str) -> Cost:
        """Return what an analyst's questions have cost that analyst, answers paid for by others first included."""
        with self._store.reading() as book:
            return purse_of(book, book.account(), analyst).spent

    def left_for(self, analyst: str) -> Cost:
        """Return what an analyst can spend on a new question: the smaller of the own share's rest and the ledger's."""
        with self._store.reading() as book:
            account = book.account()
            rest = rest_of_share(account, purse_of(book, account, analyst))
            return account.left if rest is None else rest.smaller(account.left)

    def find(self, question: str, version: int, analyst: str) -> bytes | None:
        """Return the stored answer if this analyst has paid for it."""
        key, name = hash_of(question), analyst_name(analyst)
        with self._store.reading() as book:
            _refuse_frozen(book.account())
            return None if book.first_payment(key, version, name) is None else book.answer(key, version)

    def debit(
        self, question: str, version: int, analyst: str, cost: Cost, *, door: str = "query", data: str | None = None
    ) -> Debit:
        """Return the charge, on the disk; refuse one that is not affordable, and then nothing has changed.

        The till alone calls this (`sfumato.dp.ledger.till`): a price comes from a promise.

        An answer that somebody has paid for before comes with it, charged to this analyst's share alone: the same
        numbers once more reveal nothing more. If this analyst has paid for it, nothing is charged.
        """
        with RECEIPTS.charging():
            entry = self._debit(question, version, analyst, cost, door, data)
        if entry.answer is None:
            RECEIPTS.paid(entry.number, entry.cost)
        return entry

    def _debit(self, question: str, version: int, analyst: str, cost: Cost, door: str, data: str | None) -> Debit:
        key = hash_of(question)
        with self._store.writing() as book:
            account = book.account()
            refuse_younger(self._last, (book.head().number, account.spent), self._store.name)
            _refuse_frozen(account)
            account.budget.check(cost)
            book.look(key, version, analyst)
            purse = purse_of(book, account, analyst)
            _read_facts(book, version)
            answer, paid = book.answer(key, version), book.first_payment(key, version, analyst)
            if answer is not None and paid is not None:
                return Debit(paid, question, version, analyst, Cost(), answer)
            again = answer is not None
            record = EntryRecord(0, _now(), analyst, version, question, cost, again, again, door, data)
            charge(book, account, purse, record)
            number = _enter(book, key, record)
            charged = book.head().number, book.account().spent
        self._last = charged
        return Debit(number, question, version, analyst, cost, answer)

    def list_outside(
        self, question: str, version: int, analyst: str, *, door: str = "table", data: str | None = None
    ) -> int:
        """Return the number of the entry of a release that has no price, listed once, outside the bound."""
        key = hash_of(question)
        with self._store.writing() as book:
            purse_of(book, book.account(), analyst)
            listed = book.first_payment(key, version, analyst)
            if listed is not None:
                return listed
            record = EntryRecord(0, _now(), analyst, version, question, Cost(), False, True, door, data, True)  # noqa: FBT003
            return _enter(book, key, record)

    def settle(self, entry: Debit, answer: bytes) -> bytes:
        """Return the answer to show, on the disk: this one, or the one that was stored for the question before."""
        key = hash_of(entry.question)
        with self._store.writing() as book:
            if not book.settle(entry.number, key, entry.version):
                raise ParameterError(f"entry {entry.number} is not in this ledger; settle what its debit returned")
            stored = book.answer(key, entry.version)
            if stored is None:
                book.keep(key, entry.version, answer)
            book.link(events.SETTLED, events.settled(entry.number, answer if stored is None else None))
        RECEIPTS.kept(entry.number)
        return answer if stored is None else stored

    def declare_version(self, facts: Mapping[str, Any]) -> int:
        """Return the number of a new data version; what was spent on earlier ones stays spent."""
        home = self._store if isinstance(self._store, HomedStore) else None
        with nullcontext() if home is None else one_at_a_time(home):
            if home is not None and not self.terms.other_people:
                _refuse_second(known_elsewhere(facts, home))
            with self._store.writing() as book:
                return _declare(book, _json(facts))

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

    def _terms(self) -> Account:
        with self._store.reading() as book:
            return book.account()


def _declare(book: Book, facts: str) -> int:
    """Add a version, and a link that says so."""
    time = _now()
    number = book.add_version(time, facts)
    book.link(events.VERSION, events.declared(number, time, facts))
    return number


def _enter(book: Book, key: bytes, record: EntryRecord) -> int:
    """Add an entry, and a link that says so."""
    number = book.add(key, record)
    book.link(events.ENTRY, events.entered(number, record))
    return number


def _refuse_frozen(account: Account) -> None:
    if account.frozen is not None:
        raise InputError(
            f"the ledger is frozen, since {account.frozen}; nothing is answered until its steward runs "
            "`sfumato budget thaw`"
        )


def _refuse_second(other: str | None) -> None:
    if other is not None:
        raise InputError(
            f"ledger '{other}' knows these rows already; charge it, or say that this one is about other people "
            "(--other-people)"
        )


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
