"""The stream command on Spark: from a folder or a topic of Kafka through many publishers to a folder.

What is asked for is refused or judged here before anything is drawn or charged (van den Burg, Nazabal & Sutton 2019);
the run itself is the same for both (Armbrust et al. 2018, "Structured Streaming").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.files import refuse_output
from sfumato.dp.ledger.places import LedgerPlace
from sfumato.engines.spark.folders import read_cells
from sfumato.engines.spark.session import spark_sentences, spark_session
from sfumato.engines.spark.streams.inputs import StreamInput
from sfumato.engines.spark.streams.judging import judge_folder, judge_messages
from sfumato.engines.spark.streams.kafka.cells import ARRIVAL as OFFSETS
from sfumato.engines.spark.streams.kafka.cells import PayloadCells
from sfumato.engines.spark.streams.kafka.options import refuse_missing_jars
from sfumato.engines.spark.streams.kafka.topic import TopicInput
from sfumato.engines.spark.streams.keys import ByKey, ByPerson, Keys
from sfumato.engines.spark.streams.record_counts import FORGOTTEN, count_records, write_record_counts
from sfumato.engines.spark.streams.run import SparkRun
from sfumato.engines.spark.streams.source import ARRIVAL, FolderInput, read_growing
from sfumato.engines.spark.streams.stream import SparkStream
from sfumato.engines.spark.streams.task import BROKEN
from sfumato.errors import ParameterError
from sfumato.release.naming import UNNAMED, Naming
from sfumato.stream.connectors.base import Connector
from sfumato.stream.connectors.file.sink import STDOUT
from sfumato.stream.connectors.kafka import Kafka
from sfumato.stream.connectors.registry import find_place
from sfumato.stream.connectors.retry import Waiting
from sfumato.stream.runtime.checkpoint import FILE as CHECKPOINT
from sfumato.stream.runtime.checkpoint import CheckpointFolder
from sfumato.stream.runtime.hooks import Hooks
from sfumato.stream.runtime.job import Outcome
from sfumato.stream.setup import StreamSetup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HIDDEN = {*ARRIVAL, *OFFSETS, BROKEN}


@dataclass(frozen=True, eq=False)
class Opened:
    """An input that can be read: its records as a stream, those that were published once more, and what it is."""

    input: StreamInput
    name: str
    records: DataFrame
    published: Callable[[], DataFrame | None]
    notes: tuple[str, ...] = ()


def publish_stream(  # noqa: PLR0913  # where a stream comes from and goes, and what goes with it
    feed: str | Path,
    output: str | Path,
    setup: StreamSetup,
    keys: Keys,
    *,
    master: str | None = None,
    order: str | None = None,
    checkpoint: Path | None = None,
    ledger: LedgerPlace | None = None,
    card: Path | None = None,
    parse_report: Path | None = None,
    follow: bool = False,
    max_failed: float | None = None,
    naming: Naming = UNNAMED,
    hooks: Hooks | None = None,
) -> Outcome:
    """Publish a folder of records, or a topic of Kafka, to a folder, as `sfumato stream --engine spark` does.

    >>> from sfumato.stream import build
    >>> setup = build("rank", ["wait"], bounds=(0, 9))
    >>> publish_stream("-", "waits", setup, ByKey("stop"))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: a stream on Spark goes from a folder or a topic to a folder; - is none
    """
    seen = hooks or Hooks()
    place, target = _places(feed, output, checkpoint, master)
    setup.refuse_feed(still=True, endless=False)
    arrival = ARRIVAL if isinstance(place, Path) else OFFSETS
    stream = SparkStream(setup.publisher, setup.screen, keys, (*([] if order is None else [order]), *arrival))
    resumed = checkpoint is not None and (checkpoint / CHECKPOINT).exists()
    if parse_report is not None and not resumed:
        refuse_output(parse_report, replaceable=False)
    share = None if resumed else setup.max_failed if max_failed is None else max_failed
    run = SparkRun(stream, target, checkpoint, card, follow, ledger=ledger, notes=setup.notes, naming=naming)
    if isinstance(place, Path) or checkpoint is None:  # a broker without one was refused
        opened = _open_folder(Path(str(place)), stream, master, share)
    else:
        topic = TopicInput(place, Waiting(str(place), say=seen.say, stop=seen.stop), patient=resumed)
        further = [keys.column, *([] if order is None else [order])]
        cells = PayloadCells.of(place, setup.screen.wanted, further, setup.reading)
        opened = _open_topic(topic, cells, stream, master, checkpoint, share)
    seen.see(tuple(name for name in opened.records.columns if name not in HIDDEN))
    outcome = replace(run, input=opened.input).run(opened.records, seen)
    if not outcome.complete and parse_report is None:
        return outcome
    again = opened.published()
    intake = outcome.intake if again is None else count_records(again, opened.name, stream)
    if parse_report is not None:
        write_record_counts(parse_report, opened.name, stream, (*setup.notes, *opened.notes), intake)
    return replace(outcome, intake=intake)


def choose_keys(key: str | None, person: str | None, buckets: int | None) -> Keys:
    """Return what tells publishers apart: the values of a column, or buckets of persons.

    >>> choose_keys(None, "rider", 4)
    ByPerson(column='rider', buckets=4)
    """
    if key is None and person is None:
        raise ParameterError("Spark keeps many publishers; give --key COLUMN for one a value, or --person COLUMN")
    if key is None and person is not None:
        return ByPerson(person) if buckets is None else ByPerson(person, buckets)
    if buckets is not None:
        raise ParameterError("--buckets spreads persons where there is no --key; leave one of the two out")
    return ByKey(key or "")


def _places(
    feed: str | Path, output: str | Path, checkpoint: Path | None, master: str | None
) -> tuple[Path | Connector, Path]:
    """Return where a stream comes from and goes; what Spark cannot read or write is refused."""
    if (master or "").startswith("sc://"):
        raise ParameterError("a stream's driver runs here, which sc:// has not; give local[*] or spark://host:7077")
    place, target = find_place(feed), find_place(output)
    if not isinstance(target, Path):
        raise ParameterError(f"a stream on Spark writes a folder; leave --engine spark out to write to '{target}'")
    if Path(STDOUT) in {place, target}:
        raise ParameterError("a stream on Spark goes from a folder or a topic to a folder; - is none")
    if isinstance(place, Connector):
        if not isinstance(place, Kafka):
            raise ParameterError(
                f"of brokers, Spark reads topics of Kafka alone; leave --engine spark out to read '{place}'"
            )
        if checkpoint is None:
            raise ParameterError(
                f"'{place}' is a broker, of which each record is read once by a checkpoint; give --checkpoint DIR"
            )
    return place, target


def _open_folder(folder: Path, stream: SparkStream, master: str | None, share: float | None) -> Opened:
    """Return a folder that can be read; `share` of its first records may fail, or they are not judged."""
    known = FolderInput(folder)
    session = spark_session(master)
    records = read_growing(session, folder)
    if share is not None:
        with spark_sentences(f"'{folder}' cannot be read"):
            judge_folder(session, folder, stream, share)
    return Opened(known, str(folder), records, lambda: read_cells(session, folder))


def _open_topic(
    topic: TopicInput,
    cells: PayloadCells,
    stream: SparkStream,
    master: str | None,
    checkpoint: Path,
    share: float | None,
) -> Opened:
    """Return a topic that can be read; the broker is asked before Spark is started."""
    topic.look("" if share is not None else _known(checkpoint))
    session = spark_session(master)
    refuse_missing_jars(session)
    payloads = [] if share is None else topic.first_payloads(session)
    topic.find_header(payloads)
    cells = replace(cells, first=topic.header)
    if share is not None:
        judge_messages(payloads, cells, stream, share)
    records = topic.streaming(session, cells)
    return Opened(
        topic, str(topic.connector), records, lambda: topic.published(session, cells, checkpoint), (FORGOTTEN,)
    )


def _known(checkpoint: Path) -> str:
    """Return what a checkpoint knows of the topic that was read."""
    with CheckpointFolder.open(checkpoint) as store:
        found = store.load()
    return "" if found is None else found.mark
