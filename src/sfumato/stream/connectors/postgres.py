"""Tables of PostgreSQL as queues: rows in the order of their transactions, each released row inserted once.

A number is given to a row before its transaction ends, so numbers alone would pass over rows that are committed late. A
row is read once no earlier transaction runs any more: transaction ids are compared with the oldest one that does
(PostgreSQL, "Transaction ID and snapshot information functions").
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, LiteralString

from sfumato.core.postgres import DISTRUSTED, OPTIONS, PASSING, STRANGER, VARIABLE, login, words_of
from sfumato.errors import InputError, MissingExtraError, ParameterError
from sfumato.stream.connectors.base import Address, Connector, Message, MessageReader, MessageWriter, Received
from sfumato.stream.connectors.retry import BrokerGoneError
from sfumato.stream.connectors.secure import distrust

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composable

SETTINGS = "-c synchronous_commit=on -c client_encoding=UTF8 -c statement_timeout=60s -c search_path=public"
COLUMNS: LiteralString = """
    SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a
    WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
"""
READ: LiteralString = """
    SELECT xid::text || ' ' || id::text, {payload} FROM {table}
    WHERE (xid, id) > (%s::xid8, %s) AND xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY xid, id LIMIT %s
"""
DELETE: LiteralString = "DELETE FROM {table} WHERE (xid, id) <= (%s::xid8, %s)"
CREATE: LiteralString = """
    CREATE TABLE IF NOT EXISTS {table} (stream text, number bigint, rows text NOT NULL, PRIMARY KEY (stream, number))
"""
THERE: LiteralString = "SELECT stream, max(number) FROM {table} GROUP BY stream"
WRITE: LiteralString = """
    INSERT INTO {table} SELECT %s, * FROM unnest(%s::bigint[], %s::text[]) ON CONFLICT DO NOTHING
"""
READ_BACK: LiteralString = """
    SELECT number, rows FROM {table} WHERE stream = %s AND number > %s ORDER BY number LIMIT %s
