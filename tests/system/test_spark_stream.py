"""The stream command on Spark: a folder in, a folder out, one publisher a key, the rows of one machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.release import Card

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 240
RANK = ["--publisher", "rank", "--delay", "50", "--block", "10", "--bounds", "0", "100", "--engine", "spark"]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = str(spark.conf.get("spark.sql.shuffle.partitions"))
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", before)


@pytest.fixture(scope="module")
def records() -> pl.DataFrame:
    draw = np.random.default_rng(5)
    wait = np.round(draw.gamma(3, 12, 3 * ROWS), 1).astype(str)
    wait[7] = "x"
    riders = [f"r{number}" for number in draw.integers(0, 100, 3 * ROWS)]
    return pl.DataFrame({"stop": draw.integers(0, 2, 3 * ROWS), "wait": wait, "rider": riders})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: pl.DataFrame) -> Path:
    """Give a folder of three files in which the later ones come first by name."""
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    for number in range(3):
        file = Path("in") / f"{9 - number}.csv"
        records[number * ROWS : (number + 1) * ROWS].write_csv(file)
        os.utime(file, (1_700_000_000 + number,) * 2)
    return tmp_path


def test_a_folder_becomes_a_folder_of_what_one_machine_would_publish(
    session: SparkSession, folder: Path, records: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    from sfumato.random import KeyedSource
    from sfumato.stream import RankWindows
    from sfumato.stream.runtime.checkpoint import CheckpointFolder
    from sfumato.stream.runtime.noise_key import FILE, read_key

    del session
    command = ["stream", "in", "-o", "out", "--column", "wait", "--key", "stop", "--checkpoint", "kept", *RANK]
    assert run(command) == 0, capsys.readouterr().err
    assert "720 rows in" in capsys.readouterr().out
    found = pl.read_parquet("out/**/*.parquet", hive_partitioning=False)
    assert found.columns == ["wait", "stop", "group", "size", "seq"]
    key = read_key(folder / "kept" / FILE)
    with CheckpointFolder.open("kept") as store:
        begun = store.load()
    assert begun is not None
    values = np.nan_to_num(records["wait"].cast(pl.Float64, strict=False).to_numpy().clip(0, 100), nan=50.0)
    for stop in ("0", "1"):
        source = KeyedSource(key, "stream", begun.stream, "wait", "key", stop)
        publisher = RankWindows((0.0, 100.0), window=50, block=10, rng=source)
        own = values[(records["stop"].cast(pl.String) == stop).to_numpy()]
        alone = np.concatenate([publisher.push_many(own).values, publisher.flush().values])
        assert found.filter(stop=stop).sort("seq")["wait"].to_list() == alone.tolist()
    card = Card.from_json(Path("out.card.json").read_bytes())
    assert (card.released.rows, card.released.classes) == (720, found["group", "stop"].n_unique())
    again(command, capsys)


def again(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Run a stream that is over: the same once more, a refusal if the folder has grown or the options have changed."""
    before = {file: file.read_bytes() for file in Path("out").rglob("*.parquet")}
    assert run(command) == 0
    assert {file: file.read_bytes() for file in Path("out").rglob("*.parquet")} == before
    Path("in/late.csv").write_text("stop,wait,rider\n1,5,r1\n")
    for options, sentence in (([], "the input has changed since the stream"), (["--epsilon", "2"], "epsilon was 1.0")):
        capsys.readouterr()
        assert run([*command, *options]) == 2
        assert sentence in capsys.readouterr().err


def test_persons_stay_in_one_bucket_and_a_followed_folder_goes_on(
    session: SparkSession, folder: Path, records: pl.DataFrame
) -> None:
    """Stop a followed stream, let the folder grow, and follow it again: what was held leaves with what came."""
    from sfumato.engines.spark.streams.keys import ByPerson
    from sfumato.engines.spark.streams.run import SparkRun
    from sfumato.engines.spark.streams.source import ARRIVAL, read_growing
    from sfumato.engines.spark.streams.stream import SparkStream
    from sfumato.stream import CappedPersons, LinkedResponse
    from sfumato.stream.runtime.hooks import Hooks
    from sfumato.stream.screens.base import NumberScreen
    from sfumato.stream.screens.times import MarkedScreen

    publisher = CappedPersons(LinkedResponse((0, 100), window=50), limit=3)
    screen = MarkedScreen(NumberScreen({"wait": (0.0, 100.0)}), person="rider", timed=False)
    stream = SparkStream(publisher, screen, ByPerson("rider", 2), ARRIVAL)
    grown = folder / "grown"
    grown.mkdir()
    held = 0
    for number in range(2):
        part = records[number * ROWS : (number + 1) * ROWS]
        part.write_parquet(grown / f"{number}.parquet")
        commit = folder / "kept" / "spark" / "commits" / str(number)
        follow = SparkRun(stream, folder / "out", folder / "kept", follow=True)
        outcome = follow.run(read_growing(session, grown), Hooks(stop=commit.exists))
        held = outcome.progress.held
        assert not outcome.complete
        assert outcome.progress.rows + held == (number + 1) * ROWS
    assert held > 0
    outcome = SparkRun(stream, folder / "out", folder / "kept").run(read_growing(session, grown))
    assert (outcome.complete, outcome.progress.rows, outcome.progress.held) == (True, 2 * ROWS, 0)
    found = pl.read_parquet(folder / "out" / "**" / "*.parquet", hive_partitioning=False)
    assert found.columns == ["wait", "bucket", "group", "size", "seq", "position"]
    for _, part in found.group_by("bucket"):
        assert part.sort("seq")["position"].to_list() == list(range(part.height))
    assert outcome.card.guarantee.unit.startswith("person")


