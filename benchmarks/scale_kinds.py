"""Jobs of the scale benchmark beside the table: microaggregation block by block, and a stream of many keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import sfumato as sf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

K = 10
COLUMNS = tuple("abcde")
KEYS, FILES = 16, 8
WINDOW = 1000


def generate_points(rows: int, folder: Path) -> dict[str, Any]:
    """Write Gaussian points of five columns, the ones of the microaggregation benchmark."""
    import numpy as np
    import polars as pl

    points = np.random.default_rng(1).normal(size=(rows, len(COLUMNS)))
    (folder / f"points-{rows}").mkdir()
    pl.DataFrame(points, schema=list(COLUMNS)).write_parquet(folder / f"points-{rows}" / "points.parquet")
    return {}


def blocks(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Microaggregate block by block and write: MDAV+ and polishing in each block."""
    from sfumato.engines.spark import anonymize, read_folder

    frame = read_folder(spark, folder / f"points-{rows}")
    release = anonymize(frame, sf.MDAVPlus(), sf.Schema.from_roles(quasi=COLUMNS), [sf.KAnonymity(K)])
    release.save(folder / f"blocks-{rows}")
    return {"loss": release.steward["information_loss"], "blocks": release.steward["blocks"]}


def single_blocks(rows: int, folder: Path) -> dict[str, Any]:
    """Find the groups of all points together on the single machine, by the same steps: MDAV+, then polishing."""
    import polars as pl

    from sfumato.tabular.microaggregation.algorithms.mdav_plus import mdav_plus
    from sfumato.tabular.microaggregation.loss import information_loss, standardize
    from sfumato.tabular.microaggregation.search.polish import polish

    points = standardize(pl.read_parquet(folder / f"points-{rows}" / "*.parquet").to_numpy())
    labels = polish(points, K, mdav_plus(points, K))
    return {"loss": information_loss(points, labels)}


def generate_records(rows: int, folder: Path) -> dict[str, Any]:
    """Write the records of a feed in a few files: a number under one of 16 keys."""
    import numpy as np
    import polars as pl

    draw = np.random.default_rng(2)
    feed = folder / f"records-{rows}"
    feed.mkdir()
    records = pl.DataFrame({"stop": draw.integers(0, KEYS, rows), "wait": draw.gamma(3, 12, rows)})
    for number, start in enumerate(range(0, rows, -(-rows // FILES))):
        records.slice(start, -(-rows // FILES)).write_parquet(feed / f"{number}.parquet")
    return {}


def stream(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Publish the feed by rank windows, a publisher for each key, in two micro-batches; weigh what the keys keep."""
    from sfumato.engines.spark.streams.keys import ByKey
    from sfumato.engines.spark.streams.run import SparkRun
    from sfumato.engines.spark.streams.source import ARRIVAL, read_growing
    from sfumato.engines.spark.streams.stream import SparkStream
    from sfumato.stream import RankWindows
    from sfumato.stream.screens.base import NumberScreen

    bounds = (0, 200)
    publishers = SparkStream(RankWindows(bounds, window=WINDOW), NumberScreen({"wait": bounds}), ByKey("stop"), ARRIVAL)
    kept = folder / f"kept-{rows}"
    records = read_growing(spark, folder / f"records-{rows}", files=FILES // 2)
    outcome = SparkRun(publishers, folder / f"published-{rows}", kept).run(records)
    states = spark.read.format("statestore").load(f"file://{(kept / 'spark').resolve()}")
    lengths = states.selectExpr("length(value.groupState.state) AS bytes").collect()
    return {
        "published": outcome.card.released.rows,
        "keys": len(lengths),
        "state_bytes": sum(row[0] for row in lengths),
    }
