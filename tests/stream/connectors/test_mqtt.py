"""Streams of an MQTT broker: what a crash can do, what is recognised as a repeat, and which promises are refused."""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from kills import BROKERS
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from servers import Mosquitto, program

from sfumato.checks.connector_runs import Echo
from sfumato.errors import InputError, ParameterError
from sfumato.stream import build
from sfumato.stream.connectors.base import Message, MessageReader, MessageWriter
from sfumato.stream.connectors.mqtt.session import properties
from sfumato.stream.connectors.registry import find_connector
from sfumato.stream.connectors.retry import BrokerGoneError
from sfumato.stream.runtime.hooks import Hooks, Pace, StreamProgress
from sfumato.stream.runtime.job import Job, Outcome, publish
from sfumato.stream.screens.base import NumberScreen, OnBad

WAIT = 0.1


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    one = Mosquitto(tmp_path_factory.mktemp("mqtt"))
    one.start()
    yield one
    one.stop()


def address(server: Mosquitto, topic: str) -> str:
    return f"mqtt://127.0.0.1:{server.port}/{topic}"


def fill(
    server: Mosquitto,
    topic: str,
    numbers: Iterable[int],
    name: str | None = "number",
    *,
    largest: int = 100,
    wait: float = 10.0,
) -> bool:
    """Send records as a device does, and return whether the broker has all; each names its number by a property."""
    device = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
    device.max_inflight_messages_set(20)
    device.connect("127.0.0.1", server.port)
    device.loop_start()
    sent = [
        device.publish(
            topic,
            b'{"hours": %d, "rider": "r%d"}' % (number % largest, number % 10),
            1,
            properties=None if name is None else properties("PUBLISH", UserProperty=[(name, str(number))]),
        )
        for number in numbers
    ]
    for one in sent:
        one.wait_for_publish(wait)
        if not one.is_published():
            break
    device.disconnect()
    device.loop_stop()
    return all(one.is_published() for one in sent)


def reader(server: Mosquitto, topic: str, position: str = "", stream: str = "") -> MessageReader:
    one = find_connector(address(server, topic)).reader()
    one.open(stream or topic.replace("?", "-"), position)
    return one


def writer(server: Mosquitto, topic: str) -> tuple[MessageWriter, int]:
    one = find_connector(address(server, topic)).writer()
    return one, one.open("stream")


def drain(one: MessageReader, least: int) -> tuple[list[int], str]:
    """Return the hours of all that comes until nothing does, and the last position; wait long for the `least`."""
    found, position, silent, until = list[int](), "", 0, time.monotonic() + 10
    while silent < 2 or (len(found) < least and time.monotonic() < until):
        received = one.read(1000, WAIT)
        silent = silent + 1 if received is None else 0
        if received is not None:
            position = received.position
            found += [json.loads(content)["hours"] for content in received.payloads]
    return found, position


def read(one: MessageReader, count: int) -> list[bytes]:
    """Return so many messages, and acknowledge each when it was read."""
    found = list[bytes]()
    while len(found) < count:
        received = one.read(count - len(found), 5.0)
        assert received is not None
        found += received.payloads
        one.acknowledge(received.position)
    return found


def test_what_lies_in_a_checkpoint_and_was_not_acknowledged_counts_once(server: Mosquitto) -> None:
    first = reader(server, "once")
    fill(server, "once", range(20))
    hours, position = drain(first, 20)
    assert hours == list(range(20))
    first.close()  # the checkpoint was written, and we are killed before the acknowledgement
    second = reader(server, "once", position)
    fill(server, "once", range(20, 25))
    assert drain(second, 5)[0] == list(range(20, 25))
    second.forget()


def test_without_the_memory_of_packet_numbers_they_would_count_twice(server: Mosquitto) -> None:
    first = reader(server, "twice")
    fill(server, "twice", range(20))
    _, position = drain(first, 20)
    first.close()
    second = reader(server, "twice", position.partition(":")[0])
    assert drain(second, 20)[0] == list(range(20))
    second.forget()


