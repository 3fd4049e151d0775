"""Formats that keep the types of columns: Parquet, Arrow's file format, and JSON lines.

Apache Parquet and Arrow IPC begin with marks of their own (`PAR1`, `ARROW1`); a JSON line begins with a brace.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import ClassVar, Literal

import polars as pl

from sfumato.errors import InputError
from sfumato.table.formats import GZIP, Format
from sfumato.table.formats.delimited import BYTE_ORDER_MARK
from sfumato.table.formats.unpacking import most_unpacked
from sfumato.table.fresh import fresh_column
from sfumato.table.table import Table, plain_columns

CELL = 4  # bytes in memory that a cell takes at least, about


class Parquet(Format):
    """Apache Parquet.

    >>> Parquet().claims(b"PAR1"), Parquet().claims(b"a,b")
    (True, False)
    """

    name: ClassVar = "parquet"
    endings: ClassVar = (".parquet", ".pq")
    typed: ClassVar = True

    def claims(self, start: bytes) -> bool:
        return start[:4] == b"PAR1"

    def read(self, data: bytes, file: str) -> Table:
        refuse_large_parquet(data, file)
        return Table(plain_columns(pl.read_parquet(io.BytesIO(data))))

    def write(self, table: Table, path: Path) -> None:
        _fresh(table).write_parquet(path)


def refuse_large_parquet(data: bytes, file: str) -> None:
    """Refuse a file that declares far more cells than bytes, as run lengths allow.

    >>> buffer = io.BytesIO()
    >>> pl.DataFrame({"age": [1, 2]}).write_parquet(buffer)
    >>> refuse_large_parquet(buffer.getvalue(), "t.parquet")
    """
    source = pl.scan_parquet(io.BytesIO(data))
    width = len(source.collect_schema())
    rows = int(source.select(pl.len()).collect().item())
    if CELL * rows * width > most_unpacked(len(data)):
        raise InputError(
            f"file '{file}' has {len(data)} bytes and declares {rows} rows of {width} columns, as files made to fill a "
            "memory do; if you trust it, write it again without so much packing"
        )


class Arrow(Format):
    """The file format of Apache Arrow, also called Feather.

    >>> Arrow().endings
    ('.arrow', '.ipc', '.feather')
    """

    name: ClassVar = "arrow"
    endings: ClassVar = (".arrow", ".ipc", ".feather")
    typed: ClassVar = True

    def claims(self, start: bytes) -> bool:
        return start[:6] == b"ARROW1"

    def read(self, data: bytes, file: str) -> Table:
        del file
        return Table(plain_columns(pl.read_ipc(io.BytesIO(data))))

    def write(self, table: Table, path: Path) -> None:
        _fresh(table).write_ipc(path, compat_level=pl.CompatLevel.oldest())  # texts by offsets, in order


class JSONLines(Format):
    """One JSON object in each line.

    >>> JSONLines().read(b'{"age": 31}', "people.jsonl").frame.row(0)
    (31,)
    """

    name: ClassVar = "jsonl"
    endings: ClassVar = (".jsonl", ".ndjson")

    def claims(self, start: bytes) -> bool:
        return start.removeprefix(BYTE_ORDER_MARK).lstrip()[:1] == b"{"

    def read(self, data: bytes, file: str) -> Table:
        del file
        lines = io.BytesIO(data.removeprefix(BYTE_ORDER_MARK))
        return Table(plain_columns(pl.read_ndjson(lines, infer_schema_length=None)))

    def write(self, table: Table, path: Path) -> None:
        compression: Literal["gzip", "uncompressed"] = "gzip" if path.suffix.casefold() == GZIP else "uncompressed"
        table.frame.write_ndjson(path, compression=compression, check_extension=False)


def _fresh(table: Table) -> pl.DataFrame:
    """Return the cells in memory of their own, column by column."""
    return pl.DataFrame([fresh_column(table.column(name)) for name in table.names])
