"""One connection to an MQTT 5 broker, whose every failure is one of two: try again later, or one sentence for a person.

The client's own thread talks to the broker, and never connects again by itself: what was on its way belongs to the
connection that is gone.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError, MissingExtraError
from sfumato.stream.connectors.retry import BrokerGoneError
from sfumato.stream.connectors.secure import refuse_distrust

if TYPE_CHECKING:
    from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode

    from sfumato.stream.connectors.mqtt import MQTT

PORT, SECURE_PORT = 1883, 8883
PATIENCE = 10.0  # seconds for an answer
KEEP_ALIVE = 30
MOST_TOGETHER = 500
REFUSED = {0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C}  # the protocol, the client's name, the login, and what it may do
ONCE = 1  # the quality of service: at least once


class Session:
    """A connection under a name; what comes waits in `come` until somebody takes it."""

    def __init__(self, connector: MQTT, name: str, *, ahead: int, expiry: int) -> None:
        try:
            from paho.mqtt.client import Client, MQTTv5
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError as error:
            raise MissingExtraError("MQTT needs its client; pip install 'sfumato[mqtt]'") from error
        self._connector, self.address = connector, connector.address
        self.come: deque[MQTTMessage] = deque()
        self.kept = self.retains = False
        self._ahead, self._asking = ahead, False  # answers come behind messages: who waits for one must let them in
        self._gone, self._window = "", 1  # how many messages the broker takes before it has answered any
        self._turn = threading.Condition()
        self._answers: dict[int, Any] = {}
        self.client = Client(
            CallbackAPIVersion.VERSION2, name, protocol=MQTTv5, manual_ack=True, reconnect_on_failure=False
        )
        self.client.max_inflight_messages_set(MOST_TOGETHER)
        self._listen(self.client)
        self._connect(ahead, expiry)

    def _listen(self, client: Client) -> None:
        client.on_connect, client.on_disconnect = self._connected, self._disconnected
        client.on_message = self._take
        client.on_subscribe = client.on_unsubscribe = client.on_publish = self._answered
        password = self._connector.password
        if self.address.user or password:
            client.username_pw_set(self.address.user or "", password)
        tls = self._connector.tls
        if tls is not None:
            client.tls_set_context(tls)

    def _connect(self, ahead: int, expiry: int) -> None:
        asked = properties("CONNECT", SessionExpiryInterval=expiry, ReceiveMaximum=ahead)
        port = self.address.port or (PORT if self._connector.tls is None else SECURE_PORT)
        try:
            self.client.connect(self.address.host, port, KEEP_ALIVE, clean_start=False, properties=asked)
        except OSError as error:
            refuse_distrust(self.address, error)
            raise BrokerGoneError(error.strerror or str(error)) from error
        self.client.loop_start()
        try:
            self._refuse(self.wait(lambda: self._answers.pop(0, None)))
        except BaseException:
            self.close()
            raise

    def _refuse(self, code: ReasonCode) -> None:
        """Refuse what the broker does not let us do."""
        if code.value in REFUSED:
            raise InputError(
                f"broker '{self.address}' does not let us in ({code}); check the user and {self._connector.secret()}"
            )
        if code.is_failure:
            raise BrokerGoneError(str(code))

    def _connected(
        self, _client: Client, _data: object, flags: ConnectFlags, code: ReasonCode, about: Properties | None
    ) -> None:
        self.kept = flags.session_present
        self.retains = getattr(about, "RetainAvailable", 1) == 1
        self._window = min(MOST_TOGETHER, getattr(about, "ReceiveMaximum", MOST_TOGETHER))
        self._answer(0, code)

    def _disconnected(
        self, _client: Client, _data: object, _flags: DisconnectFlags, code: ReasonCode, _about: Properties | None
    ) -> None:
        with self._turn:
            self._gone = str(code) or "the connection was closed"
            self._turn.notify_all()

    def _take(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        """Keep what came; where nobody takes it, the broker is not listened to any more, whatever it was told."""
        with self._turn:
            self._turn.wait_for(lambda: self._asking or bool(self._gone) or len(self.come) < self._ahead)
            self.come.append(message)
            self._turn.notify_all()

    def _answered(self, _client: Client, _data: object, number: int, codes: Any, _about: Properties | None) -> None:
        self._answer(number, codes)

    def _answer(self, number: int, codes: Any) -> None:
        with self._turn:
            self._answers[number] = codes
            self._turn.notify_all()

    def wait(self, found: Callable[[], Any], limit: float = PATIENCE) -> Any:
        """Return what is found once something is, unless the connection is lost meanwhile."""
        with self._turn:
            self._asking = True
            self._turn.notify_all()
            self._turn.wait_for(lambda: self._keep(found) or bool(self._gone), limit)
            self._asking = False
            if self._found is None:  # what came before the connection was lost counts: it may say why
                raise BrokerGoneError(self._gone or f"no answer for {limit:g} seconds")
            return self._found

    def _keep(self, found: Callable[[], Any]) -> bool:
        self._found = found()
        return self._found is not None

    def next(self, limit: int, wait: float) -> list[MQTTMessage]:
        """Return the messages that are there, or the first that come within some seconds."""
        with self._turn:
            self._turn.wait_for(lambda: self._gone or self.come, wait)
            if self._gone:
                raise BrokerGoneError(self._gone)
            found = [self.come.popleft() for _ in range(min(limit, len(self.come)))]
            self._turn.notify_all()
            return found

    def subscribe(self, topic: str, *, retained: bool) -> None:
        """Ask for the messages of a topic, and for the one that is retained if that is wanted."""
        from paho.mqtt.subscribeoptions import SubscribeOptions

        options = SubscribeOptions(qos=ONCE, retainHandling=0 if retained else 2)
        code = self._asked(self.client.subscribe(topic, options=options))
        if code.is_failure:
            raise InputError(f"broker '{self.address}' does not let us read '{topic}' ({code}); check the rights")
        if code.value < ONCE:
            raise InputError(f"broker '{self.address}' gives '{topic}' unacknowledged (QoS 0): a crash loses some")

    def unsubscribe(self, topic: str) -> None:
        """Ask for no more of a topic."""
        self._asked(self.client.unsubscribe(topic))

    def _asked(self, sent: tuple[int, int | None]) -> ReasonCode:
        number = sent[1]
        if sent[0] or number is None:
            raise BrokerGoneError("the connection was closed")
        codes: ReasonCode | list[ReasonCode] = self.wait(lambda: self._answers.pop(number, None))
        return codes[0] if isinstance(codes, list) else codes

    def publish(self, topic: str, messages: Sequence[tuple[bytes, Properties]], limit: float) -> None:
        """Send retained messages in order, and wait until the broker has taken each."""
        for begin in range(0, len(messages), self._window):
            self._publish(topic, messages[begin : begin + self._window], limit)

    def _publish(self, topic: str, messages: Sequence[tuple[bytes, Properties]], limit: float) -> None:
        sent = [self.client.publish(topic, content, ONCE, retain=True, properties=about) for content, about in messages]
        numbers = [one.mid for one in sent]
        self.wait(lambda: all(number in self._answers for number in numbers) or None, limit)
        for code in [self._answers.pop(number) for number in numbers]:
            if code.value in REFUSED:
                raise InputError(f"broker '{self.address}' does not let us write ({code}); check the user's rights")
            if code.is_failure:
                raise BrokerGoneError(str(code))

    def end(self) -> None:
        """Let the connection go, and let the broker forget the session."""
        self._leave(properties("DISCONNECT", SessionExpiryInterval=0))

    def close(self) -> None:
        """Let the connection go."""
        self._leave(None)

    def _leave(self, about: Properties | None) -> None:
        with self._turn:
            self._gone = "the connection is closed"
            self._turn.notify_all()
        self.client.disconnect(properties=about)
        self.client.loop_stop()


def properties(packet: str, **given: Any) -> Properties:
    """Return the properties of a kind of packet.

    >>> properties("CONNECT", ReceiveMaximum=10).ReceiveMaximum
    10
    """
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    made = Properties(getattr(PacketTypes, packet))  # type: ignore[no-untyped-call]
    for name, value in given.items():
        setattr(made, name, value)
    return made


def client_name(*parts: str) -> str:
    """Return the name of a client, in the letters and the length that every broker takes (MQTT 5.0, section 3.1.3.1).

    >>> len(client_name("0123", "city/rides"))
    23
    """
    return "sfumato" + hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
