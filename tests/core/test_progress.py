"""News of long work: counters of compiled loops are looked at, and nobody listening costs nothing."""

from __future__ import annotations

import io
import sys
import threading
import time
from contextlib import redirect_stderr
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.progress import steps
from sfumato.core import progress
from sfumato.core.compiling import working_time
from sfumato.core.progress import counting, listening, stopping_at

Heard = list[tuple[float, str]]


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS", 0.001)


def test_a_counter_is_told_while_it_grows_and_never_after(often: None) -> None:
    del often
    heard: Heard = []
    with listening(lambda share, note: heard.append((share, note))), counting(10, "rows grouped") as done:
        done[0] = 5
        while not heard or heard[-1][0] == 0:  # the first look may come before the count
            time.sleep(0.001)
    told = len(heard)
    assert heard[-1] == (0.5, "5 of 10 rows grouped")
    time.sleep(0.01)
    assert len(heard) == told


def test_nobody_listening_starts_no_thread() -> None:
    before = threading.active_count()
    with counting(10, "rows grouped"):
        assert threading.active_count() == before


LONG = [pytest.param(one, marks=pytest.mark.long) for one in (sf.MDAVPlus(), sf.MDAVStar(), sf.VMDAV())]


@pytest.mark.parametrize("algorithm", [sf.MDAV(), *LONG], ids=repr)
def test_microaggregation_tells_how_many_records_are_grouped(often: None, algorithm: sf.tabular.Anonymizer) -> None:
    del often
    people = sf.Table.from_frame(sf.samples.patients(20_000))
    schema = sf.Schema.from_roles(quasi=["age", "cost"], other="drop")
    heard: Heard = []
    with listening(lambda share, note: heard.append((share, note))):
        algorithm.anonymize(people, schema, [sf.KAnonymity(5)])
    grouped = [share for share, note in heard if note.endswith("of 20000 records grouped")]
    assert grouped == sorted(grouped)
    assert any(0 < share < 1 for share in grouped)


def test_m_invariance_tells_how_many_rows_are_grouped(often: None, tmp_path: Path) -> None:
    del often
    people = sf.Table.from_frame(sf.samples.patients(20_000).with_columns(pl.int_range(20_000).alias("id")))
    schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], person="id", other="drop")
    heard: Heard = []
    with listening(lambda share, note: heard.append((share, note))):
        sf.republish(people, schema, [sf.LDiversity(2, "disease")], tmp_path / "history", layer="m-invariance")
    shares = [share for share, note in heard if note.endswith("of 20000 rows grouped")]
    assert shares == sorted(shares) != []
    assert heard[-1][1] == "checking the promise"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_where_it_began_also_while_others_are_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin run captures what its commands print; the bar must go on, and must not be captured."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with steps(1) as step:
        step("running twice:")
        with redirect_stderr(io.StringIO()) as captured:
            progress.tell(0.5, "3 pairs of neighbours so far")
            drawn = len(terminal.getvalue())
            for _ in range(500):
                if len(terminal.getvalue()) > drawn or captured.getvalue():
                    break
                time.sleep(0.01)
            meanwhile = terminal.getvalue()
    assert captured.getvalue() == ""
    assert "3 pairs of neighbours so far" in meanwhile


def test_a_flag_is_set_when_its_moment_has_passed_and_never_without_one() -> None:
    with stopping_at(working_time() + 0.01) as stop:
        while not stop[0]:
            time.sleep(0.001)
    with stopping_at(None) as never, stopping_at(working_time() + 1000) as later:
        time.sleep(0.02)
        assert (never[0], later[0]) == (0, 0)
