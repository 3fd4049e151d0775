"""A ledger's file: SQLite, one short transaction per operation, on the disk before it returns.

Atomic commit is SQLite's rollback journal (Hipp, "Atomic Commit in SQLite"): at rest the ledger is a single file, so
that moving it loses nothing, which a write-ahead log beside it would not promise.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.files import Staging
from sfumato.dp.ledger.book import LINKS, TABLES, SqliteBook
from sfumato.dp.ledger.migration import migrate
from sfumato.errors import InputError
from sfumato.promise.cost import Budget, Cost

FORMAT = 2
APPLICATION = 0x7366756D  # "sfum", in the file's header
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class SqliteStore:
    """A ledger's file; each operation opens it anew, so threads and forks share nothing.

    >>> SqliteStore(Path("rides.ledger")).path.name
    'rides.ledger'
    """

    path: Path

    def create(
        self,
        budget: Budget,
        shares: Mapping[str, Cost] | None,
        secrets: tuple[bytes, bytes],
        begin: Callable[[SqliteBook], None],
    ) -> None:
        """Make the file, for its owner alone, whole or not at all; `begin` writes what a new ledger begins with.

        `secrets` are the key that bounds persons and the key of the chain.
        """
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
                connection.executescript(f"{TABLES}{LINKS};")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.execute("BEGIN")
                _open_account(connection, budget, shares, secrets)
                begin(SqliteBook(connection))
                connection.execute("COMMIT")
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
            if number < FORMAT:
                migrate(connection, self.path)
            connection.execute("BEGIN")  # account and newest link of one moment, whoever writes meanwhile
            _check_head(SqliteBook(connection))

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
    connection: sqlite3.Connection, budget: Budget, shares: Mapping[str, Cost] | None, secrets: tuple[bytes, bytes]
) -> None:
    sql = (
        "INSERT INTO account (id, accountant, budget_epsilon, budget_delta, budget_rho, closed, secret, chain_key) "
        "VALUES (1, ?, ?, ?, ?, ?, ?, ?)"
    )
    terms = (budget.accountant, str(budget.epsilon), str(budget.delta), str(budget.rho))
    connection.execute(sql, (*terms, shares is not None, *secrets))
    rows = [(name, str(share.epsilon), str(share.rho)) for name, share in (shares or {}).items()]
    connection.executemany("INSERT INTO analyst (name, share_epsilon, share_rho) VALUES (?, ?, ?)", rows)


def _check_head(book: SqliteBook) -> None:
    """Refuse a ledger whose account is not the one that its newest link speaks of."""
    book.account()
    head = book.head()
    last = book.links(max(head.number - 1, 0))
    if not head.number or len(last) != 1 or last[0].head != head:
        raise sqlite3.DatabaseError("head of the chain")


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
