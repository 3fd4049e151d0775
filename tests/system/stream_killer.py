"""Starts one stream over and over and kills it at random instants until it is done; what left is kept for the test.

Everything slow is loaded once and children are forked from here, before anything has started a thread, so that most of
a child's short life is spent reading, publishing and writing.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np

from sfumato.stream import NaiveLaplace, Publisher
from sfumato.stream.connectors.file import inlet
from sfumato.stream.connectors.file.parsers import CsvParser
from sfumato.stream.publishers.doca import DOCA
from sfumato.stream.publishers.linked import LinkedResponse
from sfumato.stream.publishers.rank import RankWindows
from sfumato.stream.runtime.batch import WantedColumns
from sfumato.stream.runtime.hooks import Hooks, Pace
from sfumato.stream.runtime.job import Job
from sfumato.stream.screens.base import NumberScreen

BOUNDS = (0.0, 1000.0)
RECORDS = 100_000
LONGEST_LIFE = 0.06
MOST_ATTEMPTS = 500


def made(name: str) -> Publisher:
    """Return a publisher whose noise comes from the secure source, as in a real release."""
    if name == "laplace":
        return NaiveLaplace(bounds=BOUNDS)
    if name == "doca":
        return DOCA(sensitivity=1000, delay=300, beta=20)
    return (RankWindows if name == "rank" else LinkedResponse)(bounds=BOUNDS, window=250)


def live(folder: Path, name: str, source: str, target: str) -> None:
    """Run the stream in this process, with short batches and frequent checkpoints."""
    inlet.PIECE = 512
    screen = NumberScreen({"hours": BOUNDS})
    say = Hooks(say=lambda sentence: os.write(2, f"{sentence}\n".encode()))
    where = folder / target if target != "-" else Path("-")
    card = folder / "card.json"
    Job(Path(source), where, made(name), screen, folder / "kept", card, pace=Pace(100, 0.01)).run(say)


def fork(folder: Path, name: str, source: str, target: str, ends: tuple[int, int, int] | None) -> int:
    """Return the process id of a child that runs the stream, its standard streams on `ends` if given."""
    child = os.fork()
    if child:
        return child
    try:
        for number, end in enumerate(ends or ()):
            os.dup2(end, number)
        os.closerange(3, 64)  # or the child would hold its own producer's end
        live(folder, name, source, target)
    except BaseException as error:  # noqa: BLE001  # whatever it is, the test must hear of it
        (folder / "error.txt").write_text(repr(error))
        os._exit(3)
    os._exit(0)


def over(child: int, moment: random.Random, attempt: int) -> bool:
    """Kill the child at a random instant of its life; return whether it had come to its end by itself.

    Lives grow slowly longer, so that a busy machine comes to the end too.
    """
    time.sleep(moment.uniform(0.0, LONGEST_LIFE * (1 + attempt / 50)))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status)


def kill_files(folder: Path, name: str, moment: random.Random) -> int:
    """Kill a stream from file to file; after each death `seen` has what an onlooker could have read."""
    for attempt in range(MOST_ATTEMPTS):
        ended = over(fork(folder, name, str(folder / "in.csv"), "out.csv", None), moment, attempt)
        left = (folder / "out.csv").read_bytes() if (folder / "out.csv").exists() else b""
        (folder / f"seen-{attempt:05d}").write_bytes(left[: left.rfind(b"\n") + 1])
        if ended:
            return attempt
    raise AssertionError


def kill_pipes(folder: Path, name: str, moment: random.Random) -> int:
    """Kill a stream from pipe to pipe; the producer replays from the offset that each attempt prints."""
    lines = (folder / "in.csv").read_bytes().splitlines(keepends=True)
    for attempt in range(MOST_ATTEMPTS):
        source, sink, errors = os.pipe(), os.pipe(), os.pipe()
        child = fork(folder, name, "-", "-", (source[0], sink[1], errors[1]))
        for end in (source[0], sink[1], errors[1]):
            os.close(end)
        seen: list[bytes] = []
        workers = [
            threading.Thread(target=_produce, args=(lines, source[1], errors[0])),
            threading.Thread(target=_consume, args=(seen, sink[0])),
        ]
        for worker in workers:
            worker.start()
        ended = over(child, moment, attempt)
        for worker in workers:
            worker.join()
        left = b"".join(seen)
        (folder / f"seen-{attempt:05d}").write_bytes(left[: left.rfind(b"\n") + 1])
        if ended:
            return attempt
    raise AssertionError


def _produce(lines: list[bytes], pipe: int, errors: int) -> None:
    with os.fdopen(errors, "rb") as said:
        start = said.readline()
    if start.startswith(b"resume from record"):
        rest = lines[0] + b"".join(lines[1 + int(start.rpartition(b" ")[2]) :])
        with suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(pipe, rest[:65536]) :]
    os.close(pipe)


def _consume(seen: list[bytes], pipe: int) -> None:
    with os.fdopen(pipe, "rb") as rows:
        while piece := rows.read1(1 << 16):
            seen.append(piece)


def main() -> None:
    """Kill one stream until it is done and print how often."""
    folder, name, way, seed = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    values = np.random.default_rng(seed).integers(0, 1001, RECORDS)
    (folder / "in.csv").write_text("hours\n" + "".join(f"{value}\n" for value in values))
    CsvParser(b"hours\n", WantedColumns(("hours",)), "in.csv")(b"5\n")  # compiled code is loaded before the first fork
    made(name).push_many(np.zeros(1000))
    import_module("sfumato.tabular.republication.history")
    moment = random.Random(seed)  # noqa: S311  # when to kill is no secret
    kills = (kill_files if way == "file" else kill_pipes)(folder, name, moment)
    sys.stdout.write(json.dumps({"kills": kills}))


if __name__ == "__main__":
    main()
