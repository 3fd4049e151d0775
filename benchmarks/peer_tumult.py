"""Run in Tumult Analytics' own environment: time questions with derived columns and with a join; print JSON."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

warnings.simplefilter("ignore")
ta: Any = import_module("tmlt.analytics")
spark_sql: Any = import_module("pyspark.sql")

FOLDER, REPEAT = sys.argv[1], 2


def sessions() -> tuple[Any, Any]:
    """Return Spark's frames of rides and riders; what Spark writes stays in their folder."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = spark_sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", f"{FOLDER}/warehouse")
    spark = builder.config("spark.driver.memory", "8g").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rides = spark.read.parquet(f"{FOLDER}/rides.parquet")
    rides = rides.withColumn("start", rides["start"].cast("timestamp"))  # theirs knows moments alone
    return rides, spark.read.parquet(f"{FOLDER}/riders.parquet")


def derived(rides: Any) -> int:
    """Count rides by hour of the day and length in quarters of an hour, both computed from the row."""
    session = ta.Session.from_dataframe(ta.PureDPBudget(1), "rides", rides, ta.AddOneRow())
    keys = ta.KeySet.from_dict({"hour": list(range(24)), "quarters": list(range(8))})
    query = ta.QueryBuilder("rides").map(
        lambda row: {"hour": row["start"].hour, "quarters": row["minutes"] // 15},
        new_column_types={"hour": ta.ColumnType.INTEGER, "quarters": ta.ColumnType.INTEGER},
        augment=True,
    )
    return int(session.evaluate(query.groupby(keys).count(), ta.PureDPBudget(1)).count())


def joined(rides: Any, riders: Any) -> int:
    """Count rides by the age of their rider, at most twenty rides of each."""
    session = (
        ta.Session.Builder()
        .with_privacy_budget(ta.PureDPBudget(1))
        .with_id_space("riders")
        .with_private_dataframe("rides", rides, ta.AddRowsWithID("rider", "riders"))
        .with_private_dataframe("riders", riders, ta.AddRowsWithID("rider", "riders"))
        .build()
    )
    keys = ta.KeySet.from_dict({"age": list(range(16, 95))})
    query = ta.QueryBuilder("rides").join_private(ta.QueryBuilder("riders")).enforce(ta.MaxRowsPerID(20))
    return int(session.evaluate(query.groupby(keys).count(), ta.PureDPBudget(1)).count())


def seconds(work: Callable[[], int]) -> float:
    """Return the shortest of a few runs, after one that is not counted."""
    work()
    times = []
    for _ in range(REPEAT):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    rides, riders = sessions()
    print(json.dumps({"derived": seconds(lambda: derived(rides)), "joined": seconds(lambda: joined(rides, riders))}))
