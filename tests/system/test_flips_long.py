"""Thousands of flipped bits and cuts: ledger, journal, history, device, reports, card are whole or refused.

Never is more budget left than before, never is another row or answer shown, and nothing ends in an internal error.
"""

from __future__ import annotations

import json
from pathlib import Path

import flip_subjects
import pytest
from flip_subjects import asked
from flips import REFUSED, attack, damaged, flips, judge, say

pytestmark = pytest.mark.long


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_a_thousand_flips_in_a_ledger(folder: Path) -> None:
    subject = flip_subjects.ledger(folder)
    harmless, refused = attack(subject.file, subject.look, 900, seed=11)
    assert harmless > 20  # empty space
    assert refused > 400


def test_flips_in_a_ledger_that_is_charged_afterwards(folder: Path) -> None:
    """What follows a harmless flip is charged once, to a total that has lost nothing."""
    subject = flip_subjects.ledger(folder)
    whole = subject.file.read_bytes()
    spent = json.loads(say("budget", "show", "L", "--json").out)["spent"]["epsilon"]
    charged = 0
    for content in flips(whole, 100, seed=12):
        subject.file.write_bytes(content)
        if say(*asked("SELECT MAX(age) FROM people", "ana", "0.3")).code == 0:
            shown = say("budget", "show", "L", "--json")
            assert json.loads(shown.out)["spent"]["epsilon"] == pytest.approx(spent + 0.3)
            charged += 1
    assert charged > 5


def test_flips_in_a_ledger_that_is_verified(folder: Path) -> None:
    subject = flip_subjects.ledger(folder)
    whole, before = subject.file.read_bytes(), say("budget", "verify", "L").out
    for content in damaged(whole, 150, seed=13):
        subject.file.write_bytes(content)
        said = say("budget", "verify", "L")
        if said.code == 1:
            assert said.out.startswith("REFUTED")
        else:
            judge(said, before)


def test_flips_in_the_journal_of_a_writer_that_died(folder: Path) -> None:
    subject = flip_subjects.crashed_ledger(folder)
    attack(subject.file, subject.look, 200, seed=14)


def test_flips_in_a_device(folder: Path) -> None:
    subject = flip_subjects.device(folder)
    assert attack(subject.file, subject.look, 300, seed=15)[1] > 200


@pytest.mark.parametrize("name", ["index.json", "release-0001.csv", "values-0002.json"])
def test_flips_in_a_history(folder: Path, name: str) -> None:
    subject = flip_subjects.history(folder, name)
    assert attack(subject.file, subject.look, 150, seed=16)[1] > 100


def test_flips_in_reports(folder: Path) -> None:
    subject = flip_subjects.reports(folder)
    attack(subject.file, subject.look, 300, seed=17)


def test_flips_in_a_card(folder: Path) -> None:
    """A card is public text without a hash of its own: what the ledger proves by it holds, or is refused."""
    subject = flip_subjects.card(folder)
    whole, before = subject.file.read_bytes(), subject.look().out
    for content in damaged(whole, 150, seed=18):
        subject.file.write_bytes(content)
        said = subject.look()
        assert "internal error" not in said.err
        if said.code == 1:  # the head in the card is another one
            assert said.out.startswith("REFUTED")
        else:
            judge(said, before)
        stated = say("statement", str(subject.file))
        assert stated.code in {0, *REFUSED}
        assert "internal error" not in stated.err


def test_flips_in_the_list_of_ledgers_and_in_a_listed_ledger(folder: Path) -> None:
    """A second ledger over the same rows stays refused, whatever became of the list or of the first ledger."""
    (folder / "apart").mkdir()
    flip_subjects.ledger(folder)
    (folder / "L").unlink()
    create = flip_subjects.CREATE
    assert say("budget", "create", "apart/L", *create).code == 0
    second = ["budget", "create", "M", *create]
    assert "knows these rows already" in say(*second).err
    for place in (folder / "state" / "sfumato" / "ledgers", folder / "apart" / "L"):
        whole = place.read_bytes()
        for content in flips(whole, 75, seed=19):
            place.write_bytes(content)
            said = say(*second)
            assert said.code in REFUSED, said
            assert "internal error" not in said.err
        place.write_bytes(whole)
