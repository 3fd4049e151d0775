"""Reads a topic of Kafka from a position of our own: the offset of the next record in each partition.

Kafka keeps an order within a partition alone (Kreps, Narkhede & Rao 2011). Records of several partitions are taken in
the order in which they arrive here. After a restart they may arrive in another order, which nobody can compare: what
lies behind a checkpoint was read by this process alone, and nothing of it has left. The consumer group is for lag to be
seen; nothing is assigned by it, so no other member takes partitions away.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from sfumato.errors import InputError
from sfumato.stream.connectors.base import Connector, MessageReader, Received
from sfumato.stream.connectors.kafka.client import PATIENCE, KafkaClient, load_client
from sfumato.stream.connectors.retry import BrokerGoneError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, TopicPartition

GROUP = "sfumato-"
LOOK = 30.0  # seconds between two looks at whether the topic has more partitions
AHEAD, AHEAD_KILOBYTES = 50_000, 64_000  # records and memory that the client reads ahead, per partition and in all
AT_ONCE = 1 << 14  # messages that are taken from the client at once: more of them cost more each
SETTINGS = {
    "queued.min.messages": AHEAD,
    "queued.max.messages.kbytes": AHEAD_KILOBYTES,
    "fetch.queue.backoff.ms": 2,  # a second, unless said, in which a fast reader waits for nothing
    "max.poll.interval.ms": 86_400_000,  # a slow sink is no reason to be given up
}


class Offsets(msgspec.Struct, frozen=True, array_like=True):
    """Where reading goes on: the topic's id, and by partition the offset of the next record, None before the first.

    >>> Offsets.read('["Ng",[15,null]]').text
    '["Ng",[15,null]]'
    """

    ident: str = ""
    following: list[int | None] = []

    @classmethod
    def read(cls, text: str) -> Offsets:
        """Return the offsets that a text tells."""
        return msgspec.json.decode(text, type=cls) if text else cls()

    @property
    def text(self) -> str:
        """How they stand in a checkpoint."""
        return msgspec.json.encode(self).decode()

    def among(self, partitions: int) -> list[int | None]:
        """Return the offsets of so many partitions; those that came later are read from their beginning."""
        return [*self.following, *[None] * (partitions - len(self.following))]


class TopicReader(MessageReader):
    """Reads all partitions of a topic."""

    def __init__(self, connector: Connector) -> None:
        self._connector, self._client = connector, KafkaClient(connector)
        self._ident, self._following = "", list[int | None]()
        self._consumer: Consumer | None = None
        self._looked = 0.0

    def open(self, stream: str, position: str) -> None:
        self.close()
        at, shape = Offsets.read(position), self._client.describe()
        if at.ident not in {"", shape.ident}:
            raise InputError(
                f"input '{self._connector.address}' was deleted and made anew since this checkpoint; begin another "
                "stream, with another checkpoint"
            )
        self._ident, self._following = shape.ident, at.among(shape.partitions)
        group = self._connector.address.options.get("group") or GROUP + stream
        with self._client.sentences("is read"):
            self._consumer = self._client.consumer({**SETTINGS, "group.id": group})
            self._consumer.assign(self._places(0))
        self._looked = time.monotonic()

    def _places(self, first: int) -> list[TopicPartition]:
        """Return where the partitions from number `first` on are read from."""
        kafka, topic = load_client(), self._connector.topic
        following = enumerate(self._following[first:], first)
        return [
            kafka.TopicPartition(topic, part, kafka.OFFSET_BEGINNING if at is None else at) for part, at in following
        ]

    @property
    def _open_consumer(self) -> Consumer:
        if self._consumer is None:
            raise BrokerGoneError("the connection is closed")
        return self._consumer

    def read(self, limit: int, wait: float) -> Received | None:
        consumer = self._open_consumer
        with self._client.sentences("is read"):
            found = consumer.consume(1, wait)
            if not found:
                self._client.refuse_gone("is read")
            elif limit > 1:
                found += consumer.consume(min(limit, AT_ONCE) - 1, 0.0)
                self._client.hear_nothing()
        for message in found:
            if (error := message.error()) is not None:
                raise self._client.told(error, "is read")
        self._look_for_partitions()
        if not found:
            return None
        for part, offset in {message.partition(): message.offset() for message in found}.items():
            self._following[part or 0] = (offset or 0) + 1
        payloads = [message.value() or b"" for message in found]
        return Received(payloads, Offsets(self._ident, self._following).text)

    def _look_for_partitions(self) -> None:
        """Read partitions too that the topic was given meanwhile."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked, known = time.monotonic(), len(self._following)
        with self._client.sentences("is read"):
            about = self._open_consumer.list_topics(self._connector.topic, PATIENCE)
            self._following += [None] * (len(about.topics[self._connector.topic].partitions) - known)
            if len(self._following) > known:
                self._open_consumer.incremental_assign(self._places(known))

    def acknowledge(self, position: str) -> None:
        kafka, topic = load_client(), self._connector.topic
        following = enumerate(Offsets.read(position).following)
        offsets = [kafka.TopicPartition(topic, part, at) for part, at in following if at is not None]
        if offsets:
            with self._client.sentences("is read"):
                self._open_consumer.commit(offsets=offsets, asynchronous=True)

    def close(self) -> None:
        if self._consumer is not None:
            with suppress(Exception):
                self._consumer.close()
            self._consumer = None
