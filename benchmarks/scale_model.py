"""A cost model of releases on Spark, fitted to the runs of a record, and what it predicts for a cluster.

Work that rows cause is shared by all cores, bytes go through the executors' links, and the driver works alone; nothing
is taken to overlap (the bulk-synchronous reading of Valiant 1990, "A bridging model for parallel computation").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scale_record import ScaleRecord

from sfumato.engines.spark.tables import MOST_POINTS
from sfumato.engines.spark.tables.release import FILE_ROWS
from sfumato.engines.spark.tables.whole_table import SAMPLE

MIB = 2**20
SPLIT = 128 * MIB  # bytes of input to a task, Spark's own setting
DRIVER = 3 * 2**30  # bytes that the driver may hold
FEWEST_OF_PART = 100  # sampled rows of a part with which its median is still one


@dataclass(frozen=True)
class Line:
    """A cost that is fixed and one that each unit adds."""

    fixed: float
    each: float

    @classmethod
    def through(cls, points: Iterable[tuple[float, float]]) -> Line:
        """Return the line nearest to the points by least squares; all is slope where a part would be below zero.

        >>> Line.through([(1, 5), (3, 9)])
        Line(fixed=3.0, each=2.0)
        """
        x, y = np.array(sorted(points), dtype=np.float64).T
        if len(x) > 1:
            slope, middle = np.polyfit(x - x.mean(), y, 1)
            fixed = middle - slope * x.mean()
            if fixed >= 0 and slope > 0:
                return cls(round(float(fixed), 12), round(float(slope), 15))
        return cls(0.0, float(x @ y / (x @ x)))

    def at(self, units: float) -> float:
        """The cost of so many units."""
        return self.fixed + self.each * units


@dataclass(frozen=True)
class Cluster:
    """Executors of so many cores, each with a link of so many bytes a second, and a driver with such a link too."""

    executors: int
    cores: int
    link: float

    @property
    def words(self) -> str:
        """What it is in words."""
        return f"{self.executors} executors of {self.cores} cores, {self.link * 8 / 1e9:g} Gbit/s each"


@dataclass(frozen=True)
class Way:
    """What a row costs on one way through the table door: core-seconds and bytes."""

    name: str
    seconds: Line
    core_seconds: float
    scans: int
    input_bytes: float
    shuffle_bytes: float
    output_bytes: float
    hash_rate: float


@dataclass(frozen=True)
class Prediction:
    """Seconds of a release on a cluster, by where they go, and the bytes that each executor's disk holds."""

    rows: float
    compute: float
    network: float
    driver: float
    disk: float

    @property
    def total(self) -> float:
        """All seconds, nothing overlapping."""
        return self.compute + self.network + self.driver


def ways(record: ScaleRecord) -> tuple[Way, Way]:
    """Return the fitted ways: equal rows counted before they are sorted, and every row sorted."""
    tables = record.all("table")
    counted = _way("few distinct rows", 1, record, tables, Line.through((run["rows"], _work(run)) for run in tables))
    wide = record.all("wide")
    alone = Line(counted.seconds.fixed, max(0.0, _work(wide[-1]) - counted.seconds.fixed) / wide[-1]["rows"])
    return counted, _way("many distinct rows", 2, record, wide, alone)


def _way(name: str, scans: int, record: ScaleRecord, runs: Sequence[dict[str, Any]], seconds: Line) -> Way:
    largest = runs[-1]
    each = {
        kind: Line.through((run["rows"], run[kind]) for run in runs).each
        for kind in ("input_bytes", "shuffle_bytes", "output_bytes")
    }
    return Way(
        name,
        seconds,
        seconds.each * record.cores,
        scans,
        each["input_bytes"],
        each["shuffle_bytes"],
        each["output_bytes"],
        largest["output_bytes"] / max(largest["hash_seconds"], 1e-9),
    )


def _work(run: dict[str, Any]) -> float:
    """Return the seconds of a release without the hash of its files, which the driver takes alone."""
    return max(0.0, float(run["seconds"]) - float(run["hash_seconds"]))


