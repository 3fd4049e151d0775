"""The query door on Spark from outside: what an event log tells of a secret, and a question over Spark Connect."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

TOML = """
[columns.rider]
role = "identifier"
[columns.hour]
role = "other"
type = "integer"
bounds = [0, 3]
[columns.minutes]
role = "other"
type = "number"
bounds = [0, 60]
"""
LOGGED = """
import pathlib, sys
from pyspark.sql import SparkSession
import sfumato as sf
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.terms import Terms
from sfumato.engines.spark.queries import SparkRows

log, secret = pathlib.Path("log").absolute(), bytes.fromhex("5ec2e7" * 10 + "0000")
Ledger.secret = lambda self: secret
builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.eventLog.enabled", "true")
settings = {"spark.eventLog.dir": log.as_uri(), "spark.eventLog.compress": "false", "spark.ui.enabled": "false"}
spark = builder.config(map=settings).getOrCreate()
schema = sf.Schema.from_toml("rides.toml")
rows = SparkRows.of_frame(spark.read.parquet("rides"), schema)
terms = Terms(deadline=0)
session = sf.Session.create("logged.ledger", rows, schema, sf.Budget(1), protect="person:rider:2:2", terms=terms)
print(session.sql("SELECT hour, SUM(minutes) FROM rows GROUP BY hour", "0.5").frame.height)
spark.stop()
"""


@pytest.fixture
def folder(tmp_path: Path, spark: object) -> Path:
    """Return a folder with rides in it; the session that tests share says whether Spark is there at all."""
    del spark
    (tmp_path / "rides").mkdir()
    (tmp_path / "log").mkdir()
    places = range(200)
    rides = {"rider": [place % 30 for place in places], "hour": [place % 4 for place in places]}
    frame = pl.DataFrame({**rides, "minutes": [place % 61 + 0.5 for place in places]})
    for part in range(2):
        frame[part::2].write_parquet(tmp_path / "rides" / f"{part}.parquet")
    (tmp_path / "rides.toml").write_text(TOML, encoding="utf-8")
    return tmp_path


@pytest.mark.long
def test_the_secret_that_chooses_rows_stands_in_no_event_log(folder: Path) -> None:
    made = subprocess.run([sys.executable, "-c", LOGGED], cwd=folder, capture_output=True, text=True, check=False)
    assert made.stdout.strip() == "4", made.stderr[-2000:]
    logged = "".join(file.read_text(encoding="utf-8") for file in (folder / "log").rglob("*") if file.is_file())
    assert "sha2" in logged  # the plans are there
    assert "5ec2e7" not in logged


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[str]:
    """Give the address of a Spark Connect server that runs for one test."""
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]", "--conf", "spark.ui.enabled=false"]
    command += ["--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.driver.host=127.0.0.1"]
    command += ["--conf", "spark.connect.grpc.binding.address=127.0.0.1"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    environment = {**os.environ, "SPARK_HOME": str(home)}
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        _wait(port, server, tmp_path / "server.log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=60)


def _wait(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(240):
        assert server.poll() is None, log.read_text(encoding="utf-8")[-2000:]
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    raise AssertionError(log.read_text(encoding="utf-8")[-2000:])


@pytest.mark.long
def test_a_question_is_answered_over_spark_connect(folder: Path, connect: str) -> None:
    engine = ["--engine", "spark", "--master", connect]
    create = ["budget", "create", "L", "--data", "rides", "--schema", "rides.toml", "--epsilon", "1000000"]
    create += ["--deadline", "0"]
    question = "SELECT COUNT(*), COUNT(DISTINCT rider) FROM rides WHERE hour < 2"
    answers = []
    for arguments in (
        [*create, "--protect", "person:rider:9:1", *engine],
        ["query", "L", question, "--epsilon", "100000", *engine],
        ["query", "L", question, "--epsilon", "100000", *engine],
    ):
        command = [sys.executable, "-m", "sfumato", *arguments]
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
        answers.append((made.stdout, made.stderr))
    numbers = answers[1][0].splitlines()[1].split(",")
    assert (float(numbers[0]), float(numbers[3])) == (100, 30)
    assert answers[2][0] == answers[1][0]
    assert "asked before" in answers[2][1]
