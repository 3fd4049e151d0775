"""JSON lines by the wanted keys alone; a line that is not an object is a record without values.

One object per line, as in the JSON Lines convention; the other keys of an object are skipped by the decoder (msgspec).
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from sfumato.stream.runtime.batch import Batch, Columns, number


class JsonParser:
    r"""Reads records of JSON lines.

    >>> parse = JsonParser(Columns(("hours",), ("drive",)))
    >>> taken, batch = parse(b'{"hours": 5, "drive": "a"}\n{"hours": "x"}\n[]\n')
    >>> taken, batch.numbers["hours"].tolist(), batch.texts["drive"], batch.written(1)
    (45, [5.0, nan, nan], ['a', None, None], '{"hours": "x"}')
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        fields = [(f"field_{place}", Any, None) for place in range(len(columns.names))]
        names = dict(zip((name for name, _, _ in fields), columns.names, strict=True))
        record = msgspec.defstruct("Record", fields, rename=names, gc=False)
        self._nothing, self._decoder = record(), msgspec.json.Decoder(record)

    def __call__(self, data: bytes) -> tuple[int, Batch]:
        lines = [line for line in data.split(b"\n") if line and not line.isspace()]
        records = self._decoded(data, len(lines)) or [self._decoded_line(line) for line in lines]
        numbers, texts = {}, {}
        for place, name in enumerate(self._columns.names):
            values = [getattr(record, f"field_{place}") for record in records]
            if name in self._columns.numbers:
                numbers[name] = np.array([number(value) for value in values])
            else:
                texts[name] = [None if value is None else str(value) for value in values]
        return len(data), Batch(len(lines), numbers, texts, lambda place: lines[place].decode(errors="replace").strip())

    def _decoded(self, data: bytes, count: int) -> list[Any]:
        """Return all lines decoded at once, or nothing where one of them is not as it should be."""
        try:
            records = self._decoder.decode_lines(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return []
        return records if len(records) == count else []

    def _decoded_line(self, line: bytes) -> Any:
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._nothing
