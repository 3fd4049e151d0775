"""A question means what SQL says: at a price that leaves no noise, answers are those of plain Python over the rows."""

# ruff: noqa: S608  # questions are made of parts

from __future__ import annotations

import datetime as dt
import json
import math
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run

TIMES = [dt.datetime(2024, 1, 31, 22, 15), dt.datetime(2024, 3, 1, 0, 0), dt.datetime(2024, 12, 31, 23, 59, 59)]
ROWS = [(hour, place % 4, TIMES[place % 3]) for place, hour in enumerate((7, 8, 8, 9, 17, 17, 18, 23, 0, 1))]
SCHEMA = """
[columns.hour]
role = "other"
type = "integer"
bounds = [0, 23]
[columns.station]
role = "other"
type = "integer"
bounds = [0, 9]
[columns.start]
role = "other"
type = "timestamp"
bounds = [2024-01-01T00:00:00, 2024-12-31T23:59:59]
zone = "Europe/Berlin"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten rides and three stations, and a ledger that is as good as without end."""
    made = tmp_path
    pl.DataFrame(ROWS, schema=["hour", "station", "start"], orient="row").write_csv(made / "rides.csv")
    (made / "stations.csv").write_text("Station,docks\n0,10\n1,20\n2,30\n", encoding="utf-8")
    (made / "rides.toml").write_text(SCHEMA, encoding="utf-8")
    create = ["budget", "create", str(made / "L"), "--data", str(made / "rides.csv"), "--deadline", "0"]
    assert run([*create, "--schema", str(made / "rides.toml"), "--epsilon", "100000000"]) == 0
    return made


def answered(folder: Path, capsys: pytest.CaptureFixture[str], question: str, *options: str) -> list[dict[str, object]]:
    capsys.readouterr()
    assert run(["query", str(folder / "L"), question, "--epsilon", "1000000", "--json", *options]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["answer"]
    return found


def refused(folder: Path, capsys: pytest.CaptureFixture[str], question: str, *options: str) -> str:
    capsys.readouterr()
    assert run(["query", str(folder / "L"), question, "--epsilon", "1000000", *options]) == 2
    return capsys.readouterr().err


MEANT: dict[str, float] = {
    "SELECT COUNT(*) AS n FROM (SELECT *, hour = 8 OR hour = 17 AS rush FROM rides) t WHERE rush AND station < 2": sum(
        hour in {8, 17} and station < 2 for hour, station, _ in ROWS
    ),
    "SELECT SUM(0.3) AS n FROM rides": 0.3 * len(ROWS),
    "SELECT AVG(2.5) AS n FROM rides": 2.5,
    "SELECT SUM(CASE WHEN hour < 9 THEN -0.5 END) AS n FROM rides": -0.5 * sum(hour < 9 for hour, _, _ in ROWS),
    "SELECT MAX(CASE WHEN hour < 9 THEN 2.5 END) AS n FROM rides": 2.5,
    "SELECT COUNT(*) AS n FROM rides WHERE start < TIMESTAMPTZ '2024-02-29T23:00:01Z'": sum(
        start <= TIMES[1] for _, _, start in ROWS
    ),
}


def test_a_question_means_what_it_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """AND binds closer than OR that a name stands for; a sum of one constant is not rounded to whole numbers."""
    for question, wanted in MEANT.items():
        assert answered(folder, capsys, question)[0]["n"] == pytest.approx(wanted, rel=1e-4), question


def test_an_interval_of_which_a_part_would_be_left_out_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for interval in ("1 hour ago", "1 day 01:30", "P1M", "@ 1 day", "1 day!", "1-2", "01:30"):
        for before in ("INTERVAL ", "INTERVAL E", "interval\n"):
            question = f"SELECT COUNT(*) FROM rides WHERE start + {before}'{interval}' < '2024-02-01'"
            assert "not covered; write an interval as" in refused(folder, capsys, question)


def test_what_nests_too_deeply_is_told_in_our_own_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(folder, capsys, f"SELECT COUNT(*) FROM rides WHERE {'ABS(' * 300}hour{')' * 300} > 0")
    assert "too deeply nested" in error
    assert "Python" not in error


def test_other_statements_are_refused_in_one_sentence(folder: Path) -> None:
    """In a process of its own, where nobody listens to what a parser logs."""
    asked = "import sys; from sfumato.cli.main import run; sys.exit(run(sys.argv[1:]))"
    for statement, word in (("SHOW TABLES", "SHOW"), ("fetch first rows only", "FETCH"), ("DROP TABLE rides", "DROP")):
        command = [sys.executable, "-c", asked, "query", str(folder / "L"), statement, "--epsilon", "1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr == f"sfumato: the question is {word}; write one SELECT of aggregates\n"


def test_a_table_that_with_names_is_never_taken_for_a_public_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "WITH s AS (SELECT * FROM rides WHERE hour < 9) SELECT COUNT(*) FROM rides JOIN S USING (station)"
    assert "which WITH names" in refused(folder, capsys, question, "--public", f"s={folder / 'stations.csv'}")


def test_columns_of_a_join_may_differ_in_case(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = ["--public", f"stations={folder / 'stations.csv'}"]
    wanted = sum(10 + 10 * station for _, station, _ in ROWS if station < 3)
    joined = "SELECT SUM(docks) AS n FROM rides r JOIN stations s ON "
    for condition in ("R.STATION = S.station", '"r"."station" = s."Station"'):
        assert answered(folder, capsys, joined + condition, *public)[0]["n"] == wanted


def test_groups_that_cannot_be_are_not_answered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers rounded to tens are groups of tens: between them there would be noise alone."""
    tens = [math.floor(hour / 10 + 0.5) * 10 for hour, _, _ in ROWS]
    for key in ("ROUND(hour, -1)", "10 * FLOOR(hour / 10 + 0.5)", "FLOOR(hour / 10 + 0.5) * -10"):
        rows = answered(folder, capsys, f"SELECT {key} AS k, COUNT(*) AS n FROM rides GROUP BY k")
        assert {abs(int(str(row["k"]))): row["n"] for row in rows} == {ten: tens.count(ten) for ten in (0, 10, 20)}
    assert "is a multiple of 10" in refused(folder, capsys, "SELECT COUNT(*) FROM rides WHERE ROUND(hour, -1) = 15")


def test_periods_that_are_all_alike_are_all_groups(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for unit, start in (("hour", dt.timedelta(hours=1)), ("week", dt.timedelta(days=7))):
        question = f"SELECT DATE_TRUNC('{unit}', start) AS p, COUNT(*) AS n FROM rides GROUP BY p HAVING n > 0.5"
        found = {row["p"]: row["n"] for row in answered(folder, capsys, question)}
        monday = dt.datetime(2024, 1, 1)
        periods = [str(monday + (time - monday) // start * start) for _, _, time in ROWS]
        assert found == {period: periods.count(period) for period in periods}
