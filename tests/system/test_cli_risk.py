"""The command `risk`: what it prints, writes and refuses; and that risks say how starred rows count."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.table import samples

KEYS = ["--quasi", "age,sex,zip"]
EACH = ["class_size", "population_size", "risk", "pitman_risk", "suda", "dis_suda"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with made-up patients who have weights and households."""
    patients = samples.patients(400)
    extra = {
        "weight": pl.Series([20.0 + row % 7 for row in range(400)]),
        "home": pl.Series([row // 3 for row in range(400)]),
    }
    patients.with_columns(**extra).write_csv(tmp_path / "in.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_all_estimates_are_printed_for_the_steward(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["risk", "in.csv", *KEYS, "--weights", "weight", "--household", "home"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("(for the steward: do not publish)\n")
    for words in ("Benedetti & Franconi", "Pitman", "Zayatz", "slide negative binomial", "taken: ", "at most"):
        assert words in said.out
    for words in (
        "a match with a unique row",
        "special uniques",
        "of the scores",
        "households      134, the largest of 3",
    ):
        assert words in said.out
    assert said.err == ""


@pytest.mark.usefixtures("folder")
def test_json_has_the_numbers_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["risk", "in.csv", *KEYS, "--fraction", "0.05", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = sf.evaluate.population_risk(sf.read("in.csv"), ["age", "sex", "zip"], fraction=0.05)
    assert told == json.loads(json.dumps(found.as_json()))
    assert (told["population"], told["keep"]) == (8000, "for the steward only: do not publish")


def test_every_row_and_the_report_are_written_for_the_steward_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "risk",
        "in.csv",
        *KEYS,
        "--fraction",
        "0.05",
        "--household",
        "home",
        "--each",
        "e.csv",
        "--report",
        "r.html",
    ]
    assert run(asked) == 0
    rows = pl.read_csv(folder / "e.csv")
    assert rows.columns == [*EACH[:4], "household_risk", "household_pitman_risk", *EACH[4:]]
    assert rows.height == 400
    page = (folder / "r.html").read_text(encoding="utf-8")
    for words in ("Do not publish", "Rows found again", "Population uniques", "Special uniques", "Households"):
        assert words in page
    for name in ("e.csv", "r.html"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert run(asked) == 2
    assert "exists" in capsys.readouterr().err
    assert run([*asked, "--force"]) == 0


def test_columns_come_from_the_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "s.toml").write_text('[columns.age]\nrole = "quasi"\n[columns.sex]\nrole = "quasi"\n')
    outputs = []
    for named in (["--schema", "s.toml"], ["--quasi", "age,sex"]):
        assert run(["risk", "in.csv", *named, "--fraction", "0.05", "--json"]) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0] == outputs[1]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "options, words",
    [
        ([*KEYS], "nobody said how the table was sampled; give --fraction"),
        (["--fraction", "0.1"], "no quasi-identifier was named; name them with --quasi or --schema"),
        ([*KEYS, "--fraction", "0"], "the sampling fraction must be a number above 0 and at most 1; got 0.0"),
        ([*KEYS, "--fraction", "0.1", "--weights", "weight"], "give one of them"),
        ([*KEYS, "--weights", "sex"], "is no sampling weight"),
        ([*KEYS, "--fraction", "0.1", "--household", "hme"], "there is no column 'hme'; did you mean 'home'?"),
        ([*KEYS, "--fraction", "0.1", "--largest", "0"], "give 1 to 3"),
        (["--quasi", "aeg", "--fraction", "0.1"], "there is no column 'aeg'; did you mean 'age'?"),
    ],
)
def test_refusals_are_one_sentence(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["risk", "in.csv", *options]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.startswith("sfumato: ")
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_risks_say_how_starred_rows_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`check`, `risk` and the report say it, where there are such rows."""
    pl.DataFrame({"age": ["*", "*", "30", "30"], "sex": ["*", "*", "F", "F"]}).write_csv(folder / "out.csv")
    words = "Rows with * in every quasi-identifier: 2. They count as one class"
    for command in (["check"], ["risk", "--fraction", "0.1"]):
        assert run([command[0], "out.csv", "--quasi", "age,sex", *command[1:]]) == 0
        assert words in capsys.readouterr().out
        assert run([command[0], "in.csv", "--quasi", "age,sex", *command[1:]]) == 0
        assert "Rows with *" not in capsys.readouterr().out
    assert run(["hierarchy", "suggest", "in.csv", "--column", "age", "-o", "age.toml"]) == 0
    roles = ["--quasi", "age,sex", "--other", "drop", "--k", "3", "--hierarchy", "age=age.toml"]
    asked = ["anonymize", "in.csv", "-o", "new.csv", *roles, "--algorithm", "optimal", "--suppress", "0.3"]
    assert run([*asked, "--report", "r.html"]) == 0
    released = pl.read_csv(folder / "new.csv")
    starred = released.filter((pl.col("age") == "*") & (pl.col("sex") == "*")).height
    assert starred > 0
    assert f"Rows with * in every quasi-identifier: {starred}." in (folder / "r.html").read_text(encoding="utf-8")
