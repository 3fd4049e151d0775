"""Records in from CSV, JSON lines or Parquet, in batches of bounded size, each with the offset to go on from.

Formats are told apart by their first bytes; `-` is a pipe; a text file can be followed while it grows. The offset is
the log position of Kreps, Narkhede & Rao (2011): a reader that comes back starts exactly behind what it has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sfumato.errors import InputError
from sfumato.schema import Reading
from sfumato.stream.connectors.base import FeedPlace
from sfumato.stream.connectors.file.fingerprint import Trace, find_followed, has_grown, is_known, mark
from sfumato.stream.connectors.file.followed import Followed
from sfumato.stream.connectors.file.inlet import GZIP, STDIN, Begun, Inlet, Raw, Recoded, Unzipped
from sfumato.stream.connectors.file.lines import FirstLine, WholeLines
from sfumato.stream.runtime.batch import Batch, Parser, WantedColumns
from sfumato.stream.runtime.hooks import Hooks
from sfumato.table.formats.encodings import is_utf_8

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

    stalled = False  # nobody waits for an acknowledgement

    def __init__(
        self,
        path: str | Path,
        columns: WantedColumns,
        *,
        follow: bool = False,
        reading: Reading = PLAIN_READING,
        known: str = "",
    ) -> None:
        self.path, self.columns, self.offset = Path(path), columns, 0
        self.names: tuple[str, ...] = ()  # of all columns, where a header tells them
        self.piped = self.path == STDIN or (self.path.exists() and not self.path.is_file())
        if follow and self.piped:
            raise InputError("a pipe is always followed; leave --follow out")
        self._follow, self._grows = follow, True
        self._raw = self._open(known)
        self._reading, self._encoding = reading, None if is_utf_8(reading.encoding) else reading.encoding
        self._parser: Parser | None = None
        self._header, self._trace = b"", Trace(self._raw.inode)

    def _open(self, known: str) -> Raw | Followed:
        """Return the input; a followed file is found again by the fingerprint `known`, also where it was rotated."""
        if not self._follow:
            return Raw(self.path)
        return Followed(self.path, find_followed(self.path, known) if known else None)

    def close(self) -> None:
        """Let the input go."""
        self._raw.close()

    @property
    def place(self) -> FeedPlace:
        """Where the next record begins, and the fingerprint of what was read of the input."""
        if self._grows and not self.piped:
            trace = self._trace.copy()
            return FeedPlace(self.offset, lambda: trace.mark)
        return FeedPlace(self.offset, lambda: mark(self.path, 0, grows=False))

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        return str(self.path)

    def has_grown(self, known: str) -> bool:
        """Return whether there is more in it than what a fingerprint was taken of."""
        return has_grown(self.path, known)

    def acknowledge(self, mark: str) -> None:
        """Nobody waits for it: a file stays where it is."""

    def forget(self) -> None:
        """A file was never changed."""

    def resume(self, stream: str, known: str, hooks: Hooks, *, fresh: bool = False) -> None:
        """Refuse an input that a fingerprint is not of; a followed file was found by it already."""
        del stream, hooks, fresh
        if known and not self._follow and not is_known(self.path, known):
            raise InputError(
                f"input '{self.path}' is not what this checkpoint was reading; give that, or another folder"
            )

    def batches(self, offset: int = 0) -> Iterator[Batch]:
        """Yield the records behind `offset` (a pipe: all that come), and idle batches while nothing comes."""
        first = b""
        while len(first) < len(PARQUET) and (piece := self._raw.read()) != b"":
            first += piece or b""
            if len(first) < len(PARQUET):
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
        """Yield the records of a text, and of those that are rotated into its place while it is followed."""
        while True:
            line = FirstLine(self._raw.name)
            while not line.whole and (piece := inlet.read()) != b"":
                line.take(piece or b"")
                if not line.whole:
                    yield Batch.idle()
            head = line.before + self._begin_part(line)
            self._trace, self.offset = Trace.of_start(head, self._raw.inode), len(head)
            rest = b"" if line.blank else line.before + line.text + line.behind
            rest = rest[len(head) :]
            if offset and not self.piped and not line.blank:
                inlet, rest = self._resume_at(offset, packed=packed), b""
            offset = 0
            yield from self._records(rest, inlet)
            if not self._raw.turn():
                return
            inlet = self._raw

    def _resume_at(self, offset: int, *, packed: bool) -> Inlet:
        self.offset = offset
        if self._grows:
            self._trace = Trace.of_file(self._raw.seek(offset), offset, self._raw.inode)
            return self._raw
        self._raw.close()
        self._raw = Raw(self.path)
        if self._encoding is not None:
            return self._recode(Unzipped(self._raw, self._raw.name) if packed else self._raw, offset)
        return Unzipped(self._raw, self._raw.name, skip=offset)

    def _begin_part(self, line: FirstLine) -> bytes:
        """Return the header of a text, once there is a parser for its records; a later header must be the same."""
        from sfumato.stream.connectors.file.parsers import CsvParser, JsonParser

        if line.blank:
            return b""
        if isinstance(self._parser, CsvParser):
            if line.text.rstrip(b"\r\n") != self._header:
                raise InputError(
                    f"file '{self._raw.name}' was rotated, and the first line of the new file is not the header of the "
                    "one before; write the same header first"
                )
            return line.text
        if self._parser is None and not line.is_object:
            self._parser = CsvParser(line.text, self.columns, self._raw.name, self._reading)
            self.names, self._header = self._parser.names, line.text.rstrip(b"\r\n")
            return line.text
        self._parser = self._parser or JsonParser(self.columns)
        return b""

    def _records(self, rest: bytes, inlet: Inlet) -> Iterator[Batch]:
        lines, piece = WholeLines(self._raw.name), rest or None
        while piece != b"":
            whole = lines.take(piece or b"")
            yield self._batch(whole, whole)
            piece = inlet.read()
        if lines.rest:
            yield self._batch(lines.rest, lines.rest + b"\n")

    def _batch(self, read: bytes, lines: bytes) -> Batch:
        """Return the records of some lines, which were read as these bytes."""
        self.offset += len(read)
        self._trace.take(read)
        return Batch.idle() if self._parser is None or not lines else self._parser(lines)
