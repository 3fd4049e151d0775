"""Folders in and out of Spark: types as the single machine has them, and one sentence for what cannot be used."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.spark import read_folder, spark_sentences, spark_session, write_folder
from sfumato.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CELLS = 'id;zip;age;note\n1;02139;31;""\n2;10115;;\n-3;1;0;"a;""b"\n'


def test_csv_cells_are_typed_as_on_the_single_machine(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "whole.csv").write_text(CELLS)
    folder = tmp_path / "people"
    folder.mkdir()
    header, *lines = CELLS.splitlines()
    (folder / "a.csv").write_text(f"{header}\n{lines[0]}\n")
    with gzip.open(folder / "b.csv.gz", "wt") as packed:
        packed.write("\n".join([header, *lines[1:]]) + "\n")
    (folder / "_SUCCESS").write_text("")
    frame = read_folder(spark, folder)
    expected = sf.read(tmp_path / "whole.csv").frame
    assert dict(frame.dtypes) == {"id": "bigint", "zip": "string", "age": "bigint", "note": "string"}
    assert expected.schema == {"id": pl.Int64, "zip": pl.String, "age": pl.Int64, "note": pl.String}
    assert sorted(frame.collect()) == sorted(map(tuple, expected.rows()))


@pytest.mark.parametrize("name", ["out", "out 1 of 100 %20, day=3"])
def test_parquet_goes_round(spark: SparkSession, tmp_path: Path, name: str) -> None:
    pl.DataFrame({"a.b": [1, 2], "well": [True, None]}).write_parquet(tmp_path / f"{name}.parquet")
    write_folder(read_folder(spark, tmp_path / f"{name}.parquet"), tmp_path / name)
    assert all(file.suffix == ".parquet" for file in (tmp_path / name).iterdir())
    back = pl.concat([pl.read_parquet(file) for file in (tmp_path / name).iterdir()]).sort("a.b")
    assert back.rows() == [(1, "true"), (2, None)]
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_a_folder_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions

    broken = spark.range(10).select(functions.raise_error(functions.lit("no")).cast("string").alias("x"))
    with pytest.raises(InputError, match=r"^output '.*out' cannot be written: .*no"):
        write_folder(broken, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_exists_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists; remove it"):
        write_folder(spark.range(1), tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        write_folder(spark.range(1), tmp_path / "no" / "out")


@pytest.mark.parametrize(
    "files, sentence",
    [
        ({}, "holds no file"),
        ({"a.csv": "x\n1\n", "b.csv": "y\n1\n"}, "different headers"),
        ({"a.csv": ""}, "is empty"),
        ({"a.json": '{"x": 1}\n'}, "neither Parquet nor CSV"),
        ({"a.csv": "x,x\n1,2\n"}, "two columns are called 'x'"),
    ],
)
def test_what_cannot_be_read_is_refused(
    spark: SparkSession, tmp_path: Path, files: dict[str, str], sentence: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=sentence):
        read_folder(spark, tmp_path)


def test_a_mixed_folder_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"mixes Parquet \('b.parquet'\) and CSV"):
        read_folder(spark, tmp_path)


def test_a_short_line_is_refused_and_not_filled_up(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\na,b\nc\n")
    with spark_sentences("the folder cannot be read"), pytest.raises(InputError, match=r"[Mm]alformed"):
        read_folder(spark, tmp_path)


def test_a_nested_column_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    pl.DataFrame({"x": [[1]]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="column 'x' holds array<bigint>, which is not a plain value"):
        read_folder(spark, tmp_path)


def test_a_session_is_reused_and_another_master_refused(spark: SparkSession) -> None:
    assert spark_session().sparkContext is spark.sparkContext
    assert spark_session("local[2]").sparkContext is spark.sparkContext
    with pytest.raises(InputError, match="runs in this process already"):
        spark_session("local[1]")
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_an_unreachable_cluster_is_named() -> None:
    with pytest.raises(InputError, match="does not answer"):
        spark_session("sc://127.0.0.1:9")


def test_without_java_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sfumato.engines.spark import session

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingExtraError, match="openjdk-17-jre-headless"):
        session._start("local[1]")