def test_files_that_change_behind_a_batch_are_noticed(session: SparkSession, tmp_path: Path) -> None:
    from sfumato.engines.spark.streams.run import BatchFolders
    from sfumato.errors import InputError

    sink = BatchFolders(tmp_path)
    first = session.createDataFrame([(1.5, 2), (2.5, 2)], "wait double, size bigint")
    sink.put(first, 3)
    written = {file.name for file in (tmp_path / "batch=3").iterdir()}
    sink.put(first, 3)
    assert {file.name for file in (tmp_path / "batch=3").iterdir()} == written
    with pytest.raises(InputError, match="published before with other rows"):
        sink.put(session.createDataFrame([(1.5, 2), (2.75, 2)], first.schema), 3)
    sink.put(first.where("size > 2"), 4)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["batch=3"]
    assert sink.totals() == (2, 1)


TIMED = ["--every", "10s", "--time", "stop", "--from", "0", "--until", "100"]


@pytest.mark.parametrize(
    "options, sentence",
    [
        ([], "Spark keeps many publishers; give --key COLUMN"),
        (["--key", "stop", "--buckets", "3"], "--buckets spreads persons where there is no --key"),
        (["--key", "stop", "--master", "sc://here"], "a stream's driver runs here"),
        (["--key", "stop", *TIMED], "windows that end by the clock need one clock"),
        (["--person", "rider", *TIMED], "windows that end by the clock need one clock"),
        (["--key", "stop", "--order", "wait"], "column 'wait' is published and cannot order the records"),
        (["--person", "rider", "--order", "wait"], "column 'wait' is published and cannot order the records"),
        (["--person", "rider", "--horizon", "1d", "--time", "wait"], "--time and --column are both 'wait'"),
        (["--person", "wait"], "--person and --column are both 'wait'"),
        (["--person", "rider", "--horizon", "1d", "--time", "stop", "--late", "1h"], "--late is for records that"),
        (["--key", "stop", "--person", "rider", "--ledger", "l.db"], "--ledger cannot charge persons"),
        (["--person", "rider", "--horizon", "1d"], "--horizon needs --time COLUMN here"),
        (["--key", "wait"], "column 'wait' cannot be the key"),
    ],
)
def test_what_is_not_offered_is_refused_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    assert run(["stream", "in", "-o", "out", "--column", "wait", *RANK, *options]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1
    assert not (folder / "out").exists()


def test_options_of_spark_are_refused_without_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del folder
    assert run(["stream", "in/9.csv", "-o", "out.csv", "--column", "wait", *RANK[:-2], "--key", "stop"]) == 2
    assert "--key is for many publishers on Spark; add --engine spark" in capsys.readouterr().err


def test_a_column_that_does_not_parse_is_refused_before_a_stream_begins(
    session: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del session
    assert run(["stream", "in", "-o", "out", "--column", "rider", "--key", "stop", *RANK]) == 2
    assert "column 'rider': 720 of the first 720 filled cells cannot be read" in capsys.readouterr().err
    assert sorted(file.name for file in folder.iterdir()) == ["in"]


@pytest.mark.long
def test_records_behind_the_first_thousand_are_counted_for_the_steward(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del session
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    wait = [str(place % 100) for place in range(1500)]
    wait[1400], wait[1401], wait[1402] = "x", "", "900"
    pl.DataFrame({"stop": [place % 2 for place in range(1500)], "wait": wait}).write_csv("in/1.csv")
    command = ["stream", "in", "-o", "out", "--column", "wait", "--key", "stop", *RANK, "--checkpoint", "kept"]
    assert run([*command, "--parse-report", "steward.json"]) == 0
    told = capsys.readouterr().err
    assert "sfumato: 1500 records read (for the steward)" in told
    assert "column 'wait': 1500 cells read, 1 missing, 1 not readable, 1 out of bounds (for the steward)" in told
    report = json.loads(Path("steward.json").read_text())
    assert report["do_not_publish"] is True
    assert report["intake"]["columns"]["wait"]["failed"] == {"cells": 1, "first_records": []}
    assert Path("steward.json").stat().st_mode & 0o777 == 0o600
    assert "1500" not in Path("out.card.json").read_text().replace('"rows": 1500', "")
    assert run([*command, "--parse-report", "steward.json"]) == 0  # the stream is over: the same report again
