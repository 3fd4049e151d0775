"""The book of one open transaction: a ledger's tables, in the SQL that SQLite and PostgreSQL share.

What one transaction writes is on the disk together or not at all (Gray & Reuter 1993); every change also adds a link
to the chain of hashes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

from sfumato.core.hash_chain import EMPTY, Head
from sfumato.dp.ledger.store import Account, DamagedError, EntryRecord, EntryRow, Link, Purse
from sfumato.errors import ParameterError
from sfumato.promise.cost import Accountant, Budget, Cost, amount

PAGE = 500
ANSWERS = 20  # are read at once: one may be a whole table


class Found(Protocol):
    """The rows of a statement."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class Statements(Protocol):
    """What runs statements in the transaction; a parameter is a question mark."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Found: ...


class AccountRow(NamedTuple):
    """The one row of the account, read once and kept in step with what the transaction writes."""

    accountant: str
    budget_epsilon: str
    budget_delta: str
    budget_rho: str
    closed: int
    secret: bytes
    epsilon: str
    delta: str
    rho: str
    terms: str
    frozen: str | None
    chain_key: bytes
    head_number: int
    head: bytes


READ_ACCOUNT = f"SELECT {', '.join(AccountRow._fields)} FROM account"  # noqa: S608 - our words
LOOK = """
SELECT (SELECT facts FROM version WHERE number = ?), (SELECT answer FROM answer WHERE hash = ? AND version = ?),
(SELECT min(number) FROM entry WHERE hash = ? AND version = ? AND analyst = ?),
(SELECT coalesce(max(number), 0) + 1 FROM entry),
analyst.name, analyst.share_epsilon, analyst.share_rho, analyst.epsilon, analyst.delta, analyst.rho
FROM account LEFT JOIN analyst ON analyst.name = ?
"""
NEXT = "SELECT coalesce(max(number), 0) + 1 FROM entry"
CHANGED = "the account is not as it was read"
ENTRY = "number, time, analyst, version, hash, question, epsilon, delta, rho, again, answered, door, data, outside"


class SqlBook:
    """The book of one open transaction; `row` is the account, where it was read already.

    >>> import sqlite3
    >>> from contextlib import closing
    >>> from sfumato.dp.ledger.tables import tables
    >>> with closing(sqlite3.connect(":memory:")) as connection:
    ...     _ = connection.executescript(tables("sqlite"))
    ...     SqlBook(connection).version()
    0
    """

    def __init__(self, statements: Statements, row: AccountRow | None = None) -> None:
        self._statements, self._row = statements, row
        self._next: int | None = None  # what a debit has looked at, as far as nothing of it was written since
        self._facts: dict[int, str | None] = {}
        self._purses: dict[str, Sequence[Any] | None] = {}
        self._answers: dict[tuple[bytes, int], bytes | None] = {}
        self._payments: dict[tuple[bytes, int, str], int | None] = {}

    def _change(self, sql: str, values: Sequence[Any], *, once: bool = False) -> None:
        """Change something; what must change `once` and finds no row is damage."""
        if self._statements.execute(sql, values).rowcount != 1 and once:
            raise DamagedError(CHANGED)

    def look(self, question: bytes, version: int, analyst: str) -> None:
        about, paid = (question, version), (question, version, analyst)
        row = self._statements.execute(LOOK, (version, *about, *paid, analyst)).fetchone()
        if row is None:
            raise DamagedError("no account")
        self._facts[version], answer, self._payments[paid], self._next, name, *purse = row
        self._answers[about] = None if answer is None else bytes(answer)
        self._purses[analyst] = None if name is None else purse

    def _account(self) -> AccountRow:
        if self._row is None:
            found = self._statements.execute(READ_ACCOUNT).fetchone()
            if found is None:
                raise DamagedError("no account")
            self._row = AccountRow(*found)
        return self._row

    def open_account(self, budget: Budget, shares: Mapping[str, Cost] | None, secrets: tuple[bytes, bytes]) -> None:
        """Write what a new ledger may spend, by whom, and its two secrets."""
        sql = (
            "INSERT INTO account (id, accountant, budget_epsilon, budget_delta, budget_rho, closed, secret, chain_key) "
            "VALUES (1, ?, ?, ?, ?, ?, ?, ?)"
        )
        terms = (str(budget.accountant), str(budget.epsilon), str(budget.delta), str(budget.rho))
        self._change(sql, (*terms, int(shares is not None), *secrets))
        for name, share in (shares or {}).items():
            sql = "INSERT INTO analyst (name, share_epsilon, share_rho) VALUES (?, ?, ?)"
            self._change(sql, (name, str(share.epsilon), str(share.rho)))

    def account(self) -> Account:
        row = self._account()
        total = (_read_amount(text) for text in (row.budget_epsilon, row.budget_delta, row.budget_rho))
        epsilon, delta, rho = total
        budget = Budget(epsilon, delta, Accountant(row.accountant), rho)
        spent = read_cost(row.epsilon, row.delta, row.rho)
        return Account(budget, closed=bool(row.closed), spent=spent, frozen=row.frozen)

    def spend(self, spent: Cost) -> None:
        """Set the ledger's total, if it still is what this transaction has read."""
        row, texts = self._account(), cost_texts(spent)
        sql = "UPDATE account SET epsilon = ?, delta = ?, rho = ? WHERE epsilon = ? AND delta = ? AND rho = ?"
        self._change(sql, (*texts, row.epsilon, row.delta, row.rho), once=True)
        self._row = row._replace(epsilon=texts[0], delta=texts[1], rho=texts[2])

    def secret(self) -> bytes:
        return bytes(self._account().secret)

    def purse(self, analyst: str) -> Purse | None:
        sql = "SELECT share_epsilon, share_rho, epsilon, delta, rho FROM analyst WHERE name = ?"
        seen = analyst in self._purses
        row = self._purses[analyst] if seen else self._statements.execute(sql, (analyst,)).fetchone()
        return None if row is None else _read_purse(row)

    def fill_purse(self, analyst: str, spent: Cost) -> None:
        sql = (
            "INSERT INTO analyst (name, epsilon, delta, rho) VALUES (?, ?, ?, ?) ON CONFLICT (name) "
            "DO UPDATE SET epsilon = excluded.epsilon, delta = excluded.delta, rho = excluded.rho"
        )
        self._change(sql, (analyst, *cost_texts(spent)))
        self._purses.pop(analyst, None)

    def version(self) -> int:
        return int(self._statements.execute("SELECT coalesce(max(number), 0) FROM version").fetchone()[0])

    def facts(self, version: int) -> str | None:
        if version in self._facts:
            return self._facts[version]
        row = self._statements.execute("SELECT facts FROM version WHERE number = ?", (version,)).fetchone()
        return None if row is None else str(row[0])

    def add_version(self, time: str, facts: str) -> int:
        number = self.version() + 1
        self._change("INSERT INTO version VALUES (?, ?, ?)", (number, time, facts))
        self._facts.pop(number, None)
        return number

    def first_payment(self, question: bytes, version: int, analyst: str) -> int | None:
        if (question, version, analyst) in self._payments:
            return self._payments[question, version, analyst]
        sql = "SELECT min(number) FROM entry WHERE hash = ? AND version = ? AND analyst = ?"
        number = self._statements.execute(sql, (question, version, analyst)).fetchone()[0]
        return None if number is None else int(number)

    def answer(self, question: bytes, version: int) -> bytes | None:
        if (question, version) in self._answers:
            return self._answers[question, version]
        sql = "SELECT answer FROM answer WHERE hash = ? AND version = ?"
        row = self._statements.execute(sql, (question, version)).fetchone()
        return None if row is None else bytes(row[0])

    def keep(self, question: bytes, version: int, answer: bytes) -> None:
        self._change("INSERT INTO answer VALUES (?, ?, ?)", (question, version, answer))
        self._answers.pop((question, version), None)

    def add(self, question: bytes, record: EntryRecord) -> int:
        number = self._next or int(self._statements.execute(NEXT).fetchone()[0])
        head = (number, record.time, record.analyst, record.version, question, record.question)
        rest = (int(record.again), int(record.answered), record.door, record.data, int(record.outside))
        marks = ", ".join("?" * (len(head) + 3 + len(rest)))
        self._change(f"INSERT INTO entry VALUES ({marks})", (*head, *cost_texts(record.cost), *rest))  # noqa: S608 - marks
        self._next = number + 1
        self._payments.pop((question, record.version, record.analyst), None)
        return number

    def settle(self, number: int, question: bytes, version: int) -> bool:
        sql = "UPDATE entry SET answered = 1 WHERE number = ? AND hash = ? AND version = ?"
        return self._statements.execute(sql, (number, question, version)).rowcount == 1

    def page(self, after: int) -> list[EntryRecord]:
        return [_read_entry(row) for row in self.rows(after)]

    def rows(self, after: int) -> list[EntryRow]:
        sql = f"SELECT {ENTRY} FROM entry WHERE number > ? ORDER BY number LIMIT ?"  # noqa: S608 - our words
        return self._statements.execute(sql, (after, PAGE)).fetchall()

    def terms(self) -> str:
        return str(self._account().terms)

    def declare_terms(self, terms: str) -> None:
        self._change("UPDATE account SET terms = ?", (terms,), once=True)
        self._row = self._account()._replace(terms=terms)

    def freeze(self, reason: str | None) -> None:
        self._change("UPDATE account SET frozen = ?", (reason,), once=True)
        self._row = self._account()._replace(frozen=reason)

    def head(self) -> Head:
        row = self._account()
        return Head(int(row.head_number), bytes(row.head)) if row.head_number else EMPTY

    def link(self, kind: str, happened: str) -> Head:
        old = self._account()
        head = self.head().then(self.chain_key(), f"{kind} {happened}".encode())
        row = (head.number, kind, happened, head.digest)
        self._change("INSERT INTO link VALUES (?, ?, ?, ?)", row)
        sql = "UPDATE account SET head_number = ?, head = ? WHERE head_number = ?"
        self._change(sql, (head.number, head.digest, old.head_number), once=True)
        self._row = old._replace(head_number=head.number, head=head.digest)
        return head

    def links(self, after: int) -> list[Link]:
        sql = "SELECT number, kind, happened, digest FROM link WHERE number > ? ORDER BY number LIMIT ?"
        return [Link(*row) for row in self._statements.execute(sql, (after, PAGE)).fetchall()]

    def chain_key(self) -> bytes:
        return bytes(self._account().chain_key)

    def purses(self) -> dict[str, Purse]:
        sql = "SELECT name, share_epsilon, share_rho, epsilon, delta, rho FROM analyst ORDER BY name"
        return {name: _read_purse(row) for name, *row in self._statements.execute(sql).fetchall()}

    def versions(self) -> list[tuple[int, str, str]]:
        rows = self._statements.execute("SELECT number, time, facts FROM version ORDER BY number").fetchall()
        return [(int(number), str(time), str(facts)) for number, time, facts in rows]

    def answers(self) -> Iterator[tuple[bytes, int, bytes]]:
        sql = "SELECT hash, version, answer FROM answer WHERE (hash, version) > (?, ?) ORDER BY hash, version LIMIT ?"
        after = (b"", 0)
        while page := self._statements.execute(sql, (*after, ANSWERS)).fetchall():
            yield from ((bytes(question), int(version), bytes(answer)) for question, version, answer in page)
            after = (bytes(page[-1][0]), int(page[-1][1]))


