"""Statistics of windows through the command line: several columns, sliding, persons, charged once, refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run

SCHEMA = """
[columns.watts]
role = "sensitive"
type = "number"
bounds = [0, 100]
[columns.room]
role = "sensitive"
type = "category"
categories = ["bath", "hall", "=2+2"]
"""
ASK = ["--publisher", "statistics", "--column", "watts,room", "--schema", "rooms.toml", "--epsilon", "500"]
CLOCK = ["--time", "second", "--every", "10s", "--from", "0", "--until", "60"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A feed of one record a second, 10 and 30 watts in turn, that is silent from second 20 to 40."""
    monkeypatch.chdir(tmp_path)
    times = [*range(20), *range(40, 60)]
    rooms = ["hall", "=2+2"]
    lines = [f"{at},{10 + 20 * (at % 2)},{rooms[at % 2]},h{at % 5}" for at in times]
    Path("feed.csv").write_text("\n".join(["second,watts,room,house", *lines]) + "\n")
    Path("rooms.toml").write_text(SCHEMA)
    return tmp_path


def values(statistic: str, file: str = "out.csv") -> list[float]:
    rows = pl.read_csv(file)
    return [round(value, 1) for value in rows.filter(pl.col("statistic") == statistic)["value"].to_list()]


@pytest.mark.usefixtures("folder")
def test_windows_slide_in_time_and_empty_ones_stay(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "count, mean of watts, quantile 0.9 of watts at 10 20 30, histogram of room"
    assert run(["stream", "feed.csv", "-o", "out.csv", *ASK, *CLOCK, "--last", "20s", "--statistics", asked]) == 0
    assert "36 rows in 6 groups written to out.csv" in capsys.readouterr().out
    rows = pl.read_csv("out.csv")
    ends = rows.filter(pl.col("statistic") == "count")
    assert ends["window_start"].to_list()[:3] == [f"1970-01-01T00:00:{at:02}Z" for at in (0, 0, 10)]
    assert ends["window_end"].to_list()[:3] == [f"1970-01-01T00:00:{at:02}Z" for at in (10, 20, 30)]
    assert values("count") == [10, 20, 10, 0, 10, 20]
    assert values("mean")[:3] == pytest.approx([20, 20, 20], abs=2)
    assert values("quantile")[:2] == [30, 30]
    hall, formula = (rows.filter(pl.col("at") == name)["value"].to_list() for name in ("hall", "'=2+2"))
    assert hall == formula == [5, 10, 5, 0, 5, 10]  # and no spreadsheet computes the name of a category
    card = json.loads(Path("out.csv.card.json").read_text())
    assert card["guarantee"]["parameters"] == {"epsilon": 500.0}
    assert run(["audit", "release", "out.csv.card.json", "out.csv"]) == 0


@pytest.mark.usefixtures("folder")
def test_windows_of_records_slide_too() -> None:
    asked = ["--statistics", "count, sum of watts", "--delay", "10", "--last", "30", "--events"]
    assert run(["stream", "feed.csv", "-o", "out.csv", *ASK, *asked]) == 0
    assert values("count") == [10, 20, 30, 30]
    assert values("sum") == pytest.approx([200, 400, 600, 600], abs=20)
    assert pl.read_csv("out.csv")["window_start"].unique(maintain_order=True).to_list() == [0, 10]


@pytest.mark.usefixtures("folder")
def test_a_person_counts_so_often_and_a_ledger_pays_once() -> None:
    create = ["budget", "create", "house.ledger", "--data", "feed.csv", "--protect", "person:house:2:1"]
    assert run([*create, "--epsilon", "3", "--schema", "all.toml"]) == 2  # no such schema, so no ledger
    Path("all.toml").write_text(
        SCHEMA + '[columns.second]\nrole = "other"\ntype = "number"\nbounds = [0, 60]\n'
        '[columns.house]\nrole = "identifier"\n'
    )
    assert run([*create, "--epsilon", "3", "--schema", "all.toml"]) == 0
    asked = ["--statistics", "count, mean of watts", "--last", "20s", "--person", "house", "--per-person", "2"]
    given = [*ASK[:-1], "1", *CLOCK, *asked, "--ledger", "house.ledger"]
    assert run(["stream", "feed.csv", "-o", "one.csv", *given]) == 0
    assert run(["stream", "feed.csv", "-o", "two.csv", *given]) == 1  # 2 + 2 are more than 3


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--statistics", "mean of room"], "column 'room' holds categories"),
        (["--last", "25"], "give a multiple of the step"),
        (["--last", "1h"], "give a number of records, or --every too"),
        ([*CLOCK, "--last", "25s"], "give a multiple of the step"),
        ([*CLOCK, "--last", "25"], "the duration '25' is not of the form"),
        ([*CLOCK, "--delay", "7"], "--delay is no option of statistics"),
        (["--block", "7"], "--block is not an option of statistics"),
        (["--column", "watts,second"], "column 'second' needs public bounds"),
    ],
)
def test_what_makes_no_sense_is_refused(capsys: pytest.CaptureFixture[str], options: list[str], sentence: str) -> None:
    asked = ASK if "--column" not in options else [*ASK[:2], *ASK[4:]]
    delay = [] if "--every" in options else ["--delay", "10"]
    assert run(["stream", "feed.csv", "-o", "out.csv", *asked, *delay, *options]) == 2
    assert sentence in capsys.readouterr().err
    assert not Path("out.csv").exists()
