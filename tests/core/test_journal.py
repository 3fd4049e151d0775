"""A run that is killed at any step: the next one finds all files of the set, or none, and nothing else."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from sfumato.core.files import Staging, fill
from sfumato.core.files.journal import PREFIX, Journal, Move, tidy

STEPS = {"open", "os.link", "os.rename", "os.remove", "os.truncate"}
KILLED = 9
SET = ("data.csv", "data.csv.card.json", "report.html")


def write_set(folder: Path, content: str, *, force: bool) -> None:
    with Staging(force=force) as staging:
        for name in SET:
            fill(staging.place(folder / name, secret=name == "report.html"), f"{content} {name}")


def run_killed(folder: Path, step: int, *, force: bool) -> bool:
    """Write the set in a child that ends at a step of its files; return whether it came so far."""
    child = os.fork()
    if child == 0:
        count = 0

        def end(event: str, _: tuple[object, ...]) -> None:
            nonlocal count
            if event in STEPS:
                count += 1
                if count == step:
                    os._exit(KILLED)

        sys.addaudithook(end)
        write_set(folder, "new", force=force)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("force", [False, True])
def test_a_set_appears_whole_or_not_at_all_whenever_it_is_killed(tmp_path: Path, *, force: bool) -> None:
    new, old = ({name: f"{word} {name}" for name in SET} for word in ("new", "old"))
    before = old if force else {}
    seen = []
    for step in range(1, 1000):
        folder = tmp_path / str(step)
        folder.mkdir()
        if force:
            write_set(folder, "old", force=False)
        if not run_killed(folder, step, force=force):
            break
        if (folder / "data.csv").exists() and contents(folder)["data.csv"] == "new data.csv":
            assert contents(folder)["data.csv.card.json"] == "new data.csv.card.json"  # no data without their card
        tidy(folder)
        assert contents(folder) in (before, new)
        seen.append(contents(folder) == new)
    assert len(seen) > 15
    assert seen == sorted(seen)  # up to some step nothing, from there on everything
    assert True in seen
    assert False in seen


def test_the_next_run_tidies_the_folder(tmp_path: Path) -> None:
    with Journal(tmp_path) as other:  # a run that is alive is left alone
        other.temporary("a.csv").write_text("half")
        write_set(tmp_path, "new", force=False)
        assert len(list(tmp_path.iterdir())) == len(SET) + 2
    left = Journal(tmp_path)
    left.temporary("b.csv").write_text("half")
    os.close(left._descriptor)
    write_set(tmp_path, "newer", force=True)
    assert contents(tmp_path) == {name: f"newer {name}" for name in SET}


@pytest.mark.parametrize("names", [("../victim", "x"), ("victim", "/victim"), ("victim", "..")])
def test_a_planted_journal_moves_nothing(tmp_path: Path, names: tuple[str, str]) -> None:
    folder, victim = tmp_path / "folder", tmp_path / "victim"
    folder.mkdir()
    for place in (victim, folder / "victim"):
        place.write_text("precious")
    about = victim.stat()
    move = [names[0], names[0], about.st_dev, about.st_ino, names[1]]
    journal = folder / f"{PREFIX}{'0' * 16}.journal"
    last = ["a", "a", 0, 0, None]
    journal.write_text(json.dumps([move, last]))
    journal.chmod(0o644)
    tidy(folder)  # not for its owner alone: not ours
    assert journal.exists()
    journal.chmod(0o600)
    tidy(folder)
    assert victim.read_text() == (folder / "victim").read_text() == "precious"


@pytest.mark.parametrize("content", [b"", b"[", b"[[", b"{}", b"7", b"[" * 100_000, b'[["a"]]', b"\xff"])
def test_a_damaged_journal_is_no_record(tmp_path: Path, content: bytes) -> None:
    journal = tmp_path / f"{PREFIX}{'0' * 16}.journal"
    journal.write_bytes(content)
    journal.chmod(0o600)
    (tmp_path / f"{PREFIX}{'0' * 16}-0.csv").write_text("half")
    (tmp_path / "mine.csv").write_text("precious")
    tidy(tmp_path)
    assert contents(tmp_path) == {"mine.csv": "precious"}


def test_temporary_files_whose_journal_a_power_cut_has_lost_are_removed(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}{'0' * 16}-0.csv").write_text("half")
    (tmp_path / f"{PREFIX}mine-0.csv").write_text("precious")
    with Journal(tmp_path) as other:
        other.temporary("a.csv").write_text("half")
        tidy(tmp_path)
        assert len(contents(tmp_path)) == 3  # a run that is alive is left alone
    assert contents(tmp_path) == {f"{PREFIX}mine-0.csv": "precious"}


def test_a_move_that_another_file_took_the_place_of_is_not_undone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("theirs")
    Move("t", "a.csv", 0, 0).undo(tmp_path)
    assert contents(tmp_path) == {"a.csv": "theirs"}