def test_what_was_read_and_lies_in_no_checkpoint_comes_again_in_order(server: Mosquitto) -> None:
    first = reader(server, "again")
    fill(server, "again", range(10))
    _, position = drain(first, 10)
    first.acknowledge(position)
    fill(server, "again", range(10, 20))
    assert drain(first, 10)[0] == list(range(10, 20))
    first.close()
    second = reader(server, "again", position)
    assert drain(second, 10)[0] == list(range(10, 20))
    second.forget()


def test_the_acknowledgement_that_the_client_sends_by_itself_loses_them(server: Mosquitto) -> None:
    """The teeth of the test above: with it, what no checkpoint holds is gone."""
    first = reader(server, "lost")
    first._session.client.manual_ack_set(on=False)  # type: ignore[attr-defined]
    fill(server, "lost", range(10))
    assert drain(first, 10)[0] == list(range(10))
    first.close()
    second = reader(server, "lost")
    assert len(drain(second, 0)[0]) < 10
    second.forget()


def test_messages_beyond_the_window_wait_at_the_broker(server: Mosquitto) -> None:
    one = reader(server, "window?ahead=50")
    fill(server, "window", range(200))
    hours, position = drain(one, 50)
    assert len(hours) == 50
    assert one.stalled
    one.acknowledge(position)
    time.sleep(WAIT)
    assert len(one._session.come) <= 50  # type: ignore[attr-defined]  # though some versions send all of them now
    while len(hours) < 200:
        found = one.read(7, 1.0)
        assert found is not None
        hours += [json.loads(content)["hours"] for content in found.payloads]
        one.acknowledge(found.position)
    assert hours == [number % 100 for number in range(200)]
    one.forget()


def test_more_than_the_window_that_waits_for_us_does_not_keep_us_out(server: Mosquitto) -> None:
    one = reader(server, "behind?ahead=20")
    fill(server, "behind", range(60))
    hours, position = drain(one, 20)
    one.acknowledge(position)  # some versions now send all that is left
    time.sleep(WAIT)
    one.close()
    one = reader(server, "behind?ahead=20", position)
    assert hours + [json.loads(content)["hours"] for content in read(one, 60 - len(hours))] == list(range(60))
    one.forget()


def test_an_id_is_counted_once_however_often_it_comes(server: Mosquitto) -> None:
    one = reader(server, "named?id=number")
    fill(server, "named", range(10))
    fill(server, "named", range(5, 15))
    hours, position = drain(one, 15)
    assert hours == list(range(15))
    one.close()
    one = reader(server, "named?id=number", position)
    fill(server, "named", range(20))
    assert drain(one, 5)[0] == list(range(15, 20))
    one.forget()


def test_as_many_ids_as_declared_are_remembered(server: Mosquitto) -> None:
    one = reader(server, "few?id=number&remember=5")
    fill(server, "few", range(10))
    fill(server, "few", range(10))
    assert drain(one, 20)[0] == [*range(10), *range(10)]
    fill(server, "few", range(5, 10))
    assert drain(one, 0)[0] == []
    one.forget()


def test_messages_without_an_id_are_left_out_and_told_of(server: Mosquitto) -> None:
    one, told = reader(server, "nameless?id=number"), list[str]()
    one.tell = told.append
    fill(server, "nameless", range(2))
    fill(server, "nameless", range(2, 5), None)
    fill(server, "nameless", range(5, 6))
    assert drain(one, 3)[0] == [0, 1, 5]
    assert told[-1].endswith("messages without the user property 'number' left out: 2")
    one.forget()


def test_a_topic_without_ids_is_refused_where_an_id_is_declared(server: Mosquitto) -> None:
    one = reader(server, "anonymous?id=number")
    fill(server, "anonymous", range(1), None)
    with pytest.raises(InputError, match="the first message has no user property 'number'"):
        one.read(10, 1.0)
    one.forget()


def test_a_retained_message_of_before_is_no_record(server: Mosquitto) -> None:
    one, _ = writer(server, "retained")
    one.send([Message(b'{"hours": 1}', 1, 1)])
    one.close()
    other = reader(server, "retained")
    assert drain(other, 0)[0] == []
    other.forget()


