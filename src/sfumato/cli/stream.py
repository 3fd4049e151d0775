"""The command that publishes a feed as anonymous groups of records, within a delay bound."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.options import Columns, Flag, Input, names
from sfumato.cli.outputs import STDOUT, refuse_mixed_output
from sfumato.cli.progress import INTERRUPTED
from sfumato.cli.publishers import PublisherOptions
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.stream.job import Job, Outcome
    from sfumato.stream.runner import Hooks


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
) -> int:
    """Publish the records of a feed as they come, in anonymous groups, with the card that says what is promised.

    Rows leave under the column's name with their group, its size and seq, the number of the row.
    The publishers doca, laplace and linked also tell each record's position; the others do not, by design.

    Args:
        feed: File to read: CSV (also .gz), JSON lines or Parquet; - is standard input.
        output: File to write; its ending chooses the format; - is standard output.
        column: Column to publish; rank and adaptive take several numbers, separated by commas, or a category.
        on_bad: What becomes of bad records: clamp (numbers to the bounds, the rest to their middle), default (all to
            the middle of the bounds), or quarantine:FILE where no differential privacy is promised.
        checkpoint: Folder from which a killed run goes on with the same noise and no record lost; keep it secret.
        ledger: Budget that is charged before anything is drawn.
        card: Where the card goes; OUT.card.json unless named.
        follow: Keep reading a text file while it grows.
    """
    from sfumato.cli.plan import plan
    from sfumato.stream.bad import OnBad
    from sfumato.stream.job import Job

    refuse_mixed_output(output, card, json=False)
    arriving = follow or not feed.is_file()
    asked = plan(options.publisher, options.given(), names(column), OnBad.read(on_bad), live=arriving)
    job = Job(feed, output, asked.publisher, asked.screen, checkpoint, card, follow, clock=asked.clock)
    if ledger is not None and options.horizon is not None:
        raise ParameterError("--ledger cannot charge a promise that begins anew with every --horizon; leave one out")
    try:
        with _hooks(job, ledger) as hooks:
            outcome = job.run(hooks)
    except KeyboardInterrupt:
        sys.stderr.write("sfumato: interrupted at once; what has left stays where it is\n")
        return INTERRUPTED
    return _said(job, outcome)


@contextmanager
def _hooks(job: Job, ledger: Path | None) -> Iterator[Hooks]:
    """Yield what the stream calls: the charge, the live line, and whether Ctrl-C or a polite kill came."""
    from sfumato.cli.charge import debit, refuse_uncharged
    from sfumato.stream.live import Live
    from sfumato.stream.runner import Hooks

    promise = job.promise
    if ledger is not None:
        refuse_uncharged(promise)

    def begin(identity: str) -> None:
        if ledger is not None:
            debit(ledger, promise, ", ".join(job.screen.released), identity)

    def say(sentence: str) -> None:
        if job.checkpoint is not None:
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


def _said(job: Job, outcome: Outcome) -> int:
    """Say what left, and return the exit code."""
    progress, place = outcome.progress, "standard output" if job.target == STDOUT else str(job.target)
    lines = [f"{progress.rows} rows in {progress.groups} groups written to {place}"]
    lines += [f"  warning: {warning}" for warning in outcome.card.warnings]
    (sys.stderr if job.target == STDOUT else sys.stdout).write("\n".join(lines) + "\n")
    if outcome.complete:
        return 0
    held = f"{progress.held} records are held and were not released"
    if job.checkpoint is not None:
        held = f"{progress.held} records are held in checkpoint '{job.checkpoint}'; the same command goes on from there"
    sys.stderr.write(f"sfumato: interrupted; {held}\n")
    return INTERRUPTED
