"""A table of PostgreSQL as rows to release: read in one read-only transaction, with the types of its columns.

A request sees one snapshot of the table (PostgreSQL, "Transaction isolation", repeatable read), so that what is hashed
for a ledger is what is released. Passwords and the server's own words, which may quote a cell, stay here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import polars as pl

from sfumato.errors import InputError, MissingExtraError
from sfumato.table.table import Table, plain_columns

Result = TypeVar("Result")
SCHEMES = ("postgresql://", "postgres://")
SETTINGS = "-c TimeZone=UTC -c DateStyle=ISO,YMD -c extra_float_digits=1 -c standard_conforming_strings=on -c jit=off"
TYPES: dict[int, pl.DataType] = {
    16: pl.Boolean(),
    **dict.fromkeys((20, 21, 23), pl.Int64()),
    **dict.fromkeys((700, 701), pl.Float64()),
    **dict.fromkeys((25, 1042, 1043, 19), pl.String()),  # the server's numbers of text, char, varchar and name
    1082: pl.Date(),
    1083: pl.Time(),
    1114: pl.Datetime("us"),
    1184: pl.Datetime("us", "UTC"),
}
NUMERIC = 1700
AS_TEXT = (2950, 1266)  # uuid, and a time of day with its zone
SECRETS = re.compile(r"(password|secret|scram_(client|server)_key)\s*=", re.IGNORECASE)  # what libpq takes as such
OWN_TYPES = 16_384  # from here on the numbers of types that somebody made, such as enumerations


def is_address(place: object) -> bool:
    """Return whether a table is named by the address of a database.

    >>> is_address("postgresql://server/city#rides"), is_address("rides.csv")
    (True, False)
    """
    return isinstance(place, str) and place.startswith(SCHEMES)


def holds_password(place: object) -> bool:
    """Return whether an address holds a password, before the host, after the database, or in libpq's own form.

    >>> holds_password("postgresql://ana:x@server/city#rides"), holds_password("postgresql://server/city?password=x#r")
    (True, True)
    >>> holds_password("host=server password=x"), holds_password("postgresql://server/city?passfile=x#rides")
    (True, False)
    """
    if not isinstance(place, str | Path):
        return False
    text = str(place)
    return (is_address(text) and urlsplit(text).password is not None) or bool(SECRETS.search(unquote(text)))


def without_password(place: object) -> str:
    """Return how a place is called where others may read it.

    >>> without_password("postgresql://ana@server/city?password=x#rides"), without_password("rides.csv")
    ('postgresql://server/city#rides', 'rides.csv')
    """
    if not holds_password(place):
        return str(place)
    parts = urlsplit(str(place))
    shown = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}#{parts.fragment}"
    return shown if is_address(place) and not holds_password(shown) else "an address that holds a password"


class Database:
    """One table, named `postgresql://user@host/database#table` or `…#schema.table`; `words` has no password.

    >>> Database("postgresql://ana:secret@server/city#rides").words
    'postgresql://server/city'
    >>> Database("postgresql://server/city")
    Traceback (most recent call last):
    sfumato.errors.InputError: 'postgresql://server/city' names no table; write postgresql://user@host/database#table
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        self.words = f"postgresql://{host}{parts.path}"  # without the user and the password
        self._address, self._name = parts._replace(fragment="").geturl(), unquote(parts.fragment)
        if SECRETS.search(self._name):
            raise InputError(f"the name of the table of '{self.words}' holds a password; write #TABLE at the very end")
        if not self._name:
            raise InputError(f"'{self.words}' names no table; write postgresql://user@host/database#table")
        self.table = ".".join(quote_identifier(part) for part in self._name.split(".", 1))

    def __repr__(self) -> str:
        return f"Database({self.words!r})"

    def is_beside(self, other: Database) -> bool:
        """Return whether another table is in the same database, reached in the same way."""
        return self._address == other._address

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Give a read-only transaction on one snapshot."""
        psycopg = _driver()
        failure = f"the server of '{self.words}' cannot be reached or refuses the login; check address and password"
        with self.run(failure, partial(psycopg.connect, self._address, options=SETTINGS, connect_timeout=30)) as made:
            made.read_only = True
            made.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            yield made

    def run(self, failure: str, work: Callable[[], Result]) -> Result:
        """Return what the server makes of some work; its own words may quote a cell and stay here."""
        psycopg = _driver()
        try:
            return work()
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            failure = f"'{self.words}' has no table '{self._name}'; check its name and its schema"
        except psycopg.errors.InsufficientPrivilege:
            failure = f"the table '{self._name}' of '{self.words}' may not be read; grant SELECT to the user"
        except psycopg.Error:
            pass
        raise InputError(failure)

    def read(self, connection: Any) -> Table:
        """Return all rows as a transaction sees them, with the types of their columns."""
        failure = f"the table '{self._name}' of '{self.words}' cannot be read; check its columns"
        cursor = self.run(failure, lambda: connection.execute(f"SELECT * FROM {self.table}", {}))  # noqa: S608  # quoted
        described, rows = cursor.description, self.run(failure, cursor.fetchall)
        cells = zip(*rows, strict=True) if rows else [() for _ in described]
        columns = [_series(column, values) for column, values in zip(described, cells, strict=True)]
        return Table(plain_columns(pl.DataFrame(columns)))

    def fingerprint(self, connection: Any, names: Iterable[str]) -> str:
        """Return a hash of the rows of some columns, whatever their order: their number and sums of their hashes."""
        listed = ", ".join(quote_identifier(name) for name in sorted(names))
        row = f"encode(sha256(convert_to(CAST(ROW({listed}) AS TEXT), 'UTF8')), 'hex')"
        halves = [f"CAST(CAST('x' || substr({row}, {start}, 16) AS bit(64)) AS bigint)" for start in (1, 17)]
        sums = ", ".join(f"SUM(CAST({half} AS numeric))" for half in halves)
        (found,) = connection.execute(f"SELECT COUNT(*), {sums} FROM {self.table}", {}).fetchall()  # noqa: S608  # quoted
        return hashlib.sha256(repr([listed, *map(str, found)]).encode()).hexdigest()


def read_table(url: str) -> Table:
    """Return the rows of a table of PostgreSQL.

    >>> read_table("postgresql://server/city")
    Traceback (most recent call last):
    sfumato.errors.InputError: 'postgresql://server/city' names no table; write postgresql://user@host/database#table
    """
    database = Database(url)
    with database.transaction() as connection:
        return database.read(connection)


def quote_identifier(name: str) -> str:
    """Return a name in quotes; a single percent sign would start a parameter.

    >>> quote_identifier('a"b%')
    '"a""b%%"'
    """
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'


def _series(column: Any, values: Iterable[Any]) -> pl.Series:
    """Return a column with the type it has in the database; one that holds no plain values is refused by its name."""
    code = column.type_code
    if code == NUMERIC:
        kind: pl.DataType | None = pl.Decimal(None, column.scale) if column.scale is not None else None
        return pl.Series(column.name, list(values), dtype=kind)
    if code in AS_TEXT or code >= OWN_TYPES:
        return pl.Series(column.name, [None if value is None else str(value) for value in values], dtype=pl.String)
    if code not in TYPES:
        raise InputError(
            f"column '{column.name}' holds the type {column.type_display or code}, which is not a plain value; leave "
            "it out by a view"
        )
    return pl.Series(column.name, list(values), dtype=TYPES[code])


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtraError("tables in PostgreSQL need psycopg; pip install 'sfumato[postgres]'") from error
    return psycopg
