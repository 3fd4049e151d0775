"""Servers of the tests as the conformance suite needs them: fresh topics, a producer and a consumer of their own."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import nats
import psycopg
import redis
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.subscribeoptions import SubscribeOptions
from psycopg import sql
from psycopg.rows import TupleRow
from servers import Mosquitto, NatsServer, PostgresServer, RedisServer

from sfumato.stream.connectors.mqtt.session import properties

NUMBERS = itertools.count(1)  # of topics, each of which is used once


class LiveRedis:
    """Streams of a Redis server."""

    can_kill = True

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def _client(self) -> redis.Redis:
        return redis.Redis(port=self._server.port, protocol=2)

    def fresh(self, *, read: bool = True) -> str:
        name = f"topic{next(NUMBERS)}"
        if read:
            with self._client() as client:
                client.xadd(name, {"m": b"x"}, id="1-1")
                client.xdel(name, "1-1")
        return f"redis://127.0.0.1:{self._server.port}/{name}"

    def put(self, address: str, payloads: Sequence[bytes]) -> None:
        with self._client() as client, client.pipeline() as pipeline:
            for payload in payloads:
                pipeline.xadd(address.rpartition("/")[2], {"m": payload})
            pipeline.execute()

    def take(self, address: str) -> list[bytes]:
        with self._client() as client:
            found = client.xrange(address.rpartition("/")[2])
        assert found is not None
        return [fields[b"rows"] for _, fields in found]

    def kill(self) -> None:
        self._server.kill()

    def start(self) -> None:
        self._server.start()


def _table(address: str) -> sql.Identifier:
    return sql.Identifier(address.rpartition("#")[2])


class LivePostgres:
    """Tables of a PostgreSQL server."""

    can_kill = True

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    def _connect(self) -> psycopg.Connection[TupleRow]:
        return psycopg.connect(
            host="127.0.0.1", port=self._server.port, user="sfumato", dbname="postgres", autocommit=True
        )

    def fresh(self, *, read: bool = True) -> str:
        name = f"topic{next(NUMBERS)}"
        if read:
            with self._connect() as connection:
                connection.execute(
                    f"CREATE TABLE {name} (id bigint GENERATED ALWAYS AS IDENTITY, xid xid8 NOT NULL "
                    "DEFAULT pg_current_xact_id(), payload bytea NOT NULL)"
                )
        return f"postgresql://sfumato@127.0.0.1:{self._server.port}/postgres#{name}"

    def put(self, address: str, payloads: Sequence[bytes]) -> None:
        insert = sql.SQL("INSERT INTO {} (payload) SELECT * FROM unnest(%s::bytea[])").format(_table(address))
        with self._connect() as connection:
            connection.execute(insert, [list(payloads)])

    def take(self, address: str) -> list[bytes]:
        with self._connect() as connection:
            select = sql.SQL("SELECT rows FROM {} ORDER BY number").format(_table(address))
            found = connection.execute(select).fetchall()
        return [row[0].encode() for row in found]

    def kill(self) -> None:
        self._server.kill()

    def start(self) -> None:
        self._server.start()


class LiveNats:
    """Subjects of a NATS server, each with a stream of its own."""

    can_kill = True

    def __init__(self, server: NatsServer) -> None:
        self._server, self._made = server, 0

    def _run(self, work: Callable[[JetStreamContext], Coroutine[Any, Any, Any]]) -> Any:
        async def connected() -> Any:
            client = await nats.connect(f"nats://127.0.0.1:{self._server.port}")
            try:
                return await work(client.jetstream(timeout=20))
            finally:
                await client.close()

        return asyncio.run(connected())

    def fresh(self, *, read: bool = True) -> str:
        self._made += 1
        name = f"topic{self._made}"
        if read:
            self._run(lambda streams: streams.add_stream(name=name, subjects=[name]))
        return f"nats://127.0.0.1:{self._server.port}/{name}"

    def put(self, address: str, payloads: Sequence[bytes]) -> None:
        async def put(streams: JetStreamContext) -> None:
            sent = [await streams.publish_async(address.rpartition("/")[2], payload) for payload in payloads]
            await asyncio.gather(*sent)

        self._run(put)

    def take(self, address: str) -> list[bytes]:
        async def take(streams: JetStreamContext) -> list[bytes]:
            name = address.rpartition("/")[2]
            due = (await streams.stream_info(name)).state.messages
            found = list[bytes]()
            if due:
                reader = await streams.pull_subscribe(
                    name, stream=name, config=ConsumerConfig(ack_policy=AckPolicy.NONE)
                )
                while len(found) < due:
                    found += [message.data for message in await reader.fetch(1000)]
            return found

        taken: list[bytes] = self._run(take)
        return taken

    def kill(self) -> None:
        self._server.kill()

    def start(self) -> None:
        self._server.start()


class LiveMosquitto:
    """Topics of a Mosquitto broker, read by a session that drops rows whose number it had, as a reader should.

    It is not killed here: what it has acknowledged it writes to the disk a moment later.
    """

    can_kill = False

    def __init__(self, server: Mosquitto) -> None:
        self._server, self._made = server, 0
        self._taken: dict[str, dict[int, bytes]] = {}

    def _client(self, name: str) -> Client:
        client = Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTv5)
        client.max_inflight_messages_set(20)
        client.connect("127.0.0.1", self._server.port, clean_start=False, properties=_lasting())
        return client

    def fresh(self, *, read: bool = True) -> str:
        self._made += 1
        name = f"topic{self._made}"
        if not read:
            self._taken[name] = {}
            self._collect(name)
        return f"mqtt://127.0.0.1:{self._server.port}/{name}"

    def put(self, address: str, payloads: Sequence[bytes]) -> None:
        client = self._client("device")
        client.loop_start()
        for sent in [client.publish(address.rpartition("/")[2], payload, 1) for payload in payloads]:
            sent.wait_for_publish(20)
        client.disconnect()
        client.loop_stop()

    def take(self, address: str) -> list[bytes]:
        name = address.rpartition("/")[2]
        self._collect(name)
        return [payload for _, payload in sorted(self._taken[name].items())]

    def _collect(self, name: str) -> None:
        taken, client, last = self._taken[name], self._client(f"reader-{name}"), [time.monotonic()]

        def note(_client: Client, _data: object, message: Any) -> None:
            number = int(dict(message.properties.UserProperty)["sfumato-rows"])
            assert taken.setdefault(number, message.payload) == message.payload
            last[0] = time.monotonic()

        client.on_message = note
        client.subscribe(name, options=SubscribeOptions(qos=1))
        client.loop_start()
        while time.monotonic() < last[0] + 0.3:
            time.sleep(0.01)
        client.disconnect()
        client.loop_stop()

    def kill(self) -> None:
        self._server.kill()

    def start(self) -> None:
        self._server.start()


def _lasting() -> Any:
    return properties("CONNECT", SessionExpiryInterval=3600)
