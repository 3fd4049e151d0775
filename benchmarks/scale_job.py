"""One measured job of the scale benchmark, in a process of its own; prints what it measured as one line of JSON.

`python benchmarks/scale_job.py JOB ROWS FOLDER`: what Spark counts of bytes is read from its event log.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sfumato as sf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MASTER, K = "local[2]", 10
QUASI = ["age", "sex", "education", "birthplace"]
SCHEMA = sf.Schema.from_roles(quasi=QUASI, sensitive=["disease"])
ROWS_OF_FILE = 2_500_000
METERS = 16


def session(folder: Path) -> SparkSession:
    """Return a session whose event log lies in a folder."""
    (folder / "conf").mkdir(exist_ok=True)
    (folder / "events").mkdir(exist_ok=True)
    lines = [
        "spark.eventLog.enabled true",
        "spark.eventLog.compress false",
        f"spark.eventLog.dir file://{(folder / 'events').resolve()}",
    ]
    (folder / "conf" / "spark-defaults.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.environ["SPARK_CONF_DIR"] = str(folder / "conf")
    from sfumato.engines.spark import spark_session

    return spark_session(MASTER)


def people(spark: SparkSession, rows: int) -> DataFrame:
    """Return generated people: four quasi-identifiers and a disease, uniform and independent."""
    files = max(2, rows // ROWS_OF_FILE)
    ranges = {"age": (16, 79), "sex": (1, 2), "education": (1, 17), "birthplace": (1, 57), "disease": (0, 10)}
    columns = [f"CAST({low} + floor(rand({seed}) * {many}) AS INT) AS {name}"
               for seed, (name, (low, many)) in enumerate(ranges.items())]  # fmt: skip
    return spark.range(0, rows, 1, files).selectExpr(*columns)


def generate(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Write the people that the other jobs read."""
    people(spark, rows).write.parquet(str(folder / f"people-{rows}"))
    return {}


def bare(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Count the distinct quasi-identifiers, join the counts back, and write: the least that any such job does."""
    from pyspark.sql import functions

    frame = spark.read.parquet(str(folder / f"people-{rows}"))
    counts = frame.groupBy(*QUASI).count().persist()
    distinct = counts.count()
    frame.join(functions.broadcast(counts), QUASI).write.parquet(str(folder / f"bare-{rows}"))
    return {"distinct": distinct}


def table(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Anonymize by Mondrian, check, and write with the card."""
    from sfumato.engines.spark import anonymize, read_folder

    frame = read_folder(spark, folder / f"people-{rows}")
    release = anonymize(frame, sf.Mondrian(), SCHEMA, [sf.KAnonymity(K)])
    card = release.save(folder / f"anonymous-{rows}")
    return {"distinct": release.steward["distinct_rows"], "classes": card.released.classes}


def query(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Ask for a count of every declared sex and education."""
    from sfumato.engines.spark import SparkRows

    attributes = {"sex": (1, 2), "education": (1, 17)}
    declared = "".join(
        f'[columns.{name}]\nrole = "quasi"\ntype = "integer"\nbounds = [{low}, {high}]\n'
        for name, (low, high) in attributes.items()
    )
    (folder / "people.toml").write_text(declared, encoding="utf-8")
    schema = sf.Schema.from_toml(folder / "people.toml")
    held = SparkRows.of_frame(spark.read.parquet(str(folder / f"people-{rows}")).select("sex", "education"), schema)
    asked = sf.Session.create(folder / "people.ledger", held, schema, sf.Budget(epsilon=1))
    start = time.perf_counter()
    asked.ask(sf.count().by("sex", "education"), epsilon=0.5)
    return {"question": time.perf_counter() - start}


def single(rows: int, folder: Path) -> dict[str, Any]:
    """Do the same release on the single machine: read the folder, anonymize, write one Parquet file."""
    import polars as pl

    release = sf.Mondrian().anonymize(
        sf.Table.from_frame(pl.read_parquet(folder / f"people-{rows}" / "*.parquet")), SCHEMA, [sf.KAnonymity(K)]
    )
    release.save(folder / f"single-{rows}.parquet")
    return {"classes": release.card.released.classes}


def shuffled(folder: Path) -> dict[str, int]:
    """Return the bytes that Spark shuffled and read, added up over all tasks in the event logs of a folder."""
    found = {"shuffle_bytes": 0, "input_bytes": 0, "spilled_bytes": 0}
    for log in (folder / "events").rglob("*"):
        if not log.is_file() or log.name.startswith("appstatus"):
            continue
        for line in log.read_text(encoding="utf-8").splitlines():
            if '"SparkListenerTaskEnd"' not in line:
                continue
            metrics = json.loads(line).get("Task Metrics") or {}
            found["shuffle_bytes"] += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
            found["input_bytes"] += metrics.get("Input Metrics", {}).get("Bytes Read", 0)
            found["spilled_bytes"] += metrics.get("Disk Bytes Spilled", 0)
    return found


def peak_mib(process: int) -> int:
    """Return the most MiB that a process has held."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) // 1024
    return 0


def measured(work: Callable[[], dict[str, Any]], machine: int | None) -> dict[str, Any]:
    """Return what a job measured, its seconds, and the most memory of Python and of the virtual machine."""
    start = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - start
    found |= {"seconds": seconds, "python_mib": peak_mib(os.getpid())}
    return found if machine is None else found | {"driver_mib": peak_mib(machine)}


JOBS = {"generate": generate, "bare": bare, "table": table, "query": query}


def main() -> None:
    """Run the job that the arguments name."""
    job, rows, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    if job == "single":
        print(json.dumps(measured(lambda: single(rows, folder), None)))
        return
    with tempfile.TemporaryDirectory(dir=folder) as place:
        spark = session(Path(place))
        spark.range(10).count()  # the engine is warm before the clock starts
        machine = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]  # noqa: SLF001
        found = measured(lambda: JOBS[job](spark, rows, folder), machine)
        spark.stop()
        print(json.dumps(found | shuffled(Path(place))))


if __name__ == "__main__":
    main()
