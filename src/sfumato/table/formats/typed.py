"""Formats that keep the types of columns: Parquet, Arrow's file format, and JSON lines.

Apache Parquet and Arrow IPC begin with marks of their own (`PAR1`, `ARROW1`); a JSON line begins with a brace.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import ClassVar, Literal

import polars as pl

from sfumato.table.formats import GZIP, Format
from sfumato.table.formats.delimited import BYTE_ORDER_MARK
from sfumato.table.table import Table, plain_columns


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
        del file
        return Table(plain_columns(pl.read_parquet(io.BytesIO(data))))

    def write(self, table: Table, path: Path) -> None:
        table.frame.write_parquet(path)


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
        table.frame.write_ipc(path)


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
