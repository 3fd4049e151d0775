"""The crew: starts a worker for each job, waits for its outcome as long as is allowed, and ends it then.

What an analyst can see of a worker is bounded (Haeberlen, Pierce & Narayan 2011, section 4): the outcome leaves when
the library lets it, at the ledger's deadline; a worker that died, broke or took longer freezes the ledger, and that
refusal leaves at one later time in the same words, whatever it was.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.errors import UnavailableError
from sfumato.serve.work import jobs
from sfumato.serve.work.forge import READY

GRACE = 2.0  # seconds after the deadline at which a worker that has not answered is ended
STARTING = 120.0  # seconds that the library may take to load
OPENING = 60.0  # seconds until a question's clock starts
FREE_SECONDS = 60  # of a plan or a rehearsal
REGISTER_SECONDS = 3600
MEBIBYTE = 1 << 20
FREE_AT_ONCE = 2  # plans, rehearsals and registrations
OF_ONE = 2  # questions of one account at once
PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TZ", "HOME", "SFUMATO_CACHE", "SFUMATO_THREADS", "SFUMATO_QUIET",
             "XDG_STATE_HOME", "XDG_CACHE_HOME", "COVERAGE_PROCESS_START")  # fmt: skip
BUSY = "as many questions as this server takes at once are being answered; ask again in a moment"
OWN_BUSY = f"{OF_ONE} of your questions are being answered; wait for them"
WHY = "a worker ended without an answer, or not in time"
NOT_BEGUN = "the question needs more memory or time than a worker has here before it looks at rows; nothing was charged"
TOLD = {"input", "budget"}  # refusals that leave when the library lets them
FROZEN = (
    "the data set is frozen, since a question was not answered in time, until its steward lifts that; what was charged "
    "stays charged"
)


@dataclass
class Places:
    """How many jobs may run at once, in all and for one account; nobody queues, so that nobody waits behind others.

    >>> places = Places(1)
    >>> with places.taken("ana"):
    ...     try:
    ...         with places.taken("bo"):
    ...             pass
    ...     except UnavailableError as error:
    ...         print(error)
    as many questions as this server takes at once are being answered; ask again in a moment
    """

    most: int
    of_one: int = OF_ONE
    running: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @contextmanager
    def taken(self, account: str) -> Iterator[None]:
        """Hold a place while the block runs, or say that there is none."""
        with self.lock:
            if self.running.get(account, 0) >= self.of_one:
                raise UnavailableError(OWN_BUSY)
            if sum(self.running.values()) >= self.most:
                raise UnavailableError(BUSY)
            self.running[account] = self.running.get(account, 0) + 1
        try:
            yield
        finally:
            with self.lock:
                self.running[account] -= 1
                if not self.running[account]:
                    del self.running[account]


@dataclass
class Worker:
    """One worker: the connection to it, and its process, by a descriptor that means no other."""

    connection: socket.socket
    process: int

    @classmethod
    def greet(cls, connection: socket.socket) -> Worker | None:
        """Return the worker at the other end, None where none came."""
        _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
        return cls(connection, descriptors[0]) if descriptors else None

    def order(self, order: jobs.Order) -> None:
        """Give it its job; one that has died already will say nothing."""
        with suppress(OSError):
            jobs.send_frame(self.connection, order)

    def word(self, until: float) -> jobs.Word | None:
        """Return the next word, None where it has died or says nothing until a moment."""
        self.connection.settimeout(max(0.001, until - time.monotonic()))
        try:
            return jobs.receive_frame(self.connection, jobs.Word)  # type: ignore[arg-type]  # a union
        except TimeoutError:
            return None

    def end(self) -> None:
        """End it, whatever it does."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.process, signal.SIGKILL)
        os.close(self.process)
        self.connection.close()


class Crew:
    """Starts workers from one process that has loaded the library; `close` ends that."""

    def __init__(self, home: Path, *, workers: int | None = None, memory: int = 1024) -> None:
        self._home, self._memory = home, memory * MEBIBYTE
        self.asking = Places(workers or max(2, os.cpu_count() or 1))
        self.free = Places(FREE_AT_ONCE)
        self._lock = threading.Lock()
        self._forge: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False

    def start(self) -> None:
        """Begin to load the library; jobs wait until it is."""
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        if self._forge is not None and self._forge.poll() is None:
            return
        self._drop()
        ours, theirs = socket.socketpair()
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        with theirs:
            self._forge = subprocess.Popen(
                [sys.executable, "-P", "-m", "sfumato.serve.work.forge"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**environment, "TMPDIR": str(self._home / "work"), "OPENBLAS_NUM_THREADS": "1"},
                cwd=self._home / "work",
                start_new_session=True,
            )
        self._control, self._ready = ours, False

    def close(self) -> None:
        """Start no more workers."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._forge is not None:
            try:
                self._forge.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._forge.kill()
                self._forge.wait()
        self._forge = self._control = None

    def _worker(self) -> Worker:
        """Return a new worker."""
        for _ in range(2):  # once more if the process that forks them was killed
            with self._lock:
                self._begin()
                found = self._fork()
            if found is not None:
                return found
        raise UnavailableError("no worker can be started; ask again in a moment")

    def _fork(self) -> Worker | None:
        control = self._control
        if control is None:
            return None
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                if not self._ready:
                    control.settimeout(STARTING)
                    self._ready = control.recv(1) == READY
                socket.send_fds(control, [b"w"], [theirs.fileno()])
            ours.settimeout(OPENING)
            worker = Worker.greet(ours) if self._ready else None
        except OSError:
            worker = None
        if worker is None:
            ours.close()
            self._drop()
        return worker

    def ask(self, job: jobs.Ask, freeze: Callable[[str], None]) -> jobs.Done | jobs.Refused:
        """Return the outcome of a question when the library lets it leave; without an outcome the ledger is frozen."""
        with self.asking.taken(job.analyst):
            worker = self._worker()
            try:
                worker.order(self._order(job, 86_400 + int(OPENING)))
                word = worker.word(time.monotonic() + OPENING)
                if not isinstance(word, jobs.Begun):
                    return word or jobs.Refused("input", NOT_BEGUN)
                last = time.monotonic() + word.deadline + GRACE
                found = worker.word(last)
            finally:
                worker.end()
            if isinstance(found, jobs.Done) or (isinstance(found, jobs.Refused) and found.kind in TOLD):
                return found
            time.sleep(max(0.0, last - time.monotonic()))
            if not isinstance(found, jobs.Refused) or found.kind == "broken":
                freeze(WHY)  # not before: others can see when a data set is frozen
            return jobs.Refused("frozen", FROZEN)

    def do(self, job: jobs.Rehearse | jobs.MakePlan | jobs.Register, account: str) -> jobs.Done | jobs.Refused:
        """Return the outcome of a job that answers nothing about rows."""
        seconds = REGISTER_SECONDS if isinstance(job, jobs.Register) else FREE_SECONDS
        with self.free.taken(account):
            worker = self._worker()
            try:
                worker.order(self._order(job, seconds))
                found = worker.word(time.monotonic() + seconds)
            finally:
                worker.end()
        if isinstance(found, jobs.Done | jobs.Refused):
            return found
        return jobs.Refused("input", "this needs more memory or time than a worker has here; make it smaller")

    def _order(self, job: jobs.Job, seconds: int) -> jobs.Order:
        return jobs.Order(job, self._memory, seconds, f"{self._home}{os.sep}")
