"""The command that publishes a feed as anonymous groups of records, within a delay bound."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sfumato.cli.engine import EngineOptions
from sfumato.cli.input_options import InputOptions
from sfumato.cli.naming_options import NamingOptions
from sfumato.cli.operation import OperationOptions
from sfumato.cli.options import Columns, Flag, LedgerOption, TableInput, Whole, as_place, names
from sfumato.cli.outputs import STDOUT, refuse_mixed_output
from sfumato.cli.plugin_options import given, option_group
from sfumato.cli.progress import INTERRUPTED
from sfumato.cli.terminal import single_line
from sfumato.errors import ParameterError
from sfumato.promise.unit import Neighbours
from sfumato.stream.setup import choices

if TYPE_CHECKING:
    from sfumato.stream.runtime.hooks import Hooks
    from sfumato.stream.runtime.job import Outcome
    from sfumato.stream.setup import StreamSetup

    PublisherOptions = Any
else:
    PublisherOptions = option_group(
        "Publisher",
        "publisher",
        "auto",
        "The algorithm; auto picks one by its predicted error, from public numbers alone.",
        choices(),
    )


@Parameter(name="*", group="Publisher")
@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """What is declared about the records.

    Attributes:
        bounds: Public lower and upper bound of the values; never take them from the data.
        quasi: Columns to generalise, separated by commas (castle); --column names those that stay as they are.
        schema: TOML file with types, bounds, categories and hierarchies of columns.
        person: Column that tells persons apart: only their first records count, and the promise is about persons.
        per_person: How many records of a person count; 1 unless given.
        events: Protect single records, though a column may tell persons apart.
        horizon: For how long they count, as in 30d; for the whole stream unless given.
        every: Windows in time, as in 10s; how many records they have is hidden too (rank, adaptive, statistics, totals,
            w-event).
        last: How far back a window looks: a time with --every, as in 1h, or a number of records; a multiple of the step
            (statistics).
        from_: Where the first window begins: a date, a time in ISO 8601, or seconds since 1970.
        until: Where the last window ends; without an end unless given.
        time: Column with the time of each record, which decides its window; without it, the moment at which it is read.
        late: How long behind its end a window takes records that arrive late, as in 5m, by the clock of the reader;
            unless given, records do not arrive: none is late, and windows leave when the input ends.
    """

    bounds: Annotated[
        tuple[float, float] | None, Parameter(metavar="LOW HIGH", allow_leading_hyphen=True, negative=())
    ] = None
    quasi: Columns = ()
    schema: Path | None = None
    person: str | None = None
    per_person: Whole = None
    events: Flag = False
    horizon: str | None = None
    every: str | None = None
    last: str | None = None
    from_: Annotated[str | None, Parameter(name="--from")] = None
    until: str | None = None
    time: str | None = None
    late: str | None = None


@Parameter(name="*", group="Engine")
@dataclass(frozen=True, kw_only=True)
class KeyOptions:
    """Which records share a publisher, where there are many (Spark).

    Attributes:
        key: Column whose every value has a publisher of its own, as a station has; the promise holds within each.
        buckets: Over how many publishers the persons of --person are spread, where there is no --key; 16 unless given.
        order: Column that records are in the order of, within the files that are read together; public, as arrival is.
    """

    key: str | None = None
    buckets: Whole = None
    order: str | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Where a stream is kept and charged.

    Attributes:
        checkpoint: Folder from which a killed run goes on with the same noise and no record lost; keep it secret.
        ledger: Budget that is charged before anything is drawn.
        card: Where the card goes; OUT.card.json unless named.
        parse_report: JSON file for what became of the records: cells read, missing, failed, out of bounds, and what was
            left out; do not publish it.
        max_failed: Share of the first filled cells of a column that may not be read; 0.01 unless named here or in the
            schema. More are refused before anything leaves.
        follow: Keep reading a text file while it grows; on Spark, a folder or a topic.
    """

    checkpoint: Annotated[Path | None, Parameter(metavar="DIR")] = None
    ledger: LedgerOption = None
    card: Path | None = None
    parse_report: Annotated[Path | None, Parameter(metavar="FILE")] = None
    max_failed: Annotated[float | None, Parameter(metavar="SHARE")] = None
    follow: Flag = False


