"""A stream on Spark as one thing to run: from a frame of records to a folder of micro-batches, with its card.

Spark's checkpoint, the stream's id and the key of its noise lie in one folder; whatever is killed, the same command
goes on with the same rows (write-ahead order, Mohan et al. 1992; idempotent output, Armbrust et al. 2018).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from sfumato.core.files import move_folder, write_durably
from sfumato.core.hash_chain import Head
from sfumato.dp.ledger.places import LedgerPlace
from sfumato.engines.spark.folders import spark_address
from sfumato.engines.spark.session import spark_sentences
from sfumato.engines.spark.streams.inputs import StreamInput
from sfumato.engines.spark.streams.keys import ByKey
from sfumato.engines.spark.streams.spark_files import SPARK, batches_done
from sfumato.engines.spark.streams.stream import SparkStream
from sfumato.engines.spark.streams.task import KEY
from sfumato.errors import InputError, ParameterError
from sfumato.release import Card
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import beside_card, write_statement
from sfumato.stream.charge import StreamBill, source_words
from sfumato.stream.runtime.checkpoint import Checkpoint, CheckpointFolder
from sfumato.stream.runtime.hooks import Hooks, StreamProgress
from sfumato.stream.runtime.job import RUNNING, Outcome
from sfumato.stream.wrappers import CappedPersons

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

QUERY = r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: | SQLSTATE: \w+$"
PATIENCE = 1  # seconds between two looks at whether to stop
PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": PROVIDER,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


@dataclass(frozen=True)
class BatchFolders:
    """The folder `target` with a folder of Parquet files for each micro-batch of which rows left.

    A batch is written beside its place and renamed, under its number, so that it is there all or nothing and once,
    however often Spark runs it. One that was published before is compared and not published again.

    >>> import tempfile
    >>> BatchFolders(Path(tempfile.mkdtemp())).totals()
    (0, 0)
    """

    target: Path

    def put(self, rows: DataFrame, batch: int) -> None:
        """Publish the rows of a micro-batch under its number; evaluates them once."""
        place, beside = self.target / f"batch={batch}", self.target / f".batch-{batch}.partial"
        shutil.rmtree(beside, ignore_errors=True)
        rows.write.parquet(spark_address(beside))
        for mark in (*beside.glob("_*"), *beside.glob(".*")):
            mark.unlink()  # Spark's own marks and checksums, which name the job
        if place.exists():
            _refuse_other(place, beside)
        elif _count_rows(beside):
            move_folder(beside, place)
        shutil.rmtree(beside, ignore_errors=True)

    def totals(self) -> tuple[int, int]:
        """Return how many rows and how many groups have left."""
        files = str(self.target / "batch=*" / "*.parquet")
        if not any(self.target.glob("batch=*")):
            return 0, 0
        sizes = pl.scan_parquet(files, hive_partitioning=False).group_by("size").len().collect()
        return int(sizes["len"].sum()), sum(count // size for size, count in sizes.iter_rows())


@dataclass(frozen=True, eq=False)
class SparkRun:
    """One stream: its publishers, the folder it goes to, and the folder of its checkpoint.

    Without `follow` all that is there is published, the last records too, and the stream is over; with it, the stream
    goes on until a hook says stop, and what is held waits in the checkpoint. Without a checkpoint nothing is kept.
    By `input`, one that was replaced, or has grown after the end, is known; `notes` are public sentences for the card,
    which is there from the first micro-batch on.

    >>> from sfumato.engines.spark.streams.keys import ByKey
    >>> from sfumato.stream import RankWindows
    >>> from sfumato.stream.screens.base import NumberScreen
    >>> stream = SparkStream(RankWindows((0, 9)), NumberScreen({"wait": (0, 9)}), ByKey("stop"), order=("second",))
    >>> SparkRun(stream, Path("waits")).card_file.name
    'waits.card.json'
    """

    stream: SparkStream
    target: Path
    checkpoint: Path | None = None
    card: Path | None = None
    follow: bool = False
    input: StreamInput = field(default_factory=StreamInput)
    ledger: LedgerPlace | None = None
    notes: tuple[str, ...] = ()
    naming: Naming = UNNAMED

    def __post_init__(self) -> None:
        if self._bill is None:
            return
        if isinstance(self.stream.keys, ByKey) and isinstance(self.stream.publisher, CappedPersons):
            raise ParameterError(
                "--ledger cannot charge persons whose promise holds within each --key; leave --key out"
            )
        self._bill.refuse()

    @property
    def _bill(self) -> StreamBill | None:
        """Who pays, if anybody does."""
        if self.ledger is None:
            return None
        what = source_words(self.stream.publisher, self.stream.screen.released)
        return StreamBill(self.ledger, self.stream.promise(), self.stream.card(), what=what)

    @property
    def card_file(self) -> Path:
        """Where the card goes."""
        return self.card or self.target.with_name(f"{self.target.name}.card.json")

    def run(self, records: DataFrame, hooks: Hooks | None = None) -> Outcome:
        """Publish a streaming frame until nothing is left or a hook says stop; what has left by then has its card."""
        folder = self.checkpoint or self.target.with_name(f".{os.getpid()}.checkpoint-{self.target.name}")
        try:
            with CheckpointFolder.open(folder) as store:
                at = self._open_checkpoint(store)
                self._charge(at.stream)
                (hooks or Hooks()).begin(at.stream)
                with _settings(records.sparkSession), _sentences(f"stream to '{self.target}' cannot go on"):
                    complete = at.ended or self._run_query(records, folder, at.stream, (hooks or Hooks()).stop)
                    head = at.head(store.key)
                    if complete:
                        head = head if at.ended else self._end(store, at)  # first: no record may come now
                        self._flush(records, folder, at.stream)
                    held = 0 if complete else _count_held(records.sparkSession, folder)
        finally:
            if self.checkpoint is None:
                shutil.rmtree(folder, ignore_errors=True)
        return self._outcome(held, head, complete=complete)

    def _end(self, store: CheckpointFolder, at: Checkpoint) -> Head:
        """Keep that the stream is over, and where its input ended."""
        mark = self.input.mark_at_end(store.folder)
        return store.save(msgspec.structs.replace(at, before=at.head(store.key).text, ended=True, mark=mark))

    def _charge(self, stream: str) -> None:
        if self._bill is not None:
            self._bill.pay(stream)

    def _open_checkpoint(self, store: CheckpointFolder) -> Checkpoint:
        """Return the checkpoint to go on from, or begin one; what is there already is refused."""
        question = {**self.stream.question(), **self.input.question, "output": str(self.target.resolve())}
        asked = msgspec.msgpack.decode(msgspec.msgpack.encode(question))  # as a checkpoint gives it back
        found = store.load()
        if found is not None:
            found.refuse_other(asked, store.folder)
            self.input.refuse_changed(found, store.folder)
            return found
        statements = [(file, "statement") for file in beside_card(self.card_file)]
        for place, what in ((self.target, "output"), (self.card_file, "card"), *statements):
            if place.exists():
                raise InputError(f"{what} '{place}' exists; remove it or choose another name")
            if not place.parent.is_dir():
                raise InputError(f"{what} '{place}' cannot be written: there is no folder '{place.parent}'")
        at = msgspec.structs.replace(Checkpoint.begin(asked, b"", b""), mark=self.input.mark)
        store.make_key()
        store.save(at)
        return at

    def _run_query(self, records: DataFrame, folder: Path, stream: str, stop: Callable[[], bool]) -> bool:
        """Run the query; return whether it came to the end of what is there."""
        self.target.mkdir(exist_ok=True)
        rows = self.stream.published(records, folder, stream)
        writer = rows.writeStream.option("checkpointLocation", spark_address(folder / SPARK)).outputMode("append")
        writer = writer.foreachBatch(self._put)
        query = (writer if self.follow else writer.trigger(availableNow=True)).start()
        try:
            while not query.awaitTermination(PATIENCE):
                if stop():
                    return False
        finally:
            _stop(query)
        return not self.follow

    def _put(self, rows: DataFrame, batch: int) -> None:
        """Publish a micro-batch, and the card with the first one."""
        self.input.refuse_replaced()
        BatchFolders(self.target).put(rows, batch)
        if not self.card_file.exists():
            self._write_card(running=True)

    def _flush(self, records: DataFrame, folder: Path, stream: str) -> None:
        """Publish what every key holds, behind the last micro-batch."""
        done = batches_done(folder)
        if done is None:
            return
        states = _states(records.sparkSession, folder)
        task = self.stream.task(folder, stream)
        fields = ", ".join(f"`{name}` {kind}" for name, kind in task.fields.items())
        rows = states.mapInPandas(task.flush, f"{KEY} string, {fields}")
        BatchFolders(self.target).put(self.stream.name_key(rows, self.stream.keys.kind(records)), done + 1)

    def _outcome(self, held: int, head: Head, *, complete: bool) -> Outcome:
        card = self._write_card(head)
        released = card.released
        return Outcome(card, StreamProgress(0, released.rows, released.classes or 0, held), complete)

    def _write_card(self, head: Head | None = None, *, running: bool = False) -> Card:
        rows, groups = BatchFolders(self.target).totals()
        card = self.stream.card()
        released = msgspec.structs.replace(card.released, rows=rows, classes=groups, file=self.target.name)
        warnings = [*card.warnings, *([RUNNING] if running else [])]
        told = [*self.notes, *card.assumptions]
        card = msgspec.structs.replace(card, released=released, assumptions=told, warnings=warnings)
        return self._save_card(card if head is None else card.for_checkpoint(head.text))

    def _save_card(self, unnamed: Card) -> Card:
        """Put the card, with its names and the ledger's head, and its statement in their places."""
        card = self.naming.name(unnamed if self._bill is None else self._bill.sign(unnamed))
        try:
            write_durably(self.card_file, card.to_json().encode())
            self.card_file.chmod(0o644)
        except OSError as error:
            raise InputError(f"card '{self.card_file}' cannot be written: {error.strerror}") from error
        write_statement(self.card_file, card)
        return card


