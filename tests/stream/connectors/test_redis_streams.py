"""Streams of a Redis server at the command line: what leaves, what is refused, and what nobody may read."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from servers import RedisServer

from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import InputError
from sfumato.promise import Budget
from sfumato.stream import build
from sfumato.stream.connectors import redis_streams
from sfumato.stream.runtime.hooks import Hooks, StreamProgress
from sfumato.stream.runtime.job import Outcome, publish

RECORDS = 3000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    one = RedisServer(tmp_path_factory.mktemp("redis"))
    one.start()
    yield one
    one.stop()


@pytest.fixture
def client(server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis(port=server.port, protocol=2) as one:
        one.flushall()
        yield one


def fill(client: redis.Redis, topic: str, records: int = RECORDS, largest: int = 100) -> None:
    with client.pipeline() as pipeline:
        for number in range(records):
            pipeline.xadd(topic, {"reading": f'{{"hours": {number % largest}}}'})
        pipeline.execute()


def run(
    folder: Path,
    source: str,
    target: str,
    until: int,
    over: Callable[[], bool] = lambda: True,
    **further: str | Path,
) -> Outcome:
    """Publish until so many records were read and all is over; what is said goes to a file."""
    read = [0]

    def note(progress: StreamProgress) -> None:
        read[0] = progress.records

    hooks = Hooks(say=(folder / "said").write_text, listen=note, stop=lambda: read[0] >= until and over())
    setup = build("rank", ["hours"], bounds=(0, 100), delay=100)
    places = {"checkpoint": folder / "kept", "card": folder / "card.json", **further}
    return publish(source, target, setup, hooks=hooks, **places)  # type: ignore[arg-type]


def test_rows_leave_once_with_ids_that_count_them_through_a_stop(
    server: RedisServer, client: redis.Redis, tmp_path: Path
) -> None:
    place = f"redis://127.0.0.1:{server.port}"
    fill(client, "rides")
    run(tmp_path, f"{place}/rides", f"{place}/out", RECORDS)
    fill(client, "rides")
    outcome = run(tmp_path, f"{place}/rides", f"{place}/out", 2 * RECORDS)
    entries = client.execute_command("XRANGE", "out", "-", "+")  # type: ignore[no-untyped-call]
    assert [entry for entry, _ in entries] == [b"%d-0" % number for number in range(1, 2 * RECORDS + 1)]
    assert outcome.progress.rows == 2 * RECORDS
    assert client.xpending("rides", client.xinfo_groups("rides")[0]["name"])["pending"] == 0
    assert json.loads((tmp_path / "card.json").read_text())["released"]["rows"] == 2 * RECORDS


def test_a_topic_that_has_rows_is_refused_and_nothing_is_left(
    server: RedisServer, client: redis.Redis, tmp_path: Path
) -> None:
    place = f"redis://127.0.0.1:{server.port}"
    fill(client, "rides", 10)
    fill(client, "out", 1)
    with pytest.raises(InputError, match="entries that are not of this stream"):
        run(tmp_path, f"{place}/rides", f"{place}/out", 10)
    assert client.xlen("out") == 1
    assert not (tmp_path / "kept" / "checkpoint").exists()


def test_a_checkpoint_that_was_put_back_sends_the_same_rows_and_writes_none_twice(
    server: RedisServer, client: redis.Redis, tmp_path: Path
) -> None:
    place = f"redis://127.0.0.1:{server.port}"
    fill(client, "rides", 500)
    run(tmp_path, f"{place}/rides", f"{place}/out?records=30", 500)
    shutil.copytree(tmp_path / "kept", tmp_path / "older")
    fill(client, "rides", 500)
    run(tmp_path, f"{place}/rides", f"{place}/out?records=30", 1000)
    before = rows(client)
    shutil.rmtree(tmp_path / "kept")
    (tmp_path / "older").rename(tmp_path / "kept")
    fill(client, "rides", 500)
    run(tmp_path, f"{place}/rides", f"{place}/out?records=30", 1500)
    after = rows(client)
    assert len(before) == 1000
    assert after[:1000] == before
    assert [json.loads(row)["seq"] for row in after] == list(range(1500))


def test_entries_that_were_trimmed_unread_are_told_of_and_those_that_were_read_may_go(
    server: RedisServer, client: redis.Redis, tmp_path: Path
) -> None:
    place = f"redis://127.0.0.1:{server.port}"
    fill(client, "rides", 100)
    client.xdel("rides", client.execute_command("XRANGE", "rides", "-", "+", "COUNT", 1)[0][0])  # type: ignore[no-untyped-call]
    run(tmp_path, f"{place}/rides", f"{place}/out", 99)
    client.xtrim("rides", maxlen=0, approximate=False)
    fill(client, "rides", 100)
    assert run(tmp_path, f"{place}/rides", f"{place}/out", 199).progress.records == 199
    fill(client, "rides", 100)
    client.xtrim("rides", maxlen=60, approximate=False)
    with pytest.raises(InputError, match="lost 40 entries before they were read: they were trimmed or deleted"):
        run(tmp_path, f"{place}/rides", f"{place}/out", 299)
    client.delete("rides")
    fill(client, "rides", 100)
    with pytest.raises(InputError, match="is not the one that this checkpoint was reading: it was made anew"):
        run(tmp_path, f"{place}/rides", f"{place}/out", 299)


def test_a_server_that_does_not_count_what_was_added_is_read_as_before(
    server: RedisServer, client: redis.Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis 6.2 does not tell `entries-added`: its replies are imitated by a name that this one does not know."""
    monkeypatch.setattr(redis_streams, "READ", redis_streams.READ.replace("entries-added", "unknown"))
    monkeypatch.setattr(redis_streams.GroupReader, "_removed", lambda _: None)
    place = f"redis://127.0.0.1:{server.port}"
    fill(client, "rides", 100)
    run(tmp_path, f"{place}/rides", f"{place}/out", 100)
    client.xtrim("rides", maxlen=0, approximate=False)
    fill(client, "rides", 100)
    run(tmp_path, f"{place}/rides", f"{place}/out", 200)
    assert [json.loads(row)["seq"] for row in rows(client)] == list(range(200))


