"""CSV in every dialect, also gzipped: cells stay text until a schema says what they are.

Delimiter and quotes are found in the header (RFC 4180 leaves them open); nothing is lost without a word.
"""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from sfumato.errors import InputError
from sfumato.table.formats import GZIP, Format
from sfumato.table.table import Table

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DELIMITERS = ",;\t|"
QUOTED = re.compile(r'"[^"]*("|$)')


class CSV(Format):
    r"""Text with a header and a delimiter; what no other format claims is read as this.

    >>> CSV().read(b"zip;age\n02139;31\n", "people.csv").frame.row(0)
    ('02139', 31)
    """

    name: ClassVar = "csv"
    endings: ClassVar = (".csv", ".tsv", ".txt")

    def claims(self, start: bytes) -> bool:
        del start
        return False

    def read(self, data: bytes, file: str) -> Table:
        return _read_csv(data.removeprefix(BYTE_ORDER_MARK), file)

    def write(self, table: Table, path: Path) -> None:
        suffixes = [suffix.casefold() for suffix in path.suffixes]
        compression: Literal["gzip", "uncompressed"] = "gzip" if suffixes[-1:] == [GZIP] else "uncompressed"
        separator = "\t" if ".tsv" in suffixes[-2:] else table.delimiter
        table.frame.write_csv(path, separator=separator, compression=compression, check_extension=False)


def _read_csv(data: bytes, name: str) -> Table:
    data = data.lstrip(b"\r\n")
    _refuse_bad_text(data, name)
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")  # line ends of old Macs
    delimiter, header = csv_header(data, name)
    if len(header) > 1 and data.endswith((b"\n\n", b"\n\r\n")):
        data = data.rstrip(b"\r\n") + b"\n"
    try:
        frame = _read_typed(data, delimiter)
    except pl.exceptions.ComputeError as error:
        _refuse_ragged(data, delimiter, len(header), name, strict=True)
        raise InputError(
            f"file '{name}' cannot be read: a quote stands inside a cell that is not quoted; quote the cell and "
            "double the quote"
        ) from error
    if len(header) > 1 and frame.get_column(frame.columns[-1]).null_count() and _suspicious(data, delimiter, frame):
        _refuse_ragged(data, delimiter, len(header), name)
    frame.columns = header
    return Table(frame, delimiter=delimiter)


def _read_typed(data: bytes, delimiter: str) -> pl.DataFrame:
    """Return the columns as text, or as integers where every cell reads back as the very text it was.

    Leading zeros and blanks, plus signs and minus zero would be lost, so a column with one of them stays text.
    """
    start = pl.read_csv(data, separator=delimiter, infer_schema=False, n_rows=1000)
    whole = [column.name for column in start if column.null_count() < start.height and _reads_back(column)]
    if whole and not _may_lose(data, delimiter):
        types = {name: pl.Int64 if name in whole else pl.String for name in start.columns}
        with suppress(pl.exceptions.ComputeError):
            return pl.read_csv(data, separator=delimiter, schema=types)
    frame = pl.read_csv(data, separator=delimiter, infer_schema=False)
    return frame.with_columns(frame[name].cast(pl.Int64) for name in whole if _reads_back(frame[name]))


def _may_lose(data: bytes, delimiter: str) -> bool:
    """Return whether some cell has a leading zero, a plus sign, a minus zero or a leading blank."""
    if b"+" in data:
        return True
    codes = np.frombuffer(data, dtype=np.uint8)
    openers = np.zeros(256, dtype=np.bool_)
    openers[[ord(delimiter), ord("\n"), ord('"')]] = True
    for blank in " \t":
        if blank != delimiter and blank.encode() in data:
            before = codes[np.flatnonzero(codes[1:] == ord(blank))]
            if openers[before].any():
                return True
    zeros = np.flatnonzero(codes[1:-1] == ord("0")) + 1
    before, after = codes[zeros - 1], codes[zeros + 1]
    digit = (after >= ord("0")) & (after <= ord("9"))
    return bool(((openers[before] & digit) | (before == ord("-"))).any())


def _reads_back(texts: pl.Series) -> bool:
    numbers = texts.cast(pl.Int64, strict=False)
    return numbers.null_count() == texts.null_count() and (numbers.cast(pl.String) == texts).all()


def csv_header(data: bytes, name: str) -> tuple[str, list[str]]:
    """Return the delimiter, the commonest of the first line outside quotes, and the columns' names."""
    start = data[:1_000_000].decode(errors="ignore")
    unquoted = QUOTED.sub("", start.partition("\n")[0])
    delimiter = max(DELIMITERS, key=unquoted.count)
    try:
        header = next(csv.reader(io.StringIO(start, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"file '{name}' line 1: the header cannot be read: {error}; check its quotes") from None
    for position, column in enumerate(header, start=1):
        if not column.strip():
            raise InputError(f"file '{name}': column {position} has no name; name every column")
        if column in header[: position - 1]:
            raise InputError(f"file '{name}': two columns are called '{column}'; rename one")
    return delimiter, header


def _suspicious(data: bytes, delimiter: str, frame: pl.DataFrame) -> bool:
    """Return whether a line may be too short: only then is the slow scan of every line worth it."""
    if b'"' in data:
        return True
    return data.count(delimiter.encode()) != (frame.height + 1) * (frame.width - 1)


def _refuse_bad_text(data: bytes, name: str) -> None:
    if data.isascii() and b"\0" not in data:
        return
    if b"\0" in data:
        raise InputError(f"file '{name}' is not a text file (it holds zero bytes); give CSV in UTF-8")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"file '{name}' line {line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None


def _refuse_ragged(data: bytes, delimiter: str, width: int, name: str, *, strict: bool = False) -> None:
    """Refuse the first line that has too few or too many fields and, if `strict`, one with a wrong quote."""
    csv.field_size_limit(max(csv.field_size_limit(), len(data)))  # a long text is no error
    reader = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter, strict=strict)
    line = 1
    try:
        for row in reader:
            if len(row) != width:
                found = f"{len(row)} field{'' if len(row) == 1 else 's'}"
                raise InputError(
                    f"file '{name}' line {line}: found {found}; the header has {width}, so complete or quote the line"
                )
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"file '{name}' line {line}: {error}; check the quotes") from None
