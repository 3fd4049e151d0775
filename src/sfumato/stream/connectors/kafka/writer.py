"""Writes the rows of a stream into a topic of Kafka by transactions, each with the number of rows up to its end.

Rows and number become visible together or not at all (Wang et al. 2021, "Consistency and completeness: rethinking
distributed stream processing in Apache Kafka"), so after a crash the broker itself says which rows it has. The
transactional id is the stream's: whoever opens it fences everybody who wrote it before. Readers must read committed
messages only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError
from sfumato.stream.connectors.base import Connector, Message, MessageWriter
from sfumato.stream.connectors.kafka.client import PATIENCE, KafkaClient, load_client
from sfumato.stream.connectors.retry import BrokerGoneError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka import Message as Taken

NAME = "sfumato-rows-"  # of the transactional id, and of the group whose offset counts the rows
SETTINGS = {
    "acks": "all",
    "linger.ms": 5,
    "queue.buffering.max.messages": 200_000,
    "transaction.timeout.ms": 60_000,
}
AT_ONCE = 10_000


class TransactionWriter(MessageWriter):
    """Writes messages whose keys are the stream's id and the number of the row they end with."""

    def __init__(self, connector: Connector) -> None:
        self._connector, self._client = connector, KafkaClient(connector)
        self._stream = ""
        self._producer: Producer | None = None
        self._onlooker: Consumer | None = None

    def open(self, stream: str) -> int:
        self.close()
        self._stream, shape = stream, self._client.describe()
        if shape.partitions != 1:
            raise InputError(
                f"output '{self._connector.address}' has {shape.partitions} partitions, and rows keep their order in "
                "one alone; give a topic of one partition"
            )
        with self._client.sentences("is written"):
            self._onlooker = self._client.consumer(
                {"group.id": NAME + stream, "enable.partition.eof": True, "fetch.wait.max.ms": 10}
            )
            self._producer = self._client.producer({**SETTINGS, "transactional.id": NAME + stream})
            self._producer.init_transactions(PATIENCE)
            return max(self._counted(), self._last_row())

    def _counted(self) -> int:
        """Return how many rows the last transaction counted; 0 where there was none, or the broker has forgotten it."""
        kafka = load_client()
        place = kafka.TopicPartition(self._connector.topic, 0)
        found = self._looker.committed([place], PATIENCE)[0]
        if found.error is not None:
            raise kafka.KafkaException(found.error)
        return max(0, found.offset)

    def _last_row(self) -> int:
        """Return the number of the last row that lies there; messages of anybody else are refused."""
        place = load_client().TopicPartition(self._connector.topic, 0)
        low, high = self._looker.get_watermark_offsets(place, PATIENCE)
        back, begin = 2, high
        while begin > low:  # marks of transactions take offsets too, so the last message may lie further back
            begin = max(low, high - back)
            last = deque(self._messages(begin), maxlen=1)
            if last:
                return self._end_of(last[0])
            back *= 8
        return 0

    def _end_of(self, message: Taken[Any, Any]) -> int:
        """Return the number that a message ends with."""
        stream, _, end = (message.key() or b"").decode(errors="replace").rpartition("/")
        if stream != self._stream or not end.isdecimal():
            raise InputError(
                f"output '{self._connector.address}' has messages that are not of this stream; choose another topic"
            )
        return int(end)

    def _messages(self, begin: int) -> Iterator[Taken[Any, Any]]:
        """Yield the committed messages from an offset to the end of the topic as it is now."""
        kafka = load_client()
        self._looker.assign([kafka.TopicPartition(self._connector.topic, 0, begin)])
        try:
            while True:
                found = self._looker.consume(1, PATIENCE)
                found += self._looker.consume(AT_ONCE, 0.0)
                if not found:
                    raise BrokerGoneError("no answer")
                for message in found:
                    error = message.error()
                    if error is None:
                        yield message
                    elif error.name() == "_PARTITION_EOF":
                        return
                    else:
                        raise self._client.told(error, "is read")
        finally:
            self._looker.unassign()

    @property
    def _looker(self) -> Consumer:
        if self._onlooker is None:
            raise BrokerGoneError("the connection is closed")
        return self._onlooker

    def send(self, messages: Sequence[Message]) -> None:
        producer, topic = self._producer, self._connector.topic
        if producer is None:
            raise BrokerGoneError("the connection is closed")
        kafka, stream = load_client(), self._stream
        rows = kafka.TopicPartition(topic, 0, messages[-1].end)
        producer.poll(0)  # hears what failed since
        self._client.refuse_gone("is written")
        with self._client.sentences("is written"):
            producer.begin_transaction()
            taken = [{"value": one.payload, "key": f"{stream}/{one.end}"} for one in messages]
            if producer.produce_batch(topic, taken, partition=0) != len(taken):
                raise kafka.KafkaException(next(one["_error"] for one in taken if "_error" in one))
            producer.send_offsets_to_transaction([rows], self._looker.consumer_group_metadata(), PATIENCE)
            producer.commit_transaction(PATIENCE)

    def read_back(self, begin: int, end: int) -> Sequence[tuple[int, bytes]]:
        found, whole = [], False
        with self._client.sentences("is read"):
            place = load_client().TopicPartition(self._connector.topic, 0)
            low, _ = self._looker.get_watermark_offsets(place, PATIENCE)
            for message in self._messages(max(low, begin // self._connector.records)):
                last = self._end_of(message)
                whole = whole or last <= begin
                if last > begin:
                    found.append((last, message.value() or b""))
                if last >= end:
                    break
        if low and not whole:
            raise InputError(
                f"output '{self._connector.address}' no longer has row number {begin}, which this stream releases "
                "again and must compare; begin another stream, with another checkpoint and another topic"
            )
        return found

    def close(self) -> None:
        if self._producer is not None:
            with suppress(Exception):
                self._producer.purge()
            self._producer = None  # what was begun is undone by whoever opens the stream next
        if self._onlooker is not None:
            with suppress(Exception):
                self._onlooker.close()
            self._onlooker = None
