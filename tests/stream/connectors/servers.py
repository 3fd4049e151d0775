"""Brokers that the tests start on loopback, kill, start again and stop; each has its own folder and a free port."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from contextlib import closing, suppress
from pathlib import Path

import pytest

NO_BROKER = "no broker to start on this machine"
PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin")
PATIENCE = 60.0


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def program(name: str, *further: str) -> str:
    """Return where a program lies; without it the test is skipped, and fails where brokers are required."""
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *PLACES, *filter(None, further)]))
    if found is None:
        pytest.skip(f"{NO_BROKER}: {name} is not installed")
    return found


class Server(ABC):
    """One broker: `start` returns once it answers, `kill` ends it as a power cut would, `stop` for good.

    A subclass says how it is started, in a folder that lasts, and how one sees that it answers.
    """

    owner: str | None = None  # who runs it, if not we ourselves

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command that runs the broker in the foreground."""

    def answers(self) -> bool:
        """Return whether the broker takes commands."""
        with closing(socket.socket()) as client:
            client.settimeout(1.0)
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def start(self) -> None:
        """Start the broker, for the first time or once more; what a killed one left in the system may be in the way."""
        self._process, until = self._begin(), time.monotonic() + PATIENCE
        while not self.answers():
            said = (self.folder / "log").read_text(errors="replace")[-2000:]
            assert time.monotonic() < until, f"the broker does not answer: {said}"
            time.sleep(0.02)
            if self._process.poll() is not None:
                time.sleep(0.2)
                self._process = self._begin()

    def _begin(self) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd=self.folder, user=self.owner, group=self.owner
            )

    def kill(self) -> None:
        """End the broker and all its processes at once."""
        if self._process is not None:
            self.pause()  # so that it starts nobody while its processes are ended
            for process in _children(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Let the broker stand still, as one that is slow."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let a broker that stands still go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End the broker for good."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(number)
            self._process.wait(timeout=PATIENCE)
        self._process = None


class RedisServer(Server):
    """Redis, which has each write on the disk before it answers."""

    def command(self) -> list[str]:
        place = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        return [program("redis-server"), *place, "--appendonly", "yes", "--appendfsync", "always"]

    def answers(self) -> bool:
        with closing(socket.socket()) as client:
            client.settimeout(1.0)
            if client.connect_ex(("127.0.0.1", self.port)):
                return False
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")


class NatsServer(Server):
    """NATS with JetStream, whose streams lie in the folder."""

    def command(self) -> list[str]:
        place = ["--addr", "127.0.0.1", "--port", str(self.port), "--store_dir", str(self.folder)]
        return [program("nats-server"), "--jetstream", *place]

    def answers(self) -> bool:
        log = (self.folder / "log").read_text(errors="replace")
        return super().answers() and log.count("Server is ready") == log.count("Starting nats-server")


class Mosquitto(Server):
    """Mosquitto; a `lasting` one writes all to the disk again at each change, and so is slow."""

    def __init__(self, folder: Path, *lines: str, lasting: bool = True) -> None:
        super().__init__(folder)
        kept = [
            "persistence true",
            f"persistence_location {folder}/",
            "autosave_on_changes true",
            "autosave_interval 1",
        ]
        kept = kept if lasting else []
        limits = ["max_inflight_messages 1000", "max_queued_messages 0", "user root"]
        opened = [f"listener {self.port} 127.0.0.1", "allow_anonymous true"]
        text = "\n".join([*opened, *kept, *limits, *lines, ""])
        (folder / "mosquitto.conf").write_text(text)

    def command(self) -> list[str]:
        return [program("mosquitto"), "-c", str(self.folder / "mosquitto.conf")]


class PostgresServer(Server):
    """PostgreSQL, in a folder of its own user where we are root; a kill of processes leaves what the system keeps.

    With `fsync` it flushes what it commits, as a ledger asks for.
    """

    def __init__(self, *, fsync: bool = False) -> None:
        self.fsync = "on" if fsync else "off"
        super().__init__(Path(tempfile.mkdtemp(prefix="sfumato-postgres-")))
        if os.geteuid() == 0:
            self.owner = "postgres"
            shutil.chown(self.folder, self.owner)
        places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        self._programs = next((str(place) for place in places), "")
        make = [program("initdb", self._programs), "-D", str(self.folder / "data"), "-U", "sfumato", "-A", "trust"]
        plain = ["--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run(
            [*make, *plain], check=True, capture_output=True, cwd=self.folder, user=self.owner, group=self.owner
        )

    def command(self) -> list[str]:
        settings = [f"port={self.port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}"]
        settings += ["max_connections=30", f"fsync={self.fsync}"]
        options = [part for setting in settings for part in ("-c", setting)]
        return [program("postgres", self._programs), "-D", str(self.folder / "data"), *options]

    def answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(host="127.0.0.1", port=self.port, user="sfumato", dbname="postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        self._end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)


def _children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(place.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(place.parent.name))
    return found
