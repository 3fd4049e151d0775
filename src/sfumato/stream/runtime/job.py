"""A whole stream as one thing to run: from an input through a screen and a publisher to an output, with its card.

A run that is killed at any instant goes on with the same noise: the checkpoint comes before the rows, and the input is
read again from the offset it holds (exactly-once processing over a replayable source, Carbone et al. 2015). The card
names what left and nothing else: rows, groups and the file's hash (Dwork & Roth 2014, section 2). It is there from the
first window on. What was counted of the records goes into the steward's report alone.
"""

from __future__ import annotations

import hashlib
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from sfumato.core.files import refuse_inside, refuse_same_files, write_durably
from sfumato.core.hash_chain import Head
from sfumato.dp.ledger.places import LedgerPlace, ledger_file
from sfumato.errors import InputError, ParameterError, SfumatoError
from sfumato.promise import Neighbours
from sfumato.release import Card
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import beside_card, write_statement
from sfumato.schema import Reading
from sfumato.stream.base import Publisher
from sfumato.stream.charge import StreamBill, source_words
from sfumato.stream.connectors.base import Connector, RowSink
from sfumato.stream.connectors.file.outlet import keep_private, refuse_there
from sfumato.stream.connectors.file.sink import STDOUT, waiting_file
from sfumato.stream.connectors.registry import find_place, sink_of, source_of
from sfumato.stream.intake import SHARE, Intake
from sfumato.stream.runtime.checkpoint import FILE, Checkpoint, CheckpointFolder, StreamJournal
from sfumato.stream.runtime.deliveries import delivery_notes
from sfumato.stream.runtime.hooks import Hooks, Pace, StreamProgress
from sfumato.stream.runtime.runner import Clock, Runner
from sfumato.stream.screens.base import Screen
from sfumato.stream.screens.times import MarkedScreen
from sfumato.stream.setup import StreamSetup

RUNNING = "the stream was running when this card was written: later rows have the same promise and are not counted here"


