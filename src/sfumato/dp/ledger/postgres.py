"""A ledger in PostgreSQL: a schema of its own, and one short transaction per operation under the lock of one row.

Writers wait for the row of the account, so that reading the total, checking and writing is one step that no other can
enter (READ COMMITTED with row locks; PostgreSQL, "Explicit locking"); readers see one snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from sfumato.core.address import Address
from sfumato.core.postgres import OPTIONS, VARIABLE
from sfumato.dp.ledger.book import CHANGED, READ_ACCOUNT, AccountRow, SqlBook, cost_texts
from sfumato.dp.ledger.server import FOUND, NO_RIGHTS, Server
from sfumato.dp.ledger.store import Book, DamagedError, HomedStore
from sfumato.dp.ledger.tables import tables
from sfumato.dp.ledger.wholeness import refuse_damaged
from sfumato.errors import InputError, ParameterError
from sfumato.promise.cost import Budget, Cost

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

FORMAT = 1
PREFIX = "sfumato_ledger_"
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
FORM = "postgresql://[USER@]HOST[:PORT]/DATABASE?ledger=NAME"
KNOWN = {
    "ledger": "The ledger's name: small letters, digits and _, the first a letter.",
    "password-file": "File with the password, which only its owner may read.",
    "fsync": "off takes a server whose fsync is off, on which a power cut gives budget back: for tests alone.",
    **OPTIONS,
}
LOCK = 0x7366756D  # of whoever makes a ledger in a database
ROW = READ_ACCOUNT.replace("SELECT", f"SELECT (SELECT number FROM format), {FOUND},", 1)  # noqa: S608 - our words
COMMIT = "SET LOCAL synchronous_commit = on"  # whatever is set meanwhile for the server, the database or the user
SNAPSHOT, LOCKED = "ISOLATION LEVEL REPEATABLE READ READ ONLY", "ISOLATION LEVEL READ COMMITTED READ WRITE"
READ, WRITE = (SNAPSHOT, ROW), (LOCKED, f"{COMMIT}; {ROW} FOR UPDATE OF account")
THERE = "SELECT count(*), bool_and(has_schema_privilege(oid, 'USAGE')) FROM pg_namespace WHERE nspname = '{schema}'"
LISTED = f"""
SELECT nspname FROM pg_namespace
WHERE left(nspname, {len(PREFIX)}) = '{PREFIX}' AND has_schema_privilege(oid, 'USAGE') ORDER BY nspname
"""  # noqa: S608 - our words
MADE = """
CREATE SCHEMA {schema};
REVOKE ALL ON SCHEMA {schema} FROM PUBLIC;
CREATE TABLE format (number BIGINT NOT NULL, application TEXT NOT NULL);
INSERT INTO format VALUES ({format}, 'sfumato');
{tables}
REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM PUBLIC
"""
SPEND = """
UPDATE account SET epsilon = ?, delta = ?, rho = ? WHERE epsilon = ? AND delta = ? AND rho = ?
AND CAST(? AS NUMERIC) <= CAST(? AS NUMERIC) AND CAST(? AS NUMERIC) <= CAST(? AS NUMERIC)
AND CAST(? AS NUMERIC) <= CAST(? AS NUMERIC)
"""


@dataclass(frozen=True)
class PostgresStore:
    """A ledger in PostgreSQL; `place` is its address, which has no password.

    >>> store = PostgresStore.at("postgresql://ana@server/city?ledger=rides&sslmode=verify-full")
    >>> store.name, store.schema
    ('postgresql://server/city?ledger=rides', 'sfumato_ledger_rides')
    >>> PostgresStore.at("postgresql://server/city")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: address 'postgresql://server/city' names no ledger; give \
