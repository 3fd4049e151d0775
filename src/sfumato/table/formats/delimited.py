"""CSV in every dialect, also gzipped: cells stay text until a schema says what they are.

Delimiter, quotes and encoding are taken from a declaration, or found in the file and said (RFC 4180 leaves them open);
nothing is lost without a word.
"""

from __future__ import annotations

import csv
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, ClassVar

import numpy as np
import polars as pl

from sfumato.errors import InputError
from sfumato.schema.reading import Reading
from sfumato.table.formats import GZIP, Format
from sfumato.table.formats.broken_rows import refuse_open_quotes, refuse_ragged, swallowed_lines
from sfumato.table.formats.dialect import DELIMITERS, Dialect, find_dialect
from sfumato.table.formats.encodings import as_utf_8
from sfumato.table.formats.formulas import may_be_marked, restore
from sfumato.table.table import SLICE, Table

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MARKS_TAKEN_OFF = "a ' before a formula sign (=, +, -, @) is a mark for spreadsheets and was taken off"
START = 1_000_000  # bytes by which a dialect is guessed


class CSV(Format):
    r"""Text with a header and a delimiter; what no other format claims is read as this.

    >>> CSV().read(b"zip;age\n02139;31\n", "people.csv").frame.row(0)
    ('02139', 31)
    """

    name: ClassVar = "csv"
    endings: ClassVar = (".csv", ".tsv", ".txt")
    runs_formulas: ClassVar = True

    def claims(self, start: bytes) -> bool:
        del start
        return False

    def read(self, data: bytes, file: str) -> Table:
        return self.read_as(data, file, Reading())

    def read_as(self, data: bytes, file: str, reading: Reading) -> Table:
        return _read_csv(data, file, reading)

    def write(self, table: Table, path: Path) -> None:
        suffixes = [suffix.casefold() for suffix in path.suffixes]
        separator = "\t" if ".tsv" in suffixes[-2:] else table.delimiter
        if suffixes[-1:] == [GZIP]:
            table.frame.write_csv(path, separator=separator, compression="gzip", check_extension=False)
            return
        with path.open("wb") as file:
            write_slices(table, file, separator)


def write_slices(table: Table, file: IO[bytes], separator: str, rows: int = SLICE) -> None:
    r"""Write a table as CSV, some rows at a time: the same bytes as all at once, from less memory.

    >>> import io
    >>> file = io.BytesIO()
    >>> write_slices(Table(pl.DataFrame({"age": [31, 47]})), file, ",")
    >>> file.getvalue()
    b'age\n31\n47\n'
    """
    for number, part in enumerate(table.slices(rows)):
        part.write_csv(file, separator=separator, include_header=number == 0)


def _read_csv(raw: bytes, name: str, reading: Reading) -> Table:
    text = as_utf_8(raw, name, reading.encoding)
    data = text.data.lstrip(b"\r\n")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")  # line ends of old Macs
    dialect = find_dialect(_start(data), reading)
    header = read_header(data, name, dialect)
    if len(header) > 1 and data.endswith((b"\n\n", b"\n\r\n")):
        data = data.rstrip(b"\r\n") + b"\n"
    refuse_open_quotes(data, dialect, name)
    frame = _read_cells(data, dialect, len(header), name)
    frame.columns = header
    frame, marked = _without_marks(frame, data)
    odd = swallowed_lines(data, dialect, len(header))
    used = replace(reading, delimiter=dialect.delimiter, quote=dialect.quote, encoding=text.encoding)
    guesses = (*text.guesses, *dialect.guesses, *([odd] if odd else []), *([MARKS_TAKEN_OFF] if marked else []))
    leaving = dialect.delimiter if dialect.delimiter in DELIMITERS else DELIMITERS[0]  # one that a reader can guess
    return Table(frame, delimiter=leaving, reading=used, guesses=guesses)


def _without_marks(frame: pl.DataFrame, data: bytes) -> tuple[pl.DataFrame, bool]:
    """Return the cells without the marks that keep spreadsheets from running them, and whether there were any."""
    if not may_be_marked(data):
        return frame, False
    plain = restore(frame)
    if len(set(plain.columns)) < plain.width:  # not our marks, then
        return frame, False
    return plain, not plain.equals(frame) or plain.columns != frame.columns