class CardHead(msgspec.Struct):
    """The part of a card that names the newest checkpoint."""

    checkpoint: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a stream: its card, how far it came, whether its input ended, and what became of the records.

    The intake is the steward's: it is computed from the records and is never public.
    """

    card: Card
    progress: StreamProgress
    complete: bool
    intake: Intake = field(default_factory=Intake)


@dataclass(frozen=True, eq=False)
class Job:
    r"""One stream: where it comes from, where it goes, through which publisher, and where its checkpoint lies.

    The screen says which columns are read and released, and what becomes of bad records. A `ledger` is charged before
    the first noise is drawn, once for all runs that go on from one checkpoint. A feed of whose first records more than
    `max_failed` cannot be read is refused before that. `report` is the steward's own file about the records, which only
    its owner may read, and `page` one that whoever runs the job writes at its end; `notes` are public sentences for the
    card.

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

    source: Path | Connector
    target: Path | Connector
    publisher: Publisher
    screen: Screen
    checkpoint: Path | None = None
    card: Path | None = None
    follow: bool = False
    pace: Pace = field(default_factory=Pace)
    clock: Clock | None = None
    ledger: LedgerPlace | None = None
    report: Path | None = None
    page: Path | None = None
    max_failed: float = SHARE
    notes: tuple[str, ...] = ()
    reading: Reading = Reading()  # noqa: RUF009 - frozen
    naming: Naming = UNNAMED

    def __post_init__(self) -> None:
        if not 0 <= self.max_failed <= 1:
            raise ParameterError(f"--max-failed is {self.max_failed:g}; give a share from 0 to 1")
        self._refuse_broker()
        refuse_same_files({**self._files, "the checkpoint": self.checkpoint})
        refuse_inside("checkpoint", self.checkpoint, self._files)
        if self._bill is not None:
            self._bill.refuse()
        if self.screen.on_bad.file is not None and self.publisher.promise() is not None:
            raise ParameterError(
                f"{self.publisher.name} maps bad records to a public value, since leaving one out would tell of it; "
                "give --on-bad clamp or default"
            )

    def _refuse_broker(self) -> None:
        """Refuse a broker without a checkpoint or a place for the card, or one topic that is read and written."""
        source, target = _broker(self.source), _broker(self.target)
        for broker in (source, target):
            if broker is not None and self.checkpoint is None:
                raise ParameterError(
                    f"'{broker.address}' is a broker, which is told what was read, and has each row once, by a "
                    "checkpoint; give --checkpoint DIR"
                )
        if source is not None:
            delivery_notes(source, self.publisher)
        if source is not None and self.follow:
            raise ParameterError("a broker is always followed; leave --follow out")
        if target is not None and self.card is None:
            raise ParameterError(f"'{target.address}' is a broker, and a card is a file; say with --card where it goes")
        if source is not None and target is not None and source.same_topic(target):
            raise ParameterError(f"'{target.address}' is read and written; choose another topic for the output")

    @property
    def _delivered(self) -> tuple[str, ...]:
        """What the card says of how the source delivers."""
        source = _broker(self.source)
        return () if source is None else delivery_notes(source, self.publisher)

    @property
    def _files(self) -> dict[str, Path | None]:
        """Every file of the stream by its role: no two may be one."""
        text, page = beside_card(self.card_file)
        source, target = _file(self.source), _file(self.target)
        return {
            "the input": source,
            "the output": target,
            "the card": self.card_file,
            "the statement": text,
            "the page of the statement": page,
            "the parse report": self.report,
            "the report": self.page,
            "the quarantine": self.screen.on_bad.file,
            "the ledger": ledger_file(self.ledger),
            "where rows wait": None if target is None else waiting_file(target),
        }

    @property
    def _bill(self) -> StreamBill | None:
        """Who pays, if anybody does."""
        card = self.publisher.card(*self.screen.released)
        fed = None if self.source == STDOUT else _called(self.source)
        what = source_words(self.publisher, self.screen.released)
        return None if self.ledger is None else StreamBill(self.ledger, self.publisher.promise(), card, fed, what)

    @property
    def card_file(self) -> Path:
        """Where the card goes."""
        if self.card is None and isinstance(self.target, Path):
            return self.target.with_name(f"{self.target.name}.card.json")
        return self.card or Path()  # a broker without a place for the card was refused

    def run(self, hooks: Hooks | None = None) -> Outcome:
        """Publish until the input ends or a hook says stop; what has left by then has its card."""
        self._refuse_existing()
        with nullcontext() if self.checkpoint is None else CheckpointFolder.open(self.checkpoint) as store:
            at = None if store is None else store.load()
            known = "" if at is None else at.mark
            most = self.pace.records
            feed = source_of(self.source, self.screen.wanted, self.reading, known, follow=self.follow, most=most)
            sink = sink_of(self.target, self.publisher, self.screen.released, hooks)
            self._refuse_older(at, sink)
            journal = StreamJournal(self.publisher, sink, store, self._question(), self.screen.on_bad.file)
            told = (hooks or Hooks()).with_charge(self._charge)
            self._tell_of_older(journal, told)
            runner = Runner(
                feed, self.screen, self.publisher, journal, self.pace, told, self.clock, self.max_failed, self
            )
            try:
                complete = runner.run()
            except InputError as error:
                raise type(error)(f"{error}{self._held_note(runner)}") from error
            card = self._write_card(runner.progress, journal.head)
            return Outcome(card, runner.progress, complete, runner.intake)

    def show_card(self, progress: StreamProgress) -> None:
        """Write the card of a stream whose first window has left, and which goes on."""
        self._write_card(progress, running=True)

    def keep_report(self, intake: Intake) -> None:
        """Write what became of the records so far to the steward's report, if one was asked for."""
        if self.report is None:
            return
        told = {
            "do_not_publish": True,
            "the input": str(self.source),
            "publisher": self.publisher.name,
            "notes": self.notes,
        }
        content = msgspec.json.format(msgspec.json.encode({**told, "intake": intake}), indent=2)
        try:
            write_durably(self.report, content + b"\n")
        except OSError as error:
            raise InputError(f"parse report '{self.report}' cannot be written: {error.strerror}") from error

    def _charge(self, stream: str) -> None:
        if self._bill is not None:
            self._bill.pay(stream)

    def _refuse_older(self, at: Checkpoint | None, sink: RowSink) -> None:
        """Refuse an older checkpoint where records do not come again, or are others when they arrive once more."""
        arrives = isinstance(self.screen, MarkedScreen) and self.screen.arrives
        source = _broker(self.source)
        gone = source is not None and not source.replays
        if at is not None and (arrives or gone) and sink.further(at.stream, at.output, at.chunk):
            why = "arrive once more arrive at another time" if arrives else "were acknowledged do not come again"
            raise InputError(
                f"output '{self.target}' has rows that left after checkpoint '{self.checkpoint}', and records that "
                f"{why}; begin another stream, with another checkpoint"
            )

    def _tell_of_older(self, journal: StreamJournal, hooks: Hooks) -> None:
        """Say that the card was written after a later checkpoint than the one that is there."""
        if journal.head is None or not self.card_file.exists():
            return
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError, SfumatoError, OSError):
            card = msgspec.json.decode(self.card_file.read_bytes(), type=CardHead)
            if card.checkpoint is not None and Head.read(card.checkpoint).number > journal.head.number:
                hooks.say(
                    f"checkpoint '{self.checkpoint}' is number {journal.head.number}, older than number "
                    f"{Head.read(card.checkpoint).number} of card '{self.card_file}': rows that left after it are "
                    "released again, the same ones"
                )

    def _refuse_existing(self) -> None:
        resumed = self.checkpoint is not None and (self.checkpoint / FILE).exists()
        statements = (("statement", file) for file in beside_card(self.card_file))
        steward = (("parse report", self.report), ("report", self.page))
        for what, file in (("card", self.card_file), *steward, *statements):
            if file is None:
                continue
            if not resumed:
                refuse_there(what, file)
            elif file in {self.report, self.page}:
                keep_private(file)
            if not file.parent.is_dir():
                raise InputError(f"{what} '{file}' cannot be written: there is no folder '{file.parent}'")

    def _question(self) -> dict[str, Any]:
        """Return what must be the same for a checkpoint to be gone on with."""
        bad = self.screen.on_bad
        return {
            "publisher": self.publisher.name,
            "columns": self.screen.wanted.names,
            "the output": _lasting(self.target),
            **self.publisher.parameters(),
            "on-bad": bad.action,
            **({"reading": written} if (written := self.reading.to_mapping()) else {}),
            "the quarantine": None if bad.file is None else str(bad.file.resolve()),
        }

    def _held_note(self, runner: Runner) -> str:
        """Return what an error must add about records that were held when it came."""
        progress = runner.progress
        if self.checkpoint is not None or not runner.begun or not (progress.held or self.publisher.needs_clock):
            return ""
        hidden = _hides_records(self._write_card(progress))
        return f"; {'what had come was' if hidden else f'{progress.held} records were'} held and not released"

    def _write_card(self, progress: StreamProgress, head: Head | None = None, *, running: bool = False) -> Card:
        card = self.publisher.card(*self.screen.released)
        released = msgspec.structs.replace(card.released, rows=progress.rows, classes=progress.groups)
        card = msgspec.structs.replace(
            card,
            assumptions=[*self.notes, *self._delivered, *card.assumptions],
            released=released,
            warnings=[*card.warnings, *([RUNNING] if running else [])],
            checkpoint=None if head is None or _hides_records(card) else head.text,
        )
        file = _file(self.target)
        if file is not None and file.is_file() and not running:
            with file.open("rb") as rows:
                card = card.for_file(file.name, hashlib.file_digest(rows, "sha256").hexdigest())
        return self._save_card(card)

    def _save_card(self, unnamed: Card) -> Card:
        """Put the card, with its names and the ledger's head, and its statement in their places."""
        card = self.naming.name(unnamed if self._bill is None else self._bill.sign(unnamed))
        try:
            write_durably(self.card_file, card.to_json().encode(), public=True)
        except OSError as error:
            raise InputError(f"card '{self.card_file}' cannot be written: {error.strerror}") from error
        write_statement(self.card_file, card)
        return card


