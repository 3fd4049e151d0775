"""Ranges of a full-domain release never end at the own value of a row that is suppressed."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.core import cells

ALGORITHMS = ("datafly", "incognito", "optimal")
RARE = {"dose": "14.9173", "weight": "11.9871", "age": "38", "came": "2024-03-28", "seen": "2024-03-01 23:14:15"}


@pytest.fixture(autouse=True)
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred plain persons, and one whose sex is rare and who lies at the end of every scale."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(7)
    day, time = dt.date(2024, 3, 1), dt.datetime(2024, 3, 1, 9, 30)
    frame = pl.DataFrame(
        {
            "sex": draw.choice(["F", "M"], 100),
            "dose": draw.uniform(12, 14.9, 100).round(3),
            "weight": draw.uniform(12, 14.9, 100).round(3),
            "age": draw.integers(21, 37, 100),
            "came": [day + dt.timedelta(days=int(late)) for late in draw.integers(0, 27, 100)],
            "seen": [time + dt.timedelta(minutes=int(late)) for late in draw.integers(0, 800, 100)],
        }
    ).cast(pl.String)
    pl.concat([frame, pl.DataFrame([{"sex": "X", **RARE}])]).write_csv("in.csv")


def release(algorithm: str, column: str, *options: str) -> pl.DataFrame:
    roles = ["--quasi", f"sex,{column}", "--other", "drop", "--k", "5", *options]
    if algorithm != "incognito":  # which suppresses nothing
        roles += ["--suppress", "0.05"]
    assert run(["anonymize", "in.csv", "-o", "out.csv", "--algorithm", algorithm, *roles]) == 0
    return pl.read_csv("out.csv", infer_schema=False)


@pytest.mark.parametrize("ranges", ["text", "columns"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("column", list(RARE))
def test_no_cell_ends_at_the_value_of_a_rare_row(column: str, algorithm: str, ranges: str) -> None:
    shown = release(algorithm, column, "--ranges", ranges)
    assert "X" not in shown["sex"]
    for name in shown.columns:
        for text in shown[name].unique().drop_nulls():
            cell = cells.read(text)
            assert RARE[column] not in {*(cell.ends or ()), *cell.words}, f"{name} shows {text}"


@pytest.mark.parametrize("ranges", ["text", "columns"])
def test_decimals_end_at_declared_bounds(ranges: str) -> None:
    Path("s.toml").write_text('[columns.dose]\nrole = "quasi"\ntype = "number"\nbounds = [11.95, 14.95]\n')
    arguments = ["--schema", "s.toml", "--other", "drop", "--k", "5", "--suppress", "0.05", "--ranges", ranges]
    assert run(["anonymize", "in.csv", "-o", "out.csv", "--algorithm", "optimal", *arguments]) == 0
    text = Path("out.csv").read_text()
    assert RARE["dose"] not in text
    assert json.loads(Path("out.csv.card.json").read_text())["released"]["rows"] >= 100
    numbers = re.findall(r"-?[0-9]+[.]?[0-9]*", text)
    assert numbers
    assert all(11.95 <= float(number) <= 14.95 for number in numbers)
