"""The rows of one file, opened again whenever another file has its name or somebody wrote to it.

CSV files in UTF-8 and Parquet files are scanned where they are; others are read into memory, from the very bytes that
are hashed. How a CSV file is written was found when it was declared, and is not guessed again (`Schema.reading`). No
line of a CSV file can make an answer fail (Haeberlen, Pierce & Narayan 2011, section 4): one with too few fields, or
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
from sfumato.schema import Reading, Schema
from sfumato.table import ParseReport, Table
from sfumato.table.formats import PLAIN, find_format
from sfumato.table.formats.delimited import read_header
from sfumato.table.formats.dialect import find_dialect
from sfumato.table.formats.encodings import is_utf_8
from sfumato.table.io import START, decode
from sfumato.table.table import text_columns

HEAD = 1_000_000
GZIPPED = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class FileRows:
    """The rows of a file; its first bytes say what it is.

    >>> FileRows(Path("none.csv"), Schema())
    Traceback (most recent call last):
    sfumato.errors.InputError: file 'none.csv' does not exist; check the name
    """

    def __init__(self, path: Path, schema: Schema, held: HeldFile | None = None) -> None:
        self._path, self._schema = path, schema
        self._opened = self._open(held)
        self.guesses: tuple[str, ...] = ()  # what was guessed when the file was declared, for the curator

    @classmethod
    def declare(cls, path: Path, schema: Schema) -> tuple[FileRows, Table]:
        """Return the rows, and the table that a strict reading of the whole file finds; a broken line is refused.

        What the schema leaves open about how the file is written is guessed, and pinned in the rows' reading.
        """
        held = HeldFile(path)
        with held.unchanged():
            table = decode(held.content(), str(path), path, empty=True, reading=schema.reading)
        rows = cls(path, schema.read_as(table.reading.layout), held)
        rows.guesses = table.guesses
        return rows, table

    @property
    def reading(self) -> Reading:
        """How the file is written."""
        return self._schema.reading

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

    def _strictly(self) -> Table:
        """Return the rows as a strict reading of the whole file finds them."""
        held, _ = self._opened
        with held.unchanged():
            return decode(held.content(), str(self._path), self._path, empty=True, reading=self.reading)

    def _open(self, held: HeldFile | None = None) -> tuple[HeldFile, DuckRows]:
        held = HeldFile(self._path) if held is None else held
        with held.unchanged():
            return held, self._read(held)

    def _read(self, held: HeldFile) -> DuckRows:
        head = _head(held)
        found = find_format(self._path, head[:START]).name
        if found == "parquet":
            scan = f"read_parquet({quote_text(held.place)})"
            return DuckRows.of_scan(held.place, scan, self._schema, held.digest, _zones(held))
        if found != PLAIN or not is_utf_8(self.reading.encoding):
            return self._in_memory(held.content())
        return DuckRows.of_scan(held.place, _csv(held, head, self.reading), self._schema, held.digest)

    def _in_memory(self, content: bytes) -> DuckRows:
        """Return the rows of a file that cannot be scanned; what is wrong with it was told when it was declared."""
        try:
            table = decode(content, str(self._path), self._path, empty=True, reading=self.reading)
        except InputError:
            raise InputError(
                f"file '{self._path}' cannot be read as it was declared; declare it with `sfumato budget new-version`"
            ) from None
        return DuckRows.of_content(text_columns(table.frame), self._schema, hashlib.sha256(content).hexdigest())


def _zones(held: HeldFile) -> dict[str, str]:
    """Return the zones in which a Parquet file's moments were written, which DuckDB does not read."""
    try:
        kinds = pl.read_parquet_schema(held.place)
    except (pl.exceptions.PolarsError, OSError):  # the engine refuses a broken file in its own time
        return {}
    zones = {name: getattr(kind, "time_zone", None) for name, kind in kinds.items()}
    return {name: zone for name, zone in zones.items() if zone is not None}


def _csv(held: HeldFile, head: bytes, reading: Reading) -> str:
    """Return the scan of a CSV file: every cell a text, the dialect as declared or taken from its first lines alone."""
    if head.startswith((b"\r", b"\n")):
        raise InputError(f"file '{held.path}' begins with an empty line; remove it, so that the header comes first")
    dialect = find_dialect(head.decode(errors="ignore"), reading)  # one reading of headers for all doors
    header = read_header(head, str(held.path), dialect)
    columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in header)
    quote = quote_text(dialect.quote)
    options = f"delim = {quote_text(dialect.delimiter)}, quote = {quote}, escape = {quote}, header = true"
    packed = "gzip" if held.start(2) == GZIPPED else "none"
    return (
        f"read_csv({quote_text(held.place)}, auto_detect = false, {options}, columns = {{{columns}}}, "
        f"compression = '{packed}', ignore_errors = true, strict_mode = false, nullstr = '')"
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
