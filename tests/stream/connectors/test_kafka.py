"""Topics of a real Kafka broker: what leaves, once and in order, and what is refused, in one sentence each."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest
from authority import ELSEWHERE, HOST
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from flips import say
from kafka_server import PASSWORD, PATIENCE, USER, KafkaServer
from kills import BROKERS, STREAMS

from sfumato.checks import connector_checks
from sfumato.checks.connector_runs import run_stream
from sfumato.errors import InputError, ParameterError
from sfumato.stream import build
from sfumato.stream.connectors.base import Message, MessageReader, MessageWriter, Received
from sfumato.stream.connectors.kafka import Kafka
from sfumato.stream.connectors.kafka import reader as reading
from sfumato.stream.connectors.kafka.client import broker_settings
from sfumato.stream.connectors.kafka.reader import TopicReader
from sfumato.stream.connectors.registry import find_connector
from sfumato.stream.connectors.retry import BrokerGoneError
from sfumato.stream.runtime.hooks import Hooks, StreamProgress
from sfumato.stream.runtime.job import Outcome, publish

RECORDS = 3000
KILLS, BROKER_KILLS = STREAMS["kafka"], BROKERS["kafka"]
OPTIONS = ["--column", "hours", "--bounds", "0", "100", "--publisher", "rank", "--delay", "20"]
STREAM, OTHER = "a1b2", "c3d4"
NUMBERS = count()
Result = TypeVar("Result")


class Anywhere:
    """No broker: for the names of the checks alone."""

    can_kill = True


CHECKS = [check.name for check in connector_checks(Kafka, Anywhere(), kills=KILLS, broker_kills=BROKER_KILLS)]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    one = KafkaServer(tmp_path_factory.mktemp("kafka"))
    one.start()
    yield one
    one.stop()


@pytest.fixture
def topic(server: KafkaServer) -> str:
    """Return a new topic of one partition."""
    name = f"topic-{next(NUMBERS)}"
    server.create(name)
    return name


@pytest.fixture
def output(server: KafkaServer) -> str:
    """Return a new topic of one partition to write to."""
    name = f"output-{next(NUMBERS)}"
    server.create(name)
    return name


def reader(server: KafkaServer, topic: str, position: str = "") -> MessageReader:
    one = find_connector(server.place(topic)).reader()
    one.open(STREAM, position)
    return one


def writer(server: KafkaServer, topic: str, stream: str = STREAM) -> tuple[MessageWriter, int]:
    one = find_connector(server.place(topic)).writer()
    return one, one.open(stream)


def patiently(step: Callable[[], Result]) -> Result:
    """Return what a step gives once the broker is back."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return step()
        except BrokerGoneError:
            assert time.monotonic() < until


def rows(begin: int, end: int) -> list[Message]:
    return [Message(b"row %d" % number, 1, number + 1) for number in range(begin, end)]


def taken(one: MessageReader, messages: int, limit: int = 1000) -> tuple[list[bytes], str]:
    """Return so many payloads, and the position behind them."""
    found: list[bytes] = []
    position, until = "", time.monotonic() + 20
    while len(found) < messages:
        assert time.monotonic() < until, f"{len(found)} of {messages} messages came"
        if (received := one.read(limit, 0.2)) is not None:
            found += received.payloads
            position = received.position
    return found, position


def run(folder: Path, source: str, target: str, until: int) -> Outcome:
    """Publish until so many records were read."""
    read = [0]

    def note(progress: StreamProgress) -> None:
        read[0] = progress.records

    hooks = Hooks(listen=note, stop=lambda: read[0] >= until)
    setup = build("rank", ["hours"], bounds=(0, 100), delay=100)
    return publish(source, target, setup, checkpoint=folder / "kept", card=folder / "card.json", hooks=hooks)


def hours(records: int) -> list[bytes | None]:
    return [b'{"hours": %d}' % (number % 100) for number in range(records)]


@pytest.mark.long
@pytest.mark.parametrize("name", CHECKS)
def test_kafka_conforms(server: KafkaServer, name: str) -> None:
    checks = connector_checks(Kafka, server, kills=KILLS, broker_kills=BROKER_KILLS)
    (one,) = (check for check in checks if check.name == name)
    one.run()


@pytest.mark.long
def test_rows_leave_once_and_in_order_through_a_stop(
    server: KafkaServer, topic: str, output: str, tmp_path: Path
) -> None:
    server.fill(topic, hours(RECORDS))
    run(tmp_path, server.place(topic), server.place(output), RECORDS)
    server.fill(topic, hours(RECORDS))
    outcome = run(tmp_path, server.place(topic), server.place(output), 2 * RECORDS)
    assert [json.loads(row)["seq"] for row in server.read(output)] == list(range(2 * RECORDS))
    assert outcome.progress.rows == 2 * RECORDS
    assert json.loads((tmp_path / "card.json").read_text())["released"]["rows"] == 2 * RECORDS


