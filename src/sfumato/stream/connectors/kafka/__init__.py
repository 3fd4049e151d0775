"""Kafka as a source and a sink: positions of our own for reading, transactions for writing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sfumato.errors import ParameterError
from sfumato.stream.connectors.base import Address, Connector, MessageReader, MessageWriter
from sfumato.stream.connectors.kafka.client import MECHANISMS, broker_settings
from sfumato.stream.connectors.kafka.reader import TopicReader
from sfumato.stream.connectors.kafka.writer import TransactionWriter


class Kafka(Connector):
    """Topics of a Kafka cluster.

    >>> Kafka(Address.read("kafka://server/rides")).topic
    'rides'
    >>> Kafka(Address.read("kafka://ana@server/rides"))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: address 'kafka://server/rides' would send the password readably; give kafkas://, or \
?mechanism=SCRAM-SHA-512
    """

    name: ClassVar[str] = "kafka"
    aliases: ClassVar[tuple[str, ...]] = ("kafkas",)
    form: ClassVar[str] = "kafka://[USER@]HOST[:PORT]/TOPIC"
    words: ClassVar[str] = "A Kafka topic; kafkas:// is TLS. Rows leave in transactions: read committed messages only."
    options: ClassVar[Mapping[str, str]] = {
        "mechanism": f"How the user logs in: {', '.join(MECHANISMS)}; the first one unless given.",
        "group": "The consumer group that shows how far a topic was read; one of the stream's own unless given.",
        "ca": "File with the certificates that the broker's is checked with (kafkas).",
        "cert": "File with our own certificate (kafkas).",
        "key": "File with the key of our own certificate (kafkas).",
    }

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        if not address.host or len(address.place) != 1:
            raise ParameterError(f"address '{address}' names no Kafka topic; give {self.form}")
        broker_settings(self)  # what cannot be meant is refused before anything is connected

    @property
    def topic(self) -> str:
        return self.address.place[0]

    def reader(self) -> MessageReader:
        return TopicReader(self)

    def writer(self) -> MessageWriter:
        return TransactionWriter(self)
