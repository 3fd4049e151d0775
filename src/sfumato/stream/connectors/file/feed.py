"""Records in from CSV, JSON lines or Parquet, in batches of bounded size, each with the offset to go on from.

Formats are told apart by their first bytes; `-` is a pipe; a text file can be followed while it grows. The offset is
the log position of Kreps, Narkhede & Rao (2011): a reader that comes back starts exactly behind what it has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sfumato.errors import InputError
from sfumato.schema import Reading
from sfumato.stream.connectors.file.inlet import GZIP, STDIN, Begun, Inlet, Raw, Recoded, Unzipped, mark
from sfumato.stream.runtime.batch import Batch, Parser, WantedColumns
from sfumato.table.formats.encodings import is_utf_8

LONGEST_RECORD = 4 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PARQUET = b"PAR1"
WIDE = (b"\xff\xfe", b"\xfe\xff")  # the byte order marks of UTF-16
PLAIN_READING = Reading()


class Feed:
    r"""The records of an input, batch by batch; `offset` says where the next one begins.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "in.csv"
    >>> _ = file.write_text("hours,drive\n5,a\nx,b\n")
    >>> feed = Feed(file, WantedColumns(("hours",), ("drive",)))
    >>> [(batch.count, batch.numbers["hours"].tolist(), batch.texts["drive"]) for batch in feed.batches()]
    [(2, [5.0, nan], ['a', 'b'])]
    >>> feed.offset
    20
    """

    def __init__(
        self, path: str | Path, columns: WantedColumns, *, follow: bool = False, reading: Reading = PLAIN_READING
    ) -> None:
        self.path, self.columns, self.offset = Path(path), columns, 0
        self.names: tuple[str, ...] = ()  # of all columns, where a header tells them
        self.piped = self.path == STDIN or (self.path.exists() and not self.path.is_file())
        if follow and self.piped:
            raise InputError("a pipe is always followed; leave --follow out")
        self._follow, self._grows, self._raw = follow, True, Raw(self.path, follow=follow)
        self._reading, self._encoding = reading, None if is_utf_8(reading.encoding) else reading.encoding

    def close(self) -> None:
        """Let the input go."""
        self._raw.close()

    def mark(self, offset: int) -> str:
        """The fingerprint of the input as far as it was read."""
        return mark(self.path, offset, grows=self._grows)

    def batches(self, offset: int = 0) -> Iterator[Batch]:
        """Yield the records behind `offset` (a pipe: all that come), and idle batches while nothing comes."""
        first = b""
        while len(first) < len(PARQUET) and (piece := self._raw.read()) != b"":
            first += piece or b""
            if piece is None:
                yield Batch.idle()
        packed, table = first.startswith(GZIP), first.startswith(PARQUET)
        if first.startswith(WIDE) and self._encoding is None:
            self._encoding = "utf-16"
        self._grows = not (packed or table or self._encoding)
        if (table and self.piped) or (self._follow and not self._grows):
            form = "Parquet" if table else "gzip" if packed else self._encoding
            raise InputError(
                f"file '{self._raw.name}' is {form}, which cannot be read while it grows; give a finished file"
            )
        if table:
            yield from self._table(offset)
        else:
            yield from self._text(self._unzip(first, packed=packed), offset, packed=packed)
        self.close()

    def _unzip(self, first: bytes, *, packed: bool) -> Inlet:
        inlet = Begun(first, self._raw)
        return self._recode(Unzipped(inlet, self._raw.name) if packed else inlet)

    def _recode(self, inlet: Inlet, skip: int = 0) -> Inlet:
        return inlet if self._encoding is None else Recoded(inlet, self._encoding, self._raw.name, skip=skip)

    def _table(self, offset: int) -> Iterator[Batch]:
        from sfumato.stream.connectors.file.parsers import parquet_batches, parquet_names

        self.names, self.offset = parquet_names(self.path), offset
        for batch in parquet_batches(self.path, self.columns, offset):
            self.offset += batch.count
            yield batch

    def _text(self, inlet: Inlet, offset: int, *, packed: bool) -> Iterator[Batch]:
        head = b""
        while not _has_first_line(head) and (piece := inlet.read()) != b"":
            head += piece or b""
            if piece is None:
                yield Batch.idle()
        parser, begin = self._parser(head)
        if parser is None:
            return
        if offset and not self.piped:
            inlet, head, begin = self._resume_at(offset, packed=packed), b"", 0
        self.offset = offset or begin
        yield from self._records(parser, head[begin:], inlet)

    def _resume_at(self, offset: int, *, packed: bool) -> Inlet:
        self._raw.close()
        self._raw = Raw(self.path, start=offset if self._grows else 0, follow=self._follow)
        if self._encoding is not None:
            return self._recode(Unzipped(self._raw, self._raw.name) if packed else self._raw, offset)
        return Unzipped(self._raw, self._raw.name, skip=offset) if packed else self._raw

    def _parser(self, head: bytes) -> tuple[Parser | None, int]:
        """Return what reads the records, and how many bytes stand before the first; None where there is nothing."""
        from sfumato.stream.connectors.file.parsers import CsvParser, JsonParser

        blank = len(head) - len(head.removeprefix(BYTE_ORDER_MARK).lstrip())
        if blank == len(head):
            return None, 0
        if head[blank : blank + 1] == b"{":
            return JsonParser(self.columns), blank
        header = head[blank : (head.find(b"\n", blank) + 1) or len(head)]
        if b"\r" in header.rstrip(b"\r\n"):
            raise InputError(f"file '{self._raw.name}' ends its lines with carriage returns alone; write line breaks")
        parser = CsvParser(header, self.columns, self._raw.name, self._reading)
        self.names = parser.names
        return parser, blank + len(header)

    def _records(self, parser: Parser, rest: bytes, inlet: Inlet) -> Iterator[Batch]:
        ended = False
        while not ended:
            whole = rest.rfind(b"\n") + 1
            self.offset += whole
            if whole and (batch := parser(rest[:whole])).count:
                yield batch
            rest = rest[whole:]
            if len(rest) > LONGEST_RECORD:
                raise InputError(f"file '{self._raw.name}' has a record of more than 4 MiB; check its line breaks")
            piece = inlet.read()
            if piece is None:
                yield Batch.idle()
            ended = piece == b""
            rest += piece or b""
        if rest:
            self.offset += len(rest)
            yield parser(rest + b"\n")


def _has_first_line(head: bytes) -> bool:
    """Return whether the first line is there, whole."""
    return b"\n" in head.removeprefix(BYTE_ORDER_MARK).lstrip() or len(head) > LONGEST_RECORD