@pytest.mark.long
def test_each_partition_keeps_its_order_and_a_later_one_is_read_too(
    server: KafkaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = f"topic-{next(NUMBERS)}"
    server.create(topic, 3)
    for part in range(3):
        server.fill(topic, [b"%d %d" % (part, number) for number in range(500)], part)
    one = reader(server, topic)
    first, position = taken(one, 700, limit=70)
    one.close()
    one = reader(server, topic, position)
    rest, _ = taken(one, 1500 - len(first), limit=70)
    found = [payload.split() for payload in first + rest]
    for part in range(3):
        assert [int(number) for which, number in found if int(which) == part] == list(range(500))
    monkeypatch.setattr(reading, "LOOK", 0.0)
    server.create(topic, 4)
    server.fill(topic, [b"3 0"], 3)
    assert taken(one, 1)[0] == [b"3 0"]
    one.close()


def two_partitions(server: KafkaServer, records: int) -> Callable[[], str]:
    """Return a step that appends so many numbered records, half of them to each of two partitions of one topic."""
    topic, numbers = f"topic-{next(NUMBERS)}", count()
    server.create(topic, 2)

    def fill() -> str:
        for part in range(2):
            server.fill(topic, [b'{"value": %d}' % next(numbers) for _ in range(records // 2)], part)
        return server.place(topic)

    return fill


@pytest.mark.long
def test_records_of_two_partitions_leave_once_each_in_the_order_of_its_partition(
    server: KafkaServer, output: str, tmp_path: Path
) -> None:
    fill = two_partitions(server, 400)
    for number in range(1, 4):
        source = find_connector(fill())
        run_stream(source, find_connector(server.place(output)), tmp_path, 400 * number)
    values = [json.loads(row)["value"] for row in server.read(output)]
    assert sorted(values) == list(range(1200))
    for part in range(2):
        of_part = [value for value in values if value // 200 % 2 == part]
        assert of_part == sorted(of_part)


@pytest.mark.long
def test_an_older_checkpoint_is_refused_where_records_arrive_in_another_order(
    server: KafkaServer, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = two_partitions(server, 80)
    source, target, kept = find_connector(fill()), find_connector(server.place(output)), tmp_path / "kept"
    run_stream(source, target, tmp_path, 80)
    shutil.copytree(kept, tmp_path / "older")
    fill()
    run_stream(source, target, tmp_path, 160)
    before = server.read(output)
    assert len(before) == 160
    shutil.rmtree(kept)
    shutil.move(tmp_path / "older", kept)
    read = TopicReader.read

    def otherwise(one: TopicReader, limit: int, wait: float) -> Received | None:
        found = read(one, limit, wait)
        return found and Received(found.payloads[::-1], found.position)

    monkeypatch.setattr(TopicReader, "read", otherwise)
    with pytest.raises(InputError, match="has another row number 80 than this stream releases again"):
        run_stream(source, target, tmp_path, 160)
    assert server.read(output) == before


@pytest.mark.long
def test_only_committed_records_are_read_and_a_broken_one_keeps_its_place(server: KafkaServer, topic: str) -> None:
    other, _ = writer(server, topic, OTHER)
    other.send(rows(0, 2))
    other._producer.begin_transaction()  # type: ignore[attr-defined]
    other._producer.produce(topic, b"never committed")  # type: ignore[attr-defined]
    other._producer.flush(10)  # type: ignore[attr-defined]
    other._producer.abort_transaction()  # type: ignore[attr-defined]
    server.fill(topic, [None, b"two\nlines"])
    one = reader(server, topic)
    assert taken(one, 4)[0] == [b"row 0", b"row 1", b"", b"two\nlines"]
    one.close()
    other.close()


@pytest.mark.long
def test_what_is_acknowledged_shows_as_the_groups_offset(server: KafkaServer, topic: str) -> None:
    server.fill(topic, hours(10))
    one = reader(server, topic)
    _, position = taken(one, 10)
    one.acknowledge(position)
    group = Consumer({"bootstrap.servers": server.host, "group.id": f"sfumato-{STREAM}"})
    offset, tries = -1, 0
    while offset < 0 and tries < 100:  # the broker is told beside the stream
        offset, tries = group.committed([TopicPartition(topic, 0)], 10)[0].offset, tries + 1
    assert offset == 10
    group.close()
    one.close()


@pytest.mark.long
def test_a_transaction_that_a_crash_left_open_left_nothing(server: KafkaServer, output: str) -> None:
    one, there = writer(server, output)
    assert there == 0
    one.send(rows(0, 5))
    producer = one._producer  # type: ignore[attr-defined]
    producer.begin_transaction()
    producer.produce(output, b"row 5", key=f"{STREAM}/6")
    producer.flush(10)
    second, there = writer(server, output)  # as after a crash
    assert there == 5
    second.send(rows(5, 8))
    with pytest.raises(KafkaException, match="fenced by a newer instance"):
        producer.commit_transaction(10)
    assert server.read(output) == [b"row %d" % number for number in range(8)]
    assert second.read_back(2, 4) == [(3, b"row 2"), (4, b"row 3")]
    third, there = writer(server, output)
    assert there == 8
    with pytest.raises(InputError, match="another process writes this stream now"):
        second.send(rows(8, 9))
    for each in (one, second, third):
        each.close()


@pytest.mark.long
def test_a_message_that_the_broker_does_not_take_is_refused_and_nothing_of_its_transaction_left(
    server: KafkaServer, output: str
) -> None:
    one, _ = writer(server, output)
    with pytest.raises(InputError, match=r"takes no message that long; give \?records= a smaller number"):
        one.send([*rows(0, 2), Message(b"x" * 2_000_000, 1, 3)])
    one.close()
    one, there = writer(server, output)
    assert there == 0
    one.send(rows(0, 3))
    assert server.read(output) == [b"row 0", b"row 1", b"row 2"]
    one.close()


@pytest.mark.long
def test_how_far_the_rows_are_is_known_by_the_group_or_by_the_last_row(server: KafkaServer, output: str) -> None:
    one, _ = writer(server, output)
    for begin in range(0, 40, 4):
        one.send(rows(begin, begin + 4))
    one.close()
    admin = AdminClient({"bootstrap.servers": server.host})
    admin.delete_consumer_groups([f"sfumato-rows-{STREAM}"])[f"sfumato-rows-{STREAM}"].result(30)
    one, there = writer(server, output)
    assert there == 40
    one.send(rows(40, 44))
    one.close()
    admin.delete_records([TopicPartition(output, 0, -1)])[TopicPartition(output, 0)].result(30)  # all that is there
    assert server.read(output) == []
    one, there = writer(server, output)
    assert there == 44
    with pytest.raises(InputError, match="no longer has row number 40"):
        one.read_back(40, 44)
    one.close()
    server.delete(output)
    server.create(output)
    one, there = writer(server, output)
    assert there == 0  # rows that went with a topic are not said to lie in the new one
    one.close()


@pytest.mark.long
def test_records_that_the_broker_deleted_unread_are_not_passed_over(server: KafkaServer, topic: str) -> None:
    server.fill(topic, hours(10))
    one = reader(server, topic)
    _, position = taken(one, 5, limit=5)
    one.close()
    admin = AdminClient({"bootstrap.servers": server.host})
    admin.delete_records([TopicPartition(topic, 0, 8)])[TopicPartition(topic, 0)].result(30)
    one = reader(server, topic, position)
    with pytest.raises(InputError, match="no longer has the records behind this checkpoint"):
        taken(one, 1)
    one.close()
    server.delete(topic)
    server.create(topic)
    with pytest.raises(InputError, match="was deleted and made anew"):
        reader(server, topic, position)


@pytest.mark.long
def test_what_cannot_be_is_refused_in_one_sentence_and_nothing_is_left(
    server: KafkaServer, topic: str, output: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server.fill(topic, hours(10))
    server.create("three", 3)
    server.fill("three", [b"mine"])
    before = {name: server.read(name) for name in (topic, output, "three")}
    wrong: list[tuple[str, str, str]] = [
        (server.place("nowhere"), server.place(output), f"'kafka://{server.host}/nowhere' has no topic 'nowhere'"),
        (server.place(topic), server.place("nowhere"), "has no topic 'nowhere'; check the name"),
        (server.place(topic), server.place("three"), "has 3 partitions, and rows keep their order in one alone"),
        (server.place("three"), server.place(topic), "has messages that are not of this stream; choose another"),
        ("kafka://127.0.0.1:1/rides", server.place(output), "cannot be reached: Connection refused"),
        (f"kafkas://127.0.0.1:{server.port}/{topic}", server.place(output), "cannot be reached: .*PLAINTEXT"),
    ]
    for source, target, sentence in wrong:
        with pytest.raises(InputError, match=sentence) as refused:
            run(tmp_path, source, target, 10)
        assert "\n" not in str(refused.value)
        assert not (tmp_path / "kept" / "checkpoint").exists()
    assert {name: server.read(name) for name in before} == before
    assert capfd.readouterr().err == ""  # librdkafka says nothing of itself


@pytest.mark.long
@pytest.mark.parametrize("user, password", [(USER, "open barley"), ("thief", PASSWORD)])
def test_a_login_that_is_refused_is_told_and_the_password_is_not(
    server: KafkaServer,
    topic: str,
    user: str,
    password: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    server.fill(topic, [b"one"])
    address = f"kafka://{user}@127.0.0.1:{server.guarded_port}/{topic}"
    monkeypatch.setenv("SFUMATO_KAFKA_PASSWORD", password)
    with pytest.raises(InputError, match="refuses the login; check the user and SFUMATO_KAFKA_PASSWORD") as refused:
        find_connector(address).reader().open(STREAM, "")
    assert password not in str(refused.value)
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("SFUMATO_KAFKA_PASSWORD", PASSWORD)
    one = find_connector(address.replace(user, USER)).reader()
    one.open(STREAM, "")
    assert taken(one, 1)[0] == [b"one"]
    one.close()


@pytest.mark.long
def test_records_come_and_rows_leave_by_tls_and_scram_and_what_is_wrong_is_told(
    server: KafkaServer,
    topic: str,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def place(name: str, ca: Path, host: str = HOST, user: str = USER) -> str:
        options = f"mechanism=SCRAM-SHA-512&ca={ca}"
        return f"kafkas://{user}@{host}:{server.secure_port}/{name}?{options}"

    ca, stranger = server.authority.ca, server.authority.stranger
    server.fill(topic, hours(200))
    monkeypatch.setenv("SFUMATO_KAFKA_PASSWORD", PASSWORD)
    (tmp_path / "right").mkdir()
    run(tmp_path / "right", place(topic, ca), place(output, ca), 200)
    assert len(server.read(output)) == 200
    plain = place(topic, ca).replace("kafkas", "kafka").partition("&ca")[0]
    wrong = {
        place(topic, stranger): "is not trusted",
        place(topic, ca, ELSEWHERE): "is not trusted",
        place(topic, ca, user="thief"): "refuses the login",
        (unguarded := f"kafkas://{server.host}/{topic}?ca={ca}"): "cannot be reached",
        plain: "cannot be reached",
    }
    for address, sentence in wrong.items():
        said = say("stream", address, "-o", f"{tmp_path}/out.csv", *OPTIONS, "--checkpoint", f"{tmp_path}/wrong")
        assert said.code == (75 if address in {plain, unguarded} else 2), said.err
        assert sentence in said.err
        assert said.err.count("\n") == 1
        assert PASSWORD not in said.err
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "address, sentence",
    [
        ("kafka://server", "names no Kafka topic"),
        ("kafka://server/two/parts", "names no Kafka topic"),
        ("kafka:///rides", "names no Kafka topic"),
        ("kafka://ana@server/rides", "would send the password readably"),
        ("kafka://ana@server/rides?mechanism=GSSAPI", "mechanism is 'GSSAPI'; give PLAIN, SCRAM-SHA-256"),
        ("kafkas://server/rides?ca=nowhere.pem", "there is no file 'nowhere.pem'"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_before_anything_is_connected(address: str, sentence: str) -> None:
    with pytest.raises((InputError, ParameterError), match=sentence):
        find_connector(address)


@pytest.mark.long
def test_a_broker_that_dies_is_noticed_and_both_sides_go_on(server: KafkaServer, topic: str, output: str) -> None:
    server.fill(topic, hours(10))
    one, (other, _) = reader(server, topic), writer(server, output)
    _, position = taken(one, 10)
    other.send(rows(0, 5))
    server.kill()
    gone: list[Callable[[], object]] = [lambda: taken(one, 1), lambda: other.send(rows(5, 6))]
    for step in gone:
        with pytest.raises(BrokerGoneError):
            step()
    one.close()
    other.close()
    server.start()
    server.fill(topic, [b"later"])
    one = patiently(lambda: reader(server, topic, position))
    assert taken(one, 1)[0] == [b"later"]
    assert patiently(lambda: other.open(STREAM)) == 5
    other.send(rows(5, 8))
    assert server.read(output) == [b"row %d" % number for number in range(8)]
    one.close()
    other.close()


def test_a_password_goes_to_nobody_who_was_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KAFKA_PASSWORD", "geheim")
    assert "geheim" not in str(broker_settings(find_connector("kafka://server/rides")))
    assert "geheim" in str(broker_settings(find_connector("kafkas://ana@server/rides")))
