"""The two pages over HTTP: who can reach them, when answers leave, and what is refused before anything is charged."""

from __future__ import annotations

import http.client
import os
import socket
import threading
from pathlib import Path

import pytest

from sfumato.cli.main import run
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import InputError, MissingExtraError, ParameterError
from sfumato.promise import Budget
from sfumato.stream import build
from sfumato.stream.operate.numbers import StreamNumbers, registry_of
from sfumato.stream.operate.server import BEAT, Address, listen_privately, serve_numbers, wait_for_beat
from sfumato.stream.runtime.hooks import StreamProgress

STREAM = ["stream", "in.csv", "-o", "out.csv", "--column", "hours", "--bounds", "0", "9", "--publisher", "laplace"]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("steward", timeout=5)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(5)
        self.sock.connect(str(self.path))


@pytest.fixture
def numbers() -> StreamNumbers:
    found = StreamNumbers(build("rank", ["hours"], bounds=(0, 9), delay=20))
    found.listen(StreamProgress(61, 40, 2, 21))
    return found


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("hours\n1\n2\n3\n")
    return tmp_path


def get(connection: http.client.HTTPConnection, path: str = "/metrics") -> tuple[http.client.HTTPResponse, str]:
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer, answer.read().decode()


def test_the_public_page_is_the_public_numbers_alone(numbers: StreamNumbers, port: int) -> None:
    with serve_numbers(numbers, str(port)):
        answer, text = get(http.client.HTTPConnection("127.0.0.1", port, timeout=5))
        assert answer.status == 200
        assert answer.getheaders()[-1][0] != "Set-Cookie"
        assert answer.headers.get_all("Server") == ["sfumato"]
        assert "sfumato_stream_records_total 61.0" in text
        assert "steward" not in text
        assert "process_" not in text
        assert "python_" not in text
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()


def test_the_public_page_is_on_loopback_unless_a_host_is_named() -> None:
    assert Address.read("9464") == Address("127.0.0.1", 9464)
    assert Address.read("[::]:9464") == Address("::", 9464)
    for text in ("", "host", ":80", "0", "70000", "h:-1", "1.5"):
        with pytest.raises(ParameterError, match=r"--metrics is '.*'; give PORT or HOST:PORT"):
            Address.read(text)


@pytest.mark.parametrize("now", [0.0, 0.01, 0.13, 0.2499, 7.3])
def test_answers_leave_at_beats_alone(monkeypatch: pytest.MonkeyPatch, now: float) -> None:
    slept: list[float] = []
    monkeypatch.setattr("sfumato.stream.operate.server.time.monotonic", lambda: now)
    monkeypatch.setattr("sfumato.stream.operate.server.time.sleep", slept.append)
    wait_for_beat(BEAT)
    assert (now + slept[0]) / BEAT == pytest.approx(round((now + slept[0]) / BEAT))
    assert slept[0] >= BEAT / 2  # there is time to make the answer


def test_the_public_page_keeps_the_beat_and_the_stewards_does_not(
    numbers: StreamNumbers, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("sfumato.stream.operate.server.wait_for_beat", waited.append)
    with serve_numbers(numbers, str(port), tmp_path / "s"):
        get(http.client.HTTPConnection("127.0.0.1", port, timeout=5))
        get(UnixConnection(tmp_path / "s"))
    assert waited == [BEAT, 0.0]


def test_a_visitor_who_says_nothing_is_dropped(numbers: StreamNumbers, port: int) -> None:
    with serve_numbers(numbers, str(port)), socket.create_connection(("127.0.0.1", port)):
        answer, _ = get(http.client.HTTPConnection("127.0.0.1", port, timeout=10))
        assert answer.status == 200


def test_the_stewards_page_is_in_a_socket_of_its_owner(numbers: StreamNumbers, tmp_path: Path) -> None:
    place = tmp_path / "steward.sock"
    with serve_numbers(numbers, None, place):
        assert place.stat().st_mode & 0o777 == 0o600
        _, text = get(UnixConnection(place))
        assert "sfumato_steward_held_records 21.0" in text
        assert "sfumato_steward_process_resident_memory_bytes" in text
        with pytest.raises(InputError, match="is in use by another process"):
            listen_privately(place)
    assert not place.exists()


def test_a_socket_that_a_killed_run_left_is_taken_over(tmp_path: Path) -> None:
    place = tmp_path / "steward.sock"
    listen_privately(place).close()
    assert place.exists()
    listen_privately(place).close()
    (tmp_path / "rows.csv").write_text("x")
    with pytest.raises(InputError, match="exists and is no socket"):
        listen_privately(tmp_path / "rows.csv")


def test_a_port_in_use_is_refused_before_anything_is_charged(
    folder: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger.create(folder / "l", Budget(epsilon=2), {"protect": "rows", "neighbours": "value"})
    with socket.create_server(("127.0.0.1", port)):
        assert run([*STREAM, "--ledger", "l", "--metrics", str(port)]) == 2
    error = f"sfumato: --metrics cannot listen at 127.0.0.1 on port {port}: Address already in use; give another port\n"
    assert capsys.readouterr().err == error
    assert ledger.spent.epsilon == 0
    assert {file.name for file in folder.iterdir()} <= {"in.csv", "l", "l.lock", ".l.lock"}


def test_metrics_without_their_package_are_refused(monkeypatch: pytest.MonkeyPatch, numbers: StreamNumbers) -> None:
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[metrics\]'"):
        registry_of([numbers.public])


def test_a_command_shows_its_numbers_while_it_runs(folder: Path, port: int) -> None:
    os.mkfifo(folder / "pipe")
    texts: list[str] = []

    def feed_and_scrape() -> None:
        with (folder / "pipe").open("w") as pipe:
            pipe.write("hours\n1\n2\n3\n")
            pipe.flush()
            while "sfumato_stream_records_total 3.0" not in (texts[-1:] or [""])[0] and len(texts) < 50:
                texts.append(get(http.client.HTTPConnection("127.0.0.1", port, timeout=5))[1])

    visitor = threading.Thread(target=feed_and_scrape)
    visitor.start()
    code = run([STREAM[0], "pipe", *STREAM[2:], "--metrics", str(port)])
    visitor.join()
    assert code == 0
    assert "sfumato_stream_records_total 3.0" in texts[-1]
