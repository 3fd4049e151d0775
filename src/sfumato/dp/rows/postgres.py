"""Rows in a table of PostgreSQL: the aggregate runs in the server, in a transaction that can change nothing.

Only tallies leave the server, as with McSherry's PINQ (2009); a request sees one snapshot of the table, and texts and
the secret travel as parameters, never as part of the SQL.
"""

# ruff: noqa: S608  # names are quoted, and texts are parameters

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from sfumato.dp.questions.request import Request, Tallies
from sfumato.dp.rows.cell_counts import count_cells
from sfumato.dp.rows.collect import UNREADABLE, check, collect
from sfumato.dp.rows.dialect import POSTGRES, StorageType
from sfumato.dp.rows.statement import SqlTable
from sfumato.errors import InputError
from sfumato.schema import Schema
from sfumato.table import ParseReport
from sfumato.table.database import Database, quote_identifier

Result = TypeVar("Result")
STORED = {
    **dict.fromkeys((25, 1042, 1043), StorageType.TEXT),  # the server's numbers of text, char and varchar
    **dict.fromkeys((20, 21, 23), StorageType.WHOLE),
    **dict.fromkeys((700, 701, 1700), StorageType.REAL),
    1082: StorageType.DAY,
    1114: StorageType.MOMENT,
    1184: StorageType.ZONED,
}


class PostgresRows:
    """The rows of one table, named `postgresql://user@host/database#table` or `…#schema.table`.

    >>> PostgresRows("postgresql://server/city", Schema())
    Traceback (most recent call last):
    sfumato.errors.InputError: 'postgresql://server/city' names no table; write postgresql://user@host/database#table
    """

    def __init__(self, url: str, schema: Schema) -> None:
        self._database = Database(url)
        self._schema = schema
        self._known = ("", "")
        table = self._database.table
        with self._transaction() as connection:
            stored = self._run(UNREADABLE, lambda: _storage_types(connection, table))
        self._source = SqlTable(table, stored, quote_identifier)
        for name in schema.columns:
            if name not in self._source.stored:
                raise InputError(f"the rows have no column '{name}', which the schema declares; correct one of them")

    def __repr__(self) -> str:
        return "PostgresRows(<rows are secret>)"

    def check(self, request: Request) -> None:
        """Refuse a request that contradicts the schema or how the columns are stored."""
        check(request, self._schema, self._source, POSTGRES)

    @contextmanager
    def look(self) -> Iterator[PostgresLook]:
        """Give the rows as one transaction sees them: it is hashed and collected in the same snapshot."""
        with self._transaction() as connection:
            yield PostgresLook(self, connection)

    @contextmanager
    def look_beside(self, others: Mapping[str, PostgresRows]) -> Iterator[tuple[PostgresLook, list[str]]]:
        """Give the rows in one transaction with those of other tables, and the hashes of these and of those."""
        with self._transaction() as connection:
            joined = copy.copy(self)
            beside = {name: other._source for name, other in others.items()}  # noqa: SLF001  # ours
            joined._source = replace(self._source, beside=beside)  # noqa: SLF001  # ours
            prints = [rows.fingerprint_in(connection) for rows in (self, *others.values())]
            yield PostgresLook(joined, connection), prints

    def is_beside(self, other: PostgresRows) -> bool:
        """Return whether both tables are in the same database, reached in the same way."""
        return self._database.is_beside(other._database)

    def collect(self, request: Request) -> Tallies:
        """Return the exact answers to a request, all of them from one snapshot of the table."""
        with self.look() as rows:
            return rows.collect(request)

    def parse_report(self) -> ParseReport:
        """Return what became of the cells of the declared columns: for the curator alone."""
        with self._transaction() as connection:
            execute = partial(_execute, connection)
            return self._run(UNREADABLE, lambda: count_cells(self._schema, self._source, POSTGRES, execute))

    def fingerprint(self) -> str:
        """Return a hash of the declared columns' rows, whatever their order; remembered while nothing is committed."""
        with self.look() as rows:
            return rows.fingerprint()

    def collect_in(self, connection: Any, request: Request) -> Tallies:
        """Return the exact answers to a request in a transaction."""
        execute = partial(_execute, connection)
        return self._run(UNREADABLE, lambda: collect(request, self._schema, self._source, POSTGRES, execute))

    def fingerprint_in(self, connection: Any) -> str:
        """Return the hash in a transaction."""

        def work() -> tuple[str, str]:
            ((snapshot,),) = _execute(connection, "SELECT CAST(pg_current_snapshot() AS TEXT)", {})
            return (
                self._known
                if self._known[0] == snapshot
                else (snapshot, self._database.fingerprint(connection, self._schema.columns))
            )

        self._known = self._run(UNREADABLE, work)
        return self._known[1]

    def _transaction(self) -> AbstractContextManager[Any]:
        return self._database.transaction()

    def _run(self, failure: str, work: Callable[[], Result]) -> Result:
        return self._database.run(failure, work)


class PostgresLook:
    """The rows of one table in one transaction.

    >>> PostgresLook(None, None)
    PostgresLook(<rows are secret>)
    """

    def __init__(self, rows: Any, connection: Any) -> None:
        self._rows, self._connection = rows, connection

    def __repr__(self) -> str:
        return "PostgresLook(<rows are secret>)"

    def check(self, request: Request) -> None:
        """Refuse a request that contradicts the schema or how the columns are stored."""
        self._rows.check(request)

    def collect(self, request: Request) -> Tallies:
        """Return the exact answers to a request."""
        tallies: Tallies = self._rows.collect_in(self._connection, request)
        return tallies

    def fingerprint(self) -> str:
        """Return a hash of the declared columns' rows."""
        return str(self._rows.fingerprint_in(self._connection))

    @contextmanager
    def look(self) -> Iterator[PostgresLook]:
        """Give the same look."""
        yield self


def _execute(connection: Any, statement: str, parameters: dict[str, object]) -> Sequence[tuple[Any, ...]]:
    found: Sequence[tuple[Any, ...]] = connection.execute(statement, parameters).fetchall()
    return found


def _storage_types(connection: Any, table: str) -> dict[str, StorageType]:
    described = connection.execute(f"SELECT * FROM {table} LIMIT 0", {}).description
    return {column.name: STORED.get(column.type_code, StorageType.OTHER) for column in described}
