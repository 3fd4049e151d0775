"""The command that publishes a feed as anonymous groups of records, within a delay bound."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.engine import EngineOptions
from sfumato.cli.options import Columns, Flag, Input, names
from sfumato.cli.outputs import STDOUT, refuse_mixed_output
from sfumato.cli.progress import INTERRUPTED
from sfumato.cli.publishers import KeyOptions, PublisherOptions
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.engines.spark.streams.keys import Keys
    from sfumato.release import Card
    from sfumato.stream.build import Plan
    from sfumato.stream.runtime.job import Outcome
    from sfumato.stream.runtime.runner import Hooks


def stream(
    feed: Input,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], allow_leading_hyphen=True, metavar="OUT")],
    column: Columns = (),
    options: PublisherOptions = PublisherOptions(),
    on_bad: Annotated[str, Parameter(metavar="ACTION")] = "clamp",
    checkpoint: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    ledger: Path | None = None,
    card: Path | None = None,
    follow: Flag = False,
    engine: EngineOptions = EngineOptions(),
    keys: KeyOptions = KeyOptions(),
) -> int:
    """Publish the records of a feed as they come, in anonymous groups, with the card that says what is promised.

    Rows leave under the column's name with their group, its size and seq, the number of the row.
    The publishers doca, laplace and linked also tell each record's position; the others do not, by design.

    Args:
        feed: File to read: CSV (also .gz), JSON lines or Parquet; - is standard input. With --engine spark, a folder.
        output: File to write; its ending chooses the format; - is standard output. With --engine spark, a folder.
        column: Column to publish; rank and adaptive take several numbers, separated by commas, or a category.
        on_bad: What becomes of bad records: clamp (numbers to the bounds, the rest to their middle), default (all to
            the middle of the bounds), or quarantine:FILE where no differential privacy is promised.
        checkpoint: Folder from which a killed run goes on with the same noise and no record lost; keep it secret.
        ledger: Budget that is charged before anything is drawn.
        card: Where the card goes; OUT.card.json unless named.
        follow: Keep reading a text file while it grows; on Spark, a folder.
    """
    from sfumato.stream.build import plan
    from sfumato.stream.runtime.job import Job
    from sfumato.stream.screens.base import OnBad

    if ledger is not None and options.horizon is not None:
        raise ParameterError("--ledger cannot charge a promise that begins anew with every --horizon; leave one out")
    if engine.spark:
        asked = plan(options.publisher, options.given(), names(column), OnBad.read(on_bad), live=False)
        marked = Place(feed, output, checkpoint, card, ledger, follow, engine.master)
        return _on_spark(asked, _keys(keys, options.person, ledger), keys.order or options.time, marked)
    if keys.given:
        raise ParameterError(f"--{keys.given[0]} is for many publishers on Spark; add --engine spark")
    refuse_mixed_output(output, card, json=False)
    arriving = follow or not feed.is_file()
    asked = plan(options.publisher, options.given(), names(column), OnBad.read(on_bad), live=arriving)
    job = Job(feed, output, asked.publisher, asked.screen, checkpoint, card, follow, clock=asked.clock)
    return _run(job.promise, job.run, Place(feed, output, checkpoint, card, ledger))


@dataclass(frozen=True)
class Place:
    """Where a stream comes from, where it goes, and what goes with it."""

    feed: Path
    output: Path
    checkpoint: Path | None
    card: Path | None
    ledger: Path | None
    follow: bool = False
    master: str | None = None


def _on_spark(asked: Plan, keys: Keys, order: str | None, place: Place) -> int:
    """Publish a folder through many publishers."""
    from sfumato.engines.spark.session import spark_session
    from sfumato.engines.spark.streams.run import SparkRun
    from sfumato.engines.spark.streams.source import ARRIVAL, mark_of, read_growing
    from sfumato.engines.spark.streams.stream import SparkStream

    if (place.master or "").startswith("sc://"):
        raise ParameterError("a stream's driver runs here, which sc:// has not; give local[*] or spark://host:7077")
    if STDOUT in {place.feed, place.output}:
        raise ParameterError("a stream on Spark goes from a folder to a folder; - is none")
    stream = SparkStream(asked.publisher, asked.screen, keys, (*([] if order is None else [order]), *ARRIVAL))
    run = SparkRun(stream, place.output, place.checkpoint, place.card, place.follow, mark_of(place.feed))
    records = read_growing(spark_session(place.master), place.feed)
    return _run(stream.card(), lambda hooks: run.run(records, hooks), place)


def _keys(keys: KeyOptions, person: str | None, ledger: Path | None) -> Keys:
    """Return what tells publishers apart."""
    from sfumato.engines.spark.streams.keys import ByKey, ByPerson

    if keys.key is None and person is None:
        raise ParameterError("Spark keeps many publishers; give --key COLUMN for one a value, or --person COLUMN")
    if keys.key is None and person is not None:
        return ByPerson(person) if keys.buckets is None else ByPerson(person, keys.buckets)
    if keys.buckets is not None:
        raise ParameterError("--buckets spreads persons where there is no --key; leave one of the two out")
    if ledger is not None and person is not None:
        raise ParameterError("--ledger cannot charge persons whose promise holds within each --key; leave --key out")
    return ByKey(keys.key or "")


def _run(promise: Card, run: Callable[[Hooks], Outcome], place: Place) -> int:
    try:
        with _hooks(promise, place) as hooks:
            outcome = run(hooks)
    except KeyboardInterrupt:
        sys.stderr.write("sfumato: interrupted at once; what has left stays where it is\n")
        return INTERRUPTED
    return _said(place, outcome)


@contextmanager
def _hooks(promise: Card, place: Place) -> Iterator[Hooks]:
    """Yield what the stream calls: the charge, the live line, and whether Ctrl-C or a polite kill came."""
    from sfumato.stream.charge import debit, refuse_uncharged
    from sfumato.stream.runtime.live import Live
    from sfumato.stream.runtime.runner import Hooks

    if place.ledger is not None:
        refuse_uncharged(promise)

    def begin(identity: str) -> None:
        if place.ledger is not None:
            debit(place.ledger, promise, ", ".join(column.name for column in promise.released.columns), identity)

    def say(sentence: str) -> None:
        if place.checkpoint is not None:
            sys.stderr.write(f"{sentence}\n")
            sys.stderr.flush()

    live = Live(promise.guarantee.parameters.get("epsilon"))
    try:
        with _stopping() as stop:
            yield Hooks(begin, say, live, lambda: bool(stop))
    finally:
        live.close()


@contextmanager
def _stopping() -> Iterator[list[int]]:
    """Yield a list that is no longer empty once a signal came that asks to stop; a second one stops at once."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if came:
            signal.default_int_handler(number, frame)
        came.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _said(place: Place, outcome: Outcome) -> int:
    """Say what left, and return the exit code."""
    progress, target = outcome.progress, "standard output" if place.output == STDOUT else str(place.output)
    lines = [f"{progress.rows} rows in {progress.groups} groups written to {target}"]
    lines += [f"  warning: {warning}" for warning in outcome.card.warnings]
    (sys.stderr if place.output == STDOUT else sys.stdout).write("\n".join(lines) + "\n")
    if outcome.complete:
        return 0
    held = f"{progress.held} records are held and were not released"
    if place.checkpoint is not None:
        kept = f"checkpoint '{place.checkpoint}'"
        held = f"{progress.held} records are held in {kept}; the same command goes on from there"
    sys.stderr.write(f"sfumato: interrupted; {held}\n")
    return INTERRUPTED
