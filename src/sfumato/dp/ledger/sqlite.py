"""A ledger's file: SQLite, one short transaction per operation, on the disk before it returns.

Atomic commit is SQLite's rollback journal (Hipp, "Atomic Commit in SQLite"): at rest the ledger is a single file, so
that moving it loses nothing, which a write-ahead log beside it would not promise.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from sfumato.core.files import Staging
from sfumato.dp.ledger.store import Account, EntryRecord, Purse
from sfumato.errors import InputError, ParameterError
from sfumato.promise.cost import Accountant, Budget, Cost, amount

FORMAT = 1
APPLICATION = 0x7366756D  # "sfum", in the file's header
PATIENCE_SECONDS = 60.0
PAGE = 500

_TABLES = """
CREATE TABLE account (
    id INTEGER PRIMARY KEY CHECK (id = 1), accountant TEXT NOT NULL, budget_epsilon TEXT NOT NULL,
    budget_delta TEXT NOT NULL, budget_rho TEXT NOT NULL, closed INTEGER NOT NULL, secret BLOB NOT NULL,
    epsilon TEXT NOT NULL DEFAULT '0', delta TEXT NOT NULL DEFAULT '0', rho TEXT NOT NULL DEFAULT '0');
CREATE TABLE version (number INTEGER PRIMARY KEY, time TEXT NOT NULL, facts TEXT NOT NULL);
CREATE TABLE analyst (
    name TEXT PRIMARY KEY, share_epsilon TEXT, share_rho TEXT,
    epsilon TEXT NOT NULL DEFAULT '0', delta TEXT NOT NULL DEFAULT '0', rho TEXT NOT NULL DEFAULT '0');
CREATE TABLE entry (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, analyst TEXT NOT NULL, version INTEGER NOT NULL,
    hash BLOB NOT NULL, question TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, rho TEXT NOT NULL,
    again INTEGER NOT NULL, answered INTEGER NOT NULL);
CREATE INDEX entry_of_question ON entry (hash, version, analyst);
CREATE TABLE answer (hash BLOB NOT NULL, version INTEGER NOT NULL, answer BLOB NOT NULL, PRIMARY KEY (hash, version));
"""


class SqliteBook:
    """The book of one open transaction.

    >>> with closing(sqlite3.connect(":memory:")) as connection:
    ...     _ = connection.executescript(_TABLES)
    ...     SqliteBook(connection).version()
    0
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def account(self) -> Account:
        sql = "SELECT accountant, budget_epsilon, budget_delta, budget_rho, closed, epsilon, delta, rho FROM account"
        row = self._connection.execute(sql).fetchone()
        if row is None:
            raise sqlite3.DatabaseError("no account")
        budget = Budget(_read_amount(row[1]), _read_amount(row[2]), Accountant(row[0]), _read_amount(row[3]))
        return Account(budget, closed=bool(row[4]), spent=_cost(*row[5:]))

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
        return Purse(share, _cost(*row[2:]))

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
        sql = "INSERT INTO entry VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number"
        head = (record.time, record.analyst, record.version, question, record.question)
        row = self._connection.execute(sql, (*head, *_texts(record.cost), record.again, record.answered)).fetchone()
        return int(row[0])

    def settle(self, number: int, question: bytes, version: int) -> bool:
        sql = "UPDATE entry SET answered = 1 WHERE number = ? AND hash = ? AND version = ?"
        return self._connection.execute(sql, (number, question, version)).rowcount == 1

    def page(self, after: int) -> list[EntryRecord]:
        sql = (
            "SELECT number, time, analyst, version, question, epsilon, delta, rho, again, answered "
            "FROM entry WHERE number > ? ORDER BY number LIMIT ?"
        )
        rows = self._connection.execute(sql, (after, PAGE)).fetchall()
        return [
            EntryRecord(number, time, analyst, version, question, _cost(*cost), again=bool(again), answered=bool(done))
            for number, time, analyst, version, question, *cost, again, done in rows
        ]


