"""Rows in files and dataframes, read by an embedded DuckDB that can touch that one file and nothing else.

CSV and Parquet files are scanned in place and only the columns asked for are read (Raasveldt & Mühleisen 2019, "DuckDB:
an embeddable analytical database"); other files and dataframes are held in memory. No line of a CSV file can make an
answer fail: one with too few fields, or that is no UTF-8 where it is read, belongs to nobody and is left out; fields
beyond the header's are not looked at.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.dp.questions.request import Request, Tallies
from sfumato.dp.rows.collect import UNREADABLE, check, collect
from sfumato.dp.rows.dialect import DUCKDB, StorageType, quote_name
from sfumato.dp.rows.statement import SqlTable
from sfumato.errors import InputError
from sfumato.schema import Schema
from sfumato.table import Table, read
from sfumato.table.formats.delimited import csv_header

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "temp_directory": "",  # rows are never spilled to a disk
    "preserve_insertion_order": False,
}
STORED = {
    "VARCHAR": StorageType.TEXT,
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), StorageType.WHOLE),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), StorageType.WHOLE),
    **dict.fromkeys(("FLOAT", "DOUBLE"), StorageType.REAL),
    "DATE": StorageType.DAY,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), StorageType.MOMENT),
    "TIMESTAMP WITH TIME ZONE": StorageType.MOMENT,
}
HEAD = 1_000_000
FRAME = "frame"
_HASHES: dict[tuple[str, int, int, int], str] = {}


class DuckRows:
    """The rows of one file or dataframe.

    >>> rows = DuckRows.of_frame(pl.DataFrame({"age": [31, 47]}), Schema.from_roles(quasi=["age"]))
    >>> rows
    DuckRows(<rows are secret>)
    """

    def __init__(
        self, connect: Callable[[], Any], table: str, schema: Schema, path: Path | None, digest: str = ""
    ) -> None:
        self._connect, self._schema, self._path, self._digest = connect, schema, path, digest
        self._connections = {os.getpid(): connect()}  # a fork keeps its parent's too: closing it would wait for threads
        self._source = SqlTable(table, self._storage_types(table))
        for name in schema.columns:
            if name not in self._source.stored:
                raise InputError(f"the rows have no column '{name}', which the schema declares; correct one of them")

    def __repr__(self) -> str:
        return "DuckRows(<rows are secret>)"

    @classmethod
    def of_file(cls, path: Path, schema: Schema) -> DuckRows:
        """Return the rows of a file; its first bytes say what it is.

        >>> DuckRows.of_file(Path("none.csv"), Schema())
        Traceback (most recent call last):
        sfumato.errors.InputError: file 'none.csv' does not exist; check the name
        """
        head = _head(path)
        place = path.resolve()
        if head[:4] == b"PAR1":
            table = f"read_parquet({_quote_text(glob.escape(str(place)))})"
            return cls(lambda: _connect(place), table, schema, place)
        if head[:6] == b"ARROW1" or head[:1024].lstrip()[:1] == b"{":
            frame = read(path).frame
            return cls(lambda: _connect_frame(frame), FRAME, schema, place)
        return cls(lambda: _connect(place), _csv(place, head), schema, place)

    @classmethod
    def of_frame(cls, data: Any, schema: Schema) -> DuckRows:
        """Return the rows of any dataframe that narwhals knows.

        >>> import pandas as pd
        >>> len(DuckRows.of_frame(pd.DataFrame({"age": [31]}), Schema.from_roles(quasi=["age"])).fingerprint())
        64
        """
        frame = Table.from_frame(data).frame
        kinds = repr(sorted((name, str(dtype)) for name, dtype in frame.schema.items()))
        digest = hashlib.sha256(kinds.encode() + frame.write_csv().encode()).hexdigest()
        return cls(lambda: _connect_frame(frame), FRAME, schema, None, digest)

    def check(self, request: Request) -> None:
        """Refuse a request that contradicts the schema or how the columns are stored."""
        self._connection()
        check(request, self._schema, self._source, DUCKDB)

    def collect(self, request: Request) -> Tallies:
        """Return the exact answers to a request."""
        return collect(request, self._schema, self._source, DUCKDB, self._execute)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's or the dataframe's content, computed again when the file was touched."""
        return self._digest if self._path is None else _hash(self._path)

    def _storage_types(self, table: str) -> dict[str, StorageType]:
        described = self._execute(f"DESCRIBE SELECT * FROM {table}", {})  # noqa: S608  # our own words
        return {name: _storage_type(kind) for name, kind, *_ in described}

    def _connection(self) -> Any:
        """Return this process's database: the threads of one that was made before a fork are not in the child.

        A file is opened again; a dataframe is not, since the threads of its library are gone as well.
        """
        if os.getpid() not in self._connections:
            if self._source.table == FRAME:
                raise InputError("the rows are held by another process; open the session in the one that asks")
            self._connections[os.getpid()] = self._connect()
        return self._connections[os.getpid()]

    def _execute(self, statement: str, parameters: dict[str, object]) -> Sequence[tuple[Any, ...]]:
        """Return the rows of a result; the engine's own words may quote a cell, so they go no further."""
        import duckdb

        result: Sequence[tuple[Any, ...]] | None = None
        try:
            with self._connection().cursor() as cursor:
                result = cursor.execute(statement, parameters).fetchall()
        except duckdb.Error:
            result = None
        if result is None:
            raise InputError(UNREADABLE)
        return result


