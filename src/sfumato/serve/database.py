"""The curator's own records: accounts, tokens, data sets, answers and the log, in one SQLite file of the home folder.

Each transaction opens the file anew, as the ledger's does, so that threads share nothing (Gray & Reuter 1993, alone,
whole and durable). No token and no password is in it, only their hashes.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.files import create_file, flush_folder
from sfumato.errors import InputError
from sfumato.random import SecureSource

APPLICATION = 0x73667563  # "sfuc", in the file's header
FORMAT = 1
KEY_WORDS = 8  # of 32 bits, for the chain of the log
PATIENCE_SECONDS = 30.0
TABLES = """
CREATE TABLE secret (id INTEGER PRIMARY KEY CHECK (id = 1), chain_key BLOB NOT NULL) STRICT;
CREATE TABLE account (
  name TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('steward', 'analyst', 'reader')),
  opened TEXT NOT NULL, closed TEXT
) STRICT;
CREATE TABLE token (
  id TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES account (name),
  scopes TEXT NOT NULL, made TEXT NOT NULL, expires REAL NOT NULL, revoked TEXT
) STRICT;
CREATE TABLE link (
  digest BLOB PRIMARY KEY, account TEXT NOT NULL REFERENCES account (name), expires REAL NOT NULL, used TEXT
) STRICT;
CREATE TABLE data_set (name TEXT PRIMARY KEY, registered TEXT NOT NULL) STRICT;
CREATE TABLE access (
  data_set TEXT NOT NULL REFERENCES data_set (name), account TEXT NOT NULL REFERENCES account (name),
  PRIMARY KEY (data_set, account)
) STRICT;
CREATE TABLE answer (
  id TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES account (name),
  data_set TEXT NOT NULL REFERENCES data_set (name), key TEXT, request BLOB NOT NULL, asked TEXT NOT NULL, reply BLOB,
  UNIQUE (account, key)
) STRICT;
CREATE INDEX answer_account ON answer (account, data_set);
CREATE TABLE act (
  number INTEGER PRIMARY KEY, time TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, about TEXT NOT NULL,
  digest BLOB NOT NULL
) STRICT;
CREATE TRIGGER act_stays BEFORE UPDATE ON act BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER act_remains BEFORE DELETE ON act BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
"""


@dataclass(frozen=True)
class Database:
    """The file; `reading` gives it as it stands at one moment, `writing` to one caller alone, durable when it ends.

    >>> import tempfile
    >>> database = Database(Path(tempfile.mkdtemp()) / "curator.sqlite")
    >>> database.make()
    >>> with database.reading() as book:
    ...     book.execute("SELECT COUNT(*) FROM account").fetchone()[0]
    0
    """

    path: Path

    def make(self) -> None:
        """Make the file for its owner alone, and its tables; an existing one is checked, never replaced."""
        if self.path.exists():
            self._refuse_other()
            return
        beside = self.path.with_name(f".{self.path.name}.new")
        beside.unlink(missing_ok=True)
        os.close(create_file(beside))
        with closing(_connect(beside)) as book:
            book.executescript(TABLES)
            book.execute(
                "INSERT INTO secret (id, chain_key) VALUES (1, ?)", (SecureSource().words(KEY_WORDS).tobytes(),)
            )
            book.execute(f"PRAGMA application_id = {APPLICATION}")
            book.execute(f"PRAGMA user_version = {FORMAT}")
        beside.rename(self.path)
        flush_folder(self.path.parent)

    def _refuse_other(self) -> None:
        try:
            with closing(_connect(self.path)) as book:
                application = book.execute("PRAGMA application_id").fetchone()[0]
                number = book.execute("PRAGMA user_version").fetchone()[0]
                whole = book.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
        except sqlite3.Error as error:
            raise InputError(f"file '{self.path}' is damaged; restore the home folder from its backup") from error
        if (application, number) != (APPLICATION, FORMAT) or not whole:
            raise InputError(f"file '{self.path}' is not what this sfumato wrote, or it is damaged; name another home")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the file as it stands at one moment."""
        with self._transaction("BEGIN") as book:
            yield book

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the file to this caller alone; an error undoes all."""
        with self._transaction("BEGIN IMMEDIATE") as book:
            yield book

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with closing(_connect(self.path)) as book:
            book.execute(begin)
            try:
                yield book
                book.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    book.execute("ROLLBACK")
                raise


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    book = sqlite3.connect(uri, uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)
    book.row_factory = sqlite3.Row
    book.execute("PRAGMA synchronous = EXTRA")
    book.execute("PRAGMA foreign_keys = ON")
    return book
