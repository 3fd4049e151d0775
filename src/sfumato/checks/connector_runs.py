"""Streams that the conformance suite runs through a connector, in processes that it can kill at any moment.

The publisher changes nothing, so that a record that is lost, doubled or moved is seen in the output. Processes are
forked from a server that has everything loaded and no client, so that one more life costs little.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import sys
import time
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from sfumato.core.parameters import Whole
from sfumato.random import SecureSource, Source
from sfumato.release import Card
from sfumato.stream.base import Published, Publisher
from sfumato.stream.card import guarantee_of, make_card
from sfumato.stream.connectors.base import Address, Connector
from sfumato.stream.runtime.hooks import Hooks, Pace, StreamProgress
from sfumato.stream.runtime.job import Job, Outcome
from sfumato.stream.screens.base import NumberScreen, OnBad

WINDOW = 8
BOUNDS = (0.0, 1e6)
COLUMN = "value"
CLIENTS = "redis", "psycopg", "nats", "paho.mqtt.client", "confluent_kafka"
LOADED = "sfumato.stream.connectors.feed", "sfumato.stream.connectors.sink", "sfumato.tabular.republication.history"
READING = "reading"  # a file that is there once a process reads
LULL = 15.0  # seconds without a record after which none is awaited
BATCH = 40  # records that are read at once, and so between two checkpoints


@dataclass(eq=False)
class Echo(Publisher):
    """Publishes every record as it is, in windows of `size`: for tests alone, since it protects nobody.

    >>> echo = Echo(2)
    >>> echo.push_many(np.array([5.0, 6.0, 7.0])).values.tolist(), echo.held
    ([5.0, 6.0], 1)
    """

    size: int = WINDOW
    rng: InitVar[Source | None] = None

    name: ClassVar[str] = "echo"
    linked: ClassVar[bool] = False
    RULES: ClassVar = {"size": Whole(1)}

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        self._source, self._held, self._left = rng or SecureSource(), np.empty(0), 0

    @property
    def delay(self) -> int:
        return self.size - 1

    @property
    def held(self) -> int:
        return len(self._held)

    def push(self, record: Any) -> Published:
        return self.push_many(np.array([record]))

    def push_many(self, batch: Any) -> Published:
        values = np.concatenate([self._held, batch])
        leave = len(values) // self.size * self.size
        self._held = values[leave:]
        return self._publish(values[:leave])

    def flush(self) -> Published:
        rest, self._held = self._held, np.empty(0)
        return self._publish(rest)

    def _publish(self, values: Any) -> Published:
        seq = np.arange(self._left, self._left + len(values))
        self._left += len(values)
        group = seq // self.size
        return Published(values, group, np.bincount(group - group.min())[group - group.min()] if len(seq) else seq, seq)

    def state(self) -> bytes:
        return msgspec.msgpack.encode((self._left, self._held.tolist()))

    def restore(self, state: bytes) -> None:
        self._left, held = msgspec.msgpack.decode(state, type=tuple[int, list[float]])
        self._held = np.array(held, dtype=np.float64)

    def card(self, *names: str) -> Card:
        del names
        return make_card(self, guarantee_of(self), [], source=self._source)


def run_stream(  # what a stream is made of
    source: Connector,
    target: Connector,
    folder: Path,
    total: int,
    *,
    on_bad: str = "clamp",
    batch: int = BATCH,
    listen: Callable[[StreamProgress], object] | None = None,
) -> Outcome:
    """Run the stream of a folder until it has read `total` records in all, or none comes for a while."""
    read, since = [0], [time.monotonic()]

    def note(progress: StreamProgress) -> None:
        if progress.records > read[0]:
            read[0], since[0] = progress.records, time.monotonic()
        if listen is not None:
            listen(progress)

    hooks = Hooks(say=_say, listen=note, stop=lambda: read[0] >= total or time.monotonic() > since[0] + LULL)
    screen = NumberScreen({COLUMN: BOUNDS}, OnBad.read(on_bad))
    places = folder / "kept", folder / "card.json"
    return Job(source, target, Echo(), screen, *places, pace=Pace(batch, 0.0), max_failed=1.0).run(hooks)


def _say(sentence: str) -> None:
    os.write(2, f"{sentence}\n".encode())


def live(kind: type[Connector], source: str, target: str, folder: Path, total: int) -> None:
    """Be the process of one stream; that it reads, and what it has to say, go to files of its folder."""
    said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(said, 2)
    try:
        places = connect(kind, source), connect(kind, target)
        run_stream(*places, folder, total, listen=lambda _: (folder / READING).touch())
    except Exception as error:
        (folder / "error").write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
        raise


def connect(kind: type[Connector], address: str) -> Connector:
    """Return a connector of a class, which need not be installed."""
    return kind(Address.read(address, kind.secret()))


def start(kind: type[Connector], source: str, target: str, folder: Path, total: int) -> BaseProcess:
    """Return the process of one stream, which has begun."""
    context = mp.get_context("forkserver")
    loaded = [name for name in CLIENTS if name in sys.modules]  # nothing that is not used, and no client is made
    context.set_forkserver_preload(["__main__", __name__, kind.__module__, *LOADED, *loaded])
    process = context.Process(target=live, args=(kind, source, target, folder, total), daemon=True)
    process.start()
    return process
