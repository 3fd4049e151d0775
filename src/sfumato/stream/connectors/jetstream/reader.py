"""Reads the messages of a subject by their number in its stream, which is the position in our checkpoint.

The server's own cursor is a durable consumer that begins behind that position each time; it is told what lies safe
(an acknowledgement of one message is one of all before it), so that `nats consumer info` shows how far a feed was read.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from sfumato.errors import InputError
from sfumato.stream.connectors.base import MessageReader, Received
from sfumato.stream.connectors.jetstream.connection import PATIENCE, Connection
from sfumato.stream.connectors.jetstream.pulled import Pulled, number_of
from sfumato.stream.connectors.retry import BrokerGoneError

if TYPE_CHECKING:
    from nats.js.api import ConsumerConfig, StreamInfo

    from sfumato.stream.connectors.jetstream import JetStream

ACKNOWLEDGED = b"+ACK"
HOUR = 3600.0


class JetStreamReader(MessageReader):
    """Reads one subject; a position is the number of a message and the birth of its stream."""

    def __init__(self, connector: JetStream) -> None:
        self._connector, self._address, self._subject = connector, connector.address, connector.topic
        self._connection: Connection | None = None
        self._pulled: Pulled | None = None
        self._unsafe: deque[tuple[int, str]] = deque()  # the last message of each batch, and where it is acknowledged
        self._stream = self._consumer = self._born = ""
        self._last = 0
        self._alone = False

    def open(self, stream: str, position: str) -> None:
        """Connect, and let the consumer of the stream of an id begin behind a position."""
        self.close()
        connection = self._connection = Connection(self._connector)
        name = connection.find_stream()
        if name is None:
            raise InputError(
                f"broker '{self._address}' has no stream that stores '{self._subject}'; add one, as with "
                f"nats stream add --subjects '{self._subject}'"
            )
        self._stream, self._consumer = name, f"sfumato-{stream}"
        info = connection.call(connection.streams.stream_info(name))
        self._refuse_other(info, position)
        connection.call(self._begin(connection))

    def _refuse_other(self, info: StreamInfo, position: str) -> None:
        """Refuse a stream that forgets what others read, one that was made anew, and one that lost messages."""
        kept = info.config.retention
        if kept not in (None, "limits"):
            raise InputError(
                f"stream '{self._stream}' of broker '{self._address}' keeps messages by '{kept}', and after a crash "
                "they must be there again; give one that keeps them by 'limits'"
            )
        self._born = "" if info.created is None else info.created.isoformat()
        self._alone = info.config.subjects == [self._subject]
        last, _, born = position.partition("@")
        if position and born != self._born:
            raise InputError(
                f"stream '{self._stream}' of broker '{self._address}' is not the one that this checkpoint was reading: "
                "it was made anew; restore it, or begin another checkpoint"
            )
        self._last = int(last or 0)
        if info.state.last_seq < self._last:
            raise InputError(
                f"stream '{self._stream}' of broker '{self._address}' ends with message {info.state.last_seq}, and "
                f"{self._last} were read: the server lost some; restore it, or begin another checkpoint"
            )
        if position:
            self._refuse_lost(info)

    def _refuse_lost(self, info: StreamInfo) -> None:
        """Refuse a stream whose limits dropped messages before they were read; seen where it has one subject alone."""
        if self._alone and info.state.first_seq > self._last + 1:
            raise InputError(
                f"stream '{self._stream}' of broker '{self._address}' dropped messages {self._last + 1} to "
                f"{info.state.first_seq - 1} before they were read: its limits are too tight; widen them, and begin "
                "another checkpoint"
            )

    async def _begin(self, connection: Connection) -> None:
        from nats.js.errors import NotFoundError

        streams = connection.streams
        with suppress(NotFoundError):
            await streams.delete_consumer(self._stream, self._consumer)
        await streams.add_consumer(self._stream, self._config())
        request = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._consumer}"
        self._pulled = Pulled(connection.client, request)
        await self._pulled.begin()

    def _config(self) -> ConsumerConfig:
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        begin = (
            {"deliver_policy": DeliverPolicy.BY_START_SEQUENCE, "opt_start_seq": self._last + 1}
            if self._last
            else {"deliver_policy": DeliverPolicy.ALL}
        )
        return ConsumerConfig(
            durable_name=self._consumer,
            ack_policy=AckPolicy.ALL,
            ack_wait=HOUR,
            max_ack_pending=-1,
            filter_subject=self._subject,
            **begin,
        )

    def read(self, limit: int, wait: float) -> Received | None:
        """Return the next messages; what the server gives once more is left out."""
        connection, pulled = self._connection, self._pulled
        if connection is None or pulled is None:
            raise BrokerGoneError("the connection was closed")
        messages = connection.call(pulled.next(limit, wait), wait + PATIENCE)
        payloads: list[bytes] = []
        before, gap = self._last, False
        for message in messages:
            number = number_of(message)
            if number > self._last:
                gap = gap or number > self._last + 1
                payloads.append(message.data)
                self._last = number
        if gap and before and self._alone:
            self._last, latest = before, self._last
            self._refuse_lost(connection.call(connection.streams.stream_info(self._stream)))
            self._last = latest
        if not payloads:
            return None
        self._unsafe.append((self._last, messages[-1].reply))
        return Received(payloads, f"{self._last}@{self._born}")

    def acknowledge(self, position: str) -> None:
        """Tell the server what lies safe, and wait until it has heard."""
        number, place = int(position.partition("@")[0] or 0), ""
        while self._unsafe and self._unsafe[0][0] <= number:
            place = self._unsafe.popleft()[1]
        if place and self._connection is not None:
            client = self._connection.client
            self._connection.call(client.request(place, ACKNOWLEDGED, timeout=PATIENCE))

    def forget(self) -> None:
        """Take the consumer away."""
        connection = self._connection
        if connection is not None and self._consumer:
            connection.call(connection.streams.delete_consumer(self._stream, self._consumer))

    def close(self) -> None:
        """Let the connection go."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._pulled = None
        self._unsafe.clear()
