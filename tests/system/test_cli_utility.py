"""The command `utility`: what it prints, as text, JSON and HTML, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.main import run
from sfumato.table import samples

ROLES = ["--quasi", "age,sex", "--sensitive", "disease", "--other", "drop"]
COMMAND = ["utility", "out.csv", "--original", "in.csv", *ROLES]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with made-up patients and an anonymous release of them."""
    samples.patients(120).write_csv(tmp_path / "in.csv")
    monkeypatch.chdir(tmp_path)
    assert run(["anonymize", "in.csv", "-o", "out.csv", *ROLES, "--k", "5"]) == 0
    return tmp_path


def measured(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert run([*COMMAND, *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_columns_and_pairs_always(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(COMMAND) == 0
    said = capsys.readouterr()
    assert said.out.startswith("for the steward: computed from the original rows; do not publish\n")
    assert "  disease: 0.0000, 0.0000\n" in said.out
    assert "pairs that changed most" in said.out
    found = measured([], capsys)
    assert [*found["columns"]] == ["age", "sex", "disease"]
    assert found["columns"]["age"]["wasserstein"] > 0
    assert len(found["pairs"]) == 3
    assert (found["learning"], found["regressions"]) == (None, [])
    assert "do not publish" in found["note"]


def test_regressions_that_are_declared(capsys: pytest.CaptureFixture[str]) -> None:
    models = ["--regression", "age ~ sex", "--regression", "sex ~ age"]
    first, second = measured(models, capsys)["regressions"]
    assert (first["formula"], first["method"], second["method"]) == ("age ~ sex", "least squares", "logistic")
    assert 0 <= first["mean_overlap"] <= 1
    assert {"name", "original", "released", "overlap", "difference"} == set(first["coefficients"][0])
    assert run([*COMMAND, *models]) == 0
    said = capsys.readouterr().out
    assert "age ~ sex (least squares; 120 original and 120 released rows): mean overlap of intervals" in said
    assert "sex is compared with" in said


def test_a_target_that_is_declared(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    pytest.importorskip("sklearn", reason="classifiers are those of scikit-learn")
    found = measured(["--target", "sex", "--folds", "2", "--seed", "3"], capsys)["learning"]
    assert (found["target"], found["classes"], found["folds"], found["seed"]) == ("sex", ["F", "M"], 2, 3)
    assert {*found["classifiers"]} == {"logistic regression", "gradient boosting"}
    asked = ["--target", "sex", "--folds", "2", "--regression", "age ~ sex", "--report", "u.html"]
    assert run([*COMMAND, *asked]) == 0
    assert "logistic regression, trained on the release: accuracy" in capsys.readouterr().out
    page = (folder / "u.html").read_text()
    assert "Do not publish" in page
    assert all(words in page for words in ("Distances", "What is learnt of sex", "age ~ sex", "always the majority"))
    assert (folder / "u.html").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--regression", "age = sex"], "is not a regression; write it like income ~ age + sex"),
        (["--regression", "age ~ sexx"], "did you mean 'sex'"),
        (["--regression", "disease ~ age"], "a regression's target is a number or has two"),
        (["--report", "out.csv"], "out.csv"),
        (["--folds", "2.5"], "folds"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run([*COMMAND, *arguments]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "empty"),
        ("age,sex,disease\n", "no rows"),
        ("age,disease\n[20-30],flu\n", "there is no column 'sex'"),
        ("age,sex,disease\n20 to 30,F,flu\n", "column 'age' row 1: '20 to 30' cannot be read"),
        ("age,sex,disease\n[20-30],X,flu\n", "column 'sex' row 1: 'X' cannot be read"),
    ],
)
def test_a_release_that_cannot_be_read(text: str, words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "out.csv").write_text(text)
    capsys.readouterr()
    assert run(COMMAND) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.out == ""


def test_a_target_that_is_no_class(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn", reason="classifiers are those of scikit-learn")
    assert run([*COMMAND, "--target", "age"]) == 2
    assert "a classifier's target has 2 to 20" in capsys.readouterr().err
    assert run([*COMMAND, "--target", "name"]) == 2
    assert "target 'name' has 120 values" in capsys.readouterr().err
    assert run([*COMMAND, "--target", "sex", "--folds", "9999999"]) == 2
    assert "9999999 folds need as many persons or rows; the table has 120" in capsys.readouterr().err


def test_an_existing_page_is_kept_unless_forced(folder: Path) -> None:
    (folder / "u.html").write_text("kept")
    assert run([*COMMAND, "--report", "u.html"]) == 2
    assert (folder / "u.html").read_text() == "kept"
    assert run([*COMMAND, "--report", "u.html", "--force"]) == 0
    assert "Hellinger" in (folder / "u.html").read_text()
