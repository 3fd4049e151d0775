"""The first records of a folder, judged before a stream on Spark begins: whether their cells are what was declared.

The folder is read once as it lies, a thousand records of it and no more; nothing is drawn or charged before, so that a
refusal is an act of the steward (van den Burg, Nazabal & Sutton 2019 on files that are read wrongly without a word).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.engines.spark.folders import read_cells
from sfumato.engines.spark.streams.stream import SparkStream
from sfumato.stream.intake import JUDGED, Trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def judge_folder(session: SparkSession, feed: Path, stream: SparkStream, share: float) -> None:
    """Refuse a folder of whose first records more than a share of some column's filled cells cannot be read."""
    batch = stream.first_records(read_cells(session, feed), JUDGED)
    if not batch.count:
        return
    screened = stream.screen(batch, 0)
    trial = Trial(share)
    trial.add(screened.cells, batch.unreadable, screened.persons)
    trial.refuse()
