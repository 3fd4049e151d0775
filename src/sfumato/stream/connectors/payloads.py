"""Messages as records, and rows as messages: JSON lines or CSV, one record to a message or several.

The payloads of a batch are joined and parsed at once, as lines of a file are. A message is one record unless its
address allows more, then each of its lines is one. A message that cannot be taken apart is one broken record in its
place: it moves nobody else's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.schema import Reading
from sfumato.stream.connectors.file.lines import LONGEST_RECORD
from sfumato.stream.connectors.file.parsers import CsvParser, JsonParser
from sfumato.stream.runtime.batch import Batch, Parser, WantedColumns

PLAIN_READING = Reading()
BROKEN = b"\0"  # no record in any format
MARK = b"\xef\xbb\xbf"


class PayloadParser:
    r"""Reads the records of messages; `names` are the columns of CSV, which each message names in its first line.

    `first` is that line where it is known before a message comes; `header` stands for it where no message has one.

    >>> parse = PayloadParser(WantedColumns(("hours",)), "redis://server/rides")
    >>> parse([b'{"hours": 5}', b"", b'{"hours":\n 7}']).numbers["hours"].tolist()
    [5.0, nan, 7.0]
    >>> lines = PayloadParser(WantedColumns(("hours",)), "redis://server/rides", form="csv", most=2)
    >>> batch = lines([b"hours\n5\n6\n", b"hours\n7\n", b"minutes\n7\n", b"hours\n1\n2\n3\n"])
    >>> batch.numbers["hours"].tolist(), batch.broken.tolist()
    ([5.0, 6.0, 7.0, nan, nan], [False, False, False, True, True])
    >>> lines.with_counts([b"hours\n5\n6\n", b"hours\n7\n"])[1]
    [2, 1]
    """

    def __init__(
        self,
        columns: WantedColumns,
        name: str,
        *,
        form: str = "json",
        most: int = 1,
        header: str | None = None,
        first: bytes = b"",
        reading: Reading = PLAIN_READING,
    ) -> None:
        self._wanted, self._name, self._most, self._reading = columns, name, most, reading
        self.names: tuple[str, ...] = ()
        self._parser: Parser | None = JsonParser(columns) if form == "json" else None
        self._header = b""
        self._bare = header is not None
        if header is not None:
            self._begin(header.encode())
        elif first and form != "json":
            self._begin(first)

    def __call__(self, payloads: Sequence[bytes]) -> Batch:
        """Return the records of some messages in their order."""
        return self.with_counts(payloads)[0]

    def with_counts(self, payloads: Sequence[bytes]) -> tuple[Batch, list[int]]:
        """Return the records of some messages in their order, and how many of them each message has."""
        if self._parser is None or self._header:
            payloads = self._without_headers(payloads)
        data = b"\n".join(payloads)
        if self._is_plain(payloads, data):
            batch = self._parse(data + b"\n")
            if batch.count == len(payloads):
                return batch, [1] * len(payloads)
        parts = [self._lines(payload) for payload in payloads]
        lines = [line for part in parts for line in part]
        return self._parse(b"\n".join([*lines, b""])), [len(part) for part in parts]

    def _is_plain(self, payloads: Sequence[bytes], data: bytes) -> bool:
        """Whether each message is one line, so that all are taken as they are."""
        return (
            data.count(b"\n") == len(payloads) - 1 and len(data) < LONGEST_RECORD * len(payloads) and all(payloads)
        ) and max(map(len, payloads)) <= LONGEST_RECORD

    def _parse(self, data: bytes) -> Batch:
        if self._parser is None:  # nothing but messages without a header has come
            count = data.count(b"\n")
            return _broken(count, self._wanted)
        return self._parser(data)

    def _lines(self, payload: bytes) -> list[bytes]:
        """Return the lines of the records of one message: one that is broken where it cannot be taken apart."""
        if len(payload) > LONGEST_RECORD * min(self._most, 16):
            return [BROKEN]
        if self._most == 1:
            line = payload.strip().replace(b"\r", b" ").replace(b"\n", b" ")
            return [line or BROKEN]
        lines = [line for line in (part.strip(b"\r") for part in payload.split(b"\n")) if line.strip()]
        return lines if 0 < len(lines) <= self._most and max(map(len, lines)) <= LONGEST_RECORD else [BROKEN]

    def _without_headers(self, payloads: Sequence[bytes]) -> list[bytes]:
        """Return what stands behind the header of each message of CSV; nothing where it has another one."""
        if self._bare:
            return list(payloads)
        if self._parser is None:
            self._find_header(payloads)
        head, length = self._header, len(self._header)
        return [
            payload[length:].strip(b"\r\n")
            if payload.startswith(head) and payload[length : length + 1] in b"\r\n"
            else b""
            for payload in payloads
        ]

    def _find_header(self, payloads: Sequence[bytes]) -> None:
        """Take the header of the first message that has one with the wanted columns."""
        line = first_header(payloads)
        if line:
            self._begin(line)

    def _begin(self, header: bytes) -> None:
        parser = CsvParser(header.removeprefix(MARK) + b"\n", self._wanted, self._name, self._reading)
        self._parser, self._header, self.names = parser, header, parser.names


def first_header(payloads: Sequence[bytes]) -> bytes:
    r"""Return the first line of the first message of CSV that has one; nothing where none has.

    >>> first_header([b"", b"hours;drive\r\n5;a\n"])
    b'hours;drive'
    """
    lines = (payload.partition(b"\n")[0].rstrip(b"\r") for payload in payloads)
    return next((line for line in lines if line.strip() and b"\0" not in line), b"")


def _broken(count: int, columns: WantedColumns) -> Batch:
    """Return records that have no cell."""
    import numpy as np

    nowhere, failed = np.full(count, np.nan), np.zeros(count, dtype=np.bool_)
    return Batch(
        count,
        dict.fromkeys(columns.numbers, nowhere),
        {name: [None] * count for name in columns.texts},
        lambda _: "",
        dict.fromkeys(columns.numbers, failed),
        np.ones(count, dtype=np.bool_),
    )


def split_rows(chunk: bytes) -> list[bytes]:
    r"""Return the rows of rendered bytes, each without its line's end; a quoted cell may hold one.

    >>> split_rows(b'1,2\n"a\nb",3\n')
    [b'1,2', b'"a\nb",3']
    """
    if b'"' not in chunk or chunk.startswith(b"{"):
        return chunk.splitlines() if b"\r" not in chunk else chunk.removesuffix(b"\n").split(b"\n")
    return list(_quoted_rows(chunk))


def _quoted_rows(chunk: bytes) -> Iterator[bytes]:
    open_part: list[bytes] = []
    for line in chunk.removesuffix(b"\n").split(b"\n"):
        open_part.append(line)
        if sum(part.count(b'"') for part in open_part) % 2 == 0:
            yield b"\n".join(open_part)
            open_part = []
