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

from sfumato import stream
from sfumato.checks import Check, ConformanceError, publisher_checks
from sfumato.checks.publishers import Stream, whole_numbers
from sfumato.checks.tables import JOBS
from sfumato.random import Source
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.stream import (
    CASTLE,
    DOCA,
    AdaptiveHistogram,
    CappedPersons,
    CategoryWindows,
    CellHistogram,
    ClockWindows,
    LinkedResponse,
    NaiveLaplace,
    Published,
    Publisher,
    RankedAttributes,
    RankWindows,
)
from sfumato.stream.base import Numbers
from sfumato.stream.runtime.batch import Batch, Columns
from sfumato.stream.runtime.checkpoint import Store
from sfumato.stream.screens.base import OnBad, Screened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUASI = [
    Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 99)),
    Attribute("job", Role.QUASI, Kind.CATEGORY, hierarchy=JOBS),
]
DISEASE = Attribute("disease", Role.SENSITIVE, Kind.CATEGORY, categories=("flu", "gout", "ulcer"))
PATIENTS = Schema({column.name: column for column in (*QUASI, DISEASE, Attribute("id", Role.IDENTIFIER))}, person="id")
JOBLESS = Schema({"age": QUASI[0]})


def patients(seed: int, rows: int) -> Numbers:
    draw = np.random.default_rng(seed)
    columns = [draw.integers(0, limit, rows) for limit in (100, 5, 3, max(1, rows // 3))]
    return np.column_stack(columns).astype(float)


def ages(seed: int, rows: int) -> Numbers:
    return patients(seed, rows)[:, :1].copy()


def colours(seed: int, rows: int) -> Numbers:
    return patients(seed, rows)[:, 1].copy()


def pairs(seed: int, rows: int) -> Numbers:
    return patients(seed, rows)[:, :2].copy()


def drives(seed: int, rows: int) -> Numbers:
    """A value and one of 40 persons."""
    draw = np.random.default_rng(seed)
    return np.column_stack([draw.integers(0, 1000, rows), draw.integers(0, 40, rows)]).astype(float)


BOUNDS = (0, 1000)
CASES: list[tuple[Publisher, Stream]] = [
    (NaiveLaplace(bounds=BOUNDS, epsilon=0.5), whole_numbers),
    (NaiveLaplace(sensitivity=100), whole_numbers),
    (DOCA(sensitivity=1000, delay=37, beta=6, m=5), whole_numbers),
    (DOCA(sensitivity=1000, delay=37, beta=6, m=5, strict=True), whole_numbers),
    (DOCA(sensitivity=1000, delay=600), whole_numbers),
    (CASTLE(PATIENTS, k=4, delay=40, beta=5, mu=6), patients),
    (CASTLE(PATIENTS, k=3, delay=40, beta=5, mu=6, l=2), patients),
    (CASTLE(JOBLESS, k=5, delay=30, beta=4), ages),
    (RankWindows(bounds=BOUNDS, window=70, block=8), whole_numbers),
    (AdaptiveHistogram(bounds=BOUNDS, window=70, bins=16), whole_numbers),
    (LinkedResponse(bounds=BOUNDS, window=70, bins=8), whole_numbers),
    (CategoryWindows(("red", "green", "blue", "grey", "black"), window=70), colours),
    (CategoryWindows(("red", "green", "blue", "grey", "black"), window=70, ordered=True), colours),
    (RankedAttributes(((0, 99), (0, 4)), window=70, block=8), pairs),
    (CellHistogram(((0, 99), (0, 4)), window=70), pairs),
    (CappedPersons(RankWindows(bounds=BOUNDS, window=70, block=8), limit=3), drives),
]
NOISY_COUNTS: list[Publisher] = [
    ClockWindows(bounds=BOUNDS, kind="rank", expected=300, most=400),
    ClockWindows(bounds=BOUNDS, kind="adaptive", bins=16, expected=300, most=400),
]


@dataclass(frozen=True)
class Encoded:
    """Lets records through as the publisher takes them, a column `c0`, `c1`, … for each of their numbers."""

    released: tuple[str, ...]
    width: int
    on_bad: OnBad = field(default_factory=OnBad)

    @property
    def wanted(self) -> Columns:
        return Columns(tuple(f"c{place}" for place in range(self.width)))

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
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{type(CASES[number][0]).__name__} {number}")
def test_publisher_conforms_on_spark(spark: SparkSession, tmp_path: Path, number: int) -> None:
    """Run a stream of three files by one key: the rows of one machine, all of them, numbered without a gap."""
    from sfumato.engines.spark.streams.keys import ByKey
    from sfumato.engines.spark.streams.run import SparkRun
    from sfumato.engines.spark.streams.source import ARRIVAL, read_growing
    from sfumato.engines.spark.streams.stream import SparkStream

    publisher, records = CASES[number]
    batch = records(4, 360)
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
    with Store.open(tmp_path / "kept") as store:
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
    for publisher, records in CASES:
        yield from ((publisher, check) for check in publisher_checks(publisher, records))
    for publisher in NOISY_COUNTS:
        yield from ((publisher, check) for check in publisher_checks(publisher, keeps_rows=False))


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
        self._run.keyed = False


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
