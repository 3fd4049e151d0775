"""A whole stream as one thing to run: from an input through a screen and a publisher to an output, with its card.

The loop reads a batch, screens it, publishes what is due, and lets it leave, after its checkpoint if one is kept. A run
that is killed at any instant goes on with the same noise: the checkpoint comes before the rows, and the input is read
again from the offset it holds (exactly-once processing over a replayable source, Carbone et al. 2015). The card names
what left and nothing else: rows, groups and the file's hash (Dwork & Roth 2014, section 2).
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from sfumato.core.hash_chain import Head
from sfumato.errors import InputError, ParameterError, SfumatoError
from sfumato.promise import Neighbours
from sfumato.release import Card
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import beside_card, write_statement
from sfumato.stream.base import Published, Publisher
from sfumato.stream.charge import StreamBill
from sfumato.stream.connectors.file.feed import Feed
from sfumato.stream.connectors.file.inlet import has_grown, is_known
from sfumato.stream.connectors.file.sink import STDOUT, Sink
from sfumato.stream.runtime.batch import Batch
from sfumato.stream.runtime.checkpoint import FILE, Checkpoint, CheckpointFolder, Read, StreamJournal
from sfumato.stream.runtime.hooks import Hooks, Pace, StreamProgress
from sfumato.stream.screens.base import Screen
from sfumato.stream.screens.times import MarkedScreen
from sfumato.stream.setup import StreamSetup


@dataclass
class Runner:
    r"""One stream from its feed through a screen and a publisher into its journal.

    `clock` publishes what is due though no record came, for windows that end by the clock on the wall.

    >>> import tempfile
    >>> from sfumato.stream import NaiveLaplace
    >>> from sfumato.stream.screens.base import NumberScreen
    >>> folder, publisher = Path(tempfile.mkdtemp()), NaiveLaplace(bounds=(0, 10))
    >>> _ = (folder / "in.csv").write_text("hours\n1\n2\n")
    >>> screen, sink = NumberScreen({"hours": (0, 10)}), Sink(folder / "out.csv", publisher, ["hours"])
    >>> runner = Runner(Feed(folder / "in.csv", screen.wanted), screen, publisher, StreamJournal(publisher, sink))
    >>> runner.run(), runner.progress
    (True, StreamProgress(records=2, rows=2, groups=2, held=0))
    """

    feed: Feed
    screen: Screen
    publisher: Publisher
    journal: StreamJournal
    pace: Pace = field(default_factory=Pace)
    hooks: Hooks = field(default_factory=Hooks)
    clock: Callable[[], Published] | None = None
    read: Read = field(default=Read(), init=False)

    def __post_init__(self) -> None:
        at = self.journal.at
        self.read = Read(at.records, at.offset)
        self._begun, self._sound = False, True
        self._kept = time.monotonic(), at.records

    @property
    def progress(self) -> StreamProgress:
        """How far the stream has come."""
        groups = max(self.journal.groups, self.publisher.ended)
        return StreamProgress(self.read.records, self.journal.rows, groups, self.publisher.held)

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
        if at.mark and not is_known(path, at.mark):
            raise InputError(f"input '{path}' is not what this checkpoint was reading; give that, or another folder")
        if at.ended and has_grown(path, at.mark):
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
            if self.clock is not None:
                self._publish(self.clock)
            self.hooks.listen(self.progress)
            stopping = self.hooks.stop()
            if stopping or self._due():
                self._commit()
            if stopping:
                return False
        if self.clock is not None:
            self._publish(self.clock)  # the clock says which windows there are, not the last record
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


class CardHead(msgspec.Struct):
    """The part of a card that names the newest checkpoint."""

    checkpoint: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a stream: its card, how far it came, and whether its input ended."""

    card: Card
    progress: StreamProgress
    complete: bool


