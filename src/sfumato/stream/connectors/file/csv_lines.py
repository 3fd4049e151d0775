"""CSV records by the wanted cells alone: the rest of a wide line is stepped over, never made into values.

Cells are found by a compiled pass over the bytes (RFC 4180); one that a short line lacks is missing, which is a bad
record and not an error.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError, suggestion
from sfumato.stream.runtime.batch import Batch, Columns, Numbers, number
from sfumato.table.formats.delimited import csv_header

Integers = npt.NDArray[np.int64]
NEWLINE = 10


class CsvParser:
    r"""Reads records of one CSV file, whose header line says where the wanted columns are.

    >>> parse = CsvParser(b"drive;hours\n", Columns(("hours",), ("drive",)), "a.csv")
    >>> taken, batch = parse(b"a;5\nb;7,5\n")
    >>> taken, batch.numbers["hours"].tolist(), batch.texts["drive"], batch.written(1)
    (10, [5.0, nan], ['a', 'b'], 'b;7,5')
    """

    def __init__(self, header: bytes, columns: Columns, name: str) -> None:
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
            name: _numbers(data, codes, starts[self._rows[name], :count], ends[self._rows[name], :count])
            for name in self._columns.numbers
        }
        texts = {
            name: _texts(data, starts[self._rows[name], :count], ends[self._rows[name], :count])
            for name in self._columns.texts
        }
        return taken, Batch(count, numbers, texts, lambda place: _text(data[lines[place] : lines[place + 1]]))


def _numbers(data: bytes, codes: npt.NDArray[np.uint8], starts: Integers, ends: Integers) -> Numbers:
    from sfumato.stream.connectors.file.csv_kernel import decimals

    found = np.empty(len(starts))
    unread = np.empty(len(starts), dtype=np.int64)
    left = decimals(codes, starts, ends, found, unread)
    for place in unread[:left]:
        found[place] = number(data[starts[place] : ends[place]].decode(errors="replace"))
    return found


def _texts(data: bytes, starts: Integers, ends: Integers) -> list[str | None]:
    return [
        data[start:end].decode(errors="backslashreplace").replace('""', '"') if start >= 0 else None
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _text(line: bytes) -> str:
    return line.decode(errors="backslashreplace").rstrip("\r\n")
