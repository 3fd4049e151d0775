"""Every public stream publisher passes the suite that ships with the library."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from sfumato import plugins, stream
from sfumato.checks import Check, ConformanceError, publisher_checks
from sfumato.random import Source
from sfumato.stream import (
    CASTLE,
    DOCA,
    CappedPersons,
    ClockStatistics,
    ClockTotals,
    ClockWindows,
    Published,
    Publisher,
    TimedWindows,
)
from sfumato.stream.base import Numbers, Sample
from sfumato.stream.noise import run_of
from sfumato.stream.runtime.batch import Batch, WantedColumns
from sfumato.stream.runtime.checkpoint import CheckpointFolder
from sfumato.stream.screens.base import OnBad, Screened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOT_BY_NAME: list[type[Publisher]] = [CappedPersons, ClockStatistics, ClockTotals, ClockWindows, TimedWindows]
OFFERED = list(plugins.every("publishers", Publisher).values())
SAMPLES = [sample for kind in (*OFFERED, *NOT_BY_NAME) for sample in kind.sample()]
KEEPING = [sample for sample in SAMPLES if sample.keeps_rows]


@dataclass(frozen=True)
class Encoded:
    """Lets records through as the publisher takes them, a column `c0`, `c1`, … for each of their numbers."""

    released: tuple[str, ...]
    width: int
    on_bad: OnBad = field(default_factory=OnBad)

    @property
    def wanted(self) -> WantedColumns:
        return WantedColumns(tuple(f"c{place}" for place in range(self.width)))

    def __call__(self, batch: Batch, first: int) -> Screened:
        del first
        columns = list(batch.numbers.values())
        one = columns[0].reshape(-1, 1) if self.released == ("age",) else columns[0]
        return Screened(one if len(columns) == 1 else np.column_stack(columns))


def names(publisher: Publisher, width: int) -> tuple[str, ...]:
    if isinstance(publisher, CASTLE):
        return tuple(name for name in publisher.names if name != publisher.schema.person)
    return ("value",) if isinstance(publisher, CappedPersons) else tuple(f"value{place}" for place in range(width))


@pytest.mark.long
@pytest.mark.parametrize("sample", KEEPING, ids=lambda sample: type(sample.publisher).__name__)
def test_publisher_conforms_on_spark(spark: SparkSession, tmp_path: Path, sample: Sample) -> None:
    """Run a stream of three files by one key: the rows of one machine, all of them, numbered without a gap."""
    from sfumato.engines.spark.streams.keys import ByKey
    from sfumato.engines.spark.streams.run import SparkRun
    from sfumato.engines.spark.streams.source import ARRIVAL, read_growing
    from sfumato.engines.spark.streams.stream import SparkStream

    publisher = sample.publisher
    batch = sample.records(4, 360)
    table = batch.reshape(len(batch), -1)
    (tmp_path / "in").mkdir()
    for place in range(3):
        part = pl.DataFrame(table[120 * place : 120 * (place + 1)], schema=[f"c{at}" for at in range(table.shape[1])])
        part.with_columns(stop=7).write_parquet(tmp_path / "in" / f"{place}.parquet")
        os.utime(tmp_path / "in" / f"{place}.parquet", (1_700_000_000 + place,) * 2)
    screen = Encoded(names(publisher, table.shape[1]), table.shape[1])
    stream = SparkStream(publisher, screen, ByKey("stop"), ARRIVAL)
    SparkRun(stream, tmp_path / "out", tmp_path / "kept").run(read_growing(spark, tmp_path / "in", files=2))
    found = pl.read_parquet(tmp_path / "out" / "**" / "*.parquet", hive_partitioning=False).sort("seq")
    with CheckpointFolder.open(tmp_path / "kept") as store:
        begun = store.load()
    assert begun is not None
    alone = stream.task(tmp_path / "kept", begun.stream).for_key("7")
    parts = [alone.push_many(batch), alone.flush()]
    for name in screen.released:
        expected = [cell for part in parts for cell in alone.columns(part, screen.released)[name]]
        assert found[name].to_list() == expected
    for name in ("group", "size", "seq"):
        assert found[name].to_list() == np.concatenate([getattr(part, name) for part in parts]).tolist()
    assert found.height == len(batch)


def every_check() -> Iterator[tuple[Publisher, Check]]:
    for sample in SAMPLES:
        checks = publisher_checks(sample.publisher, sample.records, keeps_rows=sample.keeps_rows)
        yield from ((sample.publisher, check) for check in checks)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{type(publisher).__name__} {number}: {check.name}")
        for number, (publisher, check) in enumerate(every_check())
    ],
)
def test_publisher_conforms(check: Check) -> None:
    check.run()


def test_every_public_publisher_has_a_suite() -> None:
    public = {
        value
        for value in (getattr(stream, name) for name in dir(stream))
        if inspect.isclass(value) and issubclass(value, Publisher) and not inspect.isabstract(value)
    }
    assert public == {type(publisher) for publisher, _ in every_check()}


class Forgetful(DOCA):
    def flush(self) -> Published:
        super().flush()
        return Published.empty(linked=True)


class Late(DOCA):
    @property
    def held(self) -> int:
        return super().held + self.delay


class Restless(DOCA):
    """Publishes at the end of every batch."""

    def push_many(self, batch: Numbers) -> Published:
        super().push_many(batch)
        return self.flush()


class Amnesiac(DOCA):
    def restore(self, state: bytes) -> None:
        super().restore(state)
        self._seq = 0


class Keyless(DOCA):
    """Draws words as they come, though a key would give them again."""

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__(rng)
        self._run = run_of(self, None)


def failing(publisher: Publisher) -> set[str]:
    names = set()
    for check in publisher_checks(publisher):
        try:
            check.run()
        except ConformanceError:
            names.add(check.name.partition(" (")[0])
    return names


@pytest.mark.parametrize(
    "broken, caught",
    [
        (Forgetful, "no record is lost"),
        (Late, "the delay is kept"),
        (Restless, "batches change nothing"),
        (Amnesiac, "a restored state goes on"),
        (Keyless, "keyed noise repeats"),
    ],
)
def test_the_suite_catches_a_publisher_that(broken: type[DOCA], caught: str) -> None:
    assert caught in failing(broken(sensitivity=10, delay=30, beta=4))
