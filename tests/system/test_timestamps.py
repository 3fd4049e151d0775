"""Timestamps and zones at the command line: tables by every algorithm, read back by check, audit and report."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.core.calendar import times_of
from sfumato.core.cells import read

START = dt.datetime(2015, 9, 21, 6, 0, 7)
RIDES = [START + dt.timedelta(minutes=37 * row) for row in range(60)]
SCHEMA = """
[columns.start]
role = "quasi"
type = "timestamp"
bounds = [2015-09-21, 2015-09-30]

[columns.age]
role = "quasi"
type = "integer"
bounds = [20, 50]

[columns.trip]
role = "sensitive"
type = "category"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = {"start": RIDES, "age": [20 + row % 31 for row in range(60)], "trip": [f"t{row}" for row in range(60)]}
    frame = pl.DataFrame(rows)
    frame.with_columns(pl.col("start").dt.strftime("%Y-%m-%d %H:%M:%S")).write_csv("rides.csv")
    frame.write_parquet("rides.parquet")
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path


def held(cell: str, time: dt.datetime) -> bool:
    """Whether a published cell may stand for a time."""
    found = read(cell).on_clock()
    if found.everything:
        return True
    ends = found.ends or (found.words[0], found.words[0])
    spans = times_of(ends[0]), times_of(ends[1])
    return spans[0] is not None and spans[1] is not None and spans[0][0] <= time <= spans[1][1]


def released(path: str) -> dict[int, str]:
    """The published start of each ride by its number; rows are published in no order."""
    frame = pl.read_csv(path, infer_schema_length=0)
    return {int(trip[1:]): start for trip, start in frame.select("trip", "start").rows()}


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly", "optimal"])
@pytest.mark.parametrize("source", ["rides.csv", "rides.parquet"])
def test_generalised_times_hold_the_true_ones(algorithm: str, source: str) -> None:
    ask = ["anonymize", source, "-o", "out.csv", "--schema", "s.toml", "--k", "5", "--algorithm", algorithm]
    assert run(ask) == 0
    shown = released("out.csv")
    assert all(held(cell, RIDES[row]) for row, cell in shown.items())
    assert set(shown.values()) != {"*"}
    assert run(["check", "out.csv", "--quasi", "start,age", "--require", "k=5"]) == 0


def test_microaggregation_shows_mean_times() -> None:
    ask = ["anonymize", "rides.csv", "-o", "out.csv", "--schema", "s.toml", "--k", "5", "--algorithm", "mdav"]
    assert run([*ask, "--report", "r.html"]) == 0
    shown = pl.read_csv("out.csv", infer_schema_length=0).get_column("start").unique().to_list()
    times = [dt.datetime.fromisoformat(cell) for cell in shown]
    assert all(RIDES[0] <= time <= RIDES[-1] and time.microsecond == 0 for time in times)


@pytest.mark.parametrize("steps", ['["hour", "day", "week"]', '["day", "month"]'])
def test_hierarchies_of_times(folder: Path, steps: str) -> None:
    (folder / "t.toml").write_text(f'builder = "dates"\nfirst = 2015-09-21\nlast = 2015-09-30\nsteps = {steps}\n')
    text = SCHEMA.replace("bounds = [2015-09-21, 2015-09-30]", 'hierarchy = "t.toml"')
    (folder / "s.toml").write_text(text)
    for algorithm in ("mondrian", "optimal"):
        ask = ["anonymize", "rides.csv", "-o", f"{algorithm}.csv", "--schema", "s.toml", "--k", "5"]
        assert run([*ask, "--algorithm", algorithm, "--report", f"{algorithm}.html"]) == 0
        assert all(held(cell, RIDES[row]) for row, cell in released(f"{algorithm}.csv").items())


def test_a_hierarchy_is_proposed_for_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hierarchy", "suggest", "rides.csv", "--column", "start"]) == 0
    assert 'steps = ["hour", "day", "month", "quarter", "year"]' in capsys.readouterr().out


def test_a_proposed_schema_has_timestamps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "rides.csv"]) == 0
    shown = capsys.readouterr().out
    assert 'type = "timestamp"' in shown
    assert "bounds = [2015-09-21T06:00:07, " in shown


@pytest.mark.parametrize("role", ["quasi", "other"])
def test_half_past_midnight_in_berlin_is_not_released_as_the_day_before(folder: Path, role: str) -> None:
    moments = [dt.datetime(2024, 7, day, 0, 30, tzinfo=ZoneInfo("Europe/Berlin")) for day in (1, 1, 2, 2)]
    stored = pl.Series("born", moments).dt.convert_time_zone("Europe/Berlin")
    pl.DataFrame({"born": stored, "age": [1, 1, 1, 1]}).write_parquet("zoned.parquet")
    (folder / "s.toml").write_text(
        f'[columns.born]\nrole = "{role}"\ntype = "date"\n[columns.age]\nrole = "quasi"\ntype = "integer"\n'
    )
    assert run(["anonymize", "zoned.parquet", "-o", "out.csv", "--schema", "s.toml", "--k", "2"]) == 0
    shown = pl.read_csv("out.csv", infer_schema_length=0).get_column("born").sort().to_list()
    assert [cell[:10] for cell in shown] == ["2024-07-01", "2024-07-01", "2024-07-02", "2024-07-02"]


def test_times_in_a_column_of_dates_are_refused_with_a_remedy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SCHEMA.replace('"timestamp"', '"date"')
    (folder / "s.toml").write_text(text)
    assert run(["anonymize", "rides.csv", "-o", "out.csv", "--schema", "s.toml", "--k", "5"]) == 2
    assert "timestamp" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


@pytest.mark.long
def test_private_tables_of_times(folder: Path) -> None:
    frame = pl.read_csv("rides.csv").with_columns(pl.Series("trip", ["ab"[row % 2] for row in range(60)]))
    frame.write_csv("two.csv")
    words = SCHEMA + 'categories = ["a", "b"]\n'
    (folder / "s.toml").write_text(words)
    ask = [
        "anonymize",
        "two.csv",
        "-o",
        "m.csv",
        "--schema",
        "s.toml",
        "--epsilon",
        "2",
        "--algorithm",
        "private-mondrian",
    ]
    assert run(ask) == 0
    for cell in pl.read_csv("m.csv", infer_schema_length=0).get_column("start").unique():
        low, high = read(cell).ends or ("", "")
        assert (times_of(low) or RIDES)[0] >= dt.datetime(2015, 9, 21)
        assert (times_of(high) or RIDES)[1] <= dt.datetime(2015, 10, 1)
    again = ["anonymize", "two.csv", "-o", "s.csv", "--schema", "s.toml", "--algorithm", "safepub"]
    assert run([*again, "--k", "3", "--epsilon", "2", "--delta", "0.01"]) == 2