def test_a_session_that_the_broker_forgot_is_told_of(server: Mosquitto) -> None:
    first = reader(server, "forgotten")
    fill(server, "forgotten", range(5))
    _, position = drain(first, 5)
    first.forget()
    second, told = find_connector(address(server, "forgotten")).reader(), list[str]()
    second.tell = told.append
    second.open("forgotten", position)
    assert "forgot the session of this stream" in told[0]
    fill(server, "forgotten", range(5, 10))
    assert drain(second, 5)[0] == list(range(5, 10))
    second.forget()


def test_rows_go_on_behind_the_retained_one(server: Mosquitto) -> None:
    one, rows = writer(server, "rows")
    assert rows == 0
    one.send([Message(b"%d" % end, 1, end) for end in range(1, 101)])
    one.close()
    one, rows = writer(server, "rows")
    assert rows == 100
    one.close()


def test_a_writer_that_was_killed_is_cut_off_by_the_one_that_follows_it(server: Mosquitto) -> None:
    old, _ = writer(server, "zombie")
    old.send([Message(b"1", 1, 1)])
    new, rows = writer(server, "zombie")
    assert rows == 1
    time.sleep(WAIT)
    with pytest.raises(BrokerGoneError):
        old.send([Message(b"2", 1, 2)])
    new.send([Message(b"2", 1, 2)])
    old.close()
    new.close()


def test_a_topic_of_somebody_else_is_refused(server: Mosquitto) -> None:
    device = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
    device.connect("127.0.0.1", server.port)
    device.loop_start()
    device.publish("theirs", b"x", 1, retain=True).wait_for_publish(10)
    device.disconnect()
    device.loop_stop()
    with pytest.raises(InputError, match="has a message of somebody else"):
        writer(server, "theirs")


def test_a_broker_that_is_killed_is_gone_and_goes_on_where_it_was(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = Mosquitto(tmp_path)
    request.addfinalizer(server.stop)
    server.start()
    one, (rows, _) = reader(server, "killed"), writer(server, "rows")
    fill(server, "killed", range(20))
    hours, position = drain(one, 20)
    assert hours == list(range(20))
    rows.send([Message(b"1", 1, 1)])
    server.kill()
    with pytest.raises(BrokerGoneError):
        one.read(100, 1.0)
    with pytest.raises(BrokerGoneError):
        rows.send([Message(b"2", 1, 2)])
    with pytest.raises(BrokerGoneError):
        one.open("killed", position)
    server.start()
    one.open("killed", position)
    fill(server, "killed", range(20, 30))
    assert drain(one, 10)[0] == list(range(20, 30))
    assert rows.open("stream") == 1
    one.forget()
    rows.close()


def test_a_password_is_asked_for_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "passwords").write_text("ana:geheim\n")
    subprocess.run([program("mosquitto_passwd"), "-U", str(tmp_path / "passwords")], check=True, capture_output=True)
    server = Mosquitto(tmp_path, "allow_anonymous false", f"password_file {tmp_path}/passwords")
    request.addfinalizer(server.stop)
    server.start()
    source = find_connector(f"mqtt://ana@127.0.0.1:{server.port}/rides")
    monkeypatch.setenv("SFUMATO_MQTT_PASSWORD", "falsch")
    with pytest.raises(InputError, match="does not let us in") as refused:
        source.reader().open("stream", "")
    assert "falsch" not in str(refused.value)
    assert "SFUMATO_MQTT_PASSWORD" in str(refused.value)
    monkeypatch.setenv("SFUMATO_MQTT_PASSWORD", "geheim")
    one = source.reader()
    one.open("stream", "")
    one.forget()


def run(folder: Path, source: str, target: str, until: int, person: str | None = None) -> Outcome:
    """Publish until so many records were read."""
    read = [0]

    def note(progress: StreamProgress) -> None:
        read[0] = progress.records

    hooks = Hooks(listen=note, stop=lambda: read[0] >= until)
    setup = build(
        "rank", ["hours"], bounds=(0, 100), delay=20, person=person, per_person=None if person is None else 50
    )
    return publish(source, target, setup, checkpoint=folder / "kept", card=folder / "card.json", hooks=hooks)


