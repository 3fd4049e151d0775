"""The real curator as a program: first start, sign-in by the link, a question, a restart, a kill, raw sockets."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from curator_calls import COUNT, ROWS, SCHEMA

pytestmark = pytest.mark.long
PATIENCE = 120.0


@dataclass
class Program:
    """A curator that runs."""

    process: subprocess.Popen[str]
    url: str
    told: list[str]

    @classmethod
    def start(cls, home: Path, *options: str) -> Program:
        command = [sys.executable, "-m", "sfumato", "serve", str(home), "--port", "0", *options]
        errors = (home.parent / "errors.log").open("a")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        errors.close()
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", first)
        assert found is not None, (home.parent / "errors.log").read_text()
        made = cls(process, found[0], [first])
        assert made.call("GET", "/health") == {"status": "ok"}  # it listens before it says so
        return made

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def call(self, method: str, path: str, token: str | None = None, body: Any = None, key: str | None = None) -> Any:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)  # noqa: S310  # our own address
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        if key:
            request.add_header("Idempotency-Key", key)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:  # noqa: S310  # the same
            content = reply.read()
        return json.loads(content) if content else None

    def status(self, *call: Any) -> int:
        try:
            self.call(*call)
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    def stop(self, how: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(timeout=PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture
def started() -> Iterator[list[Program]]:
    """Give a list of programs that are stopped in the end."""
    programs: list[Program] = []
    yield programs
    for program in programs:
        if program.process.poll() is None:
            program.stop(signal.SIGKILL)


def sign_in(program: Program) -> str:
    code = program.line().rpartition("code=")[2].strip()
    token: str = program.call("POST", "/api/v1/sign-in", None, {"code": code})["token"]
    assert program.status("POST", "/api/v1/sign-in", None, {"code": code}) == 401
    return token


def furnished(program: Program, steward: str) -> str:
    """Open an account, register a data set, and return the analyst's token."""
    program.call("POST", "/api/v1/accounts", steward, {"name": "ana", "role": "analyst"})
    issued = program.call("POST", "/api/v1/accounts/ana/tokens", steward, {"scopes": ["read", "ask"]})
    program.call("PUT", "/api/v1/files/rides.csv", steward, ROWS.encode())
    declared = {"name": "rides", "file": "rides.csv", "schema": SCHEMA, "epsilon": "2", "deadline": 4}
    program.call("POST", "/api/v1/data-sets", steward, {**declared, "shares": {"ana": "1.5"}})
    return str(issued["token"])


ASK = "/api/v1/data-sets/rides/ask"


def test_from_the_first_start_to_an_answer_that_outlives_a_restart(tmp_path: Path, started: list[Program]) -> None:
    home = tmp_path / "home"
    first = Program.start(home)
    started.append(first)
    steward = sign_in(first)
    ana = furnished(first, steward)
    begun = time.monotonic()
    answer = first.call("POST", ASK, ana, {"sql": COUNT, "epsilon": "0.5"}, "monday")
    assert time.monotonic() - begun >= 4.0
    assert answer["left"]["epsilon"] == "1"
    refused = subprocess.run(
        [sys.executable, "-m", "sfumato", "serve", str(home), "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (refused.returncode, "in use by another process" in refused.stderr) == (2, True)
    assert first.stop() in {0, -signal.SIGTERM}

    second = Program.start(home)
    started.append(second)
    assert "sign in" not in second.told[0]
    assert second.call("POST", ASK, ana, {"sql": COUNT, "epsilon": "0.5"}, "monday") == answer
    begun = time.monotonic()
    again = second.call("POST", ASK, ana, {"sql": COUNT, "epsilon": "0.5"})
    assert time.monotonic() - begun >= 4.0  # also an answer that was paid for waits for the deadline
    assert (again["answer"], again["spent"]["epsilon"]) == (answer["answer"], "0")
    assert second.call("GET", "/api/v1/me", steward)["role"] == "steward"
    assert second.call("GET", "/api/v1/log", steward)["broken"] is None
    second.stop()
    said = (tmp_path / "errors.log").read_text()
    assert COUNT not in said
    assert "Traceback" not in said
    for token in (ana, steward):
        assert token not in said


def test_a_kill_loses_no_charge_and_leaves_no_key_behind(tmp_path: Path, started: list[Program]) -> None:
    home = tmp_path / "home"
    first = Program.start(home)
    started.append(first)
    steward = sign_in(first)
    ana = furnished(first, steward)
    body = json.dumps({"sql": COUNT, "epsilon": "0.5"})
    with socket.create_connection(("127.0.0.1", int(first.url.rpartition(":")[2])), timeout=PATIENCE) as sent:
        head = f"POST {ASK} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ana}\r\nIdempotency-Key: k\r\n"
        sent.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if first.call("GET", "/api/v1/data-sets/rides/left", ana)["left"]["epsilon"] == "1":
                break
            time.sleep(0.05)
        else:
            raise AssertionError("the question was not charged")
        first.stop(signal.SIGKILL)
    second = Program.start(home)
    started.append(second)
    found = second.call("POST", ASK, ana, {"sql": COUNT, "epsilon": "0.5"}, "k")
    entries = second.call("GET", "/api/v1/data-sets/rides/ledger/entries", steward)["items"]
    assert len(entries) in {1, 2}  # the worker may have stored its answer, though nobody waited for it
    assert found["left"]["epsilon"] == ("1" if len(entries) == 1 else "0.5")
    assert second.call("POST", ASK, ana, {"sql": COUNT, "epsilon": "0.5"}, "k") == found
    second.stop()


def test_raw_sockets_get_problems_and_no_news(tmp_path: Path, started: list[Program]) -> None:
    program = Program.start(tmp_path / "home")
    started.append(program)
    port = int(program.url.rpartition(":")[2])

    def raw(request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            found = b""
            while part := connection.recv(65536):
                found += part
        return found

    hostile = {
        b"GET /health HTTP/1.1\r\n\r\n": (b" 400 ", b" 421 "),
        b"GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n": (b" 421 ",),
        b"GET http://evil.example/health HTTP/1.1\r\nHost: evil.example\r\n\r\n": (b" 421 ", b" 400 "),
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n": (b" 404 ",),
        b"GET /api/v1/data-sets/%2e%2e%2f HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n": (b" 404 ", b" 401 "),
        b"POST /api/v1/sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{}": (b" 400 ", b" 422 "),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03": (b" 400 ",),
    }
    for request, statuses in hostile.items():
        reply = raw(request)
        status = reply.partition(b"\r\n")[0]
        assert any(one in status + b" " for one in statuses), (request[:60], reply[:200])
        assert b"uvicorn" not in reply.lower()
        assert b"Traceback" not in reply
    long = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n"
    with contextlib.suppress(ConnectionError):  # it is closed before all of it has come
        assert b"200 OK" not in raw(long)
    assert program.call("GET", "/health") == {"status": "ok"}
    assert list((tmp_path / "home" / "files").iterdir()) == []
    program.stop()


def test_the_demo_answers_the_line_that_it_prints(tmp_path: Path, started: list[Program]) -> None:
    program = Program.start(tmp_path / "home", "--demo")
    started.append(program)
    lines = [program.line() for _ in range(4)]
    command = lines[-1].partition(": ")[2].strip().replace("sfumato query", f"{sys.executable} -m sfumato query")
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("sex,count,count_low,count_high\nF,")
    assert "left epsilon 1.9" in done.stderr
    assert program.stop(signal.SIGINT) in {0, 130, -signal.SIGINT}
