"""Time is public: every answer, stored ones and refusals about rows too, leaves at the deadline and is stored then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.seam import choose, watched_by
from sfumato.dp import deadline as deadlines
from sfumato.dp.deadline import SETTLING, meet_deadline
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.rows.duckdb import DuckRows, load_engine
from sfumato.dp.rows.held_file import HeldFile
from sfumato.dp.session import Session
from sfumato.errors import InputError, ParameterError

DEADLINE = 0.8
SCHEMA = sf.Schema.from_text('[columns.age]\nrole = "other"\ntype = "integer"\nbounds = [0, 99]\n')
ROWS = pl.DataFrame({"age": [20, 30, 40]})


@pytest.fixture
def session(tmp_path: Path) -> Session:
    ROWS.write_parquet(tmp_path / "rows.parquet")
    load_engine()  # a process does so once, before the first clock starts
    terms = Terms(deadline=DEADLINE)
    return Session.create(tmp_path / "L", tmp_path / "rows.parquet", SCHEMA, sf.Budget(epsilon=1), terms=terms)


def seconds(work: Callable[[], Any]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def on_time(passed: float) -> bool:
    return DEADLINE <= passed < 1.7 * DEADLINE  # a busy machine may wake a sleeper late, never early


def test_answers_new_and_stored_leave_at_the_deadline(session: Session) -> None:
    assert on_time(seconds(lambda: session.ask(sf.count(), epsilon="0.1")))
    assert on_time(seconds(lambda: session.ask(sf.count(), epsilon="0.1")))
    assert session.ledger.spent.epsilon == Decimal("0.1")
    assert on_time(seconds(lambda: session.ask(sf.count(), epsilon="0.1", analyst="another")))


def test_the_clock_starts_before_the_rows_are_hashed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    true_digest = HeldFile.digest

    def slow(self: HeldFile) -> str:
        time.sleep(0.2)
        return true_digest(self)

    monkeypatch.setattr(HeldFile, "digest", slow)
    assert on_time(seconds(lambda: session.ask(sf.count(), epsilon="0.1")))


def test_opening_a_session_looks_at_no_row(session: Session, tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").unlink()
    again = Session.open(tmp_path / "L")
    assert again.plan("SELECT COUNT(*) FROM rows", error=50).epsilon > 0

    def ask() -> None:
        with pytest.raises(InputError, match="does not exist"):
            again.ask(sf.count(), epsilon="0.1")

    assert on_time(seconds(ask))
    assert session.ledger.spent.epsilon == 0


def test_refusals_that_depend_on_rows_leave_at_the_deadline(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise InputError("the rows could not be read as declared")

    def ask(words: str) -> None:
        with pytest.raises(InputError, match=words):
            session.ask(sf.count(), epsilon="0.1")

    with monkeypatch.context() as patch:
        patch.setattr(DuckRows, "collect", fail)
        assert on_time(seconds(lambda: ask("could not be read")))
    ROWS.head(2).write_parquet(tmp_path / "rows.parquet")
    assert on_time(seconds(lambda: ask("new-version")))


def test_refusals_of_public_facts_need_no_waiting(session: Session) -> None:
    def ask() -> None:
        with pytest.raises(InputError, match="no column"):
            session.ask(sf.count().where("height > 3"), epsilon="0.1")

    assert seconds(ask) < DEADLINE / 2


def test_nobody_reads_an_answer_before_it_is_due(session: Session, tmp_path: Path) -> None:
    """The answer is ready at once; a second thread of the same analyst must not see that."""
    other = Session.open(tmp_path / "L", deadline=0)
    begun = time.monotonic()
    thread = threading.Thread(target=lambda: session.ask(sf.count(), epsilon="0.1"))
    thread.start()
    seen = 0.0
    while thread.is_alive():
        entries = list(other.ledger.entries())
        if entries and entries[0].answered:
            seen = seen or time.monotonic() - begun
            assert other.ledger.find(entries[0].question, 1, "analyst") is not None
        time.sleep(0.01)
    thread.join()
    assert seen == 0 or seen >= DEADLINE - SETTLING
    assert other.ledger.spent.epsilon == Decimal("0.1")


def test_an_answer_that_overruns_freezes_the_ledger(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    true_collect, slow = DuckRows.collect, threading.Event()

    def collect(self: DuckRows, request: Any) -> Any:
        slow.wait(3 * DEADLINE)
        return true_collect(self, request)

    def ask(words: str) -> None:
        with pytest.raises(InputError, match=words):
            session.ask(sf.count(), epsilon="0.1")

    with monkeypatch.context() as patch:
        patch.setattr(DuckRows, "collect", collect)
        assert on_time(seconds(lambda: ask("longer than the deadline")))
    assert "deadline" in str(session.ledger.frozen)
    assert on_time(seconds(lambda: ask("sfumato budget thaw")))
    slow.set()
    session.ledger.thaw()
    answer = session.ask(sf.count(), epsilon="0.1")
    assert any("the one bit that time can tell" in words for words in answer.card.assumptions)


def test_without_a_deadline_the_card_warns(session: Session) -> None:
    session.deadline = 0
    answer = session.ask(sf.count(), epsilon="0.1")
    assert any("not hidden" in words for words in answer.card.warnings)
    assert not any("one bit" in words for words in answer.card.assumptions)


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf")])
def test_a_deadline_is_a_number_of_seconds(session: Session, tmp_path: Path, wrong: float) -> None:
    del session
    with pytest.raises(ParameterError, match="deadline"):
        Session.open(tmp_path / "L", deadline=wrong)


def test_what_is_watched_stays_watched_under_a_deadline() -> None:
    class Forces:
        def choose(self, law: Any, draw: Any) -> Any:
            del law, draw
            return 3

    with watched_by(Forces()):
        assert meet_deadline(0.05, lambda: choose(lambda: None, lambda: 7), lambda found: found, print) == 3  # type: ignore[arg-type,return-value]


def test_the_last_moment_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the work takes, answers leave at the same time, where the machine is not too busy for once."""
    monkeypatch.setattr(deadlines, "SETTLING", 0.02)
    for wait in (0.0, 0.05):
        times = [
            seconds(lambda: meet_deadline(0.2, lambda: time.sleep(wait), lambda found: found, print))  # noqa: B023
            for _ in range(6)
        ]
        assert 0.2 <= min(times) < 0.21


@pytest.mark.parametrize("price", ["1e-30", "0.0000000001"])
def test_a_price_below_the_least_share_is_refused(session: Session, price: str) -> None:
    session.deadline = 0
    with pytest.raises(ParameterError, match="at least"):
        session.ask(sf.count(), epsilon=price)
    assert session.ledger.spent.epsilon == 0
