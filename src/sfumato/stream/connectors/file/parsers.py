"""Records of CSV, JSON lines and Parquet by the wanted columns alone: the rest is stepped over, never made into values.

Cells of CSV are found by a compiled pass over the bytes (RFC 4180). A record is one line: one with a quote that stays
open, with too few or too many fields, with a zero byte, or of JSON that is not an object is a broken record and not an
error, and takes no other line in. Parquet is read from the file's own column chunks (the record shredding of Melnik et
al. 2010); its offset counts records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import InputError, suggestion
from sfumato.schema import Reading
from sfumato.stream.runtime.batch import Batch, CellMarks, Flags, Numbers, WantedColumns
from sfumato.table.formats.delimited import csv_header

Codes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
NEWLINE = 10
PLAIN_READING = Reading()
SLICE = 1 << 17


class CsvParser:
    r"""Reads records of one CSV file, whose header line says where the wanted columns are.

    >>> parse = CsvParser(b"drive;hours\n", WantedColumns(("hours",), ("drive",)), "a.csv")
    >>> batch = parse(b'a;5\nb;7,5\n"c;6\nd;7\n')
    >>> batch.numbers["hours"].tolist(), batch.texts["drive"], batch.written(1), batch.broken.tolist()
    ([5.0, nan, nan, 7.0], ['a', 'b', None, 'd'], 'b;7,5', [False, False, True, False])
    """

    def __init__(self, header: bytes, columns: WantedColumns, name: str, reading: Reading = PLAIN_READING) -> None:
        delimiter, names = csv_header(header, name, reading)
        for column in columns.names:
            if column not in names:
                raise InputError(f"file '{name}' has no column '{column}'{suggestion(column, names)}")
        if len(names) == 1 and any(marks.decimal == delimiter for marks in columns.marks.values()):
            delimiter = ";"  # a mark of decimals parts no columns where there is one
        self.names, self._columns = tuple(names), columns
        self._delimiter, self._quote = ord(delimiter), b'"' if reading.quote is None else reading.quote.encode()
        self._places = np.array(sorted({names.index(column) for column in columns.names}), dtype=np.int64)
        self._rows = {column: int(np.searchsorted(self._places, names.index(column))) for column in columns.names}

    def __call__(self, data: bytes) -> Batch:
        codes = np.frombuffer(data, dtype=np.uint8)
        lines, starts, ends, broken = self._find_cells(data, codes)
        numbers, failed, texts = {}, {}, {}
        for name in self._columns.numbers:
            first, last = starts[self._rows[name]], ends[self._rows[name]]
            numbers[name], failed[name] = _csv_numbers(data, codes, first, last, self._columns.marks_of(name))
        for name in self._columns.texts:
            texts[name] = _csv_texts(data, self._quote, starts[self._rows[name]], ends[self._rows[name]])
        written = lambda place: _line_text(data[lines[place] : lines[place + 1]])  # noqa: E731
        return Batch(len(broken), numbers, texts, written, failed, broken)

    def _find_cells(self, data: bytes, codes: Codes) -> tuple[Integers, Integers, Integers, Flags]:
        """Return where lines and wanted cells lie, and which records are broken."""
        from sfumato.stream.connectors.file.csv_kernel import NOWHERE, cells

        most, quote = int(np.count_nonzero(codes == NEWLINE)), self._quote
        lines = np.empty(most + 1, dtype=np.int64)
        starts, ends = np.empty((2, len(self._places), most), dtype=np.int64)
        broken = np.empty(most, dtype=np.bool_)
        shape = self._delimiter, quote[0] if quote else NOWHERE, len(self.names), self._places
        count = cells(codes, *shape, bool(quote) and quote in data, lines, starts, ends, broken)
        if b"\0" in data:
            spoilt = np.searchsorted(lines[:count], np.flatnonzero(codes == 0), side="right") - 1
            broken[spoilt] = True
            starts[:, spoilt] = ends[:, spoilt] = NOWHERE
        return lines, starts[:, :count], ends[:, :count], broken[:count]


def _csv_numbers(
    data: bytes, codes: Codes, starts: Integers, ends: Integers, marks: CellMarks
) -> tuple[Numbers, Flags]:
    """Return the numbers of a column, and which of its cells hold something that is no number."""
    from sfumato.stream.connectors.file.csv_kernel import decimals

    found = np.empty(len(starts))
    unread = np.empty(len(starts), dtype=np.int64)
    failed = np.zeros(len(starts), dtype=np.bool_)
    left = decimals(codes, ord(marks.decimal), starts, ends, found, unread)
    for place in unread[:left]:
        text = data[starts[place] : ends[place]].decode(errors="replace")
        found[place] = marks.number(text)
        failed[place] = np.isnan(found[place]) and not marks.is_missing(text)
    if marks.missing:
        found[marks.without(found)] = np.nan
    return found, failed


def _csv_texts(data: bytes, quote: bytes, starts: Integers, ends: Integers) -> list[str | None]:
    places = zip(starts.tolist(), ends.tolist(), strict=True)
    found = (data[start:end] if start >= 0 else None for start, end in places)
    double = quote * 2 or b"\n"  # which no cell has
    return [None if cell is None else cell.replace(double, quote).decode(errors="backslashreplace") for cell in found]


def _line_text(line: bytes) -> str:
    return line.decode(errors="backslashreplace").rstrip("\r\n")


class JsonParser:
    r"""Reads records of JSON lines.

    >>> parse = JsonParser(WantedColumns(("hours",), ("drive",)))
    >>> batch = parse(b'{"hours": 5, "drive": "a"}\n{"hours": "x"}\n[]\n')
    >>> batch.numbers["hours"].tolist(), batch.texts["drive"], batch.written(1), batch.broken.tolist()
    ([5.0, nan, nan], ['a', None, None], '{"hours": "x"}', [False, False, True])
    """

    def __init__(self, columns: WantedColumns) -> None:
        self._columns = columns
        fields = [(f"field_{place}", Any, None) for place in range(len(columns.names))]
        names = dict(zip((name for name, _, _ in fields), columns.names, strict=True))
        record = msgspec.defstruct("Record", fields, rename=names, gc=False)
        self._nothing, self._decoder = record(), msgspec.json.Decoder(record)

    def __call__(self, data: bytes) -> Batch:
        lines = [line for line in map(bytes.strip, data.split(b"\n")) if line]
        records = self._decode_all(data, lines) or [self._decode_line(line) for line in lines]
        broken = np.array([record is self._nothing for record in records], dtype=np.bool_)
        numbers, failed, texts = {}, {}, {}
        for place, name in enumerate(self._columns.names):
            values = [getattr(record, f"field_{place}") for record in records]
            if name in self._columns.numbers:
                numbers[name], failed[name] = read_numbers(values, self._columns.marks_of(name))
            else:
                texts[name] = [None if value is None else str(value) for value in values]
        written = lambda place: lines[place].decode(errors="replace")  # noqa: E731
        return Batch(len(lines), numbers, texts, written, failed, broken)

    def _decode_all(self, data: bytes, lines: list[bytes]) -> list[Any]:
        """Return all lines decoded at once, or nothing where one of them may not be one object.

        Between a line that ends as an object and one that begins as one there is always the end of a record.
        """
        if not all(line[:1] == b"{" and line[-1:] == b"}" for line in lines):
            return []
        try:
            records = self._decoder.decode_lines(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return []
        return records if len(records) == len(lines) else []

    def _decode_line(self, line: bytes) -> Any:
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._nothing


def read_numbers(values: Sequence[object], marks: CellMarks) -> tuple[Numbers, Flags]:
    """Return values as numbers, NaN where they are none, and which of them hold something that is no number.

    >>> found, failed = read_numbers([5, "7", None, "x"], CellMarks())
    >>> found.tolist(), failed.tolist()
    ([5.0, 7.0, nan, nan], [False, False, False, True])
    """
    found = np.array([marks.number(value) for value in values], dtype=np.float64)
    failed = np.array([not marks.is_missing(value) for value in values], dtype=np.bool_) & np.isnan(found)
    if marks.missing:
        found[marks.without(found)] = np.nan
    return found, failed


def parquet_names(path: Path) -> tuple[str, ...]:
    """Return the names of the columns of a Parquet file, from its footer; none where it has none that can be read.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "in.parquet"
    >>> pl.DataFrame({"hours": [5]}).write_parquet(file)
    >>> parquet_names(file)
    ('hours',)
    """
    try:
        return tuple(pl.read_parquet_schema(path))
    except (pl.exceptions.PolarsError, OSError):
        return ()


def parquet_batches(path: Path, columns: WantedColumns, offset: int) -> Iterator[Batch]:
    """Yield the records from number `offset` on.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "in.parquet"
    >>> pl.DataFrame({"hours": [5, None, 7]}).write_parquet(file)
    >>> [batch.numbers["hours"].tolist() for batch in parquet_batches(file, WantedColumns(("hours",)), 1)]
    [[nan, 7.0]]
    """
    try:
        table = pl.scan_parquet(path)
        names = table.collect_schema().names()
        for column in columns.names:
            if column not in names:
                raise InputError(f"file '{path}' has no column '{column}'{suggestion(column, names)}")
        wanted = table.select(list(dict.fromkeys(columns.names)))
        while not (piece := wanted.slice(offset, SLICE).collect()).is_empty():
            yield _parquet_batch(piece, columns)
            offset += piece.height
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(f"file '{path}' cannot be read as Parquet: {reason}") from error


def _parquet_batch(piece: pl.DataFrame, columns: WantedColumns) -> Batch:
    read = {name: _column_numbers(piece[name], columns.marks_of(name)) for name in columns.numbers}
    texts = {name: piece[name].cast(pl.String, strict=False).to_list() for name in columns.texts}
    written = lambda place: json.dumps(piece.row(place, named=True), default=str)  # noqa: E731
    numbers, failed = {name: pair[0] for name, pair in read.items()}, {name: pair[1] for name, pair in read.items()}
    return Batch(piece.height, numbers, texts, written, failed)


def _column_numbers(series: pl.Series, marks: CellMarks) -> tuple[Numbers, Flags]:
    if not (series.dtype.is_numeric() or series.dtype.is_decimal()):
        return read_numbers(series.cast(pl.String, strict=False).to_list(), marks)
    found = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
    numbers = found if np.isfinite(found).all() else np.where(np.isfinite(found), found, np.nan)
    failed = np.isnan(numbers) & ~series.is_null().to_numpy()
    return np.where(marks.without(numbers), np.nan, numbers) if marks.missing else numbers, failed
