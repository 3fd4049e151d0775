"""Tables with types: what is passed on unchanged leaves with the type it had, in the format that the ending names."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from sfumato.cli.main import run

ROWS = 24
KINDS = pl.DataFrame(
    {
        "age": [20 + row % 6 for row in range(ROWS)],
        "smokes": [row % 2 == 0 for row in range(ROWS)],
        "ward": pl.Series(["north", "south", "east"] * 8, dtype=pl.Categorical),
        "disease": pl.Series(["flu", "gout"] * 12, dtype=pl.Enum(["flu", "gout", "mumps"])),
        "insured": [None if row == 5 else row % 3 == 0 for row in range(ROWS)],
        "cost": pl.Series([Decimal(f"{row}.50") for row in range(ROWS)], dtype=pl.Decimal(12, 2)),
        "weight": [60.5 + row for row in range(ROWS)],
        "born": [dt.date(1990, 1, 1 + row) for row in range(ROWS)],
        "seen": pl.Series(
            [dt.datetime(2026, 1, 1, row, 30, tzinfo=ZoneInfo("Europe/Berlin")) for row in range(ROWS)],
            dtype=pl.Datetime("us", "Europe/Berlin"),
        ),
        "woke": [dt.time(6, row) for row in range(ROWS)],
        "zip": ["02139"] * ROWS,
    }
)
ALONE = ["--accept-unique", "cost,weight,born,seen,woke"]  # values that single out, so that they are easy to compare
ROLES = ["--quasi", "age,smokes,ward", "--sensitive", "disease", "--other", "keep", "--k", "3", *ALONE]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "mdav"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_untouched_columns_keep_their_types(folder: Path, algorithm: str, ending: str) -> None:
    write = KINDS.write_parquet if ending == "parquet" else KINDS.write_ipc
    write(folder / f"in.{ending}")
    roles = ["age" if part == "age,smokes,ward" and algorithm == "mdav" else part for part in ROLES]
    assert run(["anonymize", f"in.{ending}", "-o", f"out.{ending}", "--algorithm", algorithm, *roles]) == 0
    found = (pl.read_parquet if ending == "parquet" else pl.read_ipc)(folder / f"out.{ending}")
    touched = {"age", "smokes", "ward"} if algorithm != "mdav" else {"age"}
    kept = [name for name in KINDS.columns if name not in touched]
    texts = KINDS.cast({pl.Categorical: pl.String, pl.Enum(["flu", "gout", "mumps"]): pl.String})
    assert {name: found.schema[name] for name in kept} == {name: texts.schema[name] for name in kept}
    assert found.select(kept).sort("weight").equals(texts.select(kept))
    assert b"mumps" not in (folder / f"out.{ending}").read_bytes()  # a category that no row has
    if algorithm != "mdav":
        assert all(found.schema[name] == pl.String for name in touched)


def test_json_lines_keep_truth_values_and_numbers(folder: Path) -> None:
    KINDS.select("age", "insured", "weight", "zip").write_ndjson(folder / "in.jsonl")
    roles = ["--quasi", "age", "--other", "keep", "--k", "3", "--accept-unique", "weight"]
    assert run(["anonymize", "in.jsonl", "-o", "out.jsonl", *roles]) == 0
    found = pl.read_ndjson(folder / "out.jsonl").sort("weight")
    assert found.select("insured", "weight", "zip").equals(KINDS.select("insured", "weight", "zip"))


def test_a_truth_value_in_csv_is_written_as_before(folder: Path) -> None:
    KINDS.write_parquet(folder / "in.parquet")
    assert run(["anonymize", "in.parquet", "-o", "out.csv", *ROLES]) == 0
    found = pl.read_csv(folder / "out.csv", infer_schema=False)
    assert set(found["insured"]) == {"true", "false", None}
    assert set(found["zip"]) == {"02139"}


@pytest.mark.parametrize("command", [["check", "in.parquet", "--quasi", "age"], ["schema", "in.parquet"]])
def test_a_nested_column_is_refused_by_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    KINDS.with_columns(pl.struct("age", "zip").alias("both")).write_parquet(folder / "in.parquet")
    assert run(command) == 2
    assert "column 'both' holds Struct" in capsys.readouterr().err


def test_every_command_of_a_table_takes_types(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    KINDS.write_parquet(folder / "in.parquet")
    assert run(["check", "in.parquet", "--quasi", "smokes,ward", "--sensitive", "disease"]) == 0
    assert "k             4" in capsys.readouterr().out
    assert run(["schema", "in.parquet"]) == 0
    capsys.readouterr()
    assert run(["hierarchy", "suggest", "in.parquet", "--column", "ward"]) == 0
    assert '"east", "north", "south"' in capsys.readouterr().out
    assert run(["anonymize", "in.parquet", "-o", "out.parquet", "--report", "r.html", *ROLES]) == 0
    joined = ["audit", "linkage", "out.parquet", "--with", "in.parquet", "--on", "smokes,ward"]
    assert run([*joined, "--k", "2"]) == 0
