"""Writes rows as retained messages, so that the last one tells which rows have left.

MQTT keeps no log; a broker keeps the last retained message of a topic. Its user properties say whose rows it has and
how many left with it, by which we go on after a crash and readers drop what comes twice. One client's name is used, so
that a broker cuts off whoever wrote before (MQTT 5.0, section 3.1.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.errors import InputError
from sfumato.stream.connectors.base import Message, MessageWriter
from sfumato.stream.connectors.mqtt.session import ONCE, PATIENCE, Session, client_name, properties
from sfumato.stream.connectors.retry import BrokerGoneError

if TYPE_CHECKING:
    from paho.mqtt.properties import Properties

    from sfumato.stream.connectors.mqtt import MQTT

STREAM, ROWS = "sfumato-stream", "sfumato-rows"
GRACE = 0.5  # seconds for a retained message that comes behind the answer to who asked for it
AHEAD = 100


class RetainedWriter(MessageWriter):
    """Writes one topic."""

    def __init__(self, connector: MQTT) -> None:
        self._connector = connector
        self._session: Session | None = None
        self._stream = ""
        self._last: Message | None = None  # that the broker has

    def open(self, stream: str) -> int:
        """Connect, and read from the retained message how many rows have left."""
        self.close()
        self._stream = stream
        name = client_name(stream, "rows", self._connector.topic)
        session = self._session = Session(self._connector, name, ahead=AHEAD, expiry=0)
        if not session.retains:
            raise InputError(f"broker '{self._connector.address}' retains no messages; rows need one that does")
        end = self._look(session)
        if self._last is not None and end < self._last.end:  # the broker forgot what it had taken
            self.send([self._last])
            end = self._last.end
        return end

    def _look(self, session: Session) -> int:
        topic = self._connector.topic
        session.subscribe(topic, retained=True)
        found = session.next(1, GRACE)
        session.unsubscribe(topic)
        if not found:
            return 0
        named = dict(getattr(found[0].properties, "UserProperty", ()))
        session.client.ack(found[0].mid, ONCE)
        if named.get(STREAM) != self._stream or not named.get(ROWS, "").isdecimal():
            raise InputError(
                f"output '{self._connector.address}' has a message of somebody else; give the stream its own topic"
            )
        return int(named[ROWS])

    def send(self, messages: Sequence[Message]) -> None:
        """Write messages in order, and wait until the broker has them."""
        session = self._session
        if session is None:
            raise BrokerGoneError("the connection was closed")
        session.publish(self._connector.topic, [(one.payload, self._about(one)) for one in messages], PATIENCE)
        self._last = messages[-1]

    def _about(self, message: Message) -> Properties:
        return properties("PUBLISH", UserProperty=[(STREAM, self._stream), (ROWS, str(message.end))])

    def close(self) -> None:
        """Let the connection go."""
        if self._session is not None:
            self._session.close()
        self._session = None
