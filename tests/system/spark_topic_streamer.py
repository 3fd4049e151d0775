"""One stream on Spark from a topic of Kafka to `out` in a folder, in small micro-batches; to be killed by the tests."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.engines.spark.session import spark_session
from sfumato.engines.spark.streams import run as stream_run
from sfumato.engines.spark.streams.kafka import topic
from sfumato.engines.spark.streams.keys import ByKey
from sfumato.engines.spark.streams.publish import publish_stream
from sfumato.engines.spark.streams.run import BatchFolders
from sfumato.stream import build
from sfumato.stream.setup import StreamSetup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REST = 0.5
BATCH = 400  # messages of a micro-batch
MASTER = "local[2]"


def setup() -> StreamSetup:
    """Return the stream of the tests: waiting times by stop."""
    return build("adaptive", ["wait"], bounds=(0.0, 100.0), delay=50)


class Slow(BatchFolders):
    """Rests once a batch is published and before Spark hears of it, so that a test can kill it just then."""

    def put(self, rows: DataFrame, batch: int) -> None:
        super().put(rows, batch)
        time.sleep(REST)


def main(folder: Path, address: str, level: str = "ERROR") -> None:
    """Publish a topic until its end; the level is that of Spark's log."""
    session = spark_session(MASTER)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.sparkContext.setLogLevel(level)
    stream_run.BatchFolders = Slow  # type: ignore[misc]
    topic.MESSAGES = BATCH
    publish_stream(address, folder / "out", setup(), ByKey("stop"), checkpoint=folder / "kept")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
