"""Streams from topic to topic at the command line, the broker beside, against its bare client copying the records."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from measure import NotMeasuredError, Part, Row, once

if TYPE_CHECKING:
    from kafka_server import KafkaServer
    from servers import NatsServer, RedisServer

GOAL = 100_000  # records a second
AT_ONCE = 1 << 12
SERVERS = Path(__file__).parents[1] / "tests" / "stream" / "connectors"
WINDOW = 1000
OPTIONS = ["--column", "hours", "--publisher", "rank", "--bounds", "0", "60000", "--delay", str(WINDOW)]
LIMIT = 300.0  # seconds after which a stream counts as stuck


@dataclass(frozen=True)
class Load:
    """How many records go through, how many of them stand in each message, and whether the goal speaks of it."""

    records: int
    together: int = 1
    aimed: bool = True

    @property
    def payloads(self) -> list[bytes]:
        """Messages of records of JSON, about 33 bytes each."""
        draw = np.random.default_rng(1).integers(0, 60000, self.records).tolist()
        lines = [b'{"drive":"MJ%05d","hours":%d}' % (number % 977, hours) for number, hours in enumerate(draw)]
        return [b"\n".join(lines[start : start + self.together]) for start in range(0, self.records, self.together)]

    @property
    def rows(self) -> int:
        """How many rows leave, all windows being whole."""
        return self.records // WINDOW * WINDOW


class Broker(Protocol):
    """A broker that runs, its topics `in`, `out` and `copy`, and its bare client."""

    name: str

    def fill(self, payloads: Sequence[bytes]) -> None: ...
    def address(self, topic: str) -> str: ...
    def copy(self, messages: int) -> None: ...
    def left(self) -> int: ...


def through(broker: Broker, load: Load) -> list[Row]:
    """Return the speed of the command from its start until the last row has left, and its time against a bare copy."""
    payloads = load.payloads
    broker.fill(payloads)
    bare = once(partial(broker.copy, len(payloads)))
    ours = once(partial(_stream, broker, load))
    name = f"{broker.name}: stream of {load.records:,} records of JSON, {load.together} to a message, broker beside"
    speed, goal = load.records / ours, 1 if load.aimed else None
    return [
        Row(name, f"{speed:,.0f} records/s", f"goal, {GOAL:,} records/s", speed / GOAL, goal, at_most=False),
        Row(f"{name}, bare client", f"{ours:.1f} s", f"copy alone, {bare:.1f} s", ours / bare, None, at_most=True),
    ]


def _stream(broker: Broker, load: Load) -> None:
    with tempfile.TemporaryDirectory() as folder:
        places = [f"{broker.address('in')}?records={load.together}", "-o"]
        places += [f"{broker.address('out')}?records={load.together}"]
        kept = ["--checkpoint", f"{folder}/kept", "--card", f"{folder}/card.json"]
        command = [sys.executable, "-m", "sfumato", "stream", *places, *OPTIONS, *kept]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + LIMIT
        while broker.left() < load.rows:
            if running.poll() is not None or time.monotonic() > until:
                running.kill()
                raise NotMeasuredError(f"{broker.left():,} of {load.rows:,} rows left")
            time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        running.wait()


def on_server(kind: str, module: str, broker: Callable[[Any], Broker], load: Load) -> Iterable[Row]:
    """Return the rows of a broker on a server of the tests, which is started and stopped."""
    import pytest

    sys.path.append(str(SERVERS))
    try:
        with tempfile.TemporaryDirectory() as folder:
            server = getattr(__import__(module), kind)(Path(folder))
            server.start()
            try:
                return through(broker(server), load)
            finally:
                server.stop()
    except pytest.skip.Exception as reason:
        raise NotMeasuredError(str(reason)) from None
    finally:
        sys.path.remove(str(SERVERS))


class KafkaTopics:
    """A Kafka broker and confluent-kafka's consumer and producer."""

    name = "Kafka"

    def __init__(self, server: KafkaServer) -> None:
        self._server, self._host = server, {"bootstrap.servers": server.host}
        for topic in ("in", "out", "copy"):
            server.create(topic)

    def fill(self, payloads: Sequence[bytes]) -> None:
        self._server.fill("in", payloads)

    def address(self, topic: str) -> str:
        return self._server.place(topic)

    def copy(self, messages: int) -> None:
        from confluent_kafka import Consumer, Producer, TopicPartition

        fast = {"queued.min.messages": 50_000, "fetch.queue.backoff.ms": 2}  # as ours reads
        consumer = Consumer({**self._host, "group.id": "copy", "enable.auto.commit": False, **fast})
        consumer.assign([TopicPartition("in", 0, 0)])
        producer = Producer({**self._host, "linger.ms": 5, "queue.buffering.max.messages": messages})
        copied = 0
        while copied < messages:
            taken = [{"value": one.value()} for one in consumer.consume(AT_ONCE, 0.2)]
            if producer.produce_batch("copy", taken, partition=0) < len(taken):
                raise NotMeasuredError("the bare client's queue is full")
            copied += len(taken)
        producer.flush()
        consumer.close()

    def left(self) -> int:
        return self._server.rows("out")


