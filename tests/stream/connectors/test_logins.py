"""Logins by TLS and password at the command line, on real brokers: the right ones work, the others are told."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from authority import ELSEWHERE, Authority
from flips import say
from guarded import PASSWORD, Guarded, GuardedMosquitto, GuardedNats, GuardedPostgres, GuardedRedis

from sfumato.errors import InputError
from sfumato.stream.connectors.registry import find_connector

pytestmark = pytest.mark.long  # servers are made for them
RECORDS = 40
OPTIONS = ["--column", "hours", "--bounds", "0", "100", "--publisher", "rank", "--delay", "20"]
MADE: dict[str, Callable[[Path, Authority], Guarded]] = {
    "redis": GuardedRedis,
    "nats": GuardedNats,
    "nats-token": lambda folder, authority: GuardedNats(folder, authority, token=True),
    "mqtt": GuardedMosquitto,
    "postgresql": lambda _, authority: GuardedPostgres(authority),
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module", params=MADE)
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, authority: Authority
) -> Iterator[Guarded]:
    one = MADE[request.param](tmp_path_factory.mktemp("broker"), authority)
    one.start()
    one.make("rides")
    yield one
    one.stop()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    return tmp_path


def source(broker: Guarded, ca: Path | None, more: str = "", **further: str) -> str:
    """Return the address that is read; messages of MQTT are told apart by their ids."""
    ids = "client=reader&id=number" if isinstance(broker, GuardedMosquitto) else ""
    return broker.address("rides", ca, more="&".join(filter(None, [ids, more])), **further)


def refusal(address: str, code: int) -> str:
    """Return the one sentence with which a stream from an address ends; nothing is left of it, and no password said."""
    said = say("stream", address, "-o", "out.csv", *OPTIONS, "--checkpoint", "kept", "--card", "card.json")
    assert said.code == code, said.err
    assert said.err.count("\n") == 1, said.err
    assert PASSWORD not in said.out + said.err
    assert "falsch" not in said.out + said.err
    left = [file.name for file in Path.cwd().rglob("*") if file.is_file() and file.name not in {".lock", "word"}]
    assert left == []
    return said.err


def test_records_come_and_rows_leave_by_tls_with_passwords_from_the_environment_and_a_file(
    broker: Guarded, authority: Authority, folder: Path
) -> None:
    (folder / "word").write_text(f"{PASSWORD}\n", encoding="utf-8")
    (folder / "word").chmod(0o600)
    places = [source(broker, authority.ca, "password-file=word"), "-o"]
    places += [broker.address("rows", authority.ca, user=broker.sink)]
    broker.fill("rides", [b'{"hours": %d}' % number for number in range(RECORDS)])
    command = [sys.executable, "-m", "sfumato", "stream", *places, *OPTIONS]
    command += ["--checkpoint", "kept", "--card", "card.json"]
    with (folder / "said").open("wb") as said:
        running = subprocess.Popen(command, stdout=said, stderr=said, env={**os.environ, broker.variable: PASSWORD})
        until = time.monotonic() + 30
        while not (folder / "card.json").exists() and running.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        running.wait(20)
    told = (folder / "said").read_text(encoding="utf-8")
    assert f"{RECORDS} rows in 2 groups written to {broker.scheme}://localhost" in told
    assert PASSWORD not in told
    assert "Traceback" not in told
    kept = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file() and file.name != "word")
    assert PASSWORD.encode() not in kept


def test_a_wrong_password_and_none_are_refused(
    broker: Guarded, authority: Authority, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert broker.variable in refusal(source(broker, authority.ca), 2)
    monkeypatch.setenv(broker.variable, "falsch")
    assert broker.variable in refusal(source(broker, authority.ca), 2)
    (folder / "word").write_text(PASSWORD, encoding="utf-8")
    (folder / "word").chmod(0o640)
    assert "chmod 600" in refusal(source(broker, authority.ca, "password-file=word"), 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # MQTT's client leaves its socket open
def test_a_certificate_of_a_stranger_or_for_another_host_is_refused(
    broker: Guarded, authority: Authority, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    monkeypatch.setenv(broker.variable, PASSWORD)
    assert "is not trusted" in refusal(source(broker, authority.stranger), 2)
    assert "is not trusted" in refusal(source(broker, authority.ca, host=ELSEWHERE), 2)


def test_a_broker_that_wants_tls_gets_nothing_without(
    broker: Guarded, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    monkeypatch.setenv(broker.variable, PASSWORD)
    refused = {"redis": 75, "nats": 2, "mqtt": 75, "postgresql": 2}  # some just close the connection
    refusal(source(broker, None, scheme=broker.plain), refused[broker.plain])


def test_a_server_that_leaves_tls_out_is_told_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """NATS says readably whether TLS follows: who sits between could leave it out."""
    monkeypatch.setenv("SFUMATO_NATS_PASSWORD", PASSWORD)
    heard = asyncio.run(_overheard())
    assert PASSWORD.encode() not in heard
    assert b"CONNECT" not in heard


async def _overheard() -> bytes:
    """Return what a server without TLS hears of a reader that wants it."""
    heard = bytearray()

    async def greet(incoming: asyncio.StreamReader, outgoing: asyncio.StreamWriter) -> None:
        outgoing.write(b'INFO {"server_id":"x","version":"2.9.10","max_payload":1000,"auth_required":true}\r\n')
        while more := await incoming.read(1000):
            heard.extend(more)
        outgoing.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reader = find_connector(f"nats+tls://ana@127.0.0.1:{port}/rides").reader()
    with pytest.raises(InputError, match="speaks no TLS"):
        await asyncio.to_thread(reader.open, "stream", "")
    server.close()
    return bytes(heard)