def test_another_input_under_an_older_checkpoint_is_refused(
    server: RedisServer, client: redis.Redis, tmp_path: Path
) -> None:
    place = f"redis://127.0.0.1:{server.port}"
    fill(client, "rides", 500)
    run(tmp_path, f"{place}/rides", f"{place}/out", 500)
    shutil.copytree(tmp_path / "kept", tmp_path / "older")
    fill(client, "rides", 500)
    run(tmp_path, f"{place}/rides", f"{place}/out", 1000)
    shutil.rmtree(tmp_path / "kept")
    (tmp_path / "older").rename(tmp_path / "kept")
    client.xtrim("rides", maxlen=0, approximate=False)
    last = client.xinfo_stream("rides")["last-generated-id"]
    client.execute_command("XSETID", "rides", last, "ENTRIESADDED", 500)  # type: ignore[no-untyped-call]
    fill(client, "rides", 500, largest=50)
    with pytest.raises(InputError, match="has another row number 500 than this stream releases again"):
        run(tmp_path, f"{place}/rides", f"{place}/out", 1000)


def test_a_ledger_is_charged_once_for_a_stream_that_is_stopped_and_goes_on(
    server: RedisServer, client: redis.Redis, tmp_path: Path
) -> None:
    place = f"redis://127.0.0.1:{server.port}"
    ledger = Ledger.create(tmp_path / "ledger", Budget(epsilon=3), {"protect": "rows", "neighbours": "value"})
    for records in (200, 400, 600):
        fill(client, "rides", 200)
        run(tmp_path, f"{place}/rides", f"{place}/out", records, ledger=tmp_path / "ledger")
    assert ledger.spent.epsilon == 1


def test_messages_of_csv_with_many_records_are_read_and_written(
    server: RedisServer, client: redis.Redis, tmp_path: Path
) -> None:
    place = f"redis://127.0.0.1:{server.port}"
    for first in range(0, 400, 50):
        lines = "".join(f"d{number},{number % 100}\n" for number in range(first, first + 50))
        client.xadd("rides", {"size": 50, "reading": f"drive,hours\n{lines}"})
    options = "format=csv&records=50"
    run(tmp_path, f"{place}/rides?{options}&field=reading", f"{place}/out?{options}", 400)
    entries = client.execute_command("XRANGE", "out", "-", "+")  # type: ignore[no-untyped-call]
    assert len(entries) == 8
    for _, fields in entries:
        header, *lines = fields[b"rows"].split(b"\n")
        assert header == b"hours,group,size,seq"
        assert len(lines) == 50


def rows(client: redis.Redis) -> list[bytes]:
    entries = client.execute_command("XRANGE", "out", "-", "+")  # type: ignore[no-untyped-call]
    return [row for _, fields in entries for row in fields[b"rows"].split(b"\n")]


@pytest.mark.long
def test_a_broker_that_stands_still_is_waited_for_and_nothing_is_written_twice(
    server: RedisServer, client: redis.Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.stream.connectors.redis_streams.PATIENCE", 0.2)
    place = f"redis://127.0.0.1:{server.port}"
    fill(client, "rides", RECORDS)
    run(tmp_path, f"{place}/rides", f"{place}/out", RECORDS)  # a stream that goes on waits for its broker
    fill(client, "rides", 19 * RECORDS, RECORDS)
    timers = [threading.Timer(0.3 + 0.7 * number, step) for number, step in enumerate([server.pause, server.go_on] * 2)]
    for timer in timers:
        timer.start()

    until = time.monotonic() + 10

    def over() -> bool:  # a stream that is to stop waits for nobody, so it must be long done with waiting
        return time.monotonic() > until and client.xlen("out") == 20 * RECORDS

    run(tmp_path, f"{place}/rides", f"{place}/out", 20 * RECORDS, over)
    for timer in timers:
        timer.join()
    assert [json.loads(row)["seq"] for row in rows(client)] == list(range(20 * RECORDS))
    said = (tmp_path / "said").read_text(encoding="utf-8")  # the last sentence
    assert "waiting for it" in said or "is back" in said
