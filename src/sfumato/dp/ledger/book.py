"""The book of one open SQLite transaction: the tables of a ledger's file, read and written.

What one transaction writes is on the disk together or not at all (Gray & Reuter 1993); every change also adds a link
to the chain of hashes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from sfumato.core.hash_chain import EMPTY, Head
from sfumato.dp.ledger.store import Account, EntryRecord, EntryRow, Link, Purse
from sfumato.errors import ParameterError
from sfumato.promise.cost import Accountant, Budget, Cost, amount

PAGE = 500

TABLES = """
CREATE TABLE account (
    id INTEGER PRIMARY KEY CHECK (id = 1), accountant TEXT NOT NULL, budget_epsilon TEXT NOT NULL,
    budget_delta TEXT NOT NULL, budget_rho TEXT NOT NULL, closed INTEGER NOT NULL, secret BLOB NOT NULL,
    epsilon TEXT NOT NULL DEFAULT '0', delta TEXT NOT NULL DEFAULT '0', rho TEXT NOT NULL DEFAULT '0',
    terms TEXT NOT NULL DEFAULT '', frozen TEXT, chain_key BLOB NOT NULL DEFAULT x'',
    head_number INTEGER NOT NULL DEFAULT 0, head BLOB NOT NULL DEFAULT x'');
CREATE TABLE version (number INTEGER PRIMARY KEY, time TEXT NOT NULL, facts TEXT NOT NULL);
CREATE TABLE analyst (
    name TEXT PRIMARY KEY, share_epsilon TEXT, share_rho TEXT,
    epsilon TEXT NOT NULL DEFAULT '0', delta TEXT NOT NULL DEFAULT '0', rho TEXT NOT NULL DEFAULT '0');
CREATE TABLE entry (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, analyst TEXT NOT NULL, version INTEGER NOT NULL,
    hash BLOB NOT NULL, question TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, rho TEXT NOT NULL,
    again INTEGER NOT NULL, answered INTEGER NOT NULL,
    door TEXT NOT NULL DEFAULT 'query', data TEXT, outside INTEGER NOT NULL DEFAULT 0);
