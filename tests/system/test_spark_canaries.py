"""Canary rows through Spark's folders: what a release leaves out is in no byte of any file of the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from test_canaries import COST, ILL, NAME, ROLES, SCHEMA, SECRETS, people
from unpacked import files_with

from sfumato.cli.main import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINE = ("--engine", "spark")
CODEC = "spark.sql.parquet.compression.codec"
SUPPRESSED = ("--algorithm", "optimal", "--suppress", "0.05", "--k", "3")


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with rows in two files; Parquet is packed in a way that the search can unpack."""
    before = spark.conf.get(CODEC)
    monkeypatch.chdir(tmp_path)
    for name in ("secret", "secret/in", "out"):
        (tmp_path / name).mkdir()
    rows = people()
    rows.head(30).write_parquet("secret/in/a.parquet")
    rows.tail(-30).write_parquet("secret/in/b.parquet")
    Path("secret/roles.toml").write_text(SCHEMA.replace("VISITS", "sensitive"))
    spark.conf.set(CODEC, "zstd")
    yield tmp_path
    spark.conf.set(CODEC, str(before))


def found_in(folder: Path) -> list[str]:
    return [f"{secret!r} in {name}" for secret in SECRETS for name in files_with(folder, secret)]


@pytest.mark.long
def test_a_withheld_row_is_in_no_byte_of_the_folder(folder: Path) -> None:
    command = ["anonymize", "secret/in", "-o", "out/table", *ROLES, *SUPPRESSED, *ENGINE]
    assert run([*command, "--report", "secret/report.html"]) in {0, 1}
    assert list((folder / "out" / "table").glob("*.parquet"))
    assert found_in(folder / "out") == []
    assert NAME.encode() not in Path("secret/report.html").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["mondrian", "mdav"])
def test_dropped_columns_are_in_no_byte_of_the_folder(folder: Path, algorithm: str) -> None:
    Path("secret/roles.toml").write_text(SCHEMA.replace("VISITS", "identifier"))
    for path in Path("secret/in").iterdir():
        rows = pl.read_parquet(path).filter(pl.col("ill") != ILL)
        rows.with_columns(name=pl.lit(NAME), note=COST).write_parquet(path)
    command = ["anonymize", "secret/in", "-o", "out/table", *ROLES, "--algorithm", algorithm, "--k", "3", *ENGINE]
    assert run(command) in {0, 1}
    assert list((folder / "out" / "table").glob("*.parquet"))
    assert found_in(folder / "out") == []


@pytest.mark.long
def test_the_search_finds_what_is_there(folder: Path) -> None:
    """The inputs, written by Spark, hold every canary."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    session.read.parquet(str(folder / "secret/in")).write.parquet(str(folder / "secret/copy"))
    assert {line.split(" in ")[0] for line in found_in(folder / "secret" / "copy")} == {repr(one) for one in SECRETS}
