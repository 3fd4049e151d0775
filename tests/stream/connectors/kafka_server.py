"""A Kafka broker for tests: one KRaft node on loopback from the jars of `kafka_jars.xml`, with a guarded door."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from authority import Authority
from servers import Server, free_port

if TYPE_CHECKING:
    from confluent_kafka import Message

FETCH = "mvn -q -f tests/stream/connectors/kafka_jars.xml dependency:copy-dependencies"
NO_KAFKA = f"needs a Kafka broker: Java 17, and the jars that `{FETCH}` brings"
USER, PASSWORD = "steward", "open sesame"
PATIENCE = 60.0
JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
SCRAM = f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{control}
listeners=OPEN://127.0.0.1:{open},GUARDED://127.0.0.1:{guarded},SECURE://localhost:{secure},CONTROL://127.0.0.1:{control}
listener.security.protocol.map=OPEN:PLAINTEXT,GUARDED:SASL_PLAINTEXT,SECURE:SASL_SSL,CONTROL:PLAINTEXT
controller.listener.names=CONTROL
inter.broker.listener.name=OPEN
listener.name.guarded.sasl.enabled.mechanisms=PLAIN
listener.name.secure.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secure.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secure.ssl.keystore.type=PEM
listener.name.secure.ssl.keystore.location={authority}
listener.name.guarded.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
log.dirs={folder}/data
auto.create.topics.enable=false
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
"""


def kafka_jars() -> Path:
    """Return the folder of a broker's jars; without it the test is skipped, and fails where Kafka is required."""
    folder = Path(os.environ.get("SFUMATO_KAFKA_JARS") or Path.home() / ".cache" / "sfumato-kafka")
    if not any(folder.glob("kafka_2.13-*.jar")) or shutil.which("java") is None:
        pytest.skip(NO_KAFKA)
    return folder


class KafkaServer(Server):
    """One broker that keeps its topics through a kill, with topics to fill and look into."""

    can_kill = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._made = 0
        self._jars, self.guarded_port, self.secure_port = kafka_jars(), free_port(), free_port()
        self.authority = Authority(folder / "authority")
        ports = {"open": self.port, "guarded": self.guarded_port, "secure": self.secure_port, "control": free_port()}
        self._settings = folder / "server.properties"
        self._settings.write_text(
            SETTINGS.format(**ports, folder=folder, authority=self.authority.both, user=USER, password=PASSWORD)
        )
        formatting = self._java("kafka.tools.StorageTool", "format", "-t", "c2Z1bWF0by1mb3ItdGVzdA", "-S", SCRAM, "-c")
        subprocess.run([*formatting, str(self._settings)], check=True, capture_output=True)

    def command(self) -> list[str]:
        return [*self._java("kafka.Kafka"), str(self._settings)]

    def _java(self, name: str, *arguments: str) -> list[str]:
        return [*JAVA, QUIET, "-cp", f"{self._jars}/*", name, *arguments]

    def answers(self) -> bool:
        if not super().answers():
            return False
        try:
            return bool(self._admin().list_topics(timeout=1).brokers)
        except Exception:  # noqa: BLE001  # not yet
            return False

    @property
    def host(self) -> str:
        """Where clients reach it without a password."""
        return f"127.0.0.1:{self.port}"

    def place(self, topic: str) -> str:
        """Return the address of a topic."""
        return f"kafka://{self.host}/{topic}"

    def create(self, topic: str, partitions: int = 1) -> None:
        """Make a topic, or give one that is there more partitions."""
        from confluent_kafka.cimpl import NewPartitions, NewTopic

        admin = self._admin()  # which must live until the answer has come
        if topic in admin.list_topics(timeout=PATIENCE).topics:
            admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(PATIENCE)
        else:
            admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(PATIENCE)

    def delete(self, topic: str) -> None:
        """Take a topic away."""
        admin = self._admin()
        admin.delete_topics([topic])[topic].result(PATIENCE)
        until = time.monotonic() + PATIENCE
        while topic in admin.list_topics(timeout=PATIENCE).topics:
            assert time.monotonic() < until

    def fill(self, topic: str, payloads: Iterable[bytes | None], partition: int = 0) -> None:
        """Append messages to a partition."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.host, "queue.buffering.max.messages": 2_000_000, "linger.ms": 5})
        messages = [{"value": payload} for payload in payloads]
        assert producer.produce_batch(topic, messages, partition=partition) == len(messages)
        assert producer.flush(PATIENCE) == 0

    def messages(self, topic: str) -> list[Message[Any, Any]]:
        """Return the committed messages of a topic's first partition."""
        from confluent_kafka import Consumer, TopicPartition

        settings = {"group.id": "onlooker", "enable.partition.eof": True, "enable.auto.commit": False}
        consumer, found = Consumer({"bootstrap.servers": self.host, **settings}), []
        consumer.assign([TopicPartition(topic, 0, 0)])
        until, ended = time.monotonic() + PATIENCE, False
        while not ended:
            assert time.monotonic() < until
            taken = consumer.consume(10_000, 0.05)
            found += [message for message in taken if message.error() is None]
            ended = any(message.error() is not None for message in taken)  # the end of the partition
        consumer.close()
        return found

    def read(self, topic: str) -> list[bytes]:
        """Return what the committed messages of a topic's first partition say."""
        return [message.value() or b"" for message in self.messages(topic)]

    def rows(self, topic: str) -> int:
        """Return how many rows of a stream have left into a topic, as the transactions count them."""
        admin, found = self._admin(), 0
        for group in admin.list_consumer_groups().result(PATIENCE).valid:
            if group.group_id.startswith("sfumato-rows-"):
                found = max(found, self._counted(group.group_id, topic))
        return found

    def _counted(self, group: str, topic: str) -> int:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.host, "group.id": group})
        offset: int = consumer.committed([TopicPartition(topic, 0)], PATIENCE)[0].offset
        consumer.close()
        return offset

    def fresh(self, *, read: bool = True) -> str:
        """Return the address of a new topic; one that is written must be there too."""
        del read
        self._made += 1
        self.create(f"topic{self._made}")
        return self.place(f"topic{self._made}")

    def put(self, address: str, payloads: Sequence[bytes]) -> None:
        """Append messages to the topic of an address."""
        self.fill(address.rpartition("/")[2], payloads)

    def take(self, address: str) -> list[bytes]:
        """Return what lies committed in the topic of an address."""
        return self.read(address.rpartition("/")[2])

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.host, "log_level": 0})
