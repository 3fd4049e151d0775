"""The gate on Spark: a table that the driver takes is attacked whole, a larger one says what was not tried."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.engines.spark.tables import attacks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED = ["--quasi", "age,sex", "--sensitive", "disease,cost", "--identifier", "name", "--other", "drop", "--k", "5"]


def made(folder: Path, *further: str) -> list[str]:
    people = sf.samples.patients(300).with_columns(pl.col("cost") + pl.int_range(300) / 1000)
    Path("in").mkdir(exist_ok=True)
    people.write_parquet("in/people.parquet")
    return [
        "anonymize",
        "in",
        "-o",
        str(folder / "out"),
        *ASKED,
        "--accept-unique",
        "cost",
        "--engine",
        "spark",
        *further,
    ]


@pytest.mark.long
def test_a_small_table_is_attacked_whole_and_a_large_one_says_what_was_not_tried(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del spark
    monkeypatch.chdir(tmp_path)
    assert run([*made(tmp_path), "--report", "steward.html"]) == 0
    told = capsys.readouterr()
    assert "REFUTED: singling out" in told.err
    assert "column 'cost' is to blame" in told.err
    assert "risks by attacks on all columns (for the steward): singling out" in told.out
    assert "rows attacked on the driver (for the steward): all 300" in told.out
    assert "the rows are not in the order of the original (for the steward): not attacked: rows on Spark" in told.out
    page = Path("steward.html").read_text(encoding="utf-8")
    assert "Attacks on all released columns" in page
    assert "rows on Spark have no order" in page
    monkeypatch.setattr(attacks, "MOST_ATTACKED", 200)
    monkeypatch.setattr(attacks, "SAMPLED", 100)
    (tmp_path / "second").mkdir()
    assert run(made(tmp_path / "second")) == 0
    told = capsys.readouterr()
    assert "REFUTED" not in told.err
    assert "singling out: as on one machine (for the steward): not attacked: it shows among all rows only" in told.out
    assert "the driver takes 200 rows, and there are 300" in told.out
    assert "of 300, drawn at random" in told.out