class RedisEntries:
    """A Redis server and redis-py; each of its writes is on the disk before it answers."""

    name = "Redis"

    def __init__(self, server: RedisServer) -> None:
        import redis

        self._port, self._client = server.port, redis.Redis(port=server.port)

    def fill(self, payloads: Sequence[bytes]) -> None:
        for start in range(0, len(payloads), AT_ONCE):
            self._add("in", payloads[start : start + AT_ONCE])

    def _add(self, stream: str, payloads: Sequence[bytes]) -> None:
        with self._client.pipeline(transaction=False) as pipe:
            for payload in payloads:
                pipe.xadd(stream, {"data": payload})
            pipe.execute()

    def address(self, topic: str) -> str:
        return f"redis://127.0.0.1:{self._port}/{topic}"

    def copy(self, messages: int) -> None:
        last, copied = b"0-0", 0
        while copied < messages:
            reply: Any = self._client.xread({"in": last}, count=AT_ONCE)
            ((_, entries),) = reply
            self._add("copy", [fields[b"data"] for _, fields in entries])
            last, copied = entries[-1][0], copied + len(entries)

    def left(self) -> int:
        newest: Any = self._client.xrevrange("out", count=1)
        return int(newest[0][0].split(b"-")[0]) if newest else 0


class NatsSubjects:
    """A NATS server with JetStream and nats-py."""

    name = "NATS"

    def __init__(self, server: NatsServer) -> None:
        self._url = f"nats://127.0.0.1:{server.port}"

    def fill(self, payloads: Sequence[bytes]) -> None:
        asyncio.run(self._fill(payloads))

    def address(self, topic: str) -> str:
        return f"{self._url}/{topic}"

    def copy(self, messages: int) -> None:
        asyncio.run(self._copy(messages))

    def left(self) -> int:
        return asyncio.run(self._left())

    async def _fill(self, payloads: Sequence[bytes]) -> None:
        import nats

        client = await nats.connect(self._url)
        streams = client.jetstream(timeout=30)
        for name in ("in", "copy"):
            await streams.add_stream(name=name, subjects=[name])
        for number, message in enumerate(payloads):
            await client.publish("in", message)
            if number % 1000 == 0:
                await client.flush()
        await client.flush()
        stored = (await streams.stream_info("in")).state.messages
        await client.close()
        if stored < len(payloads):
            raise NotMeasuredError(f"the server has {stored:,} of {len(payloads):,} messages")

    async def _copy(self, messages: int) -> None:
        import nats
        from nats.js.api import AckPolicy, ConsumerConfig

        client = await nats.connect(self._url)
        streams = client.jetstream(timeout=30)
        reader = await streams.pull_subscribe("in", stream="in", config=ConsumerConfig(ack_policy=AckPolicy.NONE))
        copied = 0
        while copied < messages:
            taken = await reader.fetch(AT_ONCE)
            await asyncio.gather(*[await streams.publish_async("copy", one.data) for one in taken])
            copied += len(taken)
        await client.close()

    async def _left(self) -> int:
        import nats
        from nats.js.errors import NotFoundError

        client = await nats.connect(self._url)
        try:
            last = await client.jetstream(timeout=30).get_last_msg("out", "out")
        except NotFoundError:
            return 0
        finally:
            await client.close()
        return int((last.headers or {})["Nats-Msg-Id"].rpartition(":")[2])


MANY, FEW = 2_000_000, 200_000
KAFKA = ("KafkaServer", "kafka_server", KafkaTopics)
REDIS = ("RedisServer", "servers", RedisEntries)
NATS = ("NatsServer", "servers", NatsSubjects)
PARTS = (
    Part("a stream through Kafka", partial(on_server, *KAFKA, Load(MANY))),
    Part("a stream through Redis", partial(on_server, *REDIS, Load(MANY, 100))),
    Part("a stream through Redis, a record to a message", partial(on_server, *REDIS, Load(FEW, aimed=False))),
    Part("a stream through NATS", partial(on_server, *NATS, Load(MANY, 100))),
    Part("a stream through NATS, a record to a message", partial(on_server, *NATS, Load(FEW, aimed=False))),
)
