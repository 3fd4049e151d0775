"""Joins and several tables at the command line: made, asked, renewed, refused in one sentence, and kept secret."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.dp import Session

PERSON = '[columns.rider]\nrole = "identifier"\n'
RIDES = PERSON + '[columns.station]\nrole = "other"\ntype = "integer"\nbounds = [0, 9]\n'
RIDERS = PERSON + '[columns.age]\nrole = "other"\ntype = "integer"\nbounds = [0, 99]\n'
TABLES = ["--data", "rides.csv", "--schema", "rides.toml", "--data", "riders.csv", "--schema", "riders.toml"]
PRICE = ["--epsilon", "1000000", "--deadline", "0"]
ASK = ["--epsilon", "1000"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"rider": ["a", "a", "b", "c"], "station": [1, 2, 2, 7]}).write_csv("rides.csv")
    pl.DataFrame({"rider": ["a", "b", "b"], "age": [20, 40, 60]}).write_csv("riders.csv")
    pl.DataFrame({"station": [1, 2, 2], "city": ["Bern", "Basel", "Chur"]}).write_csv("stations.csv")
    Path("rides.toml").write_text(RIDES)
    Path("riders.toml").write_text(RIDERS)
    return tmp_path


def created(*options: str) -> int:
    return run(["budget", "create", "L", *TABLES, *PRICE, *options])


def answer(capsys: pytest.CaptureFixture[str], question: str, *options: str) -> list[list[str]]:
    capsys.readouterr()
    assert run(["query", "L", question, *ASK, *options]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    return [line.split(",")[:2] if "GROUP" in question else line.split(",")[:1] for line in lines]


@pytest.mark.usefixtures("folder")
def test_tables_are_joined_and_renewed(capsys: pytest.CaptureFixture[str]) -> None:
    assert created("--protect", "person:rider:5:5", "--rows", "riders=1") == 0
    assert "questions call the tables rides, riders" in capsys.readouterr().out
    joined = "SELECT COUNT(*) FROM rides JOIN riders USING (rider)"
    assert answer(capsys, joined) == [["3"]]  # of b's two rows among riders one is joined
    assert answer(capsys, "SELECT COUNT(*) FROM riders") == [["3"]]
    city = "SELECT city, COUNT(*) FROM rides JOIN stations USING (station) GROUP BY city"
    public = ["--public", "stations=stations.csv", "--at-most", "stations=2"]
    assert answer(capsys, city, *public) == [["Basel", "2"], ["Bern", "1"], ["Chur", "2"]]
    with Path("riders.csv").open("a") as file:
        file.write("c,30\n")
    capsys.readouterr()
    assert run(["query", "L", joined + " WHERE age > 1", *ASK]) == 2
    assert "new-version" in capsys.readouterr().err
    assert run(["budget", "new-version", "L", "--data", "riders.csv"]) == 0
    assert answer(capsys, joined) == [["4"]]
    assert answer(capsys, "SELECT COUNT(*) FROM rides") == [["4"]]
    assert run(["budget", "verify", "L"]) == 0


@pytest.mark.usefixtures("folder")
def test_features_of_persons_are_made_of_joined_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert created("--person", "rider") == 0
    inner = "SELECT rider, LEAST(COUNT(*), 9) AS n FROM riders JOIN rides USING (rider) WHERE age < 50 GROUP BY rider"
    summed = "SELECT SUM(n) FROM ({}) AS t"
    assert answer(capsys, summed.format(inner))[0][0] == "2"  # one ride of a, one of b
    inner = inner.replace("riders JOIN rides", "rides JOIN riders")
    assert answer(capsys, summed.format(inner) + " WHERE n = 2")[0][0] == "2"  # both rides of a


def test_a_named_file_and_a_person_make_the_ledger_of_the_issue(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "riders.csv").rename(folder / "2024-01.csv")
    data = ["--data", "rides.csv", "--schema", "rides.toml", "--data", "riders=2024-01.csv", "--schema", "riders.toml"]
    assert run(["budget", "create", "L", *data, *PRICE, "--person", "rider"]) == 0
    assert Session.open("L").unit.words == "person (rider): at most 1 row in each of at most 1 group"
    assert answer(capsys, "SELECT COUNT(DISTINCT rider) FROM rides LEFT JOIN riders USING (rider)") == [["3"]]
    assert (
        run(
            [
                "plan",
                "L",
                "SELECT city, COUNT(*) FROM rides JOIN s USING (station) GROUP BY city",
                "--error",
                "5",
                "--public",
                "s=stations.csv",
                "--at-most",
                "s=2",
            ]
        )
        == 0
    )
    assert run(["audit", "twice", "--", "query", "L", "SELECT COUNT(*) FROM rides", "--epsilon", "1"]) == 2
    assert "has several tables" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_what_is_shown_of_a_ledger_holds_no_hash_of_any_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert created("--person", "rider") == 0
    capsys.readouterr()
    assert run(["budget", "show", "L", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["data_sets"] == ["riders", "rides"]
    assert set(shown["facts"]["beside"]["riders"]) == {"data", "schema"}
    assert "fingerprint" not in json.dumps(shown)


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--protect", "rows"], "the budget protects rows and has 2 tables"),
        (["--person", "station"], "column 'station' is not in the schema"),
        (["--person", "rider", "--protect", "person:rider:2:2"], "give one of them"),
        (["--person", "rider", "--rows", "trips=1"], "rows are bounded in 'trips'"),
        (["--person", "rider", "--rows", "riders=0"], "is no number of rows of a table"),
        (["--person", "rider", "--rows", "riders"], "is no number of rows of a table"),
        (["--person", "rider", "--data", "rides.csv"], "two tables are called 'rides'"),
        (["--person", "rider", "--schema", "rides.toml"], "2 tables and 3 schemas"),
        (["--person", "rider", "--data", "x=rides.csv", "--schema", "rides.toml"], "have the same rows"),
    ],
)
def test_a_ledger_of_several_tables_is_refused_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    assert created(*options) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "internal error" not in told
    assert not (folder / "L").exists()


@pytest.mark.parametrize(
    "question, options, sentence",
    [
        ("SELECT COUNT(*) FROM rides JOIN stations USING (station)", [], "'stations', which is no table"),
        ("SELECT COUNT(*) FROM rides JOIN stations USING (station)", ["--public", "stations=stations.csv"], "up to 2"),
        ("SELECT COUNT(*) FROM rides JOIN riders USING (rider)", ["--public", "riders=riders.csv"], "call the public"),
        ("SELECT COUNT(*) FROM rides JOIN riders ON rides.station = riders.age", [], "leaves out the person's column"),
        ("SELECT COUNT(*) FROM rides JOIN riders ON rides.rider < riders.rider", [], "is not covered"),
        ("SELECT COUNT(*) FROM rides JOIN riders ON rider = rider", [], "each column with its table's name"),
        ("SELECT COUNT(*) FROM rides FULL JOIN riders USING (rider)", [], "not covered"),
        ("SELECT COUNT(*) FROM rides NATURAL JOIN riders", [], "not covered"),
        ("SELECT COUNT(*) FROM rides, riders", [], "names no column"),
        ("SELECT COUNT(*) FROM trips", [], "the tables are rides, riders"),
        ("SELECT COUNT(*) FROM rides", ["--public", "none.csv"], "none.csv"),
        ("SELECT COUNT(*) FROM rides", ["--at-most", "x=2"], "no public table"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_join_is_refused_in_one_sentence_and_costs_nothing(
    capsys: pytest.CaptureFixture[str], question: str, options: list[str], sentence: str
) -> None:
    assert created("--person", "rider") == 0
    capsys.readouterr()
    assert run(["query", "L", question, *ASK, *options]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "internal error" not in told
    assert str(Session.open("L").ledger.spent) == "nothing"


@pytest.mark.usefixtures("folder")
def test_unreadable_cells_are_told_by_table(capsys: pytest.CaptureFixture[str]) -> None:
    pl.DataFrame({"rider": ["a", "b"], "age": ["20", "140"]}).write_csv("riders.csv")
    assert created("--person", "rider", "--parse-report", "cells.json") == 0
    assert "table riders: column 'age': 1 of 2 filled cells" in capsys.readouterr().err
    assert set(json.loads(Path("cells.json").read_text())) == {"rides", "riders"}
