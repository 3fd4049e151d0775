"""MQTT 5: read in a session that the broker keeps, acknowledged message by message once a checkpoint holds it.

The standard (OASIS, MQTT 5.0, section 4.4) lets a broker give an unacknowledged message once more, under the packet
number it had, and says nothing about a broker that forgets what was acknowledged. So a record counts once where each
message has an id of its own (`?id=`); elsewhere only a promise to persons holds, since it bounds what they send.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from sfumato.errors import ParameterError
from sfumato.stream.connectors.base import Address, Connector, MessageReader, MessageWriter
from sfumato.stream.connectors.secure import tls_context

if TYPE_CHECKING:
    import ssl

SECURE = "mqtts"
WILD = frozenset("+#")
AHEAD, MOST_AHEAD = 1000, 30_000  # two windows of packet numbers fit into all there are, 65,535
REMEMBERED, MOST_REMEMBERED = 10_000, 1_000_000
WEEK, FOR_EVER = 7 * 24 * 3600, 0xFFFFFFFF


class MQTT(Connector):
    """Topics of an MQTT 5 broker.

    >>> MQTT(Address.read("mqtt://server/city/+/rides?id=number")).topic
    'city/+/rides'
    """

    name: ClassVar[str] = "mqtt"
    aliases: ClassVar[tuple[str, ...]] = (SECURE,)
    form: ClassVar[str] = "mqtt://[USER@]HOST[:PORT]/TOPIC"
    words: ClassVar[str] = (
        "A topic of an MQTT 5 broker; mqtts:// is TLS, and # is written %23. Rows leave as retained messages."
    )
    options: ClassVar[Mapping[str, str]] = {
        "id": "The user property that names a message, by which one that comes twice is counted once.",
        "remember": "How many ids are remembered; 10,000 unless given.",
        "client": "The name by which the broker knows us; one of the stream's own unless given.",
        "ahead": "How many messages the broker may send before any is acknowledged; 1,000 unless given.",
        "expiry": "For how many seconds the broker keeps messages for us while we are away; a week unless given.",
        "ca": "File with the certificates that the broker's is checked with (mqtts).",
        "cert": "File with our own certificate (mqtts).",
        "key": "File with the key of our own certificate (mqtts).",
    }

    replays: ClassVar[bool] = False

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        if not address.host or not address.place or address.fragment:
            raise ParameterError(f"address '{address}' names no topic of MQTT (# is written %23); give {self.form}")
        self.id = address.options.get("id")
        self.ahead = address.whole("ahead", AHEAD, MOST_AHEAD)
        self.remember = address.whole("remember", REMEMBERED, MOST_REMEMBERED)
        self.expiry = address.whole("expiry", WEEK, FOR_EVER)
        if self.id is None and "remember" in address.options:
            raise ParameterError(
                f"address '{address}': remember is for the ids of messages; name their property, ?id=NAME"
            )

    @property
    def topic(self) -> str:
        return "/".join(self.address.place)

    @property
    def repeats(self) -> str | None:
        """How a record may count twice; None where each message has an id."""
        if self.id is not None:
            return None
        return (
            "an MQTT broker may give a message twice, and nothing in it says so; name the user property that tells "
            "messages apart (?id=NAME)"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is taken for granted of messages: how they are told apart."""
        if self.id is None:
            return ()
        told = (
            f"A message counts once by its user property '{self.id}', among the last {self.remember:,}: no two "
            "messages share one, it does not depend on what a record says, and messages without one are left out."
        )
        return (told,)

    @property
    def tls(self) -> ssl.SSLContext | None:
        """How the connection is made safe; None where it is plain."""
        return tls_context(self.address) if self.address.scheme == SECURE else None

    def reader(self) -> MessageReader:
        from sfumato.stream.connectors.mqtt.reader import SessionReader

        return SessionReader(self)

    def writer(self) -> MessageWriter:
        from sfumato.stream.connectors.mqtt.writer import RetainedWriter

        if WILD & set(self.topic):
            raise ParameterError(f"output '{self.address}': rows leave to one topic; leave + and # out")
        return RetainedWriter(self)
