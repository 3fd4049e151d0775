"""Files are data: no module, function or path that a file names is run or followed, wherever the command is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.main import run

PLANTED = "from pathlib import Path\nPath('ran').touch()\ndef noisy(value, count, rng):\n    return [value] * count\n"
PEOPLE = "age,sex,disease\n" + "".join(f"{20 + row},{'FM'[row % 2]},{('flu', 'gout')[row % 2]}\n" for row in range(40))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a module that leaves a mark when it is imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted.py").write_text(PLANTED)
    (tmp_path / "in.csv").write_text(PEOPLE)
    return tmp_path


def evidence(**changes: Any) -> str:
    """Evidence of an audit of epsilon, with some of its parts changed."""
    found: dict[str, Any] = {
        "mechanism": "laplace",
        "claim": 1.0,
        "delta": 0.0,
        "trials": 1000,
        "confidence": 0.99,
        "test": {"view": {"type": "itself"}, "test": {"type": "within", "ranges": [[None, 0.0]]}},
        "likelier": "left",
        "left": 0,
        "right": 1,
    }
    finding = {"claim": "ε", "verdict": "REFUTED", "bound": 1.0, "evidence": {**found, **changes}}
    return json.dumps({"audit": "epsilon", "findings": [finding]})


@pytest.mark.parametrize("named", ["planted:noisy", "planted:", "planted", "os:system", "./planted.py:noisy", ":"])
def test_evidence_runs_no_module(folder: Path, capsys: pytest.CaptureFixture[str], named: str) -> None:
    (folder / "evidence.json").write_text(evidence(mechanism=named))
    assert run(["audit", "epsilon", "--again", "evidence.json"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "name it yourself" in said or "there is no mechanism" in said
    assert not (folder / "ran").exists()
    assert "planted" not in sys.modules


def test_evidence_about_a_function_of_ones_own_needs_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "evidence.json").write_text(evidence(mechanism="planted:noisy"))
    assert run(["audit", "epsilon", "half-laplace", "--again", "evidence.json"]) == 2
    assert "is about 'planted:noisy', not about 'half-laplace'" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "planted", raising=False)
    assert run(["audit", "epsilon", "planted:noisy", "--again", "evidence.json"]) == 1
    assert (folder / "ran").exists()
    monkeypatch.delitem(sys.modules, "planted", raising=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"trials": 10**15},
        {"trials": 2000, "calls": "one for each trial"},
        {"trials": 4_000_000, "left": [0, 0], "right": [0, 1]},
        {"left": "a word"},
        {"left": [[[1]]], "right": {"a": 1}},
        {"left": None},
        {"claim": 1e300},
        {"claim": 1e-300},
        {"claim": "much"},
        {"claim": float("nan")},
        {"delta": 7},
        {"trials": True},
        {"trials": -5},
        {"confidence": "high"},
        {"test": {"view": {"type": "os"}}},
    ],
)
def test_hostile_evidence_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any]) -> None:
    (folder / "evidence.json").write_text(evidence(**changes))
    assert run(["audit", "epsilon", "--again", "evidence.json"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "internal error" not in said


def test_honest_evidence_repeats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "evidence.json").write_text(evidence())
    assert run(["audit", "epsilon", "--again", "evidence.json"]) == 0
    assert run(["audit", "epsilon", "laplace", "--again", "evidence.json"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "named", ["../secret.csv", "/etc/passwd", "..", ".", "-", "", "a/b.csv", "x\x00y", "..\\s.csv"]
)
def test_a_card_leads_to_no_other_folder(folder: Path, capsys: pytest.CaptureFixture[str], named: str) -> None:
    inner = folder / "inner"
    inner.mkdir()
    asked = ["--quasi", "age,sex", "--sensitive", "disease", "--l", "2", "--algorithm", "anatomy"]
    assert run(["anonymize", "in.csv", "-o", "inner/out.csv", *asked]) == 0
    (folder / "secret.csv").write_bytes((inner / "out.sensitive.csv").read_bytes())
    card = json.loads((inner / "out.csv.card.json").read_text())
    card["released"]["companions"][0]["file"] = named
    (inner / "card.json").write_text(json.dumps(card))
    capsys.readouterr()
    assert run(["audit", "release", "inner/card.json", "inner/out.csv"]) == 2
    assert "wanted the name of a file beside the release" in capsys.readouterr().err


def test_a_working_folder_brings_no_code(folder: Path) -> None:
    """Neither modules that the library loads late, nor entry points of a folder that looks like a package."""
    for module in ("polars", "numpy", "msgspec", "cyclopts", "numba", "sitecustomize_of_nobody"):
        (folder / f"{module}.py").write_text("open('ran', 'w').close()\n")
    offered = folder / "evil-1.0.dist-info"
    offered.mkdir()
    (offered / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (offered / "entry_points.txt").write_text("[sfumato.models]\nevil = planted:noisy\n")
    asked = ["check", "in.csv", "--quasi", "age,sex"]
    script = str(Path(sys.executable).with_name("sfumato"))
    for command in ([sys.executable, "-m", "sfumato", *asked], [script, *asked]):
        done = subprocess.run(command, cwd=folder, capture_output=True, env=dict(os.environ), check=False)
        assert done.returncode == 0, done.stderr
        assert not (folder / "ran").exists()
