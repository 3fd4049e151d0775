"""The loop of one stream: read a batch, screen it, publish what is due, and let it leave, after its checkpoint.

Before anything is drawn or charged, the first records are judged: a feed whose cells cannot be read is refused as an
act of the steward. From then on no content of a record stops the stream, since whether it stops is seen by all
(Haeberlen, Pierce & Narayan 2011); what fails is counted for the steward alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from sfumato.errors import InputError, SfumatoError
from sfumato.stream.base import Numbers, Published, Publisher
from sfumato.stream.connectors.base import FeedPlace, Source
from sfumato.stream.intake import JUDGED, SHARE, Intake, Trial
from sfumato.stream.runtime.batch import Batch
from sfumato.stream.runtime.checkpoint import Read, StreamJournal
from sfumato.stream.runtime.hooks import Hooks, Pace, StreamProgress
from sfumato.stream.screens.base import Screen


class Clock(Protocol):
    """What ends windows though no record comes: a call publishes what is due, and `due` says whether any window is."""

    @property
    def due(self) -> bool: ...
    def __call__(self) -> Published: ...


class Keeper(Protocol):
    """Who writes down how a stream goes: its card once the first window has left, and the steward's report."""

    def show_card(self, progress: StreamProgress) -> None: ...
    def keep_report(self, intake: Intake) -> None: ...


class NoKeeper:
    """Nobody writes anything down.

    >>> NoKeeper().keep_report(Intake())
    """

    def show_card(self, progress: StreamProgress) -> None:
        """Keep nothing."""

    def keep_report(self, intake: Intake) -> None:
        """Keep nothing."""