def stream(
    feed: TableInput,
    /,
    *,
    output: Annotated[
        Path | str,
        Parameter(name=["--output", "-o"], converter=as_place, allow_leading_hyphen=True, metavar="OUT"),
    ],
    column: Columns = (),
    options: PublisherOptions = PublisherOptions(),
    records: RecordOptions = RecordOptions(),
    on_bad: Annotated[str, Parameter(metavar="ACTION")] = "clamp",
    written: InputOptions = InputOptions(),
    files: FileOptions = FileOptions(),
    naming: NamingOptions = NamingOptions(),
    engine: EngineOptions = EngineOptions(),
    keys: KeyOptions = KeyOptions(),
    operation: OperationOptions = OperationOptions(),
) -> int:
    """Publish the records of a feed as they come, in anonymous groups, with the card that says what is promised.

    Rows leave under the column's name with their group, its size and seq, the number of the row.
    The publishers doca, laplace and linked also tell each record's position; the others do not, by design.

    Args:
        feed: File to read: CSV (also .gz), JSON lines or Parquet; - is standard input; or the address of a broker, as
            redis://HOST/STREAM. With --engine spark, a folder or a topic of Kafka.
        output: File to write; its ending chooses the format; - is standard output; or the address of a broker. With
            --engine spark, a folder.
        column: Column to publish; rank and adaptive take several numbers, separated by commas, or a category, and
            statistics numbers and categories together.
        on_bad: What becomes of bad records: clamp (numbers to the bounds, the rest to their middle), default (all to
            the middle of the bounds), or quarantine:FILE where no differential privacy is promised.
    """
    from sfumato.stream.runtime.hooks import terminal_hooks
    from sfumato.stream.setup import build

    asked = {**given(options, "publisher"), **given(records, ""), "quasi": tuple(names(records.quasi))}
    if engine.spark:
        written.refuse_all("spark")
    setup = build(options.publisher, names(column), on_bad=on_bad, reading=written.reading(), **asked)
    kept = {**vars(files), "naming": naming.build()}
    epsilon = None if setup.promise is None else float(setup.promise.cost.epsilon) or None
    try:
        with terminal_hooks(epsilon, resumes=files.checkpoint is not None, setup=setup) as hooks:
            if engine.spark:
                operation.refuse_on_spark()
                outcome = _publish_on_spark(
                    feed, output, setup, records.person, records.time, kept, engine, keys, hooks
                )
            else:
                with operation.open(setup, hooks, files.ledger) as operator:
                    kept["report"] = operation.report
                    outcome = _publish_file(feed, output, setup, kept, keys, operator.hooks)
                    operator.write_report(outcome)
    except KeyboardInterrupt:
        sys.stderr.write("sfumato: interrupted at once; what has left stays where it is\n")
        return INTERRUPTED
    return _say_what_left(outcome, output, files.checkpoint)


def _publish_file(
    feed: Path | str, output: Path | str, setup: StreamSetup, files: Mapping[str, Any], keys: KeyOptions, hooks: Hooks
) -> Outcome:
    from sfumato.stream.runtime.job import publish

    unused = next(iter(given(keys, "")), None)
    if unused is not None:
        raise ParameterError(f"--{unused} is for many publishers on Spark; add --engine spark")
    if isinstance(output, Path):
        refuse_mixed_output(output, files["card"], json=False)
    gc.freeze()  # what was imported stays as long as the command: collections need not look at it again
    try:
        return publish(feed, output, setup, hooks=hooks, **files)
    finally:
        gc.unfreeze()


def _publish_on_spark(
    feed: Path | str,
    output: Path | str,
    setup: StreamSetup,
    person: str | None,
    time: str | None,
    files: Mapping[str, Any],
    engine: EngineOptions,
    keys: KeyOptions,
    hooks: Hooks,
) -> Outcome:
    from sfumato.core.files import refuse_same_files
    from sfumato.engines.spark.streams.publish import choose_keys, publish_stream

    kept = {f"the {role.replace('_', ' ')}": files[role] for role in ("card", "checkpoint", "ledger", "parse_report")}
    folders = {"the input": feed, "the output": output}  # or addresses of brokers
    refuse_same_files({**{role: place for role, place in folders.items() if isinstance(place, Path)}, **kept})
    chosen = choose_keys(keys.key, person, keys.buckets)
    order = keys.order or time
    return publish_stream(feed, output, setup, chosen, master=engine.master, order=order, hooks=hooks, **files)


def _say_what_left(outcome: Outcome, output: Path | str, checkpoint: Path | None) -> int:
    """Say what left, and return the exit code."""
    progress, target = outcome.progress, "standard output" if output == STDOUT else _shown(output)
    without = f", {progress.vacant} of them without a row," if progress.vacant else ""
    lines = [f"{progress.rows} rows in {progress.groups} groups{without} written to {target}"]
    lines += [f"  warning: {warning}" for warning in outcome.card.warnings]
    (sys.stderr if output == STDOUT else sys.stdout).write("\n".join(map(single_line, lines)) + "\n")
    if outcome.complete:
        if outcome.intake.columns:
            sys.stderr.writelines(
                f"sfumato: {single_line(line)} (for the steward)\n" for line in outcome.intake.lines()
            )
        return 0
    hidden = str(outcome.card.guarantee.neighbours).startswith(Neighbours.PRESENCE)  # so is how many there are
    records = "records that came" if hidden else f"{progress.held} records"
    held = f"{records} are held and were not released"
    if checkpoint is not None:
        held = f"{records} are held in checkpoint '{checkpoint}'; the same command goes on from there"
    sys.stderr.write(f"sfumato: interrupted; {held}\n")
    return INTERRUPTED


def _shown(output: Path | str) -> str:
    from sfumato.stream.connectors.registry import find_place

    return str(find_place(output))
