"""One stream on Spark from `in` to `out` in a folder, a file to a micro-batch; a process to be killed by the tests."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.engines.spark.session import spark_session
from sfumato.engines.spark.streams import run as stream_run
from sfumato.engines.spark.streams.keys import ByKey
from sfumato.engines.spark.streams.run import BatchFolders, SparkRun
from sfumato.engines.spark.streams.source import ARRIVAL, read_growing
from sfumato.engines.spark.streams.stream import SparkStream
from sfumato.stream import AdaptiveHistogram
from sfumato.stream.screens.base import NumberScreen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BOUNDS = (0.0, 100.0)
WINDOW = 50
REST = 0.5


def stream() -> SparkStream:
    """Return the stream of the tests: waiting times by stop."""
    publisher = AdaptiveHistogram(BOUNDS, window=WINDOW)
    return SparkStream(publisher, NumberScreen({"wait": BOUNDS}), ByKey("stop"), ARRIVAL)


class Slow(BatchFolders):
    """Rests once a batch is published and before Spark hears of it, so that a test can kill it just then."""

    def put(self, rows: DataFrame, batch: int) -> None:
        super().put(rows, batch)
        time.sleep(REST)


def main(folder: Path, master: str) -> None:
    """Run the stream on a master until its folder is read."""
    session = spark_session(master)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    stream_run.BatchFolders = Slow  # type: ignore[misc]
    SparkRun(stream(), folder / "out", folder / "kept").run(read_growing(session, folder / "in", files=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
