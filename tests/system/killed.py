"""Streams on Spark in processes of their own, which the tests kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 900


@contextmanager
def started(folder: Path, script: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a script beside this one in processes of their own, all of which are gone at the end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    with (folder / "said.txt").open("ab") as said:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name(script)), str(folder), *arguments],
            start_new_session=True,
            stdout=said,
            stderr=said,
            env=environment,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def until(process: subprocess.Popen[bytes], folder: Path, seen: Callable[[], bool]) -> None:
    """Wait until something is seen; the stream must not be over before."""
    end = time.monotonic() + PATIENCE
    while not seen():
        assert process.poll() is None, (folder / "said.txt").read_text()
        assert time.monotonic() < end, "the stream makes no progress"
        time.sleep(0.002)


def finished(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until the stream is over, which it must be without an error."""
    assert process.wait(PATIENCE) == 0, (folder / "said.txt").read_text()