@dataclass(frozen=True, eq=False)
class Job:
    r"""One stream: where it comes from, where it goes, through which publisher, and where its checkpoint lies.

    The screen says which columns are read and released, and what becomes of bad records. A `ledger` is charged before
    the first noise is drawn, once for all runs that go on from one checkpoint.

    >>> import tempfile
    >>> from sfumato.stream import NaiveLaplace
    >>> from sfumato.stream.screens.base import NumberScreen
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.csv").write_text("hours\n1\n2\nx\n")
    >>> screen = NumberScreen({"hours": (0, 10)})
    >>> outcome = Job(folder / "in.csv", folder / "out.csv", NaiveLaplace(bounds=(0, 10)), screen).run()
    >>> outcome.progress.rows, outcome.card.released.file, (folder / "out.csv.card.json").exists()
    (3, 'out.csv', True)
    """

    source: Path
    target: Path
    publisher: Publisher
    screen: Screen
    checkpoint: Path | None = None
    card: Path | None = None
    follow: bool = False
    pace: Pace = field(default_factory=Pace)
    clock: Callable[[], Published] | None = None
    ledger: Path | None = None
    naming: Naming = UNNAMED

    def __post_init__(self) -> None:
        if self._bill is not None:
            self._bill.refuse()
        if self.screen.on_bad.file is not None and self.publisher.promise() is not None:
            raise ParameterError(
                f"{self.publisher.name} maps bad records to a public value, since leaving one out would tell of it; "
                "give --on-bad clamp or default"
            )

    @property
    def _bill(self) -> StreamBill | None:
        """Who pays, if anybody does."""
        card = self.publisher.card(*self.screen.released)
        fed = None if self.source == STDOUT else self.source.name
        return None if self.ledger is None else StreamBill(self.ledger, self.publisher.promise(), card, fed)

    @property
    def card_file(self) -> Path:
        """Where the card goes."""
        return self.card or self.target.with_name(f"{self.target.name}.card.json")

    def run(self, hooks: Hooks | None = None) -> Outcome:
        """Publish until the input ends or a hook says stop; what has left by then has its card."""
        self._refuse_card()
        with nullcontext() if self.checkpoint is None else CheckpointFolder.open(self.checkpoint) as store:
            feed = Feed(self.source, self.screen.wanted, follow=self.follow)
            sink = Sink(self.target, self.publisher, self.screen.released)
            self._refuse_older(None if store is None else store.load(), sink)
            journal = StreamJournal(self.publisher, sink, store, self._question(), self.screen.on_bad.file)
            told = self._with_first_card((hooks or Hooks()).with_charge(self._charge))
            self._tell_of_older(journal, told)
            runner = Runner(feed, self.screen, self.publisher, journal, self.pace, told, self.clock)
            try:
                complete = runner.run()
            except InputError as error:
                raise InputError(f"{error}{self._held_note(runner.progress)}") from error
            return Outcome(self._write_card(runner.progress, journal.head), runner.progress, complete)

    def _with_first_card(self, hooks: Hooks) -> Hooks:
        """Return hooks that write a card and its statement as soon as something has left: readers need not wait."""

        def listen(progress: StreamProgress) -> None:
            if progress.rows and not self.card_file.exists():
                self._save_card(self.publisher.card(*self.screen.released))
            hooks.listen(progress)

        return replace(hooks, listen=listen)

    def _charge(self, stream: str) -> None:
        if self._bill is not None:
            self._bill.pay(stream)

    def _refuse_older(self, at: Checkpoint | None, sink: Sink) -> None:
        """Refuse an older checkpoint where arrivals count: a record that arrives again is another one, and its row."""
        arrives = isinstance(self.screen, MarkedScreen) and self.screen.arrives
        if at is not None and arrives and sink.length > at.output.length + len(at.chunk):
            raise InputError(
                f"output '{self.target}' has rows that left after checkpoint '{self.checkpoint}', and records that "
                "arrive once more arrive at another time; begin another stream, with another checkpoint"
            )

    def _tell_of_older(self, journal: StreamJournal, hooks: Hooks) -> None:
        """Say that the card was written after a later checkpoint than the one that is there."""
        if journal.head is None or not self.card_file.exists():
            return
        with suppress(msgspec.DecodeError, SfumatoError, OSError):
            card = msgspec.json.decode(self.card_file.read_bytes(), type=CardHead)
            if card.checkpoint is not None and Head.read(card.checkpoint).number > journal.head.number:
                hooks.say(
                    f"checkpoint '{self.checkpoint}' is number {journal.head.number}, older than number "
                    f"{Head.read(card.checkpoint).number} of card '{self.card_file}': rows that left after it are "
                    "released again, the same ones"
                )

    def _refuse_card(self) -> None:
        resumed = self.checkpoint is not None and (self.checkpoint / FILE).exists()
        for file in (self.card_file, *beside_card(self.card_file)):
            if file.exists() and not resumed:
                what = "card" if file == self.card_file else "statement"
                raise InputError(f"{what} '{file}' exists; remove it or choose another name")
        if not self.card_file.parent.is_dir():
            raise InputError(f"card '{self.card_file}' cannot be written: there is no folder '{self.card_file.parent}'")

    def _question(self) -> dict[str, Any]:
        """Return what must be the same for a checkpoint to be gone on with."""
        bad = self.screen.on_bad
        return {
            "publisher": self.publisher.name,
            "columns": self.screen.wanted.names,
            "output": str(self.target if self.target == STDOUT else self.target.resolve()),
            **self.publisher.parameters(),
            "on-bad": bad.action,
            "quarantine": None if bad.file is None else str(bad.file.resolve()),
        }

    def _held_note(self, progress: StreamProgress) -> str:
        """Return what an error must add about records that were held when it came."""
        if self.checkpoint is not None or not (progress.held or self.publisher.needs_clock):
            return ""
        card = self._write_card(progress)
        hidden = str(card.guarantee.neighbours).startswith(Neighbours.PRESENCE)  # so is how many there are
        return f"; {'what had come was' if hidden else f'{progress.held} records were'} held and not released"

    def _write_card(self, progress: StreamProgress, head: Head | None = None) -> Card:
        card = self.publisher.card(*self.screen.released)
        released = msgspec.structs.replace(card.released, rows=progress.rows, classes=progress.groups)
        card = msgspec.structs.replace(card, released=released, checkpoint=None if head is None else head.text)
        if self.target.is_file():
            with self.target.open("rb") as file:
                card = card.for_file(self.target.name, hashlib.file_digest(file, "sha256").hexdigest())
        return self._save_card(card)

    def _save_card(self, unnamed: Card) -> Card:
        """Put the card, with its names and the ledger's head, and its statement in their places."""
        card = self.naming.name(unnamed if self._bill is None else self._bill.sign(unnamed))
        fresh = self.card_file.with_name(f".{os.getpid()}.partial-{self.card_file.name}")
        try:
            fresh.write_text(card.to_json(), encoding="utf-8")
            fresh.replace(self.card_file)
        except OSError as error:
            raise InputError(f"card '{self.card_file}' cannot be written: {error.strerror}") from error
        write_statement(self.card_file, card)
        return card


def publish(  # noqa: PLR0913  # where a stream comes from and goes, and what goes with it
    feed: str | Path,
    output: str | Path,
    setup: StreamSetup,
    *,
    checkpoint: str | Path | None = None,
    ledger: str | Path | None = None,
    card: str | Path | None = None,
    follow: bool = False,
    naming: Naming = UNNAMED,
    hooks: Hooks | None = None,
) -> Outcome:
    r"""Publish the records of a feed to a file with its card, as `sfumato stream` does; `-` is a pipe.

    >>> import tempfile
    >>> from sfumato.stream import build
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.csv").write_text("hours\n1\n2\n")
    >>> publish(folder / "in.csv", folder / "out.csv", build("laplace", ["hours"], bounds=(0, 10))).progress.rows
    2
    """
    source = Path(feed)
    setup.refuse_feed(still=not follow and source.is_file(), endless=follow)
    job = Job(
        source,
        Path(output),
        setup.publisher,
        setup.screen,
        None if checkpoint is None else Path(checkpoint),
        None if card is None else Path(card),
        follow,
        clock=setup.clock,
        ledger=None if ledger is None else Path(ledger),
        naming=naming,
    )
    return job.run(hooks)
