"""A few flipped bits and cuts in every file that must be whole (the long tests try thousands)."""

from __future__ import annotations

import json
from pathlib import Path

import flip_subjects
import pytest
from flips import attack, flips, judge, say


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_a_few_flips_in_a_ledger_are_harmless_or_refused(folder: Path) -> None:
    subject = flip_subjects.ledger(folder)
    assert attack(subject.file, subject.look, 20, seed=1)[1] > 5


def test_a_few_flips_in_other_files_are_harmless_or_refused(folder: Path) -> None:
    for subject in (flip_subjects.device(folder), flip_subjects.history(folder, "index.json")):
        assert attack(subject.file, subject.look, 15, seed=2)[1] > 5
    subject = flip_subjects.reports(folder)
    attack(subject.file, subject.look, 15, seed=2)


@pytest.mark.parametrize("column", ["epsilon", "budget_epsilon", "accountant", "terms"])
def test_no_flip_in_the_account_gives_budget_back(folder: Path, column: str) -> None:
    """The account's row was the one whose total could be changed: every bit of its text is tried."""
    import sqlite3

    subject = flip_subjects.ledger(folder)
    before = subject.look().out
    connection = sqlite3.connect("L", isolation_level=None)
    (whole,) = connection.execute(f"SELECT {column} FROM account").fetchone()  # noqa: S608 - our own names
    for content in flips(str(whole).encode(), 4, seed=3):
        connection.execute(f"UPDATE account SET {column} = CAST(? AS TEXT)", (content,))  # noqa: S608
        assert not judge(subject.look(), before)
        connection.execute(f"UPDATE account SET {column} = ?", (whole,))  # noqa: S608
    connection.close()
    assert json.loads(say("budget", "show", "L", "--json").out)["spent"]["epsilon"] == pytest.approx(0.5)
