"""A stranger's package, found by its entry points: the command line, the audit and the report know its classes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def sfumato(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder / "path"), str(STRANGER)])
    command = [sys.executable, "-m", "sfumato", *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_model_from_elsewhere_at_the_command_line(folder: Path) -> None:
    asked = ["--k", "5", "--repeats", "2", "--report", "r.html"]
    done = sfumato(folder, "anonymize", "in.csv", "-o", "out.csv", *ROLES, *asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert "repetition of disease: asked 2, released table has" in done.stdout
    assert "each value of disease is met 2 times or more" in (folder / "r.html").read_text(encoding="utf-8")
    measured = ["--quasi", "age,sex", "--sensitive", "disease"]
    assert sfumato(folder, "check", "out.csv", *measured, "--require", "repeats=2").returncode == 0
    broken = sfumato(folder, "check", "out.csv", *measured, "--require", "repeats=999")
    assert broken.returncode == 1
    assert "repeats: found" in broken.stderr
    assert "required at least 999" in broken.stderr


def test_its_claim_is_measured_again_on_the_file(folder: Path) -> None:
    assert sfumato(folder, "anonymize", "in.csv", "-o", "out.csv", *ROLES, "--repeats", "2").returncode == 0
    attacked = sfumato(folder, "audit", "release", "out.csv.card.json", "out.csv")
    assert attacked.returncode == 0
    assert "NOT REFUTED: repetition on 'disease': at least 2 in every class" in attacked.stdout
    card = folder / "out.csv.card.json"
    card.write_text(card.read_text().replace('"asked": 2', '"asked": 999'))
    attacked = sfumato(folder, "audit", "release", "out.csv.card.json", "out.csv")
    assert "REFUTED: repetition on 'disease': at least 999 in every class" in attacked.stdout


@pytest.mark.parametrize("name", ["together", "all-in-one"])
def test_an_anonymizer_from_elsewhere_at_the_command_line(folder: Path, name: str) -> None:
    done = sfumato(folder, "anonymize", "in.csv", "-o", "out.csv", *ROLES, "--k", "5", "--algorithm", name)
    assert (done.returncode, done.stderr) == (0, "")
    card = json.loads((folder / "out.csv.card.json").read_text())
    assert (card["algorithm"], card["released"]["classes"]) == ("together", 1)
    wrong = [*ROLES, "--k", "5", "--algorithm", name, "--relaxed"]
    refused = sfumato(folder, "anonymize", "in.csv", "-o", "never.csv", *wrong)
    assert refused.stderr == f"sfumato: --relaxed is no option of {name}; it takes --keep-order\n"


def test_a_class_that_cannot_be_loaded_breaks_nothing(folder: Path) -> None:
    shown = sfumato(folder, "anonymize", "--help")
    assert shown.returncode == 0
    assert "together" in shown.stdout
    assert "--repeats" in shown.stdout
    refused = sfumato(folder, "anonymize", "in.csv", "-o", "out.csv", *ROLES, "--k", "5", "--algorithm", "broken")
    assert refused.returncode == 2
    assert "the anonymizer 'broken' of package 'stranger' cannot be used: ModuleNotFoundError" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
