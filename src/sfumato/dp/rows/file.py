"""The rows of one file, opened again whenever another file has its name or somebody wrote to it.

CSV and Parquet files are scanned where they are; other files are read into memory, from the very bytes that are hashed.
No line of a CSV file can make an answer fail (Haeberlen, Pierce & Narayan 2011, section 4): one with too few fields, or
that is no UTF-8 where it is read, belongs to nobody and is left out; fields beyond the header's are not looked at.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from sfumato.dp.questions.request import Request, Tallies
from sfumato.dp.rows.duckdb import DuckRows, quote_text
from sfumato.dp.rows.held_file import HeldFile
from sfumato.errors import InputError
from sfumato.schema import Schema
from sfumato.table import ParseReport, Table
from sfumato.table.formats.delimited import csv_header
from sfumato.table.io import decode

HEAD = 1_000_000
GZIPPED = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class FileRows:
    """The rows of a file; its first bytes say what it is.

    >>> FileRows(Path("none.csv"), Schema())
    Traceback (most recent call last):
    sfumato.errors.InputError: file 'none.csv' does not exist; check the name
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        self._path, self._schema = path, schema
        self._opened = self._open()

    def __repr__(self) -> str:
        return "FileRows(<rows are secret>)"

    @contextmanager
    def look(self) -> Iterator[DuckRows]:
        """Give the rows of the file as it is now, and refuse what was read if somebody wrote to it meanwhile."""
        held, rows = self._opened
        if not held.is_current():
            held, rows = self._opened = self._open()
        with held.unchanged():
            yield rows

    def check(self, request: Request) -> None:
        """Refuse a request that contradicts the schema or how the columns are stored."""
        with self.look() as rows:
            rows.check(request)

    def collect(self, request: Request) -> Tallies:
        """Return the exact answers to a request."""
        with self.look() as rows:
            return rows.collect(request)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's content, computed again when somebody wrote to the file."""
        with self.look() as rows:
            return rows.fingerprint()

    def parse_report(self) -> ParseReport:
        """Return what became of the cells of the declared columns, with row numbers: for the curator alone."""
        with self.look() as rows:
            report = rows.parse_report()
        return report.located(ParseReport.of(self._strictly(), self._schema)) if report.matters else report

    def count_lines(self) -> int:
        """Return how many rows a strict reading of the whole file finds; a broken line is refused."""
        return self._strictly().rows

    def _strictly(self) -> Table:
        """Return the rows as a strict reading of the whole file finds them."""
        held, _ = self._opened
        with held.unchanged():
            return decode(held.content(), str(self._path), self._path, empty=True)

    def _open(self) -> tuple[HeldFile, DuckRows]:
        held = HeldFile(self._path)
        with held.unchanged():
            return held, self._read(held)

    def _read(self, held: HeldFile) -> DuckRows:
        head = _head(held)
        if head[:4] == b"PAR1":
            scan = f"read_parquet({quote_text(held.place)})"
            return DuckRows.of_scan(held.place, scan, self._schema, held.digest, _zones(held))
        if head[:6] == b"ARROW1" or head[:1024].lstrip()[:1] == b"{":
            content = held.content()
            frame = decode(content, str(self._path), self._path, empty=True).frame
            return DuckRows.of_content(frame, self._schema, hashlib.sha256(content).hexdigest())
        return DuckRows.of_scan(held.place, _csv(held, head), self._schema, held.digest)


def _zones(held: HeldFile) -> dict[str, str]:
    """Return the zones in which a Parquet file's moments were written, which DuckDB does not read."""
    try:
        kinds = pl.read_parquet_schema(held.place)
    except (pl.exceptions.PolarsError, OSError):  # the engine refuses a broken file in its own time
        return {}
    zones = {name: getattr(kind, "time_zone", None) for name, kind in kinds.items()}
    return {name: zone for name, zone in zones.items() if zone is not None}


def _csv(held: HeldFile, head: bytes) -> str:
    """Return the scan of a CSV file: every cell a text, the dialect taken from its header alone."""
    if head.startswith((b"\r", b"\n")):
        raise InputError(f"file '{held.path}' begins with an empty line; remove it, so that the header comes first")
    delimiter, header = csv_header(head, str(held.path))  # one reading of headers for all doors
    columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in header)
    options = f"delim = {quote_text(delimiter)}, quote = '\"', escape = '\"', header = true, columns = {{{columns}}}"
    packed = "gzip" if held.start(2) == GZIPPED else "none"
    return (
        f"read_csv({quote_text(held.place)}, auto_detect = false, {options}, compression = '{packed}', "
        "ignore_errors = true, strict_mode = false, nullstr = '')"
    )


def _head(held: HeldFile) -> bytes:
    """Return the first bytes of a file, unpacked."""
    start = held.start(HEAD)
    try:
        unpacked = zlib.decompressobj(wbits=31).decompress(start, HEAD) if start[:2] == GZIPPED else start
    except zlib.error:
        raise InputError(f"file '{held.path}' cannot be read; check that it is a file and may be read") from None
    head = unpacked.removeprefix(BYTE_ORDER_MARK)
    if not head or head.isspace():
        raise InputError(f"file '{held.path}' is empty; give a header line and rows")
    return head
