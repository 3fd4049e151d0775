"""The job of the scale benchmark that reads a topic of Kafka: the stream of many keys, with the broker beside it.

What a record costs is counted in processor time, of Spark and of the broker apart, since both share the cores.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scale_kinds import WINDOW

if TYPE_CHECKING:
    from kafka_server import KafkaServer
    from pyspark.sql import SparkSession

SERVERS = Path(__file__).parents[1] / "tests" / "stream" / "connectors"
NAME, PARTITIONS, BATCHES = "records", 2, 2
BOUNDS = (0, 200)


@contextmanager
def broker() -> Iterator[KafkaServer]:
    """Give a broker of the tests, in a folder that does not stay."""
    sys.path.append(str(SERVERS))
    from kafka_server import KafkaServer

    with tempfile.TemporaryDirectory() as folder:
        server = KafkaServer(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


def topic(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Publish the records of `stream` from a topic, a record of JSON to a message; the time is that of the stream."""
    import polars as pl

    records = pl.read_parquet(folder / f"records-{rows}" / "*.parquet")
    lines = records.write_ndjson().encode().splitlines()
    with broker() as server:
        server.create(NAME, PARTITIONS)
        for part in range(PARTITIONS):
            server.fill(NAME, lines[part::PARTITIONS], part)
        logs = sum(log.stat().st_size for log in (server.folder / "data").glob(f"{NAME}-*/*.log"))
        machine = _children(os.getpid())
        (served,) = [process for process in machine if b"kafka.Kafka" in Path(f"/proc/{process}/cmdline").read_bytes()]
        start, whole, own = time.perf_counter(), _processor_seconds(os.getpid()), _processor_seconds(served)
        found = _published(spark, server.place(NAME), rows, folder)
        seconds, broker_seconds = time.perf_counter() - start, _processor_seconds(served) - own
        spent = _processor_seconds(os.getpid()) - whole - broker_seconds
        return found | {"seconds": seconds, "cpu_seconds": spent, "broker_seconds": broker_seconds, "log_bytes": logs}


def _processor_seconds(process: int) -> float:
    """Return the processor time of a process and all its children, those that are over included."""
    ticks = sum(map(int, _told(process)[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK") + sum(map(_processor_seconds, _children(process)))


def _children(process: int) -> list[int]:
    """Return the processes that a process has started and that run."""
    running = [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]
    return [one for one in running if _told(one)[1] == str(process)]


def _told(process: int) -> list[str]:
    """Return what the system tells of a process behind its name; of one that is over, nothing but zeros."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ["0"] * 15


def _published(spark: SparkSession, address: str, rows: int, folder: Path) -> dict[str, Any]:
    from sfumato.engines.spark.streams.kafka import topic as topics
    from sfumato.engines.spark.streams.kafka.cells import ARRIVAL, PayloadCells
    from sfumato.engines.spark.streams.keys import ByKey
    from sfumato.engines.spark.streams.run import SparkRun
    from sfumato.engines.spark.streams.stream import SparkStream
    from sfumato.schema import Reading
    from sfumato.stream import RankWindows
    from sfumato.stream.connectors.registry import find_connector
    from sfumato.stream.screens.base import NumberScreen

    topics.MESSAGES = rows // BATCHES
    screen = NumberScreen({"wait": BOUNDS})
    publishers = SparkStream(RankWindows(BOUNDS, window=WINDOW), screen, ByKey("stop"), ARRIVAL)
    connector = find_connector(address)
    source = topics.TopicInput(connector)
    source.look("")
    cells = PayloadCells.of(connector, screen.wanted, ["stop"], Reading())
    run = SparkRun(publishers, folder / f"published-{rows}", folder / f"kept-{rows}", input=source)
    outcome = run.run(source.streaming(spark, cells))
    return {"published": outcome.card.released.rows}
