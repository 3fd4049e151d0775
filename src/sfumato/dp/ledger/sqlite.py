"""A ledger's file: SQLite, one short transaction per operation, on the disk before it returns.

Atomic commit is SQLite's rollback journal (Hipp, "Atomic Commit in SQLite"): at rest the ledger is a single file, so
that moving it loses nothing, which a write-ahead log beside it would not promise.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.files import Staging
from sfumato.dp.ledger.book import LINKS, TABLES, SqliteBook
from sfumato.dp.ledger.migration import FIRST, KEPT, migrate
from sfumato.dp.ledger.shape import refuse_other_shape
from sfumato.errors import InputError
from sfumato.promise.cost import Budget, Cost

FORMAT = 2
APPLICATION = 0x7366756D  # "sfum", in the file's header
PATIENCE_SECONDS = 60.0
GLANCE_SECONDS = 0.003


@dataclass(frozen=True)
class SqliteStore:
    """A ledger's file; each operation opens it anew, so threads and forks share nothing.

    >>> SqliteStore(Path("rides.ledger")).path.name
    'rides.ledger'
    """

    path: Path

    @property
    def name(self) -> str:
        """What errors call the ledger."""
        return str(self.path)

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
        for end in ("-journal", "-wal"):
            left = self.path.with_name(f"{self.path.name}{end}")
            if left.exists():
                raise InputError(f"file '{left}' is left from another ledger '{self.path}'; move both away together")
        with Staging() as staging:
            temporary = staging.place(self.path, secret=True)
            with _explain_sqlite_errors(self.path), closing(_connect(temporary)) as connection:
                connection.executescript(f"{TABLES}{LINKS};")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.execute("BEGIN")
                _open_account(connection, budget, shares, secrets)
                begin(SqliteBook(connection))
                connection.execute("COMMIT")
        _flush_folder(self.path.parent)

    @contextmanager
    def opening(self) -> Iterator[SqliteBook]:
        """Give the book as `reading` does; refuse a file that is missing, no ledger, of a newer format, or damaged.

        One transaction serves all: where others write, waiting for a second one could take long.
        """
        self._refuse_no_file()
        with _explain_sqlite_errors(self.path), closing(_connect(self.path)) as connection:
            _begin_reading(connection)
            number = self._read_format(connection)
            if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":  # indexes are compared as well
                raise sqlite3.DatabaseError("integrity check")
            if number == FIRST:
                connection.execute("COMMIT")
                migrate(connection, self.path)
                connection.execute("BEGIN")
            refuse_other_shape(connection)
            yield SqliteBook(connection)

    def _refuse_no_file(self) -> None:
        if not self.path.exists():
            raise InputError(f"there is no ledger '{self.path}'; create one first")
        if not self.path.is_file():
            raise InputError(f"'{self.path}' is not a ledger but a folder or device; give the ledger's file")
        log = self.path.with_name(f"{self.path.name}-wal")
        if log.exists():
            raise InputError(
                f"file '{log}' lies beside the ledger, and sfumato writes no such log; if another program made it, let "
                "that program close the ledger, else move it away"
            )

    def format(self) -> int:
        """Return the number of the file's format."""
        with _explain_sqlite_errors(self.path), closing(_connect(self.path)) as connection:
            return self._read_format(connection)

    def _read_format(self, connection: sqlite3.Connection) -> int:
        """Return the number of the file's format; refuse what is no ledger and what a newer sfumato wrote."""
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        number = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if application == KEPT:
            old = f"file '{self.path}' is a copy of a ledger as it was before its format changed"
            raise InputError(f"{old}; what was spent since is not in it: give the ledger itself")
        if application != APPLICATION:
            raise InputError(f"file '{self.path}' is not a ledger of sfumato; give the ledger's file")
        if number > FORMAT:
            newer = f"has format {number}, this sfumato reads up to {FORMAT}"
            raise InputError(f"ledger '{self.path}' {newer}; use the sfumato that wrote it")
        if number not in {FIRST, FORMAT}:
            raise sqlite3.DatabaseError("format")
        return number

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


def _begin_reading(connection: sqlite3.Connection) -> None:
    """Begin to read as soon as no writer is in the way: SQLite alone would look only ten times a second."""
    patience = time.monotonic() + PATIENCE_SECONDS
    connection.execute("PRAGMA busy_timeout = 0")
    while True:
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            break
        except sqlite3.OperationalError as error:
            connection.rollback()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > patience:
                raise
            time.sleep(GLANCE_SECONDS)
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * PATIENCE_SECONDS)}")


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
    except UnicodeDecodeError as error:  # in a message of SQLite about a damaged file
        raise InputError(_SENTENCES[sqlite3.SQLITE_CORRUPT].format(path=path)) from error


_SENTENCES = {
    sqlite3.SQLITE_NOTADB: "file '{path}' is not a ledger of sfumato; give the ledger's file",
    sqlite3.SQLITE_CORRUPT: "ledger '{path}' is damaged, nothing was answered; count its whole budget as spent",
    sqlite3.SQLITE_FULL: "ledger '{path}' cannot be written: the disk is full; nothing was answered",
    sqlite3.SQLITE_READONLY: "ledger '{path}' cannot be written: it or its folder is read-only; nothing was answered",
    sqlite3.SQLITE_BUSY: f"ledger '{{path}}' was in use by others for {PATIENCE_SECONDS:g} s; nothing was answered",
}
_OTHER = "ledger '{path}' cannot be used ({error}); nothing was answered"