def _read_purse(row: Sequence[Any]) -> Purse:
    share = None if row[0] is None else Cost(epsilon=_read_amount(row[0]), rho=_read_amount(row[1]))
    return Purse(share, read_cost(*row[2:]))


def _read_entry(row: Sequence[Any]) -> EntryRecord:
    number, time, analyst, version, _, question, epsilon, delta, rho, again, answered, door, data, outside = row
    return EntryRecord(
        number=number,
        time=time,
        analyst=analyst,
        version=version,
        question=question,
        cost=read_cost(epsilon, delta, rho),
        again=bool(again),
        answered=bool(answered),
        door=door,
        data=data,
        outside=bool(outside),
    )


def cost_texts(cost: Cost) -> tuple[str, str, str]:
    """Return a cost as three texts.

    >>> cost_texts(Cost(epsilon="0.1"))
    ('0.1', '0', '0')
    """
    return str(cost.epsilon), str(cost.delta), str(cost.rho)


def read_cost(epsilon: str, delta: str, rho: str) -> Cost:
    """Return a cost that was written as three texts.

    >>> read_cost("0.1", "0", "0").epsilon
    Decimal('0.1')
    """
    return Cost(_read_amount(epsilon), _read_amount(delta), _read_amount(rho))


def _read_amount(text: object) -> Decimal:
    """Return an amount that was written as text; anything else means that the ledger is damaged."""
    try:
        if isinstance(text, str):
            return amount(text)
    except ParameterError:
        pass
    raise DamagedError("not an amount")
