"""Reads the messages of a topic in a session that the broker keeps, and acknowledges each once a checkpoint holds it.

The broker stops sending once as many messages are unacknowledged as we let it send ahead (MQTT 5.0, section 4.9), so
memory is bounded by it; messages beyond wait at the broker.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from sfumato.errors import InputError
from sfumato.stream.connectors.base import MessageReader, Received
from sfumato.stream.connectors.mqtt.memory import Memory, Names, PacketNumbers
from sfumato.stream.connectors.mqtt.session import ONCE, Session, client_name
from sfumato.stream.connectors.retry import BrokerGoneError

if TYPE_CHECKING:
    from paho.mqtt.client import MQTTMessage

    from sfumato.stream.connectors.mqtt import MQTT

LEAST_WINDOW = 10  # unacknowledged messages from which on a broker may send no more, unless it is asked for fewer
GLANCE = 0.01  # seconds of silence that then tell that it waits for us


class SessionReader(MessageReader):
    """Reads one topic filter; a position says how many messages were read, and by what the last ones are known."""

    def __init__(self, connector: MQTT) -> None:
        self._connector = connector
        self._session: Session | None = None
        self._memory: Memory = self._remember("")
        self._read = 0
        self._safe: int | None = None  # how many of them a checkpoint holds
        self._unacknowledged: deque[tuple[int, int]] = deque()  # how many were read with it, and its packet number
        self._nameless = 0
        self.stalled = False

    def _remember(self, written: str) -> Memory:
        one = self._connector
        return PacketNumbers(one.ahead, written) if one.id is None else Names(one.id, one.remember, written)

    def open(self, stream: str, position: str) -> None:
        """Go on in the session of the stream of an id; what comes again is known by the position."""
        self.close()
        one = self._connector
        count, _, written = position.partition(":")
        self._read, self._memory = int(count or 0), self._remember(written)
        if self._safe is None:
            self._safe = self._read
        session = self._session = Session(one, self._name(stream), ahead=one.ahead, expiry=one.expiry)
        if not session.kept:
            self._memory.begin_session()
            if position:
                self.tell(
                    f"broker '{one.address}' forgot the session of this stream; messages that came while it was away "
                    "are lost"
                )
        session.subscribe(one.topic, retained=False)

    def _name(self, stream: str) -> str:
        return self._connector.address.options.get("client") or client_name(stream, self._connector.topic)

    def read(self, limit: int, wait: float) -> Received | None:
        """Return the next messages but for those that were read already."""
        session = self._session
        if session is None:
            raise BrokerGoneError("the connection was closed")
        full = len(self._unacknowledged) >= min(LEAST_WINDOW, self._connector.ahead)
        messages = session.next(limit, GLANCE if full and not self.stalled else wait)
        self.stalled = full and not messages
        payloads = [bytes(message.payload) for message in messages if self._is_new(message)]
        self._acknowledge_safe()
        return Received(payloads, self._position) if payloads else None

    @property
    def _position(self) -> str:
        return f"{self._read}:{self._memory.written}"

    def _is_new(self, message: MQTTMessage) -> bool:
        """Return whether a message counts, and remember it; one that does not is acknowledged with those before it."""
        from paho.mqtt.client import topic_matches_sub

        ours = topic_matches_sub(self._connector.topic, message.topic)  # else the session had another topic before
        key = self._memory.key(message) if ours else None
        new = key is not None and not self._memory.knows(message, key)
        if key is None and ours:
            self._tell_nameless()
        elif key is not None and new:
            self._read += 1
            if message.qos == ONCE or self._connector.id is not None:
                self._memory.keep(key, len(self._unacknowledged))
        if message.qos == ONCE:
            self._unacknowledged.append((self._read, message.mid))
        return new

    def _tell_nameless(self) -> None:
        """Say of messages without an id that they are left out; refuse a topic that begins with one."""
        one = self._connector
        if not self._read:
            raise InputError(
                f"broker '{one.address}': the first message has no user property '{one.id}'; name the one that tells "
                "messages apart"
            )
        self._nameless += 1
        if self._nameless & (self._nameless - 1) == 0:  # the first, and whenever they have doubled
            self.tell(
                f"broker '{one.address}': messages without the user property '{one.id}' left out: {self._nameless}"
            )

    def acknowledge(self, position: str) -> None:
        """Acknowledge what a checkpoint holds, in the order in which it came."""
        self._safe = int(position.partition(":")[0] or 0)
        self._acknowledge_safe()

    def _acknowledge_safe(self) -> None:
        waiting = self._unacknowledged
        while waiting and self._session is not None and waiting[0][0] <= (self._safe or 0):
            self._session.client.ack(waiting.popleft()[1], ONCE)

    def forget(self) -> None:
        """Let the broker forget the session."""
        session, self._session = self._session, None
        if session is not None:
            session.end()

    def close(self) -> None:
        """Let the connection go; the broker keeps the session."""
        if self._session is not None:
            self._session.close()
        self._session = None
        self._unacknowledged.clear()
        self.stalled = False
