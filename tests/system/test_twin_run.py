"""Twin runs through all doors: no true path is refuted, and the command says what it found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from twin_doors import TRUE, write_rows

from sfumato.cli.main import run

SLOW = {
    "question, zcdp",
    "question, changed values",
    "question, persons in groups",
    "question, unknown keys",
    "question, public join, changed values",
    "question, private join in groups",
    "command, query",
    "command, safepub",
    "command, stream with the steward's page",
    "command, private-mondrian",
    "command, private-mondrian, coarse",
    "table, safepub picks",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in TRUE]
)
def test_a_true_path_is_not_refuted(folder: Path, name: str) -> None:
    finding = TRUE[name](folder).attack()
    assert not finding.refuted, finding.evidence["reason"]
    assert finding.evidence["draws watched"] > 0


ROWS = [{"cost": str(number * 31 % 100), "time": str(number * 10)} for number in range(20)]


@pytest.fixture
def rides(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return write_rows(folder / "rides.csv", ROWS)


COMMAND = ["stream", "rides.csv", "-o", "out.csv", "--column", "cost", "--bounds", "0", "100", "--delay", "5"]


def test_the_command_finds_nothing_on_a_true_stream(rides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(rides.parent.iterdir())
    assert run(["audit", "twice", "--", *COMMAND, "--publisher", "rank"]) == 0
    assert capsys.readouterr().out.startswith("NOT REFUTED: sfumato stream rides.csv")
    assert sorted(rides.parent.iterdir()) == before  # the command itself wrote nothing here


def test_the_command_refutes_a_broken_stream_with_evidence(
    rides: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.stream.noise import noise_scale
    from sfumato.stream.publishers import rank

    monkeypatch.setattr(rank, "noise_scale", lambda *given: noise_scale(*given) / 2)
    evidence = rides.parent / "evidence.json"
    assert run(["audit", "twice", "-o", str(evidence), "--", *COMMAND, "--publisher", "rank"]) == 1
    assert "the draws tell epsilon" in capsys.readouterr().out
    found = json.loads(evidence.read_text())
    assert found["findings"][0]["verdict"] == "REFUTED"
    assert found["parameters"]["command"][:2] == ["stream", "rides.csv"]


@pytest.mark.parametrize(
    "command, sentence",
    [
        (["check", "rides.csv"], "a twin run takes the commands"),
        (["stream", "none.csv", "-o", "x.csv"], "which is no file"),
        ([*COMMAND, "--publisher", "doca"], "promises no differential privacy"),
        ([*COMMAND[:-2], "--publisher", "nonesuch"], "the command ends with code 2"),
        ([], "a twin run takes the commands"),
    ],
)
def test_what_cannot_be_run_twice_is_refused(
    rides: Path, capsys: pytest.CaptureFixture[str], command: list[str], sentence: str
) -> None:
    assert rides.exists()
    assert run(["audit", "twice", "--", *command]) == 2
    told = capsys.readouterr()
    assert sentence in told.err
    assert "internal error" not in told.err


def test_other_formats_and_empty_files_are_refused(rides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(rides, rides.with_suffix(".parquet"))
    assert run(["audit", "twice", "--", *("rides.parquet" if part == "rides.csv" else part for part in COMMAND)]) == 2
    assert "a CSV file" in capsys.readouterr().err
    rides.write_text("cost,time\n")
    assert run(["audit", "twice", "--", *COMMAND]) == 2
    assert "has no row" in capsys.readouterr().err
