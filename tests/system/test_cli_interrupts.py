"""Whoever stops a command that pays is told whether it paid; a question that was given up ends without an abort."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from flips import say

import sfumato as sf
from sfumato.dp import session
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.terms import Terms
from sfumato.promise import Cost

SCHEMA = sf.Schema.from_text('[columns.hour]\nrole = "other"\ntype = "integer"\nbounds = [0, 23]\n')
COUNT = "SELECT hour, COUNT(*) FROM rides GROUP BY hour"
HEAVY = "SELECT hour, MEDIAN(hour), AVG(hour) FROM rides GROUP BY hour"
ASKED = ["query", "L", COUNT, "--epsilon", "0.1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(session, "refuse_too_short", lambda *_: None)
    return tmp_path


def made(rows: int, deadline: float) -> None:
    pl.DataFrame({"hour": np.arange(rows) % 24}).write_parquet("rides.parquet")
    sf.Session.create("L", "rides.parquet", SCHEMA, sf.Budget(epsilon=1), terms=Terms(deadline=deadline))


def command(*arguments: str) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "sfumato", *arguments], **pipes)  # type: ignore[call-overload,no-any-return]


def test_an_interrupted_question_says_that_it_is_paid_and_is_free_afterwards(folder: Path) -> None:
    made(1000, deadline=2)
    ledger = Ledger.open(folder / "L")
    with command(*ASKED) as child:
        while ledger.spent == Cost() and child.poll() is None:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, "")
    told = "sfumato: interrupted; the price (epsilon 0.1) was paid and the answer is kept; asking again is free\n"
    assert err.endswith(told)
    assert say(*ASKED).code == 0
    assert ledger.spent == Cost("0.1")


@pytest.mark.parametrize(
    "stopped, words, spent",
    [
        ("settle", "the price (epsilon 0.1) was paid and no answer was kept; asking again is charged again", "0.1"),
        ("_debit", "the price may have been paid; `sfumato budget show` tells", "0"),
        ("find", "nothing was written", "0"),
    ],
)
def test_an_interrupt_at_any_place_says_what_became_of_the_price(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stopped: str, words: str, spent: str
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    made(100, deadline=0)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, stopped, stop)
        said = say(*ASKED)
    assert (said.code, said.err) == (130, f"sfumato: interrupted; {words}\n")
    assert Ledger.open(folder / "L").spent == Cost(spent)
    assert say(*ASKED).code == 0


def test_an_interrupt_before_the_price_is_paid_pays_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are still being hashed when Ctrl-C comes."""
    from sfumato.dp.rows.file import FileRows

    made(100, deadline=3)
    look = FileRows.look

    def slow(self: FileRows) -> object:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(0.2)
        return look(self)

    with monkeypatch.context() as patch:
        patch.setattr(FileRows, "look", slow)
        said = say(*ASKED)
    assert (said.code, said.err) == (130, "sfumato: interrupted; nothing was written\n")
    assert Ledger.open(folder / "L").spent == Cost()


def test_a_question_that_was_given_up_ends_with_its_refusal_and_no_abort(folder: Path) -> None:
    """The engine's threads used to abort the process when Python was gone before them."""
    made(3_000_000, deadline=0.05)
    with command("query", "L", HEAVY, "--epsilon", "0.1") as child:
        _, err = child.communicate(timeout=120)
    assert child.returncode == 2, err
    assert err.count("\n") == 1
    assert "took longer than the deadline of 0.05 s" in err
    assert (folder / "L").exists()


LIBRARY = """
import sfumato as sf
try:
    sf.Session.open("L").sql({question!r}, epsilon=0.1)
except sf.errors.InputError as error:
    print(error)
"""


def test_a_program_that_gave_a_question_up_ends_without_an_abort(folder: Path) -> None:
    made(3_000_000, deadline=0.05)
    code = LIBRARY.format(question=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "took longer than the deadline" in done.stdout
    assert (folder / "L").exists()
