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

from scale_events import counted, most_kept
from scale_kinds import blocks, generate_points, generate_records, single_blocks, stream
from scale_topic import topic

import sfumato as sf
from sfumato.dp.ledger.terms import Terms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MASTER, K = "local[2]", 10
QUASI = ["age", "sex", "education", "birthplace"]
SCHEMA = sf.Schema.from_roles(quasi=QUASI, sensitive=["disease"])
ROWS_OF_FILE = 2_500_000
PLACES = 57
FINER = 6  # times as many birthplaces in the table whose distinct rows are many
PARTS = 8
JARS = Path.home() / ".cache" / "sfumato-spark-kafka"  # which tests/engines/spark/streams/kafka_jars.xml brings


def session(folder: Path) -> SparkSession:
    """Return a session whose event log, and whose log of tidying up its memory, lie in a folder."""
    (folder / "conf").mkdir(exist_ok=True)
    (folder / "events").mkdir(exist_ok=True)
    lines = [
        "spark.eventLog.enabled true",
        "spark.eventLog.compress false",
        f"spark.eventLog.dir file://{(folder / 'events').resolve()}",
    ]
    (folder / "conf" / "spark-defaults.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.environ["SPARK_CONF_DIR"] = str(folder / "conf")
    if JARS.is_dir():
        os.environ.setdefault("SFUMATO_SPARK_JARS", str(JARS))
    os.environ["JAVA_TOOL_OPTIONS"] = f"-Xlog:gc:file={folder / 'gc.log'}"
    from sfumato.engines.spark import spark_session

    return spark_session(MASTER)


def people(spark: SparkSession, rows: int, places: int = PLACES) -> DataFrame:
    """Return generated people: four quasi-identifiers and a disease, independent; only sex and disease are even.

    The other columns grow rarer in a straight line, so that some cells have fewer than k people at every size.
    """
    files = max(2, rows // ROWS_OF_FILE)
    falling = {"age": (16, 79), "education": (1, 17), "birthplace": (1, places)}
    even = {"sex": (1, 2), "disease": (0, 10)}
    columns = {name: f"{low} + floor((1 - sqrt(rand({low + many}))) * {many})" for name, (low, many) in falling.items()}
    columns |= {name: f"{low} + floor(rand({low + many}) * {many})" for name, (low, many) in even.items()}
    return spark.range(0, rows, 1, files).selectExpr(
        *(f"CAST({told} AS INT) AS {name}" for name, told in columns.items())
    )


def generate(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Write the people that the other jobs read."""
    people(spark, rows).write.parquet(str(folder / f"people-{rows}"))
    return {}


def generate_wide(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Write people whose distinct rows are six times as many."""
    people(spark, rows, FINER * PLACES).write.parquet(str(folder / f"wide-{rows}"))
    return {}


def bare(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Count the distinct quasi-identifiers, join the counts back, and write: the least that any such job does."""
    from pyspark.sql import functions

    frame = spark.read.parquet(str(folder / f"people-{rows}"))
    counts = frame.groupBy(*QUASI).count().persist()
    distinct = counts.count()
    frame.join(functions.broadcast(counts), QUASI).write.parquet(str(folder / f"bare-{rows}"))
    return {"distinct_rows": distinct, "input_bytes": _size(folder / f"people-{rows}")}


def _size(folder: Path) -> int:
    """Return the bytes of the data files of a folder; Spark's own count misses what it reads in several pieces."""
    return sum(file.stat().st_size for file in folder.glob("*.parquet"))


def table(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Anonymize by Mondrian, check, and write with the card; the way is the exact one."""
    return _anonymized(spark, folder / f"people-{rows}", folder / f"anonymous-{rows}")


def wide(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Do the same where distinct rows are many, and rows are too unlike one another to be counted before sorting."""
    return _anonymized(spark, folder / f"wide-{rows}", folder / f"anonymous-wide-{rows}")


def parts(spark: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Do that by eight parts, as if the driver took a quarter of the distinct rows."""
    points = spark.read.parquet(str(folder / f"wide-{rows}")).groupBy(*QUASI).count().count()
    most = 2 * -(-points // PARTS)
    return _anonymized(spark, folder / f"wide-{rows}", folder / f"anonymous-parts-{rows}", most_points=most)


def _anonymized(spark: SparkSession, source: Path, target: Path, **options: Any) -> dict[str, Any]:
    """Return the measures of one release: what the steward is told, how much was written, and how long a hash takes."""
    from sfumato.engines.spark import anonymize, read_folder
    from sfumato.engines.spark.tables.release import folder_digest

    start = time.perf_counter()
    release = anonymize(read_folder(spark, source), sf.Mondrian(), SCHEMA, [sf.KAnonymity(K)], **options)
    card = release.save(target)
    seconds = time.perf_counter() - start
    files = sorted(target.glob("*.parquet"))
    folder_digest(files)  # once more, to know its share
    found = {**release.steward, "classes": card.released.classes, "seconds": seconds}
    sizes = {"input_bytes": _size(source), "output_bytes": _size(target)}
    return found | sizes | {"hash_seconds": time.perf_counter() - start - seconds}


def query(_: SparkSession, rows: int, folder: Path) -> dict[str, Any]:
    """Make a ledger for the folder, which hashes its rows, and ask for a count of every declared sex and education."""
    from sfumato.engines.spark import SparkRows

    attributes = {"sex": (1, 2), "education": (1, 17)}
    declared = "".join(
        f'[columns.{name}]\nrole = "quasi"\ntype = "integer"\nbounds = [{low}, {high}]\n'
        for name, (low, high) in attributes.items()
    )
    (folder / "people.toml").write_text(declared, encoding="utf-8")
    schema = sf.Schema.from_toml(folder / "people.toml")
    start = time.perf_counter()
    held = SparkRows.of_folder(folder / f"people-{rows}", schema, MASTER)
    asked = sf.Session.create(
        folder / "people.ledger", held, schema, sf.Budget(epsilon=1), terms=Terms(deadline=0, other_people=True)
    )
    ledger = time.perf_counter() - start
    asked.ask(sf.count().by("sex", "education"), epsilon=0.5)
    sizes = {"input_bytes": _size(folder / f"people-{rows}")}
    return sizes | {"ledger_seconds": ledger, "question_seconds": time.perf_counter() - start - ledger}


def single(rows: int, folder: Path) -> dict[str, Any]:
    """Do the same release on the single machine: read the folder, anonymize, write one Parquet file."""
    import polars as pl

    release = sf.Mondrian().anonymize(
        sf.Table.from_frame(pl.read_parquet(folder / f"people-{rows}" / "*.parquet")), SCHEMA, [sf.KAnonymity(K)]
    )
    release.save(folder / f"single-{rows}.parquet")
    return {"classes": release.card.released.classes}


def peak_mib(process: int) -> int:
    """Return the most MiB that a process has held."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) // 1024
    return 0


def measured(work: Callable[[], dict[str, Any]], machine: int | None) -> dict[str, Any]:
    """Return what a job measured, its seconds, and the most memory of Python and of the virtual machine."""
    load, start = os.getloadavg()[0], time.perf_counter()
    found = work()
    seconds = time.perf_counter() - start
    found = {"seconds": seconds, "python_mib": peak_mib(os.getpid()), "load": load} | found
    return found if machine is None else found | {"driver_mib": peak_mib(machine)}


ON_SPARK = {
    "generate": generate,
    "generate_wide": generate_wide,
    "bare": bare,
    "table": table,
    "wide": wide,
    "parts": parts,
    "query": query,
    "blocks": blocks,
    "stream": stream,
    "topic": topic,
}
HERE = {
    "single": single,
    "generate_points": generate_points,
    "single_blocks": single_blocks,
    "generate_records": generate_records,
}


def main() -> None:
    """Run the job that the arguments name."""
    job, rows, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    if job in HERE:
        print(json.dumps(measured(lambda: HERE[job](rows, folder), None)))
        return
    with tempfile.TemporaryDirectory(dir=folder) as place:
        spark = session(Path(place))
        spark.range(10).count()  # the engine is warm before the clock starts
        machine = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]  # noqa: SLF001
        found = measured(lambda: ON_SPARK[job](spark, rows, folder), machine)
        spark.stop()
        print(json.dumps(found | counted(Path(place) / "events") | {"kept_mib": most_kept(Path(place) / "gc.log")}))


if __name__ == "__main__":
    main()
