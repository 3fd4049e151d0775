"""Feeds that are none, at the command line: one sentence or the right rows, little memory, and signals are heard."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
import zlib
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run

RANK = ["--column", "v", "--publisher", "rank", "--bounds", "0", "10", "--delay", "4"]
MEMORY = 3 << 30  # address space; the program itself takes a part of it


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], content: bytes, *more: str) -> str:
    Path("in").write_bytes(content)
    assert run(["stream", "in", "-o", "out.csv", *RANK, *more]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert [path.name for path in Path().iterdir()] == ["in"]
    return err


BAD = {
    "an open quote before the first name": (b'"size,v\n1,2\n3,4\n', "the header cannot be read"),
    "an open quote in another name": (b'size,"v\n1,2\n3,4\n', "the header cannot be read"),
    "old line ends": (b"size,v\r1,2\r3,4\r", "ends its lines with carriage returns alone"),
    "old line ends of JSON": (b'{"v": 1}\r{"v": 2}\r', "ends its lines with carriage returns alone"),
    "zeros": (bytes(100_000), "the header has zero bytes"),
    "UTF-16 without its mark": ("v,w\n1,2\n".encode("utf-16-le"), "the header has zero bytes"),
    "blanks": (b" " * 1_100_000 + b"v\n1\n", "begins with more than 1000000 blanks"),
    "a header without an end": (b"v," * 600_000, "the header has more than 1000000 bytes"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_header_swallows_no_feed(capsys: pytest.CaptureFixture[str], case: str) -> None:
    content, said = BAD[case]
    assert said in refused(capsys, content)


def test_a_quote_within_a_name_is_a_part_of_it() -> None:
    Path("in").write_bytes(b'size",v\n1,2\n3,4\n')
    assert run(["stream", "in", "-o", "out.csv", *RANK]) == 0
    assert pl.read_csv("out.csv").height == 2


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def started(source: str, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sfumato", "stream", source, "-o", "out.csv", *RANK, *more]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=limit)  # noqa: PLW1509  # no threads


WAITS = {"nothing": (b"", b""), "a header": (b"x", b"x"), "a record": (b"v\n1", b"1")}


def long(*case: object) -> object:
    return pytest.param(*case, marks=pytest.mark.long)


@pytest.mark.parametrize(
    "number, way, comes",
    [
        (signal.SIGTERM, "stdin", "a header"),
        (signal.SIGTERM, "stdin", "a record"),
        long(signal.SIGINT, "stdin", "nothing"),
        long(signal.SIGTERM, "fifo", "nothing"),
        long(signal.SIGINT, "fifo", "a record"),
        long(signal.SIGTERM, "no writer", "nothing"),
    ],
)
def test_the_first_signal_stops_a_stream_that_waits(number: signal.Signals, way: str, comes: str) -> None:
    """Bytes come one by one, faster than the reader's patience, and never a line break."""
    os.mkfifo("pipe")
    with started("-" if way == "stdin" else "pipe") as process:
        assert process.stdin is not None
        end = process.stdin.fileno() if way == "stdin" else os.open("pipe", os.O_RDWR) if way == "fifo" else -1
        piece, more = WAITS[comes]
        end_of_patience, sent = time.monotonic() + 60, False
        while process.poll() is None and time.monotonic() < end_of_patience:
            if end >= 0:
                os.write(end, piece)
                piece = more
            time.sleep(0.02)
            if not sent and Path("out.csv").exists():  # it listens to signals since before
                time.sleep(0.3)
                process.send_signal(number)
                sent = True
        assert process.returncode == 130
        assert process.stderr is not None
        assert b"interrupted" in process.stderr.read()
        if way == "fifo":
            os.close(end)


@pytest.mark.long
@pytest.mark.parametrize(
    "content, packed", [(b"\0", False), (b" ", False), (b'{"v": 1', False), (b"v\n1", False), (b"v\n1", True)]
)
def test_a_feed_without_an_end_takes_little_memory(content: bytes, packed: bool) -> None:
    endless = zlib.compressobj(wbits=31)
    with started("-") as process:
        assert process.stdin is not None
        piece = content
        with suppress(BrokenPipeError):
            for _ in range(200):
                process.stdin.write(endless.compress(piece) if packed else piece)
                process.stdin.flush()
                piece = content[-1:] * 1_000_000
        with suppress(BrokenPipeError):
            process.stdin.close()
        assert process.wait(60) == 2