CREATE INDEX entry_of_question ON entry (hash, version, analyst);
CREATE TABLE answer (hash BLOB NOT NULL, version INTEGER NOT NULL, answer BLOB NOT NULL, PRIMARY KEY (hash, version));
"""
LINKS = (
    "CREATE TABLE link (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, happened TEXT NOT NULL, digest BLOB NOT NULL)"
)


class SqliteBook:
    """The book of one open transaction.

    >>> from contextlib import closing
    >>> with closing(sqlite3.connect(":memory:")) as connection:
    ...     _ = connection.executescript(TABLES)
    ...     SqliteBook(connection).version()
    0
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def account(self) -> Account:
        sql = (
            "SELECT accountant, budget_epsilon, budget_delta, budget_rho, closed, epsilon, delta, rho, frozen "
            "FROM account"
        )
        row = self._connection.execute(sql).fetchone()
        if row is None:
            raise sqlite3.DatabaseError("no account")
        budget = Budget(_read_amount(row[1]), _read_amount(row[2]), Accountant(row[0]), _read_amount(row[3]))
        return Account(budget, closed=bool(row[4]), spent=read_cost(*row[5:8]), frozen=row[8])

    def spend(self, spent: Cost) -> None:
        self._connection.execute("UPDATE account SET epsilon = ?, delta = ?, rho = ?", _texts(spent))

    def secret(self) -> bytes:
        return bytes(self._connection.execute("SELECT secret FROM account").fetchone()[0])

    def purse(self, analyst: str) -> Purse | None:
        sql = "SELECT share_epsilon, share_rho, epsilon, delta, rho FROM analyst WHERE name = ?"
        row = self._connection.execute(sql, (analyst,)).fetchone()
        if row is None:
            return None
        share = None if row[0] is None else Cost(epsilon=_read_amount(row[0]), rho=_read_amount(row[1]))
        return Purse(share, read_cost(*row[2:]))

    def fill_purse(self, analyst: str, spent: Cost) -> None:
        sql = (
            "INSERT INTO analyst (name, epsilon, delta, rho) VALUES (?, ?, ?, ?) ON CONFLICT (name) "
            "DO UPDATE SET epsilon = excluded.epsilon, delta = excluded.delta, rho = excluded.rho"
        )
        self._connection.execute(sql, (analyst, *_texts(spent)))

    def version(self) -> int:
        return int(self._connection.execute("SELECT coalesce(max(number), 0) FROM version").fetchone()[0])

    def facts(self, version: int) -> str | None:
        row = self._connection.execute("SELECT facts FROM version WHERE number = ?", (version,)).fetchone()
        return None if row is None else str(row[0])

    def add_version(self, time: str, facts: str) -> int:
        number = self.version() + 1
        self._connection.execute("INSERT INTO version VALUES (?, ?, ?)", (number, time, facts))
        return number

    def first_payment(self, question: bytes, version: int, analyst: str) -> int | None:
        sql = "SELECT min(number) FROM entry WHERE hash = ? AND version = ? AND analyst = ?"
        number = self._connection.execute(sql, (question, version, analyst)).fetchone()[0]
        return None if number is None else int(number)

    def answer(self, question: bytes, version: int) -> bytes | None:
        sql = "SELECT answer FROM answer WHERE hash = ? AND version = ?"
        row = self._connection.execute(sql, (question, version)).fetchone()
        return None if row is None else bytes(row[0])

    def keep(self, question: bytes, version: int, answer: bytes) -> None:
        self._connection.execute("INSERT INTO answer VALUES (?, ?, ?)", (question, version, answer))

    def add(self, question: bytes, record: EntryRecord) -> int:
        sql = "INSERT INTO entry VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number"
        head = (record.time, record.analyst, record.version, question, record.question)
        rest = (record.again, record.answered, record.door, record.data, record.outside)
        return int(self._connection.execute(sql, (*head, *_texts(record.cost), *rest)).fetchone()[0])

    def settle(self, number: int, question: bytes, version: int) -> bool:
        sql = "UPDATE entry SET answered = 1 WHERE number = ? AND hash = ? AND version = ?"
        return self._connection.execute(sql, (number, question, version)).rowcount == 1

    def page(self, after: int) -> list[EntryRecord]:
        sql = (
            "SELECT number, time, analyst, version, question, epsilon, delta, rho, again, answered, door, data, "
            "outside FROM entry WHERE number > ? ORDER BY number LIMIT ?"
        )
        rows = self._connection.execute(sql, (after, PAGE)).fetchall()
        return [_read_entry(row) for row in rows]

    def rows(self, after: int) -> list[EntryRow]:
        sql = (
            "SELECT number, time, analyst, version, hash, question, epsilon, delta, rho, again, answered, door, data, "
            "outside FROM entry WHERE number > ? ORDER BY number LIMIT ?"
        )
        return self._connection.execute(sql, (after, PAGE)).fetchall()

    def terms(self) -> str:
        return str(self._connection.execute("SELECT terms FROM account").fetchone()[0])

    def declare_terms(self, terms: str) -> None:
        """Set the JSON of the terms."""
        self._connection.execute("UPDATE account SET terms = ?", (terms,))

    def freeze(self, reason: str | None) -> None:
        self._connection.execute("UPDATE account SET frozen = ?", (reason,))

    def head(self) -> Head:
        number, digest = self._connection.execute("SELECT head_number, head FROM account").fetchone()
        return Head(int(number), bytes(digest)) if number else EMPTY

    def link(self, kind: str, happened: str) -> Head:
        key = bytes(self._connection.execute("SELECT chain_key FROM account").fetchone()[0])
        head = self.head().then(key, f"{kind} {happened}".encode())
        row = (head.number, kind, happened, head.digest)
        self._connection.execute("INSERT INTO link VALUES (?, ?, ?, ?)", row)
        self._connection.execute("UPDATE account SET head_number = ?, head = ?", (head.number, head.digest))
        return head

    def links(self, after: int) -> list[Link]:
        sql = "SELECT number, kind, happened, digest FROM link WHERE number > ? ORDER BY number LIMIT ?"
        return [Link(*row) for row in self._connection.execute(sql, (after, PAGE)).fetchall()]

    def chain_key(self) -> bytes:
        return bytes(self._connection.execute("SELECT chain_key FROM account").fetchone()[0])

    def purses(self) -> dict[str, Purse]:
        names = [name for (name,) in self._connection.execute("SELECT name FROM analyst ORDER BY name")]
        return {name: purse for name in names if (purse := self.purse(name)) is not None}

    def versions(self) -> list[tuple[int, str, str]]:
        rows = self._connection.execute("SELECT number, time, facts FROM version ORDER BY number").fetchall()
        return [(int(number), str(time), str(facts)) for number, time, facts in rows]

    def answers(self) -> Iterator[tuple[bytes, int, bytes]]:
        for question, version, answer in self._connection.execute("SELECT hash, version, answer FROM answer"):
            yield bytes(question), int(version), bytes(answer)


def _read_entry(row: Sequence[Any]) -> EntryRecord:
    number, time, analyst, version, question, epsilon, delta, rho, again, answered, door, data, outside = row
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


def _texts(cost: Cost) -> tuple[str, str, str]:
    return str(cost.epsilon), str(cost.delta), str(cost.rho)


def read_cost(epsilon: str, delta: str, rho: str) -> Cost:
    """Return a cost that was written as three texts.

    >>> read_cost("0.1", "0", "0").epsilon
    Decimal('0.1')
    """
    return Cost(_read_amount(epsilon), _read_amount(delta), _read_amount(rho))


def _read_amount(text: str) -> Decimal:
    """Return an amount that was written as text; anything else means that the file is damaged."""
    try:
        return amount(text)
    except ParameterError as error:
        raise sqlite3.DatabaseError("not an amount") from error
