"""The option --sample: a trial on some rows, marked as one everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.cli.main import run
from sfumato.table import samples

ROLES = ["--quasi", "age,sex", "--sensitive", "disease", "--other", "drop"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with 400 made-up patients."""
    samples.patients(400).write_csv(tmp_path / "in.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_trial_has_so_many_rows_and_says_that_it_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = set()
    for name in ("one.csv", "two.csv"):
        assert run(["anonymize", "in.csv", "-o", name, *ROLES, "--k", "5", "--sample", "60"]) == 0
        assert (
            "warning: Trial on a random sample of 60 rows, not a release: do not publish it." in capsys.readouterr().out
        )
        card = json.loads((folder / f"{name}.card.json").read_text())
        assert (card["released"]["rows"], card["warnings"][0][:5]) == (60, "Trial")
        drawn.add((folder / name).read_text())
    assert len(drawn) == 2


def test_a_sample_of_more_rows_than_there_are_is_all_of_them(folder: Path) -> None:
    assert run(["anonymize", "in.csv", "-o", "all.csv", *ROLES, "--k", "5", "--sample", "9999"]) == 0
    assert len((folder / "all.csv").read_text().splitlines()) == 401


@pytest.mark.usefixtures("folder")
def test_check_measures_a_sample_and_says_what_that_is_worth(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "in.csv", "--quasi", "age,sex", "--sample", "50", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["rows"] == 50
    assert "measured on a random sample of 50 of 400 rows" in said.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "command, words",
    [
        (["anonymize", "in.csv", "-o", "x.csv", *ROLES, "--k", "5", "--sample", "0"], "at least one row"),
        (
            ["anonymize", "in.csv", "-o", "x.csv", *ROLES, "--k", "5", "--sample", "9", "--ledger", "l"],
            "leave --ledger",
        ),
        (["anonymize", "in.csv", "-o", "x.csv", *ROLES, "--sample", "9", "--algorithm", "private-mondrian"], "private"),
        (["check", "in.csv", "--quasi", "age", "--sample", "9", "--require", "k=5"], "leave --require"),
    ],
)
def test_a_trial_is_never_charged_nor_required(
    command: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command) == 2
    assert words in capsys.readouterr().err
    assert not Path("x.csv").exists()
