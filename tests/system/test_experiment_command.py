"""The command that does the sources again, and its published pages: made from the rows beside them, nothing pasted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.experiments.page import Page
from sfumato.experiments.produce import NAMES, find_experiment

HOME = Path(__file__).parents[2]
PAGES = HOME / "docs" / "experiments"
PLAIN = {name: value for name, value in os.environ.items() if name != "SFUMATO_DATA"}


def sfumato(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sfumato", "experiment", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=PLAIN, check=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_published_page_is_what_its_rows_say(name: str) -> None:
    experiment = find_experiment(name)
    rows = {
        part.name: pl.read_csv(PAGES / name / f"{part.name}.csv", infer_schema_length=None) for part in experiment.parts
    }
    page = Page(experiment, rows, experiment.compare(rows), experiment.draw(rows))
    assert (PAGES / f"{name}.md").read_text(encoding="utf-8") == page.markdown()
    assert {path.stem for path in (PAGES / name).glob("*.png")} == {figure.name for figure in page.figures}


@pytest.mark.parametrize("name", NAMES)
def test_every_stated_tolerance_is_kept_on_the_published_page(name: str) -> None:
    experiment = find_experiment(name)
    rows = {
        part.name: pl.read_csv(PAGES / name / f"{part.name}.csv", infer_schema_length=None) for part in experiment.parts
    }
    stated = [entry for entry in experiment.compare(rows) if entry.within is not None]
    assert stated, "a page states at least one number that it meets"
    assert [entry.what for entry in stated if not entry.same] == []


def test_without_data_an_experiment_runs_on_stand_ins_and_says_so(tmp_path: Path) -> None:
    done = sfumato("bikes", "--quick", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "(quick run, on made-up stand-ins)" in done.stdout
    text = (tmp_path / "bikes.html").read_text(encoding="utf-8")
    assert "on made-up stand-ins</title>" in text.replace(")", "")
    body = text[text.index("<body>") :]  # the library before it holds addresses that only its menu would open
    assert "http" not in body
    assert (tmp_path / "bikes" / "errors.csv").exists()


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nothing"], "nothing"),
        (["basics", "--data", "no-such-folder"], "folder 'no-such-folder' does not exist; give --data"),
        (["basics", "-o", "/proc/nothing"], "'/proc/nothing' cannot be written (No such file or directory); give -o"),
        (["basics", "-o", "setup-is-a-file"], "cannot be written (Not a directory); give -o a folder"),
    ],
)
def test_bad_usage_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    (tmp_path / "setup-is-a-file").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    assert run(["experiment", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) == 1


def test_a_place_without_utf8_gets_the_same_page(tmp_path: Path) -> None:
    plain = {**PLAIN, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "sfumato", "experiment", "basics", "-o", "größe"]
    done = subprocess.run(command, capture_output=True, env=plain, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "größe" / "basics.md").read_bytes() == (PAGES / "basics.md").read_bytes()


def test_interrupted_it_says_that_the_same_command_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sfumato", "experiment", "bikes", "-o", str(tmp_path)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=PLAIN, start_new_session=True)
    deadline = time.monotonic() + 60
    while not list(tmp_path.rglob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said == f"sfumato: interrupted; what is done is kept in '{tmp_path}', the same command goes on\n"
