"""NATS JetStream: read by the numbers of messages, written so that each message follows one that it names.

Both are the server's own (NATS, "JetStream"): a stream numbers its messages as they come, and refuses one that does not
follow the one it says it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from sfumato.errors import ParameterError
from sfumato.stream.connectors.base import Address, Connector, MessageReader, MessageWriter
from sfumato.stream.connectors.secure import tls_context

if TYPE_CHECKING:
    import ssl

SECURE = "nats+tls"
WILD = frozenset("*>")


class JetStream(Connector):
    """Subjects of a NATS server that are stored in a stream.

    >>> JetStream(Address.read("nats://server/city.rides")).topic
    'city.rides'
    """

    name: ClassVar[str] = "nats"
    aliases: ClassVar[tuple[str, ...]] = (SECURE,)
    form: ClassVar[str] = "nats://[USER@]HOST[:PORT]/SUBJECT"
    words: ClassVar[str] = "A subject of NATS JetStream; nats+tls:// is TLS. Rows leave as numbered messages."
    options: ClassVar[Mapping[str, str]] = {
        "ca": "File with the certificates that the server's is checked with (nats+tls).",
        "cert": "File with our own certificate (nats+tls).",
        "key": "File with the key of our own certificate (nats+tls).",
    }

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        if not address.host or len(address.place) != 1 or any(letter.isspace() for letter in address.place[0]):
            raise ParameterError(f"address '{address}' names no subject of NATS; give {self.form}")

    @property
    def topic(self) -> str:
        return self.address.place[0]

    @property
    def tls(self) -> ssl.SSLContext | None:
        """How the connection is made safe; None where it is plain."""
        return tls_context(self.address) if self.address.scheme == SECURE else None

    def reader(self) -> MessageReader:
        from sfumato.stream.connectors.jetstream.reader import JetStreamReader

        return JetStreamReader(self)

    def writer(self) -> MessageWriter:
        from sfumato.stream.connectors.jetstream.writer import JetStreamWriter

        if WILD & set(self.topic):
            raise ParameterError(f"output '{self.address}': rows leave to one subject; leave * and > out")
        return JetStreamWriter(self)
