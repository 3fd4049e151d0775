"""Rows into a topic as messages, each once: what the broker has already is recognised by its number and left out.

A row's number and its stream's id come from the checkpoint, so a replay gives the same message the same number (the
idempotent writes of Helland 2012). Nothing else is in a message but released rows: no offset, time or id of a record.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.errors import InputError, ParameterError
from sfumato.stream.base import Published, Publisher
from sfumato.stream.connectors.base import Connector, Message, MessageWriter
from sfumato.stream.connectors.file.outlet import OutputMark
from sfumato.stream.connectors.payloads import split_rows
from sfumato.stream.connectors.retry import BrokerGoneError, Waiting
from sfumato.stream.connectors.rows import CSV, RowWriter
from sfumato.stream.runtime.hooks import Hooks

TOGETHER = 1 << 14  # rows that are handed to a broker at once


class BrokerSink:
    """The rows of one publisher into one topic, as a `RowSink`.

    >>> from sfumato.stream import NaiveLaplace
    >>> from sfumato.core.address import Address
    >>> from sfumato.stream.connectors.redis_streams import RedisStreams
    >>> connector = RedisStreams(Address.read("redis://127.0.0.1:1/rides"))
    >>> BrokerSink(connector, NaiveLaplace(bounds=(0, 1)), ["hours"]).names
    ('hours',)
    """

    header = b""  # each message has its own

    def __init__(
        self, connector: Connector, publisher: Publisher, names: Sequence[str], hooks: Hooks | None = None
    ) -> None:
        if connector.columns is not None:
            raise ParameterError(f"output '{connector.address}': columns are named for what is read; leave them out")
        self._connector, self._hooks = connector, hooks or Hooks()
        self._rows, self.names = RowWriter(publisher, names, connector.format), tuple(names)

    def render(self, published: Published) -> bytes:
        """The rows as they are written, one to a line."""
        return self._rows(published)

    def refuse_existing(self) -> None:
        """A topic is looked at when it is opened."""

    def open(
        self,
        stream: str,
        place: OutputMark,
        due: bytes = b"",
        left: str = "the checkpoint",
        *,
        ended: bool = False,
        fresh: bool = False,
    ) -> BrokerOutlet:
        """Return where the rows of the stream of an id go, from row `place.length` on; a `fresh` one needs no topic."""
        del ended, due
        header = self._rows.header if self._connector.format == CSV else b""
        outlet = BrokerOutlet(self._connector.writer(), self._connector.records, header, self._waiting())
        outlet.open(stream, place, left, fresh=fresh)
        return outlet

    def further(self, stream: str, place: OutputMark, due: bytes) -> bool:
        """Return whether more lies in the topic than a checkpoint can have left."""
        writer = self._connector.writer()
        try:
            return self._waiting().open(lambda: writer.open(stream), patient=True) > place.length + len(split_rows(due))
        finally:
            writer.close()

    def _waiting(self) -> Waiting:
        return Waiting(str(self._connector.address), say=self._hooks.say, stop=self._hooks.stop)

    def finish(self) -> None:
        """A topic is complete as it is."""


class BrokerOutlet:
    """Takes the rows of one stream, makes messages of them, and writes those that the topic does not have."""

    def __init__(self, writer: MessageWriter, most: int, header: bytes, waiting: Waiting) -> None:
        self._writer, self._most, self._header, self._waiting = writer, most, header, waiting
        self._stream, self._left, self._length, self._there = "", "", 0, 0

    def open(self, stream: str, place: OutputMark, left: str, *, fresh: bool) -> None:
        """Find out which rows the topic has; refuse one that lost some, or has some of a stream that begins."""
        self._stream, self._left, self._length = stream, left, place.length
        self._there = self._waiting.open(lambda: self._writer.open(stream), patient=not fresh)
        try:
            self._refuse_lost()
            self._refuse_taken(fresh=fresh)
        except BaseException:
            self._writer.close()
            raise

    def _refuse_taken(self, *, fresh: bool) -> None:
        if fresh and self._there:
            raise InputError(f"output '{self._waiting.name}' has rows already; choose another topic")

    def _refuse_lost(self) -> None:
        if self._there < self._length:
            raise InputError(
                f"output '{self._waiting.name}' has {self._there} rows where {self._left or 'this run'} left "
                f"{self._length}: the broker lost some; restore it, or begin another checkpoint and another topic"
            )

    @property
    def place(self) -> OutputMark:
        """How many rows the topic has."""
        return OutputMark(self._length)

    def check(self, chunk: bytes) -> None:
        """Refuse rows that differ from those the topic has under their numbers."""
        if self._there > self._length:
            self._compare(split_rows(chunk)[: self._there - self._length])

    def _compare(self, rows: Sequence[bytes]) -> None:
        begin = self._length
        try:
            there = self._writer.read_back(begin, begin + len(rows))
        except BrokerGoneError as error:
            self._reopen(error)
            return self._compare(rows)
        for end, payload in there:
            found = split_rows(payload.removeprefix(self._header))
            for number, row in enumerate(found, end - len(found)):
                if begin <= number < begin + len(rows) and row != rows[number - begin]:
                    raise InputError(
                        f"output '{self._waiting.name}' has another row number {number} than this stream releases "
                        "again: its input is another one, or the output is; restore what belongs together"
                    )
        return None

    def append(self, chunk: bytes) -> None:
        """Write the rows that the topic does not have; return when the broker has them safe."""
        rows, begin = split_rows(chunk), self._length
        while self._there < begin + len(rows):
            first = self._there - begin
            messages = self._messages(rows[first : first + TOGETHER])
            try:
                self._writer.send(messages)
            except BrokerGoneError as error:
                self._reopen(error)
            else:
                self._waiting.reached()
                self._there = messages[-1].end
        self._length = begin + len(rows)

    def _messages(self, rows: Sequence[bytes]) -> list[Message]:
        pieces = [rows[start : start + self._most] for start in range(0, len(rows), self._most)]
        ends = [self._there + min(start + self._most, len(rows)) for start in range(0, len(rows), self._most)]
        return [
            Message(self._header + b"\n".join(piece), len(piece), end) for piece, end in zip(pieces, ends, strict=True)
        ]

    def _reopen(self, error: BrokerGoneError) -> None:
        """Wait until the broker is back, and look again what it has."""
        while True:
            self._writer.close()
            self._waiting.sleep(error)
            try:
                self._there = self._writer.open(self._stream)
            except BrokerGoneError as again:
                error = again
            else:
                self._refuse_lost()
                return

    def refuse_more(self) -> None:
        """Refuse a topic that has more rows than the stream let leave."""
        if self._there > self._length:
            raise InputError(
                f"output '{self._waiting.name}' has {self._there - self._length} rows behind the last one of this "
                "stream; restore what belongs together"
            )

    def settle(self) -> None:
        """Nothing to wait for: what was appended is safe at the broker."""

    def close(self) -> None:
        """Let the connection go."""
        self._writer.close()

    def remove(self) -> None:
        """Nothing has left yet, so nothing is there."""
