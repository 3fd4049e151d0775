"""A stream on real Spark processes of which one is killed: the rows are those of a run that nothing disturbed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl
import pytest
from killed import finished, started, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTER = "local-cluster[2,1,1024]"
FILES, ROWS = 6, 400
SCRIPT = "spark_streamer.py"


def inputs(folder: Path) -> None:
    """Write files of waiting times, one minute apart."""
    draw = np.random.default_rng(11)
    (folder / "in").mkdir(parents=True)
    for number in range(FILES):
        wait = np.round(draw.gamma(3, 12, ROWS), 1)
        frame = pl.DataFrame({"stop": draw.integers(0, 3, ROWS), "wait": wait})
        file = folder / "in" / f"{number}.parquet"
        frame.write_parquet(file)
        os.utime(file, (1_700_000_000 + 60 * number,) * 2)


def executors(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the process ids of the executors that a driver started."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            ours = os.getsid(int(entry.name)) == process.pid
            if ours and b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def rows(folder: Path) -> pl.DataFrame:
    """Return what was published, in the order of stops and rows."""
    frame = pl.read_parquet(folder / "out" / "**" / "*.parquet", hive_partitioning=False)
    return frame.sort("stop", "seq")


def undisturbed(session: SparkSession, folder: Path, place: Path) -> pl.DataFrame:
    """Return what a quiet run publishes with the key and the id of another, all files in one micro-batch."""
    from spark_streamer import stream

    from sfumato.engines.spark.streams.run import SparkRun
    from sfumato.engines.spark.streams.source import read_growing
    from sfumato.stream.runtime.checkpoint import CheckpointFolder
    from sfumato.stream.runtime.noise_key import FILE

    place.mkdir()
    (place / "kept").mkdir()
    shutil.copy2(folder / "kept" / FILE, place / "kept" / FILE)
    with CheckpointFolder.open(folder / "kept") as before, CheckpointFolder.open(place / "kept") as after:
        begun = before.load()
        assert begun is not None
        question = {**begun.question, "output": str((place / "out").resolve())}
        after.save(msgspec.structs.replace(begun, question=question, ended=False))
    SparkRun(stream(), place / "out", place / "kept").run(read_growing(session, folder / "in"))
    return rows(place)


def complete(frame: pl.DataFrame) -> None:
    """Check that every record left once: rows are numbered without a gap, stop by stop."""
    assert frame.height == FILES * ROWS
    for _, part in frame.group_by("stop"):
        assert part.sort("seq")["seq"].to_list() == list(range(part.height))


@pytest.mark.long
def test_a_killed_executor_changes_no_row(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    folder = tmp_path / "disturbed"
    inputs(folder)
    with started(folder, SCRIPT, CLUSTER) as process:
        until(process, folder, (folder / "out" / "batch=1").exists)
        before = executors(process)
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        finished(process, folder)
    found = rows(folder)
    complete(found)
    assert found.equals(undisturbed(spark, folder, tmp_path / "quiet"))


@pytest.mark.long
def test_a_killed_driver_goes_on_with_the_same_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill everything while a batch is written, and again when one is published and Spark does not know it yet."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    folder = tmp_path / "disturbed"
    inputs(folder)
    out, commits = folder / "out", folder / "kept" / "spark" / "commits"
    with started(folder, SCRIPT, CLUSTER) as process:
        until(process, folder, (out / ".batch-1.partial").exists)
    assert not (commits / "1").exists()
    with started(folder, SCRIPT, CLUSTER) as process:
        until(process, folder, lambda: (out / "batch=2").exists() and not (commits / "2").exists())
    published = pl.read_parquet(out / "batch=2" / "*.parquet")
    with started(folder, SCRIPT, CLUSTER) as process:
        finished(process, folder)
    assert pl.read_parquet(out / "batch=2" / "*.parquet").equals(published)
    found = rows(folder)
    complete(found)
    assert found.equals(undisturbed(spark, folder, tmp_path / "quiet"))
