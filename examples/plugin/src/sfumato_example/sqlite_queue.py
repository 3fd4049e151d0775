"""Tables of an SQLite file as queues (SQLite documentation, "Transactions": one writer at a time, so ids are in order).

A row is read in the order of its id and deleted once a checkpoint holds it; a released row has its number as its key.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, ClassVar

from sfumato.errors import InputError, ParameterError
from sfumato.stream.connectors.base import (
    Address,
    BrokerGoneError,
    Connector,
    Message,
    MessageReader,
    MessageWriter,
    Received,
)


class SqliteQueue(Connector):
    """The tables of one file, `readings (id INTEGER PRIMARY KEY, payload)` and `released (number, stream, rows)`.

    >>> SqliteQueue(Address.read("sqlite:///var/rides.db")).topic
    '/var/rides.db'
    """

    name: ClassVar[str] = "sqlite"
    form: ClassVar[str] = "sqlite:///FOLDER/FILE"
    words: ClassVar[str] = "An SQLite file; the table readings is read, and the table released is written."
    replays: ClassVar[bool] = False

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        if address.host or not address.place:
            raise ParameterError(f"address '{address}' names no file; give {self.form}")

    @property
    def topic(self) -> str:
        """The file."""
        return "/" + "/".join(self.address.place)

    def reader(self) -> MessageReader:
        """Return what reads the table of readings."""
        return ReadingsReader(self.topic)

    def writer(self) -> MessageWriter:
        """Return what writes the table of released rows."""
        return ReleasedWriter(self.topic)


class Database:
    """One file, opened for each transaction; one that is locked may be free later."""

    def __init__(self, file: str) -> None:
        self._file = file

    def ask(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement."""
        with self._open() as connection:
            return connection.execute(statement, values).fetchall()

    def insert(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Insert rows, all of them or none."""
        with self._open() as connection:
            connection.executemany(statement, rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._file)) as connection, connection:
                yield connection
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise BrokerGoneError(str(error)) from error
            raise InputError(f"file '{self._file}' cannot be used: {error}; check the name and its tables") from error


class ReadingsReader(MessageReader):
    """Reads the rows behind a position, which is the id of the last one."""

    def __init__(self, file: str) -> None:
        self._database, self._position = Database(file), 0

    def open(self, stream: str, position: str) -> None:
        """Go on behind a row."""
        del stream
        self._position = int(position or 0)

    def read(self, limit: int, wait: float) -> Received | None:
        """Return the next rows."""
        select = "SELECT id, CAST(payload AS BLOB) FROM readings WHERE id > ? ORDER BY id LIMIT ?"
        found = self._database.ask(select, self._position, limit)
        if not found:
            time.sleep(wait)
            return None
        self._position = found[-1][0]
        return Received([payload for _, payload in found], str(self._position))

    def acknowledge(self, position: str) -> None:
        """Delete the rows that lie in the checkpoint."""
        self._database.ask("DELETE FROM readings WHERE id <= ?", int(position or 0))

    def close(self) -> None:
        """Every statement has a connection of its own."""


class ReleasedWriter(MessageWriter):
    """Writes messages under the number of their last row."""

    def __init__(self, file: str) -> None:
        self._file, self._database, self._stream = file, Database(file), ""

    def open(self, stream: str) -> int:
        """Return how many rows of the stream lie there."""
        self._stream = stream
        table = "CREATE TABLE IF NOT EXISTS released (number INTEGER PRIMARY KEY, stream TEXT, rows BLOB)"
        self._database.ask(table)
        there = dict(self._database.ask("SELECT stream, MAX(number) FROM released GROUP BY stream"))
        if set(there) - {stream}:
            raise InputError(f"file '{self._file}' has rows of another stream; choose another file")
        return int(there.get(stream, 0))

    def send(self, messages: Sequence[Message]) -> None:
        """Write messages; a number that is there is left as it is."""
        rows = [(message.end, self._stream, message.payload) for message in messages]
        self._database.insert("INSERT OR IGNORE INTO released VALUES (?, ?, ?)", rows)

    def read_back(self, begin: int, end: int) -> Sequence[tuple[int, bytes]]:
        """Return what lies there of some rows."""
        select = "SELECT number, rows FROM released WHERE number > ? ORDER BY number LIMIT ?"
        return [(number, rows) for number, rows in self._database.ask(select, begin, end - begin)]

    def close(self) -> None:
        """Every statement has a connection of its own."""
