"""The example package's connector, and copies of it that are broken in one way each: what the suite must find."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sfumato_example.sqlite_queue import Database, ReadingsReader, ReleasedWriter, SqliteQueue

from sfumato.stream.connectors.base import Message, MessageReader, MessageWriter, Received


class LiveSqlite:
    """Files that are topics; nobody serves them, so nobody can be killed."""

    can_kill = False

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, itertools.count()

    def fresh(self, *, read: bool = True) -> str:
        file = self._folder / f"topic{next(self._numbers)}.db"
        if read:
            with closing(sqlite3.connect(file)) as connection, connection:
                connection.execute("CREATE TABLE readings (id INTEGER PRIMARY KEY, payload BLOB)")
        return f"sqlite://{file}"

    def put(self, address: str, payloads: Sequence[bytes]) -> None:
        rows = [(payload,) for payload in payloads]
        Database(address.removeprefix("sqlite://")).insert("INSERT INTO readings (payload) VALUES (?)", rows)

    def take(self, address: str) -> list[bytes]:
        found = Database(address.removeprefix("sqlite://")).ask("SELECT rows FROM released ORDER BY rowid")
        return [rows for (rows,) in found]

    def kill(self) -> None:
        raise AssertionError

    def start(self) -> None:
        raise AssertionError


class AcknowledgesEarly(SqliteQueue):
    """Takes a message as done when it is given, before any checkpoint."""

    def reader(self) -> MessageReader:
        return _Early(self.topic)


class _Early(ReadingsReader):
    def read(self, limit: int, wait: float) -> Received | None:
        received = super().read(limit, wait)
        if received is not None:
            self.acknowledge(received.position)
        return received


class ForgetsPosition(SqliteQueue):
    """Reads everything that was not acknowledged, also what lies in the checkpoint."""

    def reader(self) -> MessageReader:
        return _Forgetful(self.topic)


class _Forgetful(ReadingsReader):
    def open(self, stream: str, position: str) -> None:
        del position
        super().open(stream, "")


class WritesTwice(SqliteQueue):
    """Adds rows without a number, so that a replay is written again."""

    def writer(self) -> MessageWriter:
        return _Twice(self.topic)


class _Twice(ReleasedWriter):
    def open(self, stream: str) -> int:
        self._stream = stream
        self._database.ask("CREATE TABLE IF NOT EXISTS released (number INTEGER, stream TEXT, rows BLOB)")
        return 0


class ForgetsRows(SqliteQueue):
    """Says that a message is there before it is."""

    def writer(self) -> MessageWriter:
        return _Buffered(self.topic)


class _Buffered(ReleasedWriter):
    _waiting: Sequence[Message] = ()

    def send(self, messages: Sequence[Message]) -> None:
        if self._waiting:
            super().send(self._waiting)
        self._waiting = messages


class LosesOrder(SqliteQueue):
    """Gives the last message first."""

    def reader(self) -> MessageReader:
        return _Backwards(self.topic)


class _Backwards(ReadingsReader):
    def read(self, limit: int, wait: float) -> Received | None:
        received = super().read(limit, wait)
        return None if received is None else Received(received.payloads[::-1], received.position)


class ReadsTooMuch(SqliteQueue):
    """Does not keep to the number of messages that it is asked for."""

    def reader(self) -> MessageReader:
        return _Greedy(self.topic)


class _Greedy(ReadingsReader):
    def read(self, limit: int, wait: float) -> Received | None:
        return super().read(100 * limit, wait)
