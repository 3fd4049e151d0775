"""A bound on threads: it reaches every library before it starts any, and holds for the whole command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.cli.main import run
from sfumato.core.threads import OF_LIBRARIES, VARIABLE, limit_threads, most_threads

COUNTED = """
import os, sys
from sfumato.cli.main import run
code = run(sys.argv[1:])
import numba, polars
from sfumato.dp.rows.duckdb import _database
engine = _database().execute("SELECT current_setting('threads')").fetchone()[0]
print(code, polars.thread_pool_size(), numba.config.NUMBA_NUM_THREADS, engine)
"""


def counted(folder: Path, *arguments: str, **environment: str) -> list[str]:
    """Return the exit code of a command and how many threads polars, numba and the database have in its process."""
    ours = {name: value for name, value in os.environ.items() if name not in {VARIABLE, *OF_LIBRARIES}}
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, *arguments],
        cwd=folder,
        env={**ours, "SFUMATO_QUIET": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1].split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table of forty people."""
    rows = "".join(f"{20 + row % 20},{'FM'[row % 2]}\n" for row in range(40))
    (tmp_path / "in.csv").write_text(f"age,sex\n{rows}")
    return tmp_path


@pytest.mark.parametrize("given", [["--threads", "1"], ["--threads=1"]])
def test_every_library_keeps_to_the_limit(folder: Path, given: list[str]) -> None:
    words = ["anonymize", "in.csv", "-o", "out.csv", "--quasi", "age,sex", "--k", "3"]
    assert counted(folder, *given, *words) == ["0", "1", "1", "1"]
    assert (folder / "out.csv").exists()


def test_the_limit_may_stand_behind_the_command_or_in_the_environment(folder: Path) -> None:
    words = ["check", "in.csv", "--quasi", "age"]
    assert counted(folder, *words, "--threads", "3")[1:3] == ["3", "3"]
    assert counted(folder, *words, SFUMATO_THREADS="3")[1:3] == ["3", "3"]


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "1.5", "", "٣", "999999"])
def test_a_limit_that_is_no_count_is_refused(capsys: pytest.CaptureFixture[str], wrong: str) -> None:
    assert run(["check", "in.csv", f"--threads={wrong}"]) == 2
    assert capsys.readouterr().err == f"sfumato: --threads must be an integer of at least 1. Got '{wrong}' instead.\n"


def test_a_limit_without_a_number_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "in.csv", "--threads"]) == 2
    assert "--threads needs a number" in capsys.readouterr().err


def test_what_follows_two_hyphens_is_no_option(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--quasi", "age", "--", str(folder / "in.csv"), "--threads"]) == 2
    assert "--threads" in capsys.readouterr().err
    assert VARIABLE not in os.environ


def test_without_a_limit_all_cores_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert most_threads() == os.cpu_count()


def test_a_wrong_limit_in_the_environment_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "many")
    with pytest.raises(ValueError, match=f"{VARIABLE} must be an integer of at least 1. Got 'many' instead"):
        most_threads()


def test_one_thread_gives_the_same_release(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sfumato as sf

    table, schema = sf.read(folder / "in.csv"), sf.Schema.from_roles(quasi=["age", "sex"])
    several = sf.Mondrian().anonymize(table, schema, [sf.KAnonymity(3)], rng=sf.random.SeededSource(7))
    for name in (VARIABLE, *OF_LIBRARIES):
        monkeypatch.setenv(name, "1")
    limit_threads("1", "--threads")
    one = sf.Mondrian().anonymize(table, schema, [sf.KAnonymity(3)], rng=sf.random.SeededSource(7))
    assert one.table.frame.equals(several.table.frame)