@dataclass
class Runner:
    r"""One stream from its feed through a screen and a publisher into its journal.

    `clock` publishes what is due though no record came, for windows that end by the clock on the wall. `share` is the
    largest share of the first cells of a column that may fail.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from sfumato.stream import NaiveLaplace
    >>> from sfumato.stream.connectors.file.feed import Feed
    >>> from sfumato.stream.connectors.file.sink import Sink
    >>> from sfumato.stream.screens.base import NumberScreen
    >>> folder, publisher = Path(tempfile.mkdtemp()), NaiveLaplace(bounds=(0, 10))
    >>> _ = (folder / "in.csv").write_text("hours\n1\n2\n")
    >>> screen, sink = NumberScreen({"hours": (0, 10)}), Sink(folder / "out.csv", publisher, ["hours"])
    >>> runner = Runner(Feed(folder / "in.csv", screen.wanted), screen, publisher, StreamJournal(publisher, sink))
    >>> runner.run(), runner.progress
    (True, StreamProgress(records=2, rows=2, groups=2, held=0, vacant=0))
    >>> runner.intake.lines()[1]
    "column 'hours': 2 cells read, 0 missing, 0 not readable, 0 out of bounds"
    """

    feed: Source
    screen: Screen
    publisher: Publisher
    journal: StreamJournal
    pace: Pace = field(default_factory=Pace)
    hooks: Hooks = field(default_factory=Hooks)
    clock: Clock | None = None
    share: float = SHARE
    keeper: Keeper = field(default_factory=NoKeeper)
    read: Read = field(default=Read(), init=False)
    intake: Intake = field(default=Intake(), init=False)
    begun: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        at = self.journal.at
        self.read, self.intake = Read(at.records, at.offset), at.intake
        self._sound, self._shown = True, False
        self._warned = self.intake.exceeding(self.share) is not None
        self._kept = time.monotonic(), at.records
        self._place: FeedPlace | None = None  # behind the last record that was taken

    @property
    def progress(self) -> StreamProgress:
        """How far the stream has come."""
        groups = max(self.journal.groups, self.publisher.ended)
        journal = self.journal
        return StreamProgress(self.read.records, journal.rows, groups, self.publisher.held, journal.vacant)

    def _ahead(self, judged: int) -> StreamProgress:
        """Return how far the stream is with the records that are judged before any of them is taken."""
        now = self.progress
        return replace(now, records=now.records + judged, held=now.held + judged)

    def run(self) -> bool:
        """Read, publish and write until the input ends or somebody wants to stop; return whether it ended."""
        try:
            return self._run()
        finally:
            self.feed.close()

    def _run(self) -> bool:
        try:
            self._resume()
            complete = self.journal.at.ended or self._loop()
        except SfumatoError:
            self._leave()
            raise
        except BaseException:
            self.journal.close(complete=False)
            raise
        self.journal.close(complete=complete)
        self.feed.acknowledge(self.journal.kept)
        return complete

    def _leave(self) -> None:
        """Keep what came before an error, or take everything away if nothing came."""
        if self._sound and not self.read.records and not self.journal.rows:
            self.journal.discard()
            self.feed.forget()
            return
        with suppress(SfumatoError):  # the first error is the one to tell
            if self._sound:
                self._commit()
        with suppress(SfumatoError):
            self.journal.close(complete=False)

    def _resume(self) -> None:
        """Let the feed go on behind the checkpoint, if it is the one that the checkpoint was reading."""
        at = self.journal.at
        self._sound = self.journal.fresh  # then what was made is taken away again
        self.feed.resume(at.stream, at.mark, self.hooks, fresh=self.journal.fresh)
        if at.ended and self.feed.has_grown(at.mark):
            raise InputError(
                f"input '{self.feed.name}' has grown since the stream of this checkpoint ended at record {at.records}; "
                "give the rest another folder, and follow a growing input"
            )
        self._sound = True

    def _loop(self) -> bool:
        if self.feed.piped:
            self.hooks.say(f"resume from record {self.read.records}")
        for batch, place in self._judged():
            if batch.count:
                self._take(batch, place)
            if self.clock is not None:
                self._publish(self.clock)
            self._show()
            self.feed.acknowledge(self.journal.kept)
            stopping = self.hooks.stop()
            if stopping or self._due():
                self._commit()
            if stopping:
                return False
        if self.clock is not None:
            self._publish(self.clock)  # the clock says which windows there are, not the last record
        self._publish(self.publisher.flush)
        self._place = self.feed.place  # behind blank lines too
        self.read = Read(self.read.records, self._place.offset)
        self._commit(ended=True)
        self.hooks.listen(self.progress)
        return True

    def _judged(self) -> Iterator[tuple[Batch, FeedPlace]]:
        """Yield each batch and the place behind it; the first ones only when they were judged, all together.

        Enough are those after which the publisher can hold no more, and JUDGED at most; a window that is due, the end
        of the input and a wish to stop end the trial too. A stream that goes on was judged when it began, and one that
        puts bad records aside invents none.
        """
        held: list[tuple[Batch, FeedPlace]] = []
        trial = None if self.read.records or self.screen.on_bad.file else Trial(self.share)
        enough = min(JUDGED, self.publisher.delay + 1)
        for batch in self.feed.batches(self.read.offset):
            held.append((batch, self.feed.place))
            if trial is not None:
                self._try(trial, batch)
                if trial.intake.records < enough and not self._over():
                    held = held if batch.count else held[:-1]
                    self.hooks.listen(self._ahead(trial.intake.records))
                    continue
                trial.refuse()
                trial = None
            yield from held
            held = []
        if trial is not None:
            trial.refuse()
        yield from held

    def _try(self, trial: Trial, batch: Batch) -> None:
        if batch.count:
            screened = self.screen(batch, trial.intake.records)
            trial.add(screened.cells, batch.unreadable, screened.persons)

    def _over(self) -> bool:
        """Whether the trial must end though few records have come."""
        return (self.clock is not None and self.clock.due) or self.feed.stalled or self.hooks.stop()

    def _take(self, batch: Batch, place: FeedPlace) -> None:
        screened = self.screen(batch, self.read.records)
        self._publish(lambda: self.publisher.push_many(screened.values), screened.aside, screened.values)
        self.intake = self.intake.plus(Intake.of(screened.cells, batch.unreadable, self.read.records))
        self.read, self._place = Read(self.read.records + batch.count, place.offset), place
        column = None if self._warned else self.intake.exceeding(self.share)
        if column is not None:
            self._warned = True
            words = self.intake.columns[column].words
            self.hooks.tell(f"more cells of column '{column}' cannot be read than may: {words}")

    def _publish(self, step: Callable[[], Published], aside: bytes = b"", came: Numbers | None = None) -> None:
        """Let the publisher take a step and hold what leaves; until it is held, no checkpoint may be written."""
        if not self.begun:
            self.hooks.begin(self.journal.at.stream)
            self.hooks.see(self.feed.names)
            self.begun = True
        self._sound = False
        left = step()
        self.journal.hold(left, aside)
        self.intake = self.intake.with_left_out(self.publisher.take_left_out())
        self._sound = True
        self.hooks.watch(came, left, self.publisher.held)

    def _show(self) -> None:
        """Show how far the stream is, and its card once a window has left."""
        progress = self.progress
        self.hooks.listen(progress)
        if progress.groups and not self._shown:
            self._shown = True
            self.keeper.show_card(progress)

    def _due(self) -> bool:
        if self.clock is not None and self.journal.waiting:
            return True  # when a window leaves is public: it waits for no checkpoint that records were the reason of
        since, records = self._kept
        come = self.read.records - records
        waiting = come > 0 or self.journal.waiting
        late = time.monotonic() - since >= self.pace.seconds
        return waiting and (come >= self.pace.records or late or self.feed.stalled)

    def _commit(self, *, ended: bool = False) -> None:
        mark = self.journal.at.mark if self._place is None else self._place.mark()
        self.journal.commit(self.read, mark, self.intake, ended=ended)
        self.keeper.keep_report(self.intake)
        self.hooks.keep(self.intake)
        self._kept = time.monotonic(), self.read.records