"""


class PostgresQueue(Connector):
    """Tables of a PostgreSQL server.

    >>> PostgresQueue(Address.read("postgresql://server/city#rides")).topic
    'city#rides'
    """

    name: ClassVar[str] = "postgresql"
    aliases: ClassVar[tuple[str, ...]] = ("postgres",)
    form: ClassVar[str] = "postgresql://[USER@]HOST[:PORT]/DATABASE#[SCHEMA.]TABLE"
    words: ClassVar[str] = (
        "A table of PostgreSQL: read as a queue, whose rows are deleted when a checkpoint holds them."
    )
    variable: ClassVar[str] = VARIABLE
    replays: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]] = {
        "payload": "The column that holds the message; payload unless given.",
        **OPTIONS,
    }

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        if len(address.place) != 1 or not address.fragment or len(address.fragment.split(".")) > 2:
            raise ParameterError(f"address '{address}' names no table; give {self.form}")
        self.database = address.place[0]
        self.table = ("public", *address.fragment.split("."))[-2:]

    @property
    def topic(self) -> str:
        return f"{self.database}#{self.address.fragment}"

    def reader(self) -> MessageReader:
        return QueueReader(self)

    def writer(self) -> MessageWriter:
        return TableWriter(self)


class Session:
    """One connection and the table that it is for."""

    def __init__(self, connector: PostgresQueue) -> None:
        try:
            import psycopg
            from psycopg import sql
        except ImportError as error:
            raise MissingExtraError("PostgreSQL needs its client; pip install 'sfumato[postgres]'") from error
        self._psycopg, self._sql = psycopg, sql
        self._connector = connector
        self._connection: Connection[tuple[Any, ...]] | None = None
        self.table = sql.Identifier(*connector.table)

    def open(self) -> None:
        """Connect anew."""
        self.close()
        given = login(self._connector.address, self._connector.database, SETTINGS)
        with self._told():
            self._connection = self._psycopg.connect(autocommit=True, **given)

    def _refuse(self, words: str) -> None:
        """Refuse what a server says of a connection that no other attempt mends; it gives no code with it."""
        address = self._connector.address
        if any(one in words for one in DISTRUSTED):
            raise distrust(address, words, "sslrootcert=FILE")
        if any(one in words for one in STRANGER):
            raise InputError(
                f"broker '{address}' refuses the login ({words}); check the user, the database, sslmode and "
                f"{self._connector.secret()}"
            )

    def ask(self, statement: LiteralString, *values: object, **names: Composable) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, which is a transaction of its own."""
        if self._connection is None:
            raise BrokerGoneError("the connection is closed")
        query = self._sql.SQL(statement).format(table=self.table, **names) if "{" in statement else statement
        with self._told(), self._connection.cursor(binary=True) as cursor:
            cursor.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say in one sentence what a server refuses, without words of its own that may quote a cell."""
        try:
            yield
        except self._psycopg.Error as error:
            code = error.sqlstate or ""
            if self._connection is None:
                self._refuse(words_of(error))
            lost = self._connection is None or self._connection.broken or code.startswith(PASSING)
            if lost:
                raise BrokerGoneError(words_of(error)) from error
            raise InputError(
                f"broker '{self._connector.address}' refuses that ({type(error).__name__}); check the table, the user "
                f"and {self._connector.secret()}"
            ) from error

    def close(self) -> None:
        """Let the connection go."""
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
        self._connection = None


class QueueReader(MessageReader):
    """Reads the rows of a table with the columns `xid`, `id` and a payload; deletes those that are acknowledged."""

    def __init__(self, connector: PostgresQueue) -> None:
        self._connector, self._session = connector, Session(connector)
        self._position = ""
        self._column = connector.address.options.get("payload", "payload")

    def open(self, stream: str, position: str) -> None:
        del stream
        self._session.open()
        self._position = position or "0 0"
        columns = dict(self._session.ask(COLUMNS, ".".join(f'"{part}"' for part in self._connector.table)))
        missing = [name for name in ("xid", "id", self._column) if name not in columns]
        if missing or columns["xid"] != "xid8":
            raise InputError(
                f"table '{self._connector.topic}' is no queue; make it with the columns id bigint GENERATED ALWAYS AS "
                f"IDENTITY, xid xid8 NOT NULL DEFAULT pg_current_xact_id(), {self._column} text NOT NULL"
            )
        sql = self._session._sql  # noqa: SLF001
        self._payload = sql.Identifier(self._column)
        if columns[self._column] != "bytea":
            self._payload = sql.SQL("convert_to({}::text, 'UTF8')").format(self._payload)

    def read(self, limit: int, wait: float) -> Received | None:
        found = self._session.ask(READ, *self._position.split(), limit, payload=self._payload)
        if not found:
            time.sleep(wait)
            return None
        self._position = found[-1][0]
        return Received([payload or b"" for _, payload in found], self._position)

    def acknowledge(self, position: str) -> None:
        if position:
            self._session.ask(DELETE, *position.split())

    def close(self) -> None:
        self._session.close()


class TableWriter(MessageWriter):
    """Inserts messages under the stream's id and the number of their last row, which a table can have once."""

    def __init__(self, connector: PostgresQueue) -> None:
        self._connector, self._session = connector, Session(connector)
        self._stream = ""

    def open(self, stream: str) -> int:
        self._stream = stream
        self._session.open()
        self._session.ask(CREATE)
        there: dict[str, int] = dict(self._session.ask(THERE))
        if set(there) - {stream}:
            raise InputError(
                f"output '{self._connector.address}' has rows that are not of this stream; choose another table"
            )
        return there.get(stream, 0)

    def send(self, messages: Sequence[Message]) -> None:
        numbers = [message.end for message in messages]
        self._session.ask(WRITE, self._stream, numbers, [message.payload.decode() for message in messages])

    def read_back(self, begin: int, end: int) -> Sequence[tuple[int, bytes]]:
        found = self._session.ask(READ_BACK, self._stream, begin, end - begin)
        return [(number, rows.encode()) for number, rows in found]

    def close(self) -> None:
        self._session.close()