def _states(session: SparkSession, folder: Path) -> DataFrame:
    """Return the key, the state and the number of held records of every publisher, as the last batch left them."""
    found = session.read.format("statestore").load(spark_address(folder / SPARK))
    return found.select(f"key.{KEY}", "value.groupState.*")


def _count_held(session: SparkSession, folder: Path) -> int:
    """Return how many records wait."""
    if batches_done(folder) is None:
        return 0
    found = _states(session, folder).agg({"held": "sum"}).first()
    return int((found[0] if found else None) or 0)


def _stop(query: StreamingQuery) -> None:
    if query.isActive:
        query.stop()


@contextmanager
def _settings(session: SparkSession) -> Iterator[None]:
    """Set how states are stored, and put the session back as it was."""
    before: dict[str, str | None] = {name: session.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, kept in before.items():
            if kept is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, kept)


@contextmanager
def _sentences(what: str) -> Iterator[None]:
    """Turn what Spark throws into one sentence: the one that a task or a batch of ours said, if it was one."""
    try:
        with spark_sentences(what):
            yield
    except InputError as error:
        said = re.search(r"sfumato\.errors\.\w+: (.+)", str(error.__cause__ or ""))
        told = said[1] if said else str(error).removeprefix(f"{what}: ")
        raise InputError(f"{what}: {re.sub(QUERY, '', told)}") from error


def _refuse_other(place: Path, beside: Path) -> None:
    """Refuse a micro-batch that was published with other rows: the first ones stay the only ones."""
    if _content(place) != _content(beside):
        shutil.rmtree(beside)
        raise InputError(
            f"batch '{place}' was published before with other rows, so the files it was made of have changed; restore "
            "them"
        )


def _content(folder: Path) -> tuple[int, ...]:
    """Return how many rows a folder has and a hash of them that does not depend on their order."""
    rows = pl.struct(pl.all())
    sums = ((rows.hash(seed) // 2**24).sum().alias(str(seed)) for seed in range(2))  # sums must not wrap
    return tuple(_scan(folder).select(pl.len(), *sums).collect().row(0))


def _count_rows(folder: Path) -> int:
    return int(_scan(folder).select(pl.len()).collect().item())


def _scan(folder: Path) -> pl.LazyFrame:
    return pl.scan_parquet(str(folder / "*.parquet"), hive_partitioning=False)