def _hides_records(card: Card) -> bool:
    """Whether it is secret how many records came, and so how many checkpoints they were the reason of."""
    return str(card.guarantee.neighbours).startswith(Neighbours.PRESENCE)


def _file(place: Path | Connector) -> Path | None:
    return place if isinstance(place, Path) else None


def _broker(place: Path | Connector) -> Connector | None:
    return None if isinstance(place, Path) else place


def _called(place: Path | Connector) -> str:
    return place.name if isinstance(place, Path) else str(place)


def _lasting(place: Path | Connector) -> str:
    """Return the place so that it means the same from another folder."""
    return str(place if place == STDOUT or not isinstance(place, Path) else place.resolve())


def publish(  # noqa: PLR0913  # where a stream comes from and goes, and what goes with it
    feed: str | Path,
    output: str | Path,
    setup: StreamSetup,
    *,
    checkpoint: str | Path | None = None,
    ledger: LedgerPlace | None = None,
    card: str | Path | None = None,
    parse_report: str | Path | None = None,
    report: str | Path | None = None,
    follow: bool = False,
    max_failed: float | None = None,
    naming: Naming = UNNAMED,
    hooks: Hooks | None = None,
) -> Outcome:
    r"""Publish the records of a feed to a file with its card, as `sfumato stream` does; `-` is a pipe.

    Both may be the address of a broker, as `redis://host/stream`. `report` is a file that whoever calls writes at the
    end (`sfumato.report`): here it is only refused where it cannot be.

    >>> import tempfile
    >>> from sfumato.stream import build
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.csv").write_text("hours\n1\n2\n")
    >>> publish(folder / "in.csv", folder / "out.csv", build("laplace", ["hours"], bounds=(0, 10))).progress.rows
    2
    """
    source, target = find_place(feed), find_place(output)
    still = isinstance(source, Path) and source.is_file() and not follow
    setup.refuse_feed(still=still, endless=follow or not isinstance(source, Path))
    job = Job(
        source,
        target,
        setup.publisher,
        setup.screen,
        None if checkpoint is None else Path(checkpoint),
        None if card is None else Path(card),
        follow,
        clock=setup.clock,
        ledger=ledger,
        report=None if parse_report is None else Path(parse_report),
        page=None if report is None else Path(report),
        max_failed=setup.max_failed if max_failed is None else max_failed,
        notes=setup.notes,
        reading=setup.reading,
        naming=naming,
    )
    return job.run(hooks)