def _read_cells(data: bytes, dialect: Dialect, width: int, name: str) -> pl.DataFrame:
    """Return the cells of every row; a row with other than `width` fields is refused by its line."""
    try:
        frame = _read_typed(data, dialect)
    except pl.exceptions.ComputeError as error:
        refuse_ragged(data, dialect, width, name)
        raise InputError(
            f"file '{name}' cannot be read: a quote stands inside a cell that is not quoted; quote the cell and "
            "double the quote, or say that cells are not quoted (quote none)"
        ) from error
    if width > 1 and frame.get_column(frame.columns[-1]).null_count() and _suspicious(data, dialect, frame):
        refuse_ragged(data, dialect, width, name)
    return frame


def _read_typed(data: bytes, dialect: Dialect) -> pl.DataFrame:
    """Return the columns as text, or as integers where every cell reads back as the very text it was.

    Leading zeros and blanks, plus signs and minus zero would be lost, so a column with one of them stays text.
    """
    delimiter, quote = dialect.delimiter, dialect.quote or None
    start = pl.read_csv(data, separator=delimiter, quote_char=quote, infer_schema=False, n_rows=1000)
    whole = [column.name for column in start if column.null_count() < start.height and _reads_back(column)]
    if whole and not _may_lose(data, dialect):
        types = {name: pl.Int64 if name in whole else pl.String for name in start.columns}
        with suppress(pl.exceptions.ComputeError):
            return pl.read_csv(data, separator=delimiter, quote_char=quote, schema=types)
    frame = pl.read_csv(data, separator=delimiter, quote_char=quote, infer_schema=False)
    return frame.with_columns(frame[name].cast(pl.Int64) for name in whole if _reads_back(frame[name]))


def _may_lose(data: bytes, dialect: Dialect) -> bool:
    """Return whether some cell has a leading zero, a plus sign, a minus zero or a leading blank."""
    if b"+" in data:
        return True
    codes = np.frombuffer(data, dtype=np.uint8)
    openers = np.zeros(256, dtype=np.bool_)
    openers[[ord(letter) for letter in (dialect.delimiter, "\n", *dialect.quote)]] = True
    for blank in " \t":
        if blank != dialect.delimiter and blank.encode() in data:
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


def csv_header(data: bytes, name: str, reading: Reading = Reading()) -> tuple[str, list[str]]:  # noqa: B008 - frozen
    """Return the delimiter of a text in UTF-8, declared or found in its first lines, and the columns' names."""
    dialect = find_dialect(_start(data), reading)
    return dialect.delimiter, read_header(data, name, dialect)


def read_header(data: bytes, name: str, dialect: Dialect) -> list[str]:
    r"""Return the columns' names in the first line of a text in UTF-8; one that is missing or twice there is refused.

    >>> read_header(b"a;b\n", "t.csv", Dialect(";", '"'))
    ['a', 'b']
    """
    try:
        header: list[str] = next(dialect.rows(_start(data), strict=True))
    except csv.Error as error:
        raise InputError(f"file '{name}' line 1: the header cannot be read: {error}; check its quotes") from None
    refuse_bad_names(header, name)
    return header


def refuse_bad_names(header: list[str], name: str) -> None:
    """Refuse columns without a name, and two of the same name.

    >>> refuse_bad_names(["age", ""], "t.csv")
    Traceback (most recent call last):
    sfumato.errors.InputError: file 't.csv': column 2 has no name; name every column
    """
    for position, column in enumerate(header, start=1):
        if not column.strip():
            raise InputError(f"file '{name}': column {position} has no name; name every column")
        if column in header[: position - 1]:
            raise InputError(f"file '{name}': two columns are called '{column}'; rename one")


def _start(data: bytes) -> str:
    return data[:START].decode(errors="ignore")


def _suspicious(data: bytes, dialect: Dialect, frame: pl.DataFrame) -> bool:
    """Return whether a line may be too short: only then is the slow scan of every line worth it."""
    if dialect.quote and dialect.quote.encode() in data:
        return True
    return data.count(dialect.delimiter.encode()) != (frame.height + 1) * (frame.width - 1)