def _storage_type(kind: str) -> StorageType:
    return StorageType.REAL if kind.startswith("DECIMAL") else STORED.get(kind, StorageType.OTHER)


def _connect(path: Path) -> Any:
    """Return a database in memory that can open one file, load nothing and change no setting."""
    connection = _database()
    allowed = {str(path), glob.escape(str(path))}  # a file is asked for by its pattern, then by its name
    connection.execute(f"SET allowed_paths = [{', '.join(map(_quote_text, sorted(allowed)))}]")
    return _lock(connection)


def _connect_frame(frame: pl.DataFrame) -> Any:
    """Return a database in memory that holds the frame as its table `frame`."""
    connection = _database()
    connection.register("arrays", {name: _array(frame.get_column(name)) for name in frame.columns})
    dates = [quote_name(name) for name, dtype in frame.schema.items() if dtype == pl.Date]
    days = f" REPLACE ({', '.join(f'CAST({name} AS DATE) AS {name}' for name in dates)})" if dates else ""
    connection.execute(f"CREATE TABLE frame AS SELECT *{days} FROM arrays")  # noqa: S608  # names are quoted
    connection.unregister("arrays")
    return _lock(connection)


def _database() -> Any:
    import duckdb

    connection = duckdb.connect(":memory:", config=SETTINGS)
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _lock(connection: Any) -> Any:
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _array(column: pl.Series) -> Any:
    """Return a column as NumPy holds it, so that no other library has to be there."""
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us")).to_numpy()
    if column.dtype.is_float():
        return column.to_numpy()
    if column.dtype.is_integer() and column.dtype not in (pl.Int128, pl.UInt128):
        return np.ma.array(column.fill_null(0).to_numpy(), mask=column.is_null().to_numpy())
    return np.array(column.cast(pl.String).to_list(), dtype=object)


def _csv(path: Path, head: bytes) -> str:
    """Return the scan of a CSV file: every cell a text, the dialect taken from its header alone."""
    if head.startswith((b"\r", b"\n")):
        raise InputError(f"file '{path}' begins with an empty line; remove it, so that the header comes first")
    delimiter, header = csv_header(head, str(path))  # one reading of headers for all doors
    columns = ", ".join(f"{_quote_text(name)}: 'VARCHAR'" for name in header)
    options = f"delim = {_quote_text(delimiter)}, quote = '\"', escape = '\"', header = true, columns = {{{columns}}}"
    packed = "gzip" if _is_gzip(path) else "none"
    return (
        f"read_csv({_quote_text(glob.escape(str(path)))}, auto_detect = false, {options}, compression = '{packed}', "
        "ignore_errors = true, strict_mode = false, nullstr = '')"
    )


def _quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked."""
    try:
        with gzip.open(path) if _is_gzip(path) else path.open("rb") as file:
            head = file.read(HEAD).removeprefix(b"\xef\xbb\xbf")
    except FileNotFoundError:
        raise InputError(f"file '{path}' does not exist; check the name") from None
    except (OSError, EOFError):
        raise InputError(f"file '{path}' cannot be read; check that it is a file and may be read") from None
    if not head or head.isspace():
        raise InputError(f"file '{path}' is empty; give a header line and rows")
    return head


def _hash(path: Path) -> str:
    """Return the SHA-256 of a file, remembered while its size, its time and its inode stay the same."""
    try:
        status = path.stat()
        known = (str(path), status.st_size, status.st_mtime_ns, status.st_ino)
        if known not in _HASHES:
            with path.open("rb") as file:
                _HASHES[known] = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        raise InputError(f"file '{path}' cannot be read; check that it is still there") from None
    return _HASHES[known]
