"""Cells of a table on Spark, counted there as the single machine counts them, and refused at the same share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.engines.spark.tables.intake import count_cells, take_in_rows
from sfumato.errors import InputError
from sfumato.table import ParseReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long
SCHEMA = sf.Schema.from_text(
    '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 99]\n'
    '[columns.day]\nrole = "quasi"\ntype = "date"\n'
    '[columns.cost]\nrole = "sensitive"\ntype = "number"\n'
    '[columns.sex]\nrole = "quasi"\ncategories = ["F", "M"]\nmissing = ["", "?"]\n'
)
PEOPLE = pl.DataFrame(
    {
        "age": ["31", "x", "120", None] * 50,
        "day": ["2026-01-31", "2026-01-30", "soon", "2026-02-01"] * 50,
        "cost": [1.5, float("nan"), None, 2.0] * 50,
        "sex": ["F", "M", "?", "m"] * 50,
    }
)


def test_counts_are_those_of_the_single_machine(spark: SparkSession) -> None:
    alone = ParseReport.of(sf.Table(PEOPLE), SCHEMA)
    rows = spark.createDataFrame(PEOPLE.to_arrow()).repartition(3)
    there = count_cells(rows, SCHEMA)
    for name, entry in alone.columns.items():
        found = there.columns[name]
        for sort in ("missing", "failed", "outside"):
            assert getattr(found, sort).cells == getattr(entry, sort).cells, (name, sort)
        assert (found.cells, found.example, found.limits) == (entry.cells, entry.example, entry.limits)


def test_more_than_the_share_is_refused_and_less_is_missing(spark: SparkSession) -> None:
    rows = spark.createDataFrame(PEOPLE.to_arrow())
    with pytest.raises(InputError, match=r"'age': 50 of 150 filled cells, 33 %, are no integer, for example 'x', and"):
        take_in_rows(rows, SCHEMA)
    from dataclasses import replace

    taken, report = take_in_rows(rows, replace(SCHEMA, failed=0.5))
    assert report is not None
    found = pl.DataFrame(taken.toArrow())
    assert found["age"].null_count() == 100
    assert found["day"].null_count() == 50
    assert ParseReport.of(sf.Table(found), SCHEMA).failed_cells == 0


def people(folder: Path, bad: int) -> None:
    ages = ["unknown"] * bad + [str(20 + row % 40) for row in range(200 - bad)]
    lines = [f"{age},{'FM'[row % 2]},{row}.5" for row, age in enumerate(ages)]
    (folder / "people.csv").write_text("\n".join(["age,sex,cost", *lines]) + "\n")
    (folder / "people.toml").write_text(
        '[columns.age]\nrole = "quasi"\ntype = "integer"\n[columns.sex]\nrole = "quasi"\n'
        '[columns.cost]\nrole = "sensitive"\ntype = "number"\nbounds = [0, 150]\n'
    )


def test_commands_on_spark_tell_and_refuse(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del spark  # skips where there is none
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    engine = ["--engine", "spark", "--master", "local[2]"]
    people(tmp_path, bad=3)
    command = ["anonymize", "people.csv", "-o", "out", "--schema", "people.toml", "--k", "5", *engine]
    assert run(command) == 2
    assert (
        "column 'age': 3 of 200 filled cells, 1.5 %, are no integer, for example 'unknown'" in capsys.readouterr().err
    )
    create = ["budget", "create", "L", "--data", "people.csv", "--schema", "people.toml", "--epsilon", "1", *engine]
    assert run(create) == 2
    assert "column 'age': 3 of 200 filled cells, 1.5 %, are no integer" in capsys.readouterr().err
    assert not (tmp_path / "L").exists()
    people(tmp_path, bad=2)
    assert run(command) == 0
    told = capsys.readouterr().err
    assert "column 'age': 2 of 200 filled cells, 1 %, are no integer, treated as missing (for the steward)" in told
    card = json.loads((tmp_path / "out.card.json").read_text())
    assert "cells that could not be read and were treated as missing: age 2" in card["warnings"]
    check = ["check", "people.csv", "--quasi", "sex", "--sensitive", "cost", "--schema", "people.toml", *engine]
    assert run(["budget", "create", "L", *create[3:], "--deadline", "0"]) == 0
    clipped = "column 'cost': 50 of 200 filled cells, 25 %, are outside [0, 150], counted as the nearest bound"
    assert clipped in capsys.readouterr().err
    assert run([*check, "--max-failed", "0"]) == 2  # beyond the bounds: refused as on one machine
    assert "lies outside the declared bounds" in capsys.readouterr().err
