"""Questions about times and numbers with marks, and constants that no declared value can equal: refused, free."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.errors import InputError, ParameterError

START = dt.datetime(2015, 7, 1, 0, 0, 30)
TIMES = [START + dt.timedelta(hours=7 * row) for row in range(2000)]
WAGES = [500 + row * 37 % 4000 + row % 100 / 100 for row in range(2000)]
SCHEMA = """
[columns.start]
role = "quasi"
type = "timestamp"
bounds = [2015-01-01, 2017-12-31]
[columns.usertype]
role = "quasi"
type = "category"
categories = ["Subscriber", "Customer"]
[columns.age]
role = "quasi"
type = "integer"
bounds = [16, 94]
[columns.lohn]
role = "sensitive"
type = "number"
decimal = ","
thousands = "."
bounds = [0.0, 10000.0]
[columns.born]
role = "quasi"
type = "date"
format = "%d.%m.%Y"
bounds = [1920-01-01, 2000-12-31]
[columns.note]
role = "other"
type = "text"
missing = ["", "?"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = range(2000)
    frame = {
        "start": [time.isoformat(sep=" ") for time in TIMES],
        "usertype": [("Subscriber", "Customer")[row % 4 == 0] for row in rows],
        "age": [16 + row % 79 for row in rows],
        "lohn": [f"{wage:,.2f}".translate(str.maketrans(",.", ".,")) for wage in WAGES],
        "born": [(dt.date(1950, 1, 1) + dt.timedelta(days=row)).strftime("%d.%m.%Y") for row in rows],
        "note": ["x" for _ in rows],
    }
    pl.DataFrame(frame).write_csv(tmp_path / "rides.csv", separator=";")
    (tmp_path / "s.toml").write_text(SCHEMA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    create = ["budget", "create", "L", "--data", "rides.csv", "--schema", "s.toml", "--epsilon", "1000"]
    assert run([*create, "--deadline", "0"]) == 0
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str], question: str) -> list[list[str]]:
    capsys.readouterr()
    assert run(["query", "L", question, "--epsilon", "20"]) == 0
    return [line.split(",") for line in capsys.readouterr().out.splitlines()]


def test_a_count_by_time_is_near_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    for condition, least in (("start >= '2016-01-01'", dt.datetime(2016, 1, 1)), ("'2016-01-01 08:00' < start", None)):
        found = int(answer(capsys, f"SELECT COUNT(*) FROM rides WHERE {condition}")[1][0])  # noqa: S608
        wanted = sum(time >= (least or dt.datetime(2016, 1, 1, 8)) for time in TIMES)
        assert abs(found - wanted) <= 3
    between = "SELECT COUNT(*) FROM rides WHERE start BETWEEN '2016-01-01' AND TIMESTAMP '2016-02-01 12:30:00'"
    wanted = sum(dt.datetime(2016, 1, 1) <= time <= dt.datetime(2016, 2, 1, 12, 30) for time in TIMES)
    assert abs(int(answer(capsys, between)[1][0]) - wanted) <= 3


def test_quantiles_and_histograms_of_times(capsys: pytest.CaptureFixture[str]) -> None:
    found = dt.datetime.fromisoformat(answer(capsys, "SELECT MEDIAN(start) FROM rides")[1][0])
    assert abs(found - TIMES[1000]) < dt.timedelta(days=4)
    head, *rows = answer(capsys, "SELECT HISTOGRAM(start, 3), COUNT(*) FROM rides GROUP BY HISTOGRAM(start, 3)")
    assert head[0] == "start"
    assert [row[0] for row in rows] == ["2015-01-01 00:00:00", "2016-01-01 08:00:00", "2016-12-31 16:00:00"]
    edges = [dt.datetime.fromisoformat(row[0]) for row in rows] + [dt.datetime(2018, 1, 1)]
    for row, low, high in zip(rows, edges, edges[1:], strict=False):
        assert abs(int(row[1]) - sum(low <= time < high for time in TIMES)) <= 3