postgresql://[USER@]HOST[:PORT]/DATABASE?ledger=NAME (small letters, digits and _)
    """

    address: Address
    place: str

    @classmethod
    def at(cls, place: str) -> PostgresStore:
        """Return the store at an address; one with a password or an unknown option is refused."""
        address = Address.read(place, VARIABLE, "ledger", FORM)
        if address.scheme not in {"postgresql", "postgres"}:
            raise ParameterError(f"'{address}' is no place for a ledger; give a file, or {FORM}")
        address.refuse_unknown(KNOWN)
        name = address.options.get("ledger", "")
        if len(address.place) != 1 or address.fragment or not NAME.fullmatch(name):
            raise ParameterError(f"address '{address}' names no ledger; give {FORM} (small letters, digits and _)")
        if address.options.get("fsync", "off") != "off":
            raise ParameterError(
                f"address '{address}': fsync is '{address.options['fsync']}'; give off, or leave it out"
            )
        return cls(address, place)

    @property
    def name(self) -> str:
        """What errors call the ledger."""
        return f"{self.address}?ledger={self.address.options['ledger']}"

    @property
    def schema(self) -> str:
        """Where the ledger's tables are."""
        return PREFIX + self.address.options["ledger"]

    @cached_property
    def _server(self) -> Server:
        return Server(self.address, self.address.place[0], self.name, self.schema)

    @contextmanager
    def opening(self) -> Iterator[Book]:
        """Give the book as `reading` does; refuse what is missing or no ledger."""
        there, usable = self._look()
        if not there:
            raise InputError(f"there is no ledger '{self.name}'; create one first")
        if not usable:
            raise InputError(f"ledger '{self.name}' {NO_RIGHTS}; nothing was answered")
        with self.reading() as book:
            yield book

    @contextmanager
    def reading(self) -> Iterator[Book]:
        """Give the book as it stands at one moment."""
        with self._book(READ, writes=False) as book:
            yield book

    @contextmanager
    def writing(self) -> Iterator[Book]:
        """Give the book to this caller alone; what it writes is on the server's disk when the block ends."""
        with self._book(WRITE) as book:
            yield book

    @contextmanager
    def _book(self, begin: tuple[str, str], *, writes: bool = True) -> Iterator[SqlBook]:
        with self._server.transaction(*begin, writes=writes) as (made, row):
            if row is None:
                raise DamagedError("no account")
            number, *settings = row[:4]
            self._refuse_format(number)
            self._server.refuse_undurable(settings)
            statements = PostgresStatements(made)
            yield PostgresBook(statements, AccountRow(*row[4:]))
            statements.flush()

    def _refuse_format(self, number: int | None) -> None:
        if number != FORMAT:
            raise InputError(
                f"ledger '{self.name}' has format {number}, this sfumato reads {FORMAT}; use the sfumato that wrote it"
            )

    def create(
        self,
        budget: Budget,
        shares: Mapping[str, Cost] | None,
        secrets: tuple[bytes, bytes],
        begin: Callable[[Book], None],
    ) -> None:
        """Make the schema, for its owner alone, whole or not at all; `begin` writes what a new ledger begins with."""
        with self._server.transaction(LOCKED, f"{COMMIT}; {THERE.format(schema=self.schema)}") as (made, row):
            if row[0]:
                hint = "open it, or choose another name (a ledger that is removed forgets what was spent)"
                raise InputError(f"ledger '{self.name}' exists; {hint}")
            made.execute(MADE.format(schema=self.schema, format=FORMAT, tables=tables("postgresql")).encode())
            statements = PostgresStatements(made)
            book = PostgresBook(statements)
            book.open_account(budget, shares, secrets)
            begin(book)
            statements.flush()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else make a ledger in this database meanwhile, from whatever machine."""
        made = self._server.connect()
        try:
            self._ask(made, f"SELECT pg_advisory_lock({LOCK})")
            yield
        finally:
            made.close()

    def _ask(self, made: Connection[tuple[Any, ...]], sql: str) -> list[tuple[Any, ...]]:
        import psycopg

        try:
            return made.execute(sql.encode()).fetchall()
        except psycopg.Error as error:
            raise self._server.explained(error, made) from error

    def neighbours(self) -> Iterator[HomedStore]:
        """Yield the other ledgers of the database, as far as this user may see them."""
        with self._server.transaction(SNAPSHOT, "SELECT 1", writes=False) as (made, _):
            rows = self._ask(made, LISTED)
        for (schema,) in rows:
            if schema != self.schema:
                yield self._called(schema.removeprefix(PREFIX))

    def _called(self, name: str) -> PostgresStore:
        """Return the store of another ledger in the same database."""
        place = re.sub(r"(?<=[?&]ledger=)[^&#]*", name, self.place)
        return PostgresStore(replace(self.address, options={**self.address.options, "ledger": name}), place)

    def is_there(self) -> bool:
        """Whether the database has a schema of this name; what is in it, opening it will tell."""
        try:
            return self._look()[0]
        except InputError as error:
            if f'database "{self.address.place[0]}" does not exist' in str(error):
                return False
            raise

    def _look(self) -> tuple[bool, bool]:
        """Return whether there is such a schema, and whether this user may use it."""
        with self._server.transaction(SNAPSHOT, THERE.format(schema=self.schema), writes=False) as (_, row):
            return bool(row[0]), bool(row[1])

    def is_same(self, other: HomedStore) -> bool:
        """Whether another store is this ledger, perhaps by another name of the server: they begin with one link."""
        if not isinstance(other, PostgresStore) or (self.schema, self.address.place) != (
            other.schema,
            other.address.place,
        ):
            return False
        if self.place == other.place:
            return True
        return self.is_there() and self._first_link() == other._first_link()  # noqa: SLF001 - of our own class

    def _first_link(self) -> bytes | None:
        with self.reading() as book:
            return next((link.digest for link in book.links(0)), None)

    def glance(self) -> list[str]:
        """Return what all versions declared; a ledger that is damaged is refused."""
        with self.opening() as book:
            refuse_damaged(book, self.name)
            return [facts for _, _, facts in book.versions()]


class PostgresStatements:
    """Statements with question marks for parameters, on one connection; changes wait, to be sent together."""

    def __init__(self, made: Connection[tuple[Any, ...]]) -> None:
        self._made, self._cursor = made, made.cursor(binary=True)
        self._waiting: list[tuple[str, Sequence[Any], bool]] = []

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Cursor[tuple[Any, ...]]:
        """Return what a statement finds, after all changes that wait."""
        self.flush()
        return self._cursor.execute(_marked(sql), values)

    def later(self, sql: str, values: Sequence[Any], *, once: bool) -> None:
        """Let a change wait for the next statement or the end of the transaction."""
        self._waiting.append((sql, values, once))

    def flush(self) -> None:
        """Make the changes that wait, in their order and in one journey to the server, before it is asked to commit."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        with self._made.pipeline():
            made = [
                (self._made.cursor(binary=True).execute(_marked(sql), values), once) for sql, values, once in waiting
            ]
        if any(once and cursor.rowcount != 1 for cursor, once in made):
            raise DamagedError(CHANGED)


@lru_cache(maxsize=128)
def _marked(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


class PostgresBook(SqlBook):
    """The book in one transaction of PostgreSQL, which itself compares the new total with the budget."""

    _statements: PostgresStatements

    def _change(self, sql: str, values: Sequence[Any], *, once: bool = False) -> None:
        self._statements.later(sql, values, once=once)

    def spend(self, spent: Cost) -> None:
        """Set the ledger's total where it is what was read and the new one is within the budget."""
        row, texts, most = self._account(), cost_texts(spent), cost_texts(self.account().budget.total)
        pairs = [text for pair in zip(texts, most, strict=True) for text in pair]
        self._change(SPEND, (*texts, row.epsilon, row.delta, row.rho, *pairs), once=True)
        self._row = row._replace(epsilon=texts[0], delta=texts[1], rho=texts[2])
