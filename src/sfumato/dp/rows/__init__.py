"""Where the rows are: files and dataframes in DuckDB, tables in PostgreSQL, or what an engine has opened.

The aggregate runs where the rows are and only exact integers leave (McSherry 2009, "Privacy integrated queries",
section 3).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sfumato.dp.questions.request import EngineRows, Rows
from sfumato.schema import Schema


def open_rows(data: Any, schema: Schema) -> Rows:
    """Return the rows of a file (CSV, Parquet, JSON lines, Arrow), of a dataframe, or of a table in PostgreSQL.

    Rows that an engine has opened are those rows, read as the schema declares them. A table is named
    `postgresql://user@host/database#table` or `…#schema.table`; give the password in the environment (PGPASSWORD) or in
    a password file.

    >>> import polars as pl
    >>> from sfumato.dp.questions.request import Count, Request
    >>> from sfumato.dp.unit import ProtectRows
    >>> rows = open_rows(pl.DataFrame({"age": [31, 47]}), Schema.from_roles(quasi=["age"]))
    >>> rows.collect(Request((Count(),), ProtectRows())).columns
    [[2]]
    """
    if isinstance(data, EngineRows):
        return data.under(schema)
    if isinstance(data, str) and data.startswith(("postgresql://", "postgres://")):
        from sfumato.dp.rows.postgres import PostgresRows

        return PostgresRows(data, schema)
    from sfumato.dp.rows.duckdb import DuckRows

    return DuckRows.of_file(Path(data), schema) if isinstance(data, str | Path) else DuckRows.of_frame(data, schema)


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
