"""The record of the benchmarks: what counts as a fall, what is written from it, and that nobody pastes numbers."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import peers
import pytest
from growth import Case, curve, fitted
from hypothesis import given
from hypothesis import strategies as st
from measure import NotMeasuredError, Part, Row
from page import page, table
from peers import LOCKS, NAMES
from prose import ROOT, SENTENCES, block, filled
from record import FILE, Curve, Record, as_text, fallen, from_text, unmeasured, updated
from run import DOORS, compared, measured

ROW = Row("speed", "1 s", "10 s", 9.0, 5.0, at_most=False)
COST = Row("cost", "3 s", "1 s", 3.0, 5.0, at_most=True)
ratios = st.floats(1e-3, 1e3)


def of(*rows: Row) -> Record:
    return Record({"cpu": "abacus", "peers": {"old": "1"}}, rows)


def recorded() -> Record:
    return from_text(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "row, new, fell",
    [
        (ROW, 6.01, False),
        (ROW, 5.99, True),
        (ROW, 90, False),
        (COST, 4.49, False),
        (COST, 4.51, True),
        (COST, 0, False),
    ],
)
def test_a_fall_is_a_third_of_what_was_reached_whichever_way_is_better(row: Row, new: float, fell: bool) -> None:
    assert bool(fallen(of(row), of(replace(row, ratio=new)))) == fell


@given(ratios, ratios)
def test_a_cost_falls_exactly_when_its_inverse_does(old: float, new: float) -> None:
    cost = [of(replace(COST, ratio=ratio)) for ratio in (old, new)]
    speed = [of(replace(ROW, ratio=1 / ratio)) for ratio in (old, new)]
    if not np.isclose(new * 2 / 3, old):
        assert bool(fallen(*cost)) == bool(fallen(*speed)) == (new > old * 3 / 2)


def test_a_row_that_can_no_longer_be_measured_is_named() -> None:
    gone = Row.missing("speed", "the peer fails: no such wheel")
    assert fallen(of(ROW), of(gone)) == ["speed: 9, now not measured: the peer fails: no such wheel"]
    assert fallen(of(gone), of(ROW)) == []
    assert unmeasured(of(ROW, COST), of(COST)) == ["speed"]


def test_what_is_measured_anew_takes_the_place_of_what_was() -> None:
    new = Row("size", "1 MiB", "2 MiB", 0.5, None, at_most=True)
    curve_of = [Curve("count", "ours", "n", "", ((1.0, seconds),), 1.0, 1.0, 1.0) for seconds in (2.0, 3.0)]
    last = replace(of(ROW, COST), curves=(curve_of[0],))
    now = replace(of(replace(ROW, ratio=11.0), new), curves=(curve_of[1],))
    now = replace(now, machine={"cpu": "abacus", "peers": {"old": "1", "new": "2"}})
    found = updated(last, now)
    assert found.machine == now.machine
    assert found.rows == (replace(ROW, ratio=11.0), COST, new)
    assert found.curves == (curve_of[1],)
    with pytest.raises(ValueError, match="another machine"):
        updated(last, replace(now, machine={"cpu": "slide rule", "peers": {"old": "1"}}))
    with pytest.raises(ValueError, match="other versions"):
        updated(last, replace(now, machine={"cpu": "abacus", "peers": {"old": "2"}}))


def test_a_fall_is_said_and_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert compared(of(ROW, COST), of(replace(ROW, ratio=4.0), COST)) == 1
    said = capsys.readouterr().err
    assert "fell by more than a third: speed: 9, now 4 (more is better)" in said
    assert "goal not met: speed" in said
    assert compared(of(ROW), of(replace(ROW, ratio=8.0))) == 0
    assert compared(None, of(ROW)) == 0


def test_a_part_that_cannot_be_measured_is_a_row_with_the_reason() -> None:
    def broken() -> list[Row]:
        raise NotMeasuredError("the peer cannot be installed")

    rows = list(measured([Part("beside a peer", broken), Part("beside another", lambda: [ROW])]))
    assert [row.ratio for row in rows] == [None, 9.0]
    assert "| beside a peer |  | not measured: the peer cannot be installed |" in table(rows)


def test_a_ratio_without_a_goal_is_shown_and_nothing_says_that_it_was_not_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    free = replace(ROW, goal=None)
    assert "| speed | 1 s | 10 s | 9 |  |  |" in table([free])
    assert compared(None, of(free)) == 0
    assert capsys.readouterr().err == ""


def test_a_peer_that_fails_is_not_measured_for_the_reason_it_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "environment", lambda _: Path(sys.executable))
    (tmp_path / "works.py").write_text("import json, sys; print(json.dumps({'words': sys.argv[1:]}))", encoding="utf-8")
    (tmp_path / "fails.py").write_text("raise TypeError('Strings must be encoded')", encoding="utf-8")
    assert peers.ask("peer", str(tmp_path / "works.py"), "a", 1) == {"words": ["a", "1"]}
    with pytest.raises(NotMeasuredError, match=r"^peer fails: TypeError: Strings must be encoded$"):
        peers.ask("peer", str(tmp_path / "fails.py"))


def test_a_record_is_read_as_it_was_written() -> None:
    line = Curve("MDAV", "sfumato", "n", "k = 10", ((10, 0.1), (100, 1.0)), 1.0, 10, 100)
    record = Record({"cpu": "abacus"}, (ROW, COST, Row.missing("peer", "gone")), (line,))
    assert from_text(as_text(record)) == record


@given(st.floats(-2, 3), st.floats(1e-6, 10))
def test_the_exponent_of_a_power_law_is_found(exponent: float, factor: float) -> None:
    points = [(place, factor * place**exponent) for place in (10.0, 30.0, 100.0, 1000.0)]
    assert fitted(points) == pytest.approx(exponent, abs=1e-6)


def test_a_curve_stops_before_it_takes_long_and_forgets_fixed_costs() -> None:
    places = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
    found = curve(Case("sort", "sfumato", "n", "", places, lambda n: 0.001 + n * 1e-5))
    assert [place for place, _ in found.points] == [10, 100, 1_000, 10_000, 100_000]
    assert (found.low, found.high) == (1_000, 100_000)
    assert found.exponent == pytest.approx(0.98, abs=0.02)


def test_the_page_of_benchmarks_is_what_the_record_gives() -> None:
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == page(recorded()), "run `make bench`"


@pytest.mark.parametrize("name", SENTENCES)
def test_a_page_quotes_what_the_record_gives(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert filled(name, text, recorded()) == text, f"{name} differs from benchmarks/record.json; run `make bench`"
    assert block(name, recorded()).strip() in text


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"README.md has 0 blocks"):
        filled("README.md", "nothing here\n", recorded())


def test_every_peer_is_locked_with_hashes() -> None:
    assert {file.stem for file in LOCKS.glob("*.in")} == set(NAMES)
    for name in NAMES:
        lines = (LOCKS / f"{name}.lock").read_text(encoding="utf-8").splitlines()
        pinned = [number for number, line in enumerate(lines) if "==" in line]
        assert pinned
        assert all(lines[number + 1].strip().startswith("--hash=sha256:") for number in pinned)


def test_no_two_parts_have_the_same_title() -> None:
    titles = [part.title for parts in DOORS.values() for part in parts]
    assert len(titles) == len(set(titles))
