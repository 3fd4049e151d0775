"""The local door on Spark: tallies of many files equal those of one machine, and rows become reports in parallel."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.errors import InputError
from sfumato.local import GeneralizedResponse, LocalProtocol, OptimizedUnary, Tally, aggregate_file, write_reports
from sfumato.random import SeededSource
from sfumato.release import Card

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOMAIN = ("red", "green", "blue", "grey")
SPARK = ["--engine", "spark"]


def reports(folder: Path, protocol: LocalProtocol) -> list[Path]:
    """Write report files of both forms, one compressed, one with foreign, malformed and cut reports behind it."""
    folder.mkdir()
    codes = np.random.default_rng(2).integers(0, len(DOMAIN), 3000)
    files = [folder / name for name in ("a.bin", "b.jsonl", "c.bin.gz", "d.jsonl")]
    for number, file in enumerate(files):
        form = "lines" if "jsonl" in file.name else "packed"
        write_reports(file, protocol, protocol.report_many(codes[number::4], SeededSource(number)), form=form)
    other = OptimizedUnary(DOMAIN, 3)
    foreign = other.perturb(1).to_json().encode()
    with files[3].open("ab") as appended:
        appended.write(b"not a report\n" + foreign + b'\n{"protocol": 7}\n{"cut')
    (folder / "a.bin.card.json").write_text("{}")
    return files


def alone(files: list[Path]) -> Tally:
    total = aggregate_file(files[0])
    for file in files[1:]:
        total += aggregate_file(file)
    return total


@pytest.mark.parametrize("protocol", [OptimizedUnary(DOMAIN, 1), GeneralizedResponse(DOMAIN, 2)])
def test_a_folder_is_tallied_as_by_one_machine(spark: SparkSession, tmp_path: Path, protocol: LocalProtocol) -> None:
    from sfumato.engines.spark.local import tally_files

    files = reports(tmp_path / "in", protocol)
    single = alone(files)
    assert sum(single.rejected.values()) == 4
    assert len(single.rejected) >= 3
    assert tally_files(spark, [tmp_path / "in"]) == single


def test_a_frame_of_reports_is_tallied_as_by_one_machine(spark: SparkSession, tmp_path: Path) -> None:
    from sfumato.engines.spark.local import tally_reports

    protocol = OptimizedUnary(DOMAIN, 1)
    files = reports(tmp_path / "in", protocol)
    lines = spark.read.text(f"file://{files[3]}")
    expected = protocol.aggregate(files[3].read_text().splitlines())
    assert tally_reports(lines.repartition(3), protocol) == expected
    assert expected.users > 700


def test_files_that_do_not_belong_together_are_refused_with_the_sentence_of_one_machine(
    spark: SparkSession, tmp_path: Path
) -> None:
    from sfumato.engines.spark.local import tally_files

    files = reports(tmp_path / "in", OptimizedUnary(DOMAIN, 1))
    other = OptimizedUnary(DOMAIN, 2)
    write_reports(tmp_path / "in" / "e.bin", other, other.report_many([0, 1]))
    with pytest.raises(InputError) as expected:
        alone([*files, tmp_path / "in" / "e.bin"])
    with pytest.raises(InputError) as found:
        tally_files(spark, [tmp_path / "in"])
    assert str(found.value) == str(expected.value)
    (tmp_path / "in" / "e.bin").write_bytes(gzip.compress(b"x" * 1000)[:-20])
    with pytest.raises(InputError, match=r"e\.bin' is a damaged gzip file|e\.bin' does not begin with"):
        tally_files(spark, [tmp_path / "in"])
    with pytest.raises(InputError, match="is named twice"):
        tally_files(spark, [tmp_path / "in", files[0]])


def test_rows_become_reports_and_reports_become_counts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del spark
    monkeypatch.chdir(tmp_path)
    colours = np.random.default_rng(4).choice(DOMAIN, 4000, p=[0.6, 0.3, 0.1, 0])
    Path("in").mkdir()
    for number in range(2):
        part = slice(2000 * number, 2000 * (number + 1))
        pl.DataFrame({"colour": colours[part], "age": np.full(2000, 40)}).write_parquet(f"in/{number}.parquet")
    Path("domain.txt").write_text("\n".join(DOMAIN) + "\n")
    asked = ["--column", "colour", "--domain", "domain.txt", "--epsilon", "4", *SPARK]
    assert run(["local", "perturb", "in", "-o", "reports", *asked]) == 0, capsys.readouterr().err
    assert Card.from_json(Path("reports.card.json").read_bytes()).released.rows == 4000
    assert run(["local", "estimate", "reports", "-o", "spark.csv", *SPARK]) == 0
    files = sorted(str(file) for file in Path("reports").iterdir())
    assert len(files) > 1
    assert run(["local", "estimate", *files, "-o", "single.csv"]) == 0
    assert Path("spark.csv").read_bytes() == Path("single.csv").read_bytes()
    counts = pl.read_csv("spark.csv")
    truth = [int((colours == colour).sum()) for colour in DOMAIN]
    assert ((counts["count"] - pl.Series(truth)).abs() <= 5 * counts["variance"].sqrt()).all()
    assert (counts["variance"].sqrt() < 50).all()
    assert run(["local", "mean", "in", "--column", "age", "--bounds", "0", "100", "--epsilon", "4", *SPARK]) == 0
    assert "from 4000 reports" in capsys.readouterr().out
    refusals(asked, capsys)


def refusals(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("domain.txt").write_text("red\ngreen\n")
    for command, sentence in (
        (["perturb", "in", "-o", "more", *asked], "rows have no value of the domain"),
        (["perturb", "in", "-o", "reports", *asked], "output 'reports' exists"),
        (["perturb", "-", "-o", "more", *asked], "Spark reads files and folders"),
        (["estimate", "-", "-o", "more.csv", *SPARK], "Spark reads files and folders"),
        (
            ["mean", "in", "--column", "age", "--bounds", "0", "9", "--epsilon", "1", *SPARK],
            "4000 rows have no number within 0 and 9",
        ),
    ):
        capsys.readouterr()
        assert run(["local", *command]) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert len(said.splitlines()) == 1
        assert not Path("more").exists()


@pytest.mark.long
def test_few_bad_rows_have_no_report_on_spark_either(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del spark
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    ages = ["40,5"] * 995 + ["x", "", "", "200", "200"]
    pl.DataFrame({"colour": ["red"] * 996 + ["", "?", "mauve", "mauve"], "age": ages}).write_parquet("in/0.parquet")
    Path("domain.txt").write_text("\n".join(DOMAIN) + "\n")
    colour = ["--column", "colour", "--domain", "domain.txt", "--epsilon", "4", "--missing", "?", *SPARK]
    assert run(["local", "perturb", "in", "-o", "reports", "--parse-report", "c.json", *colour]) == 0
    told = capsys.readouterr()
    assert "996 reports by" in told.out
    assert "missing cells: colour 2 (for the steward)" in told.err
    assert "2 of 998 filled cells, 0.2 %, are outside the domain, in no report (for the steward)" in told.err
    assert "4 of 1000 rows have no report" in told.err
    assert '"cells": 1000' in Path("c.json").read_text()
    assert sum(len(part.read_text().splitlines()) - 1 for part in Path("reports").iterdir()) == 996
    age = ["--column", "age", "--bounds", "0", "100", "--epsilon", "4", *SPARK]
    assert run(["local", "mean", "in", *age, "--decimal", ","]) == 0
    told = capsys.readouterr()
    assert "from 995 reports" in told.out
    assert "5 of 1000 rows have no report" in told.err
    assert run(["local", "mean", "in", *age, "--decimal", ",", "--max-failed", "0.001"]) == 2
    assert "5 rows have no number within 0 and 100 (2 of them no value at all), and at" in capsys.readouterr().err
