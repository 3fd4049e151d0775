"""Where the rows are: files and dataframes in DuckDB, tables in PostgreSQL, or what an engine has opened.

The aggregate runs where the rows are and only exact integers leave (McSherry 2009, "Privacy integrated queries",
section 3). Rows that only another engine can open are refused by a sentence, before anything is paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Never
from urllib.parse import unquote, urlsplit

from sfumato.dp.questions.request import EngineRows, QueryableRows, Request
from sfumato.errors import InputError
from sfumato.schema import Schema


def open_rows(data: Any, schema: Schema) -> QueryableRows:
    """Return the rows of a file (CSV, Parquet, JSON lines, Arrow), of a dataframe, or of a table in PostgreSQL.

    Rows that an engine has opened are those rows, read as the schema declares them. A table is named
    `postgresql://user@host/database#table` or `…#schema.table`; give the password in the environment (PGPASSWORD) or in
    a password file.

    >>> import polars as pl
    >>> from sfumato.dp.questions.request import Count, Request
    >>> from sfumato.promise.unit import ProtectRows
    >>> rows = open_rows(pl.DataFrame({"age": [31, 47]}), Schema.from_roles(quasi=["age"]))
    >>> rows.collect(Request((Count(),), ProtectRows())).columns
    [[2]]
    """
    if isinstance(data, EngineRows):
        return data.under(schema)
    if isinstance(data, str) and data.startswith(("postgresql://", "postgres://")):
        from sfumato.dp.rows.postgres import PostgresRows

        return PostgresRows(data, schema)
    if isinstance(data, str | Path):
        from sfumato.dp.rows.file import FileRows

        return FileRows(Path(data), schema)
    from sfumato.dp.rows.duckdb import DuckRows

    return DuckRows.of_frame(data, schema)


def table_name(data: Any) -> str:
    """Return what SQL calls the rows: the stem of a file, the table in a database, `rows` for a dataframe.

    >>> table_name("data/rides.csv.gz"), table_name("postgresql://server/city#public.rides"), table_name(None)
    ('rides', 'rides', 'rows')
    """
    if isinstance(data, EngineRows):
        return data.table
    if isinstance(data, str) and data.startswith(("postgresql://", "postgres://")):
        return unquote(urlsplit(data).fragment).rpartition(".")[2]
    return Path(data).name.partition(".")[0] if isinstance(data, str | Path) else "rows"


@dataclass(frozen=True)
class RowsElsewhere:
    """The rows of a ledger that was made with an engine, where that engine is not there.

    >>> RowsElsewhere("spark").fingerprint()
    Traceback (most recent call last):
    sfumato.errors.InputError: the rows are held by the engine spark; ask with --engine spark, or give its rows as data
    """

    engine: str

    def check(self, request: Request) -> None:
        """Refuse every request."""
        del request
        self._refuse()

    def collect(self, request: Request) -> Never:
        """Refuse every request."""
        del request
        self._refuse()

    def fingerprint(self) -> Never:
        """Refuse to speak of the rows."""
        self._refuse()

    def look(self) -> Never:
        """Refuse to look at the rows."""
        self._refuse()

    def _refuse(self) -> Never:
        raise InputError(
            f"the rows are held by the engine {self.engine}; ask with --engine {self.engine}, or give its rows as data"
        )