def test_a_promise_to_single_records_is_refused_without_ids(server: Mosquitto, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"give a message twice.*\?id=NAME.*--person"):
        run(tmp_path, address(server, "refused"), address(server, "refused-rows"), 1)


def test_a_promise_to_persons_stands_and_the_card_says_why(server: Mosquitto, tmp_path: Path) -> None:
    feed = reader(server, "persons?client=device")
    feed.close()
    fill(server, "persons", range(60))
    source = address(server, "persons?client=device")
    outcome = run(tmp_path, source, address(server, "person-rows"), 60, person="rider")
    assert outcome.progress.rows == 60
    assert any("may be counted twice" in line for line in outcome.card.assumptions)
    assert outcome.card.guarantee.unit.startswith("person")


def test_a_stream_with_ids_says_what_is_taken_for_granted_of_them(server: Mosquitto, tmp_path: Path) -> None:
    feed = reader(server, "ids?client=ids&id=number")
    feed.close()
    fill(server, "ids", range(60))
    source = address(server, "ids?client=ids&id=number")
    outcome = run(tmp_path, source, address(server, "id-rows"), 60)
    assert outcome.progress.rows == 60
    assert any("counts once by its user property 'number'" in line for line in outcome.card.assumptions)
    fill(server, "ids", range(100))  # sixty of them again
    assert run(tmp_path, source, address(server, "id-rows"), 100).progress.rows == 100


@pytest.mark.long
def test_a_broker_that_is_killed_at_random_makes_nothing_count_twice_and_what_is_lost_is_said(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A device sends again what it sent shortly before the broker went down, as the broker may have forgotten it."""
    server, moment, total, sent = Mosquitto(tmp_path), random.Random(7), 800, [0]  # noqa: S311  # no secret
    request.addfinalizer(server.stop)
    server.start()
    source = find_connector(address(server, "storm?id=number&client=storm"))
    reader(server, "storm?client=storm&id=number").close()  # from here on the broker keeps what comes

    def device() -> None:
        while sent[0] < total:
            numbers = range(max(0, sent[0] - 20), min(total, sent[0] + 20))
            with suppress(OSError, RuntimeError):  # the client says either where the broker goes down
                sent[0] += 20 * fill(server, "storm", numbers, largest=total, wait=0.3)

    def storm() -> None:
        begun.wait(60)  # a stream that has not begun would refuse a broker that is down
        for _ in range(BROKERS["mqtt"]):
            time.sleep(moment.uniform(0.2, 0.6))
            server.kill()
            kills.append(sent[0])
            server.start()

    kills, said, read, begun = list[int](), list[str](), [0, time.monotonic()], threading.Event()

    def note(progress: StreamProgress) -> None:
        begun.set()
        if progress.records > read[0]:
            read[:] = progress.records, time.monotonic()

    def over() -> bool:
        return not any(one.is_alive() for one in threads) and (read[0] >= total or time.monotonic() > read[1] + 5)

    threads = [threading.Thread(target=step) for step in (device, storm)]
    for one in threads:
        one.start()
    hooks = Hooks(say=said.append, tell=said.append, listen=note, stop=over)
    screen = NumberScreen({"hours": (0.0, 1e6)}, OnBad.read("clamp"))
    places = tmp_path / "out.csv", Echo(), screen, tmp_path / "kept", tmp_path / "card.json"
    Job(source, *places, pace=Pace(40, 0.0)).run(hooks)
    numbers = [float(line.split(",")[0]) for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert len(kills) == BROKERS["mqtt"]
    assert len(set(numbers)) == len(numbers)
    assert len(numbers) >= total - 8 or any("are lost" in sentence for sentence in said)


@pytest.mark.parametrize("address", ["mqtt://server", "mqtt://server/a/#b", "mqtt://server/a?remember=5"])
def test_an_address_that_means_nothing_is_refused(address: str) -> None:
    with pytest.raises(ParameterError):
        find_connector(address)


def test_rows_leave_to_one_topic() -> None:
    with pytest.raises(ParameterError, match="rows leave to one topic"):
        find_connector("mqtt://server/a/%23").writer()
