"""The first records of a stream on Spark, judged before it begins: whether their cells are what was declared.

A thousand records are read and no more; nothing is drawn or charged before, so that a refusal is an act of the steward
(van den Burg, Nazabal & Sutton 2019 on files that are read wrongly without a word).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.engines.spark.folders import read_cells
from sfumato.engines.spark.streams.kafka.cells import PayloadCells
from sfumato.engines.spark.streams.stream import SparkStream
from sfumato.errors import InputError
from sfumato.stream.intake import JUDGED, Trial
from sfumato.stream.runtime.batch import Batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def judge_folder(session: SparkSession, feed: Path, stream: SparkStream, share: float) -> None:
    """Refuse a folder of whose first records more than a share of some column's filled cells cannot be read."""
    _judge(stream.first_records(read_cells(session, feed), JUDGED), stream, share)


def judge_messages(payloads: Sequence[bytes], cells: PayloadCells, stream: SparkStream, share: float) -> None:
    """Refuse a topic for the same reason, and one whose first records have nothing that parts or orders them."""
    batch = cells.parser()(payloads)
    wanted = stream.screen.wanted.names
    for name in (name for name in cells.wanted.texts if name not in wanted):
        if batch.count > 1 and not any(batch.texts[name]):
            raise InputError(f"column '{name}': the first {batch.count} cells are all empty; name another column")
    _judge(batch, stream, share)


def _judge(batch: Batch, stream: SparkStream, share: float) -> None:
    if not batch.count:
        return
    screened = stream.screen(batch, 0)
    trial = Trial(share)
    trial.add(screened.cells, batch.unreadable, screened.persons)
    trial.refuse()
