"""Records of CSV, JSON lines and Parquet by the wanted columns alone: the rest is stepped over, never made into values.

Cells of CSV are found by a compiled pass over the bytes (RFC 4180); one that a short line lacks is missing, which is a
bad record and not an error, and so is a line of JSON that is not an object. Parquet is read from the file's own column
chunks (the record shredding of Melnik et al. 2010); its offset counts records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import InputError, suggestion
from sfumato.stream.runtime.batch import Batch, Numbers, WantedColumns, number
from sfumato.table.formats.delimited import csv_header

Integers = npt.NDArray[np.int64]
NEWLINE = 10
SLICE = 1 << 17


class CsvParser:
    r"""Reads records of one CSV file, whose header line says where the wanted columns are.

    >>> parse = CsvParser(b"drive;hours\n", WantedColumns(("hours",), ("drive",)), "a.csv")
    >>> taken, batch = parse(b"a;5\nb;7,5\n")
    >>> taken, batch.numbers["hours"].tolist(), batch.texts["drive"], batch.written(1)
    (10, [5.0, nan], ['a', 'b'], 'b;7,5')
    """

    def __init__(self, header: bytes, columns: WantedColumns, name: str) -> None:
        delimiter, names = csv_header(header, name)
        for column in columns.names:
            if column not in names:
                raise InputError(f"file '{name}' has no column '{column}'{suggestion(column, names)}")
        self._delimiter, self._alone, self._columns = ord(delimiter), len(names) == 1, columns
        self._places = np.array(sorted({names.index(column) for column in columns.names}), dtype=np.int64)
        self._rows = {column: int(np.searchsorted(self._places, names.index(column))) for column in columns.names}

    def __call__(self, data: bytes) -> tuple[int, Batch]:
        from sfumato.stream.connectors.file.csv_kernel import cells

        codes = np.frombuffer(data, dtype=np.uint8)
        most = int(np.count_nonzero(codes == NEWLINE))
        lines = np.empty(most + 1, dtype=np.int64)
        starts, ends = np.empty((2, len(self._places), most), dtype=np.int64)
        count, taken = cells(codes, self._delimiter, self._places, self._alone, b'"' in data, lines, starts, ends)
        numbers = {
            name: _csv_numbers(data, codes, starts[self._rows[name], :count], ends[self._rows[name], :count])
            for name in self._columns.numbers
        }
        texts = {
            name: _csv_texts(data, starts[self._rows[name], :count], ends[self._rows[name], :count])
            for name in self._columns.texts
        }
        return taken, Batch(count, numbers, texts, lambda place: _line_text(data[lines[place] : lines[place + 1]]))


def _csv_numbers(data: bytes, codes: npt.NDArray[np.uint8], starts: Integers, ends: Integers) -> Numbers:
    from sfumato.stream.connectors.file.csv_kernel import decimals

    found = np.empty(len(starts))
    unread = np.empty(len(starts), dtype=np.int64)
    left = decimals(codes, starts, ends, found, unread)
    for place in unread[:left]:
        found[place] = number(data[starts[place] : ends[place]].decode(errors="replace"))
    return found


def _csv_texts(data: bytes, starts: Integers, ends: Integers) -> list[str | None]:
    return [
        data[start:end].decode(errors="backslashreplace").replace('""', '"') if start >= 0 else None
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _line_text(line: bytes) -> str:
    return line.decode(errors="backslashreplace").rstrip("\r\n")


class JsonParser:
    r"""Reads records of JSON lines.

    >>> parse = JsonParser(WantedColumns(("hours",), ("drive",)))
    >>> taken, batch = parse(b'{"hours": 5, "drive": "a"}\n{"hours": "x"}\n[]\n')
    >>> taken, batch.numbers["hours"].tolist(), batch.texts["drive"], batch.written(1)
    (45, [5.0, nan, nan], ['a', None, None], '{"hours": "x"}')
    """

    def __init__(self, columns: WantedColumns) -> None:
        self._columns = columns
        fields = [(f"field_{place}", Any, None) for place in range(len(columns.names))]
        names = dict(zip((name for name, _, _ in fields), columns.names, strict=True))
        record = msgspec.defstruct("Record", fields, rename=names, gc=False)
        self._nothing, self._decoder = record(), msgspec.json.Decoder(record)

    def __call__(self, data: bytes) -> tuple[int, Batch]:
        lines = [line for line in data.split(b"\n") if line and not line.isspace()]
        records = self._decode_all(data, len(lines)) or [self._decode_line(line) for line in lines]
        numbers, texts = {}, {}
        for place, name in enumerate(self._columns.names):
            values = [getattr(record, f"field_{place}") for record in records]
            if name in self._columns.numbers:
                numbers[name] = np.array([number(value) for value in values])
            else:
                texts[name] = [None if value is None else str(value) for value in values]
        return len(data), Batch(len(lines), numbers, texts, lambda place: lines[place].decode(errors="replace").strip())

    def _decode_all(self, data: bytes, count: int) -> list[Any]:
        """Return all lines decoded at once, or nothing where one of them is not as it should be."""
        try:
            records = self._decoder.decode_lines(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return []
        return records if len(records) == count else []

    def _decode_line(self, line: bytes) -> Any:
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._nothing


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
    numbers = {name: _column_numbers(piece[name]) for name in columns.numbers}
    texts = {name: piece[name].cast(pl.String, strict=False).to_list() for name in columns.texts}
    return Batch(piece.height, numbers, texts, lambda place: json.dumps(piece.row(place, named=True), default=str))


def _column_numbers(series: pl.Series) -> Numbers:
    if not (series.dtype.is_numeric() or series.dtype.is_decimal()):
        return np.array([number(value) for value in series.cast(pl.String, strict=False).to_list()])
    found = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return found if np.isfinite(found).all() else np.where(np.isfinite(found), found, np.nan)
