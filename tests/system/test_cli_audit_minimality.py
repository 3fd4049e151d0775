"""`sfumato audit minimality` from the command line: exit codes, the evidence file, and what is said."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from sfumato.cli.main import run

ROLES = ["--quasi", "age", "--sensitive", "ill", "--k", "2"]
WONG = "age,ill\n20,HIV\n20,HIV\n30,flu\n30,gout\n30,cold\n30,mumps\n"


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "people.csv").write_text(WONG)
    monkeypatch.chdir(tmp_path)
    return "people.csv"


def test_mondrian_is_refuted_with_evidence(people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "minimality", people, *ROLES, "--l", "2", "-o", "evidence.json"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("REFUTED: distinct l-diversity on 'ill': at least 2 for every person")
    assert "row 1 (age 20) has HIV for certain, the class shows 33.3%" in said
    evidence = json.loads(Path("evidence.json").read_text())
    assert evidence["parameters"]["algorithm"] == "mondrian"
    assert evidence["findings"][0]["evidence"]["persons"][1]["row"] == 2
    assert stat.S_IMODE(Path("evidence.json").stat().st_mode) == 0o600


def test_options_of_the_algorithm_are_those_of_anonymize(people: str, capsys: pytest.CaptureFixture[str]) -> None:
    lattice = ["--algorithm", "optimal", "--suppress", "0.2", "--metric", "height"]
    assert run(["audit", "minimality", people, *ROLES, "--l", "2", *lattice, "--json"]) in {0, 1}
    assert json.loads(capsys.readouterr().out)[0]["evidence"]["algorithm"] == "optimal"
    assert run(["audit", "minimality", people, *ROLES, "--l", "2", "--suppress", "0.2"]) == 2
    assert "--suppress is no option of mondrian" in capsys.readouterr().err


def test_blind_mondrian_stands(people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "minimality", people, *ROLES, "--l", "2", "--algorithm", "blind-mondrian"]) == 0
    assert capsys.readouterr().out.startswith("NOT REFUTED")
    assert run(["anonymize", people, "-o", "out.csv", *ROLES, "--l", "2", "--algorithm", "blind-mondrian"]) == 0
    assert "The attacker may know the algorithm" in Path("out.csv.statement.txt").read_text().replace("\n  ", " ")


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--algorithm", "safepub", "--epsilon", "1"], "promises differential privacy"),
        (["--l", "2", "--worlds", "0"], "wanted at least 1"),
        (["--t", "0.3", "--algorithm", "blind-mondrian"], "cannot promise t-closeness"),
    ],
)
def test_what_cannot_be_attacked_is_refused(
    people: str, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    assert run(["audit", "minimality", people, *ROLES, *options]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert sentence in err


def test_k_anonymity_alone_tells_nothing(people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "minimality", people, *ROLES]) == 0
    assert "no model reads a sensitive column" in capsys.readouterr().out
