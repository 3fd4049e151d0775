"""Our connectors pass the conformance suite on servers of their own, which are killed too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kills import BROKERS, GOAL, STREAMS
from live import LiveMosquitto, LiveNats, LivePostgres, LiveRedis
from servers import Mosquitto, NatsServer, PostgresServer, RedisServer

from sfumato import plugins
from sfumato.checks import LiveBroker, connector_checks
from sfumato.stream.connectors.base import Connector

LIVE = ["mqtt", "nats", "postgresql", "redis"]  # NAME of a connector: its fixture below is `NAME_broker`
ELSEWHERE = ["kafka"]  # in a module of its own, whose broker takes seconds to start


class Anywhere:
    """No broker: for the names of the checks alone."""

    can_kill = True


def names(connector: str) -> list[str]:
    kills, broker_kills = STREAMS[connector], BROKERS[connector]
    checks = connector_checks(Connector, Anywhere(), kills=kills, broker_kills=broker_kills)  # type: ignore[arg-type]
    return [check.name for check in checks]


NAMES = [(name, check) for name in LIVE for check in names(name)]


@pytest.fixture(scope="module")
def redis_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveBroker]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield LiveRedis(server)
    server.stop()


@pytest.fixture(scope="module")
def postgresql_broker() -> Iterator[LiveBroker]:
    server = PostgresServer()
    server.start()
    yield LivePostgres(server)
    server.stop()


@pytest.fixture(scope="module")
def nats_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveBroker]:
    server = NatsServer(tmp_path_factory.mktemp("nats"))
    server.start()
    yield LiveNats(server)
    server.stop()


@pytest.fixture(scope="module")
def mqtt_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveBroker]:
    server = Mosquitto(tmp_path_factory.mktemp("mqtt"), lasting=False)
    server.start()
    yield LiveMosquitto(server)
    server.stop()


@pytest.mark.long
@pytest.mark.parametrize("name, check", NAMES)
def test_a_connector_conforms(name: str, check: str, request: pytest.FixtureRequest) -> None:
    kind = plugins.find("connectors", name, Connector)
    broker: LiveBroker = request.getfixturevalue(f"{name}_broker")
    checks = connector_checks(kind, broker, kills=STREAMS[name], broker_kills=BROKERS[name])
    found = next((one for one in checks if one.name == check), None)
    assert found is not None or not broker.can_kill
    if found is not None:
        found.run()


def test_every_connector_of_ours_is_tried_on_a_server() -> None:
    ours = {
        name
        for name in plugins.names("connectors")
        if plugins.find("connectors", name, Connector).__module__.startswith("sfumato.")
    }
    assert ours == {*LIVE, *ELSEWHERE} == set(STREAMS) == set(BROKERS)


def test_streams_and_brokers_are_killed_often_enough_in_all() -> None:
    assert sum(STREAMS.values()) + sum(BROKERS.values()) >= GOAL
