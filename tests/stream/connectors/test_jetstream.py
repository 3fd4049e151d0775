"""Streams of a NATS server: each row once whatever was killed, and what the server cannot promise is refused."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.api import RetentionPolicy, StreamConfig
from servers import NatsServer

from sfumato.errors import InputError, ParameterError
from sfumato.stream import build
from sfumato.stream.connectors.base import Message, MessageReader, MessageWriter
from sfumato.stream.connectors.registry import find_connector
from sfumato.stream.connectors.retry import BrokerGoneError
from sfumato.stream.runtime.hooks import Hooks, StreamProgress
from sfumato.stream.runtime.job import Outcome, publish

RECORDS = 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    one = NatsServer(tmp_path_factory.mktemp("nats"))
    one.start()
    yield one
    one.stop()


class Client:
    """What a test does at the server, each time over a connection of its own."""

    def __init__(self, server: NatsServer) -> None:
        self.server = server

    def address(self, subject: str) -> str:
        return f"nats://127.0.0.1:{self.server.port}/{subject}"

    def reader(self, subject: str, position: str = "") -> MessageReader:
        one = find_connector(self.address(subject)).reader()
        one.open("stream", position)
        return one

    def writer(self, subject: str) -> tuple[MessageWriter, int]:
        one = find_connector(self.address(subject)).writer()
        return one, one.open("stream")

    def run(self, work: Any) -> Any:
        async def connected() -> Any:
            client = await nats.connect(f"nats://127.0.0.1:{self.server.port}")
            try:
                return await work(client.jetstream())
            finally:
                await client.close()

        return asyncio.run(connected())

    def add(self, subject: str, **about: Any) -> None:
        name = subject.replace(".", "_").replace(">", "all")
        self.run(lambda streams: streams.add_stream(StreamConfig(name=name, subjects=[subject], **about)))

    def fill(self, subject: str, records: int = RECORDS) -> None:
        async def fill(streams: JetStreamContext) -> None:
            for number in range(records):
                await streams.publish(subject, b'{"hours": %d}' % (number % 100))

        self.run(fill)

    def rows(self, subject: str) -> list[tuple[str, bytes]]:
        """Return the id and the content of each message of a stream with one subject."""

        async def read(streams: JetStreamContext) -> list[tuple[str, bytes]]:
            name = await streams.find_stream_name_by_subject(subject)
            state = (await streams.stream_info(name)).state
            found = [await streams.get_msg(name, number) for number in range(state.first_seq, state.last_seq + 1)]
            return [((one.headers or {})["Nats-Msg-Id"], one.data or b"") for one in found]

        result: list[tuple[str, bytes]] = self.run(read)
        return result


@pytest.fixture
def client(server: NatsServer) -> Client:
    return Client(server)


def stream(folder: Path, source: str, target: str, until: int) -> Outcome:
    """Publish until so many records were read."""
    read = [0]

    def note(progress: StreamProgress) -> None:
        read[0] = progress.records

    hooks = Hooks(listen=note, stop=lambda: read[0] >= until)
    setup = build("rank", ["hours"], bounds=(0, 100), delay=100)
    return publish(source, target, setup, checkpoint=folder / "kept", card=folder / "card.json", hooks=hooks)


def messages(first: int, last: int) -> Sequence[Message]:
    return [Message(b"%d" % number, 1, number) for number in range(first, last + 1)]


def read(reader: MessageReader, count: int) -> tuple[list[bytes], str]:
    """Return so many messages and the position behind them."""
    found, position = list[bytes](), ""
    while len(found) < count:
        received = reader.read(count - len(found), 5.0)
        assert received is not None
        found += received.payloads
        position = received.position
    return found, position


def test_rows_leave_once_with_ids_that_count_them_through_a_stop(client: Client, tmp_path: Path) -> None:
    client.add("rides")
    client.fill("rides")
    stream(tmp_path, client.address("rides"), client.address("released"), RECORDS)
    client.fill("rides", 500)
    outcome = stream(tmp_path, client.address("rides"), client.address("released"), RECORDS + 500)
    ids = [name.partition(":") for name, _ in client.rows("released")]
    assert [int(number) for _, _, number in ids] == list(range(1, RECORDS + 501))
    assert len({whose for whose, _, _ in ids}) == 1
    assert outcome.progress.rows == RECORDS + 500


def test_the_server_hears_of_what_a_checkpoint_holds_and_of_nothing_else(client: Client) -> None:
    client.add("heard")
    client.fill("heard", 20)
    reader = client.reader("heard")
    (_, first), _ = read(reader, 10), read(reader, 10)

    def floor() -> int:
        info = client.run(lambda streams: streams.consumer_info("heard", "sfumato-stream"))
        return int(info.ack_floor.stream_seq)

    assert floor() == 0
    reader.acknowledge(first)
    assert floor() == 10
    reader.close()


def test_what_was_read_and_lies_in_no_checkpoint_comes_again_in_order(client: Client) -> None:
    client.add("again")
    client.fill("again", 30)
    reader = client.reader("again")
    (_, kept), (lost, _) = read(reader, 10), read(reader, 10)
    reader.close()
    reader = client.reader("again", kept)
    found, _ = read(reader, 20)
    reader.close()
    assert found == [b'{"hours": %d}' % number for number in range(10, 30)]
    assert lost == found[:10]


def test_a_replay_is_recognised_after_the_server_forgot_the_ids(client: Client) -> None:
    for subject in ("late", "bare"):
        client.add(subject, duplicate_window=0.1)
        writer, rows = client.writer(subject)
        assert rows == 0
        writer.send(messages(1, 300))
        writer.close()
    time.sleep(0.3)
    client.run(lambda streams: streams.publish("bare", b"1", headers={"Nats-Msg-Id": "stream:1"}))
    assert len(client.rows("bare")) == 301, "the window is over: ids alone do not refuse a replay"
    writer, rows = client.writer("late")
    assert rows == 300
    assert writer.read_back(298, 300) == [(299, b"299"), (300, b"300")]
    writer.close()


def test_a_subject_whose_last_message_was_deleted_is_not_taken_for_empty(client: Client) -> None:
    writer, _ = client.writer("erased")
    writer.send(messages(1, 5))
    writer.close()
    client.run(lambda streams: streams.delete_msg("erased", 5))
    try:
        _, rows = client.writer("erased")
    except InputError as error:
        assert "does not find the last one" in str(error)  # noqa: PT017  # what a server says here depends on its version
    else:
        assert rows == 4


def test_a_writer_that_was_killed_writes_nothing_behind_the_one_that_follows_it(client: Client) -> None:
    old, _ = client.writer("zombie")
    old.send(messages(1, 10))
    new, rows = client.writer("zombie")
    assert rows == 10
    new.send([Message(b"11,12", 2, 12)])
    with pytest.raises(BrokerGoneError):  # what was still on its way: other messages with the same rows, and one more
        old.send(messages(11, 13))
    with pytest.raises(BrokerGoneError):
        new.send(messages(13, 14))
    assert new.open("stream") == 14
    old.close()
    new.close()
    assert [content for _, content in client.rows("zombie")][-4:] == [b"10", b"11,12", b"13", b"14"]


def test_a_stream_with_other_subjects_takes_rows_in_order_too(client: Client) -> None:
    client.add("shared.>")
    writer, _ = client.writer("shared.rows")
    stop = threading.Event()

    async def disturb(streams: JetStreamContext) -> None:
        while not stop.is_set():
            await streams.publish("shared.other", b"x")

    other = threading.Thread(target=client.run, args=(disturb,))
    other.start()
    writer.send(messages(1, 5))
    writer.send(messages(6, 2000))
    stop.set()
    other.join()
    assert [end for end, _ in writer.read_back(0, 2000)] == list(range(1, 2001))
    writer.close()


def test_a_subject_of_somebody_else_is_refused(client: Client) -> None:
    client.add("theirs")
    client.fill("theirs", 1)
    with pytest.raises(InputError, match="messages of somebody else"):
        client.writer("theirs")


@pytest.mark.parametrize("kept", [RetentionPolicy.WORK_QUEUE, RetentionPolicy.INTEREST])
def test_a_stream_that_forgets_what_was_read_is_refused(client: Client, kept: RetentionPolicy) -> None:
    client.add(f"queue.{kept.value}", retention=kept)
    with pytest.raises(InputError, match="after a crash they must be there again"):
        client.reader(f"queue.{kept.value}")


def test_messages_that_limits_dropped_unread_are_told_of(client: Client) -> None:
    client.add("tight", max_msgs=10)
    client.fill("tight", 5)
    reader = client.reader("tight")
    _, position = read(reader, 5)
    client.fill("tight", 20)
    with pytest.raises(InputError, match=r"dropped messages 6 to 15 before they were read"):
        reader.read(100, 1.0)
    with pytest.raises(InputError, match=r"dropped messages 6 to 15 before they were read"):
        reader.open("stream", position)
    reader.close()


def test_a_stream_that_was_made_anew_is_refused(client: Client) -> None:
    client.add("anew")
    client.fill("anew", 5)
    reader = client.reader("anew")
    _, position = read(reader, 5)
    reader.close()
    client.run(lambda streams: streams.delete_stream("anew"))
    client.add("anew")
    client.fill("anew", 20)
    with pytest.raises(InputError, match="it was made anew"):
        client.reader("anew", position)


def test_a_subject_without_a_stream_is_refused(client: Client) -> None:
    with pytest.raises(InputError, match="has no stream that stores 'nowhere'"):
        client.reader("nowhere")


def test_a_server_that_is_killed_is_gone_and_goes_on_where_it_was(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = NatsServer(tmp_path)
    request.addfinalizer(server.stop)
    server.start()
    client = Client(server)
    client.add("killed")
    client.fill("killed", 20)
    reader, (writer, _) = client.reader("killed"), client.writer("rows")
    _, position = read(reader, 10)
    writer.send(messages(1, 5))
    server.kill()
    with pytest.raises(BrokerGoneError):
        for _ in range(5):  # what had come already may be given first
            reader.read(100, 1.0)
    with pytest.raises(BrokerGoneError):
        writer.send(messages(6, 7))
    with pytest.raises(BrokerGoneError):
        reader.open("stream", position)
    server.start()
    reader.open("stream", position)
    assert len(read(reader, 10)[0]) == 10
    assert writer.open("stream") == 5
    reader.close()
    writer.close()


def test_a_password_is_asked_for_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "auth.conf").write_text('authorization { user: ana, password: "geheim" }')

    class Guarded(NatsServer):
        def command(self) -> list[str]:
            return [*super().command(), "--config", str(self.folder / "auth.conf")]

    server = Guarded(tmp_path)
    request.addfinalizer(server.stop)
    server.start()
    source = find_connector(f"nats://ana@127.0.0.1:{server.port}/rides")
    with pytest.raises(InputError, match="does not let us in") as refused:
        source.reader().open("stream", "")
    assert "SFUMATO_NATS_PASSWORD" in str(refused.value)
    monkeypatch.setenv("SFUMATO_NATS_PASSWORD", "falsch")
    with pytest.raises(InputError, match="does not let us in") as refused:
        source.reader().open("stream", "")
    assert "falsch" not in str(refused.value)
    monkeypatch.setenv("SFUMATO_NATS_PASSWORD", "geheim")
    with pytest.raises(InputError, match="has no stream that stores 'rides'"):
        source.reader().open("stream", "")


@pytest.mark.parametrize("address", ["nats://server", "nats://server/a/b", "nats://server/a%20b"])
def test_an_address_without_one_subject_is_refused(address: str) -> None:
    with pytest.raises(ParameterError, match="names no subject of NATS"):
        find_connector(address)


def test_rows_leave_to_one_subject() -> None:
    with pytest.raises(ParameterError, match="rows leave to one subject"):
        find_connector("nats://server/a.*").writer()
