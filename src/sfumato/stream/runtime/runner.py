"""The loop of a stream: read a batch, screen it, publish what is due, and let it leave, after its checkpoint if kept.

A run that is killed at any instant goes on with the same noise: the checkpoint comes before the rows, and the input is
read again from the offset it holds (exactly-once processing over a replayable source, Carbone et al. 2015).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from sfumato.errors import InputError, SfumatoError
from sfumato.stream.base import Published, Publisher
from sfumato.stream.connectors.file.feed import Feed
from sfumato.stream.connectors.file.inlet import grown, known
from sfumato.stream.runtime.batch import Batch
from sfumato.stream.runtime.journal import Journal, Read
from sfumato.stream.runtime.live import Progress
from sfumato.stream.screens.base import Screen


@dataclass(frozen=True)
class Pace:
    """How often a checkpoint is written: after so many records, or after so many seconds if any came.

    >>> Pace().seconds
    1.0
    """

    records: int = 1 << 18
    seconds: float = 1.0


def _nothing(_: object) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Hooks:
    """Who is told what: before the first noise is drawn, where a pipe resumes, how far it is, and whether to stop.

    >>> Hooks().stop()
    False
    """

    begin: Callable[[str], object] = _nothing
    say: Callable[[str], object] = _nothing
    listen: Callable[[Progress], object] = _nothing
    stop: Callable[[], bool] = bool


@dataclass
class Runner:
    r"""One stream from its feed through a screen and a publisher into its journal.

    `clock` publishes what is due though no record came, for windows that end by the clock on the wall.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from sfumato.stream import NaiveLaplace
    >>> from sfumato.stream.screens.base import NumberScreen
    >>> from sfumato.stream.connectors.file.sink import Sink
    >>> folder, publisher = Path(tempfile.mkdtemp()), NaiveLaplace(bounds=(0, 10))
    >>> _ = (folder / "in.csv").write_text("hours\n1\n2\n")
    >>> screen, sink = NumberScreen({"hours": (0, 10)}), Sink(folder / "out.csv", publisher, ["hours"])
    >>> runner = Runner(Feed(folder / "in.csv", screen.wanted), screen, publisher, Journal(publisher, sink))
    >>> runner.run(), runner.progress
    (True, Progress(records=2, rows=2, groups=2, held=0))
    """

    feed: Feed
    screen: Screen
    publisher: Publisher
    journal: Journal
    pace: Pace = Pace()
    hooks: Hooks = Hooks()
    clock: Callable[[], Published] | None = None
    read: Read = field(default=Read(), init=False)

    def __post_init__(self) -> None:
        at = self.journal.at
        self.read = Read(at.records, at.offset)
        self._begun, self._sound = False, True
        self._kept = time.monotonic(), at.records

    @property
    def progress(self) -> Progress:
        """How far the stream has come."""
        return Progress(self.read.records, self.journal.rows, self.journal.groups, self.publisher.held)

    def run(self) -> bool:
        """Read, publish and write until the input ends or somebody wants to stop; return whether it ended."""
        try:
            self._refuse_other_input()
            complete = self.journal.at.ended or self._loop()
        except SfumatoError:
            self._leave()
            raise
        except BaseException:
            self.journal.close(complete=False)
            raise
        finally:
            self.feed.close()
        self.journal.close(complete=complete)
        return complete

    def _leave(self) -> None:
        """Keep what came before an error, or take everything away if nothing came."""
        if self._sound and not self.read.records and not self.journal.rows:
            self.journal.discard()
            return
        with suppress(SfumatoError):  # the first error is the one to tell
            if self._sound:
                self._commit()
        with suppress(SfumatoError):
            self.journal.close(complete=False)

    def _refuse_other_input(self) -> None:
        at, path = self.journal.at, self.feed.path
        self._sound = False
        if at.mark and not known(path, at.mark):
            raise InputError(f"input '{path}' is not what this checkpoint was reading; give that, or another folder")
        if at.ended and grown(path, at.mark):
            raise InputError(
                f"input '{path}' has grown since the stream of this checkpoint ended at record {at.records}; give the "
                "rest another folder, and follow a growing input"
            )
        self._sound = True

    def _loop(self) -> bool:
        if self.feed.piped:
            self.hooks.say(f"resume from record {self.read.records}")
        for batch in self.feed.batches(self.read.offset):
            if batch.count:
                self._take(batch)
            elif self.clock is not None:
                self._publish(self.clock)
            self.hooks.listen(self.progress)
            stopping = self.hooks.stop()
            if stopping or self._due():
                self._commit()
            if stopping:
                return False
        self._publish(self.publisher.flush)
        self._commit(ended=True)
        return True

    def _take(self, batch: Batch) -> None:
        screened = self.screen(batch, self.read.records)
        self._publish(lambda: self.publisher.push_many(screened.values), screened.aside)
        self.read = Read(self.read.records + batch.count, self.feed.offset)

    def _publish(self, step: Callable[[], Published], aside: bytes = b"") -> None:
        """Let the publisher take a step and hold what leaves; until it is held, no checkpoint may be written."""
        if not self._begun:
            self.hooks.begin(self.journal.at.stream)
            self._begun = True
        self._sound = False
        self.journal.hold(step(), aside)
        self._sound = True

    def _due(self) -> bool:
        since, records = self._kept
        come = self.read.records - records
        waiting = come > 0 or self.journal.waiting
        return waiting and (come >= self.pace.records or time.monotonic() - since >= self.pace.seconds)

    def _commit(self, *, ended: bool = False) -> None:
        self.journal.commit(self.read, self.feed.mark(self.read.offset), ended=ended)
        self._kept = time.monotonic(), self.read.records
