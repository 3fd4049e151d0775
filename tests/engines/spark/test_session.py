"""The session on Spark: its workers run this interpreter, whatever `python3` the search path has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _who(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield pd.DataFrame({"who": [sys.executable] * len(frame)})


def test_workers_run_the_interpreter_that_started_them(spark: SparkSession) -> None:
    found = spark.range(4).mapInPandas(_who, "who string").distinct().collect()
    assert [row.who for row in found] == [sys.executable]