@dataclass(frozen=True)
class SqliteStore:
    """A ledger's file; each operation opens it anew, so threads and forks share nothing.

    >>> SqliteStore(Path("rides.ledger")).path.name
    'rides.ledger'
    """

    path: Path

    def create(self, budget: Budget, shares: Mapping[str, Cost] | None, secret: bytes, first: tuple[str, str]) -> None:
        """Make the file, for its owner alone, whole or not at all; `first` is the time and the facts of version 1."""
        if self.path.exists():
            hint = "open it, or choose another name (a ledger that is removed forgets what was spent)"
            raise InputError(f"ledger '{self.path}' exists; {hint}")
        for left in (self.path.with_name(f"{self.path.name}{end}") for end in ("-journal", "-wal")):
            if left.exists():
                raise InputError(f"file '{left}' is left from another ledger '{self.path}'; move both away together")
        with Staging() as staging:
            temporary = staging.place(self.path)
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with _explain_sqlite_errors(self.path), closing(_connect(temporary)) as connection:
                connection.executescript(_TABLES)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                _open_account(connection, budget, shares, secret)
                SqliteBook(connection).add_version(*first)
        _flush_folder(self.path.parent)

    def check(self) -> None:
        """Refuse a file that is missing, is no ledger, is of a newer format, or is damaged."""
        if not self.path.exists():
            raise InputError(f"there is no ledger '{self.path}'; create one first")
        if not self.path.is_file():
            raise InputError(f"'{self.path}' is not a ledger but a folder or device; give the ledger's file")
        with _explain_sqlite_errors(self.path), closing(_connect(self.path)) as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            number = connection.execute("PRAGMA user_version").fetchone()[0]
            if application != APPLICATION:
                raise InputError(f"file '{self.path}' is not a ledger of sfumato; give the ledger's file")
            if number > FORMAT:
                newer = f"has format {number}, this sfumato reads up to {FORMAT}"
                raise InputError(f"ledger '{self.path}' {newer}; use the sfumato that wrote it")
            if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("quick check")
            SqliteBook(connection).account()

    @contextmanager
    def reading(self) -> Iterator[SqliteBook]:
        """Give the book as it stands at one moment."""
        with self._transaction("BEGIN") as book:
            yield book

    @contextmanager
    def writing(self) -> Iterator[SqliteBook]:
        """Give the book to this caller alone; what it writes is on the disk when the block ends."""
        with self._transaction("BEGIN IMMEDIATE") as book:
            yield book

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqliteBook]:
        with _explain_sqlite_errors(self.path), closing(_connect(self.path)) as connection:
            connection.execute(begin)
            try:
                yield SqliteBook(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)
    connection.execute("PRAGMA synchronous = EXTRA")  # FULL could lose the last commit when the power goes
    return connection


def _open_account(
    connection: sqlite3.Connection, budget: Budget, shares: Mapping[str, Cost] | None, secret: bytes
) -> None:
    sql = (
        "INSERT INTO account (id, accountant, budget_epsilon, budget_delta, budget_rho, closed, secret) "
        "VALUES (1, ?, ?, ?, ?, ?, ?)"
    )
    terms = (budget.accountant, str(budget.epsilon), str(budget.delta), str(budget.rho))
    connection.execute(sql, (*terms, shares is not None, secret))
    rows = [(name, str(share.epsilon), str(share.rho)) for name, share in (shares or {}).items()]
    connection.executemany("INSERT INTO analyst (name, share_epsilon, share_rho) VALUES (?, ?, ?)", rows)


def _texts(cost: Cost) -> tuple[str, str, str]:
    return str(cost.epsilon), str(cost.delta), str(cost.rho)


def _cost(epsilon: str, delta: str, rho: str) -> Cost:
    return Cost(_read_amount(epsilon), _read_amount(delta), _read_amount(rho))


def _read_amount(text: str) -> Decimal:
    """Return an amount that was written as text; anything else means that the file is damaged."""
    try:
        return amount(text)
    except ParameterError as error:
        raise sqlite3.DatabaseError("not an amount") from error


def _flush_folder(folder: Path) -> None:
    """Make a new name in a folder survive a power cut; some systems cannot open folders and need no flush."""
    with suppress(PermissionError):
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)


@contextmanager
def _explain_sqlite_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite reports into one sentence; whatever it is, the transaction did not happen."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        raise InputError(_SENTENCES.get(code, _OTHER).format(path=path, error=error)) from error


_SENTENCES = {
    sqlite3.SQLITE_NOTADB: "file '{path}' is not a ledger of sfumato; give the ledger's file",
    sqlite3.SQLITE_CORRUPT: "ledger '{path}' is damaged, nothing was answered; count its whole budget as spent",
    sqlite3.SQLITE_FULL: "ledger '{path}' cannot be written: the disk is full; nothing was answered",
    sqlite3.SQLITE_READONLY: "ledger '{path}' cannot be written: it or its folder is read-only; nothing was answered",
    sqlite3.SQLITE_BUSY: f"ledger '{{path}}' was in use by others for {PATIENCE_SECONDS:g} s; nothing was answered",
}
_OTHER = "ledger '{path}' cannot be used ({error}); nothing was answered"