def predict(way: Way, rows: float, cluster: Cluster) -> Prediction:
    """Return what a release of so many rows takes on a cluster, the distinct rows being as many as measured."""
    everywhere = cluster.executors * cluster.link
    return Prediction(
        rows,
        compute=way.core_seconds * rows / (cluster.executors * cluster.cores),
        network=(way.scans * way.input_bytes + way.shuffle_bytes) * rows / everywhere,
        driver=way.seconds.fixed + way.output_bytes * rows / min(way.hash_rate, cluster.link),
        disk=way.shuffle_bytes * rows / cluster.executors,
    )


@dataclass(frozen=True)
class Distinct:
    """What distinct rows cost: bytes of the driver's Python, and bytes that every executor is sent."""

    driver: Line
    broadcast: Line


def distinct(record: ScaleRecord) -> Distinct:
    """Return the costs of distinct rows, from two tables of as many rows of which one has more distinct ones."""
    small = record.sizes[0]
    runs = (record.one("table", small), record.one("wide", small))
    return Distinct(
        Line.through((run["distinct_rows"], run["python_mib"] * MIB) for run in runs),
        Line.through((run["distinct_rows"], run["broadcast_bytes"]) for run in runs),
    )


def most_distinct() -> tuple[float, float]:
    """Return the most distinct rows that the driver takes, and the most that a split into parts takes."""
    return MOST_POINTS, SAMPLE / FEWEST_OF_PART * MOST_POINTS / 2


def most_rows(way: Way) -> float:
    """Return the rows at which the driver's list of who shuffled what to whom, a bit each, fills its memory."""
    map_tasks, reducers = way.input_bytes / SPLIT, 1 / FILE_ROWS  # for each row
    return float((DRIVER * 8 / (map_tasks * reducers)) ** 0.5)


@dataclass(frozen=True)
class Single:
    """The single machine: its seconds and bytes over rows."""

    seconds: Line
    bytes: Line

    def most_rows(self, memory: float) -> float:
        """The rows that a memory takes."""
        return max(0.0, memory - self.bytes.fixed) / self.bytes.each


def single(record: ScaleRecord) -> Single:
    """Return the single machine's costs."""
    runs = record.all("single")
    seconds = Line.through((run["rows"], run["seconds"]) for run in runs)
    return Single(seconds, Line.through((run["rows"], run["python_mib"] * MIB) for run in runs))


@dataclass(frozen=True)
class Asking:
    """What the query door costs: a ledger's hash of the rows, once for a process, and then a question."""

    ledger: Line
    question: Line


def asking(record: ScaleRecord) -> Asking:
    """Return the fitted seconds of a ledger and of a question over rows."""
    runs = record.all("query")
    lines = (Line.through((run["rows"], run[kind]) for run in runs) for kind in ("ledger_seconds", "question_seconds"))
    return Asking(*lines)


@dataclass(frozen=True)
class Streaming:
    """What a stream of many keys costs: core-seconds a record, and bytes that a key keeps."""

    core_seconds: float
    state_bytes: float


@dataclass(frozen=True)
class Reading:
    """What a record of a stream from a topic of Kafka costs: core-seconds of Spark and of the broker, and its bytes."""

    core_seconds: float
    broker_seconds: float
    log_bytes: float

    def speed(self, cluster: Cluster) -> float:
        """Records a second on all cores of a cluster."""
        return cluster.executors * cluster.cores / self.core_seconds

    def brokers(self, cluster: Cluster) -> int:
        """How many brokers send that much, each with the cores and the link of an executor."""
        busy = max(self.log_bytes / cluster.link, self.broker_seconds / cluster.cores)
        return max(1, math.ceil(self.speed(cluster) * busy))


def reading(record: ScaleRecord) -> Reading:
    """Return the fitted costs of a stream from a topic."""
    runs = record.all("topic")
    kinds = ("cpu_seconds", "broker_seconds", "log_bytes")
    return Reading(*(Line.through((run["rows"], run[kind]) for run in runs).each for kind in kinds))


def streaming(record: ScaleRecord) -> Streaming:
    """Return the fitted costs of a stream."""
    runs = record.all("stream")
    seconds = Line.through((run["rows"], run["seconds"]) for run in runs)
    return Streaming(seconds.each * record.cores, max(run["state_bytes"] / run["keys"] for run in runs))
