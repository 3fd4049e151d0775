"""Records of a broker in batches of bounded size, in the broker's order, through every lost connection.

The position is that of the log (Kreps, Narkhede & Rao 2011): it stands in the checkpoint, so what a broker delivers
twice is read once, and what it has delivered is acknowledged when the checkpoint that holds it is on the disk.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from sfumato.errors import InputError
from sfumato.schema import Reading
from sfumato.stream.connectors.base import Connector, FeedPlace, Received
from sfumato.stream.connectors.payloads import PayloadParser
from sfumato.stream.connectors.retry import BrokerGoneError, Waiting
from sfumato.stream.runtime.batch import Batch, WantedColumns
from sfumato.stream.runtime.hooks import Hooks

MOST = 1 << 16  # records in a batch
PATIENCE = 0.2
PLAIN_READING = Reading()


class BrokerFeed:
    """The records of one topic, as a `Source`, at most about `most` together.

    >>> from sfumato.stream.connectors.redis_streams import RedisStreams
    >>> from sfumato.core.address import Address
    >>> feed = BrokerFeed(RedisStreams(Address.read("redis://127.0.0.1:1/rides")), WantedColumns(("hours",)))
    >>> feed.place.mark()
    '["redis","rides",""]'
    """

    piped = False

    def __init__(
        self, connector: Connector, columns: WantedColumns, *, reading: Reading = PLAIN_READING, most: int = MOST
    ) -> None:
        self._connector, self._reader = connector, connector.reader()
        self._parser = PayloadParser(
            columns,
            str(connector.address),
            form=connector.format,
            most=connector.records,
            header=connector.columns,
            reading=reading,
        )
        self._limit = max(1, min(MOST, most) // connector.records)
        self._stream, self._position, self._acknowledged = "", "", ""
        self._hooks, self._waiting = Hooks(), Waiting(str(connector.address))

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        return str(self._connector.address)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, where messages of CSV name them."""
        return self._parser.names

    @property
    def stalled(self) -> bool:
        """Whether the broker waits for an acknowledgement."""
        return self._reader.stalled

    @property
    def place(self) -> FeedPlace:
        """Behind the last record that was read."""
        mark = self._mark(self._position)
        return FeedPlace(0, lambda: mark)

    def _mark(self, position: str) -> str:
        return msgspec.json.encode([self._connector.name, self._connector.topic, position]).decode()

    def resume(self, stream: str, known: str, hooks: Hooks, *, fresh: bool = False) -> None:
        """Connect, behind the position of a checkpoint; one of another input is refused.

        A stream that goes on waits for its broker; one that begins does not: its address may be wrong.
        """
        self._stream, self._hooks = stream, hooks
        self._reader.tell = hooks.tell
        self._waiting = Waiting(str(self._connector.address), say=hooks.say, stop=hooks.stop)
        self._position = self._acknowledged = self._position_of(known) if known else ""
        self._waiting.open(lambda: self._reader.open(self._stream, self._position), patient=not fresh)

    def _position_of(self, known: str) -> str:
        try:
            name, topic, position = msgspec.json.decode(known, type=tuple[str, str, str])
        except msgspec.DecodeError:
            name = topic = position = ""
        if (name, topic) != (self._connector.name, self._connector.topic):
            raise InputError(
                f"input '{self.name}' is not what this checkpoint was reading; give that, or another folder"
            )
        return position

    def has_grown(self, known: str) -> bool:
        """Return False: a topic always grows, and its stream has no end of itself."""
        del known
        return False

    def batches(self, offset: int = 0) -> Iterator[Batch]:
        """Yield the records that come, and idle batches while none does; a topic has no end."""
        del offset
        while True:
            yield from self._next()

    def _next(self) -> Iterator[Batch]:
        try:
            received = self._reader.read(self._limit, PATIENCE)
        except BrokerGoneError as error:
            yield from self._reconnect(error)
            return
        self._waiting.reached()
        yield Batch.idle() if received is None else self._batch(received)

    def _batch(self, received: Received) -> Batch:
        batch = self._parser(received.payloads) if received.payloads else Batch.idle()
        self._position = received.position
        return batch

    def _reconnect(self, error: BrokerGoneError) -> Iterator[Batch]:
        """Wait until the broker is back, with idle batches meanwhile: windows may end by the clock."""
        while True:
            self._reader.close()
            until = time.monotonic() + self._waiting.next(error)
            while (left := until - time.monotonic()) > 0:
                time.sleep(min(PATIENCE, left))
                yield Batch.idle()
            try:
                self._reader.open(self._stream, self._position)
            except BrokerGoneError as again:
                error = again
            else:
                return

    def acknowledge(self, mark: str) -> None:
        """Tell the broker what lies in a checkpoint; what it does not hear now, it hears the next time."""
        position = self._position_of(mark) if mark else ""
        if position == self._acknowledged:
            return
        with suppress(BrokerGoneError):  # the next read finds the same and waits
            self._reader.acknowledge(position)
            self._acknowledged = position

    def forget(self) -> None:
        """Leave nothing at the broker of a stream that never began."""
        with suppress(BrokerGoneError):
            self._reader.forget()

    def close(self) -> None:
        """Let the connection go."""
        self._reader.close()