def test_edges_of_bins_may_be_days_or_times(folder: Path) -> None:
    session = sf.Session.open(folder / "L")
    wanted = sum(time < dt.datetime(2016, 1, 1) for time in TIMES)
    for edges in ([dt.date(2015, 7, 1), dt.date(2016, 1, 1)], [dt.datetime(2015, 7, 1), dt.datetime(2016, 1, 1)]):
        ((start, count, *_),) = session.ask(sf.histogram("start", edges), epsilon=20).frame.rows()
        assert start == "2015-07-01 00:00:00"
        assert abs(count - wanted) <= 3
    with pytest.raises(ParameterError, match="the edges of 'age' are dates, and the column's type is integer"):
        session.ask(sf.histogram("age", [dt.date(1970, 1, 20), dt.date(1970, 2, 1)]), epsilon=1)


def test_the_median_of_decimal_commas_is_the_true_one(capsys: pytest.CaptureFixture[str]) -> None:
    found = float(answer(capsys, "SELECT MEDIAN(lohn) FROM rides")[1][0])
    assert abs(found - sorted(WAGES)[1000]) < 25
    count = answer(capsys, "SELECT COUNT(*) FROM rides WHERE lohn > 2531.5 AND born >= '1951-01-01'")[1][0]
    days = [dt.date(1950, 1, 1) + dt.timedelta(days=row) for row in range(2000)]
    wanted = sum(wage > 2531.5 and day >= dt.date(1951, 1, 1) for wage, day in zip(WAGES, days, strict=True))
    assert abs(int(count) - wanted) <= 3


IMPOSSIBLE = {
    "usertype = 'subscriber'": "has no declared category 'subscriber'; did you mean 'Subscriber'?",
    "usertype <> 'Custmer'": "did you mean 'Customer'?",
    "usertype IN ('Customer', 'subscriber')": "has no declared category 'subscriber'",
    "NOT (usertype = 'guest')": "has no declared category 'guest'",
    "age > 20 AND usertype LIKE 'sub%'": "no declared category of column 'usertype' fits the pattern 'sub%'",
    "age = 200": "has the declared bounds [16, 94], so none equals 200",
    "age IN (20, 95)": "so none equals 95",
    "age = 20.5": "holds integers",
    "age = 'old'": "compares number with text",
    "lohn = -1": "so none equals -1",
    "born = '2001-01-01'": "so none equals DATE '2001-01-01'",
    "born = 5": "compares date with number",
    "start = '2014-12-31 23:59:59'": "so none equals TIMESTAMP '2014-12-31 23:59:59'",
    "start >= 'noon'": "compares a timestamp with 'noon'; write it as '2026-01-31 14:30:00'",
    "note = '?'": "mark of a missing value",
}


PRICED = (["query", "--epsilon", "1"], ["plan", "--epsilon", "1"], ["plan", "--error", "5"])


@pytest.mark.parametrize("command", PRICED, ids=" ".join)
def test_a_constant_that_no_declared_value_can_equal_is_refused_free(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "L").read_bytes()
    for condition, sentence in IMPOSSIBLE.items():
        capsys.readouterr()
        question = f"SELECT COUNT(*) FROM rides WHERE {condition}"  # noqa: S608
        assert run([command[0], "L", question, *command[1:]]) == 2, condition
        out, err = capsys.readouterr()
        assert out == ""
        assert sentence in err, condition
        assert len(err.splitlines()) == 1
    assert (folder / "L").read_bytes() == before
    assert run(["budget", "show", "L", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []


def test_orders_beyond_the_bounds_stay_legal(capsys: pytest.CaptureFixture[str]) -> None:
    for condition in ("age > 200", "age < 0", "usertype < 'Z'", "start < '1999-01-01'", "note = 'y'"):
        assert len(answer(capsys, f"SELECT COUNT(*) FROM rides WHERE {condition}")) == 2  # noqa: S608


def test_python_refuses_them_too(folder: Path) -> None:
    session = sf.Session.open(folder / "L")
    with pytest.raises(InputError, match="has no declared category 'subscriber'"):
        session.ask(sf.count().where("usertype = 'subscriber'"), epsilon=1)


def test_inferred_limits_refuse_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "t.toml").write_text(SCHEMA.replace("bounds = [16, 94]", "bounds = [16, 94]\npublic = false"))
    create = ["budget", "create", "M", "--data", "rides.csv", "--schema", "t.toml", "--epsilon", "9"]
    assert run([*create, "--deadline", "0", "--other-people"]) == 0
    capsys.readouterr()
    assert run(["query", "M", "SELECT COUNT(*) FROM rides WHERE age = 200", "--epsilon", "1"]) == 0
