"""A stranger's package, found by its entry points: the command line, the audit and the report know its classes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from one_process import Done, run_commands

import sfumato as sf

STRANGER = Path(__file__).parents[1] / "tabular"
POINTS = """[sfumato.anonymizers]
together = stranger:Together
broken = nowhere:Anything

[sfumato.models]
repeated = stranger:Repeated
"""
ROLES = ["--quasi", "age,sex", "--sensitive", "disease", "--other", "drop"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with people and, on the path, a package that offers two classes and one that cannot be loaded."""
    about = tmp_path / "path" / "stranger-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    sf.samples.patients(300).write_csv(tmp_path / "in.csv")
    return tmp_path


def sfumato(folder: Path, *commands: list[str]) -> list[Done]:
    return run_commands(commands, folder, os.pathsep.join([str(folder / "path"), str(STRANGER)]))


def test_a_model_from_elsewhere_at_the_command_line(folder: Path) -> None:
    asked = ["--k", "5", "--repeats", "2", "--report", "r.html"]
    measured = ["check", "out.csv", "--quasi", "age,sex", "--sensitive", "disease", "--require"]
    done, kept, broken = sfumato(
        folder,
        ["anonymize", "in.csv", "-o", "out.csv", *ROLES, *asked],
        [*measured, "repeats=2"],
        [*measured, "repeats=999"],
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "repetition of disease: asked 2, released table has" in done.stdout
    assert "each value of disease is met 2 times or more" in (folder / "r.html").read_text(encoding="utf-8")
    assert kept.returncode == 0
    assert broken.returncode == 1
    assert "repeats: found" in broken.stderr
    assert "required at least 999" in broken.stderr


def test_its_claim_is_measured_again_on_the_file(folder: Path) -> None:
    attack = ["audit", "release", "out.csv.card.json", "out.csv"]
    done, attacked = sfumato(folder, ["anonymize", "in.csv", "-o", "out.csv", *ROLES, "--repeats", "2"], attack)
    assert (done.returncode, attacked.returncode) == (0, 0)
    assert "NOT REFUTED: repetition on 'disease': at least 2 in every class" in attacked.stdout
    card = folder / "out.csv.card.json"
    card.write_text(card.read_text().replace('"asked": 2', '"asked": 999'))
    [attacked] = sfumato(folder, attack)
    assert "REFUTED: repetition on 'disease': at least 999 in every class" in attacked.stdout


@pytest.mark.parametrize("name", ["together", "all-in-one"])
def test_an_anonymizer_from_elsewhere_at_the_command_line(folder: Path, name: str) -> None:
    asked = [*ROLES, "--k", "5", "--algorithm", name]
    done, refused = sfumato(
        folder,
        ["anonymize", "in.csv", "-o", "out.csv", *asked],
        ["anonymize", "in.csv", "-o", "never.csv", *asked, "--relaxed"],
    )
    assert (done.returncode, done.stderr) == (0, "")
    card = json.loads((folder / "out.csv.card.json").read_text())
    assert (card["algorithm"], card["released"]["classes"]) == ("together", 1)
    assert refused.stderr == f"sfumato: --relaxed is no option of {name}; it takes --keep-order\n"


def test_a_class_that_cannot_be_loaded_breaks_nothing(folder: Path) -> None:
    asked = [*ROLES, "--k", "5", "--algorithm", "broken"]
    shown, refused = sfumato(folder, ["anonymize", "--help"], ["anonymize", "in.csv", "-o", "out.csv", *asked])
    assert shown.returncode == 0
    assert "together" in shown.stdout
    assert "--repeats" in shown.stdout
    assert refused.returncode == 2
    assert "the anonymizer 'broken' of package 'stranger' cannot be used: ModuleNotFoundError" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
