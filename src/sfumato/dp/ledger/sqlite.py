"""A ledger's file: SQLite, one short transaction per operation, on the disk before it returns.

Atomic commit is SQLite's rollback journal (Hipp, "Atomic Commit in SQLite"): at rest the ledger is a single file, so
that moving it loses nothing, which a write-ahead log beside it would not promise.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.files import Staging
from sfumato.core.files.journal import PREFIX
from sfumato.dp.ledger.book import SqlBook
from sfumato.dp.ledger.migration import FIRST, KEPT, migrate
from sfumato.dp.ledger.shape import refuse_other_shape
from sfumato.dp.ledger.store import Book, DamagedError, HomedStore
from sfumato.dp.ledger.tables import tables
from sfumato.dp.ledger.wholeness import refuse_damaged
from sfumato.errors import InputError
from sfumato.promise.cost import Budget, Cost

FORMAT = 2
APPLICATION = 0x7366756D  # "sfum", in the file's header
MAGIC = b"SQLite format 3\x00"
APPLICATION_AT = 68  # in the header
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

    @property
    def place(self) -> str:
        """How a list notes the ledger."""
        return str(self.path)

    def create(
        self,
        budget: Budget,
        shares: Mapping[str, Cost] | None,
        secrets: tuple[bytes, bytes],
        begin: Callable[[Book], None],
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
                connection.executescript(tables("sqlite"))
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.execute("BEGIN")
                book = SqlBook(connection)
                book.open_account(budget, shares, secrets)
                begin(book)
                connection.execute("COMMIT")
        _flush_folder(self.path.parent)

    @contextmanager
    def opening(self) -> Iterator[SqlBook]:
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
            yield SqlBook(connection)

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
    def reading(self) -> Iterator[SqlBook]:
        """Give the book as it stands at one moment."""
        with self._transaction("BEGIN") as book:
            yield book

    @contextmanager
    def writing(self) -> Iterator[SqlBook]:
        """Give the book to this caller alone; what it writes is on the disk when the block ends."""
        with self._transaction("BEGIN IMMEDIATE") as book:
            yield book

    def alone(self) -> AbstractContextManager[None]:
        """Wait for nobody: whoever makes a ledger here holds the lock of this user's list."""
        return nullcontext()

    def neighbours(self) -> Iterator[HomedStore]:
        """Yield the ledgers in the same folder."""
        return ledgers_in(self.path.parent)

    def is_there(self) -> bool:
        """Whether a file begins as ledgers do; one byte may be damaged, and opening it will tell."""
        try:
            with self.path.open("rb") as file:
                header = file.read(APPLICATION_AT + 4)
        except OSError:
            return False
        found, right = header[: len(MAGIC)] + header[APPLICATION_AT:], MAGIC + APPLICATION.to_bytes(4, "big")
        return len(found) == len(right) and sum(one != other for one, other in zip(found, right, strict=True)) <= 1

    def is_same(self, other: HomedStore) -> bool:
        """Whether another store is this file."""
        return isinstance(other, SqliteStore) and other.path == self.path

    def glance(self) -> list[str]:
        """Return what all versions declared; a ledger that is damaged is refused, an old one is not migrated."""
        chained = self.format() == FORMAT
        with self.reading() as book:
            if chained:
                refuse_damaged(book, self.name)
            return [facts for _, _, facts in book.versions()]

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqlBook]:
        with _explain_sqlite_errors(self.path), closing(_connect(self.path)) as connection:
            connection.execute(begin)
            try:
                yield SqlBook(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise


def ledgers_in(folder: Path) -> Iterator[HomedStore]:
    """Yield the ledgers in a folder; what a creation left that was killed is none.

    >>> list(ledgers_in(Path("no-such-folder")))
    []
    """
    try:
        files = sorted(entry for entry in folder.iterdir() if entry.is_file())
    except OSError:
        return
    for file in files:
        if not file.name.startswith(PREFIX) and SqliteStore(file).is_there():
            yield SqliteStore(file)


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
    except (DamagedError, UnicodeDecodeError) as error:  # the latter in a message of SQLite about a damaged file
        raise InputError(_SENTENCES[sqlite3.SQLITE_CORRUPT].format(path=path)) from error


_SENTENCES = {
    sqlite3.SQLITE_NOTADB: "file '{path}' is not a ledger of sfumato; give the ledger's file",
    sqlite3.SQLITE_CORRUPT: "ledger '{path}' is damaged, nothing was answered; count its whole budget as spent",
    sqlite3.SQLITE_FULL: "ledger '{path}' cannot be written: the disk is full; nothing was answered",
    sqlite3.SQLITE_READONLY: "ledger '{path}' cannot be written: it or its folder is read-only; nothing was answered",
    sqlite3.SQLITE_BUSY: f"ledger '{{path}}' was in use by others for {PATIENCE_SECONDS:g} s; nothing was answered",
}
_OTHER = "ledger '{path}' cannot be used ({error}); nothing was answered"
