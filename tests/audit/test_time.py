"""The audit of time finds artificial leaks, and finds nothing in sessions that keep their deadline."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from time import sleep

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.time_difference import difference_chance, signed_rank_chance, smirnov_chance
from sfumato.audit.time_questions import ATTACKS, session_twins
from sfumato.cli.main import run
from sfumato.dp.rows.duckdb import DuckRows
from sfumato.errors import ParameterError
from sfumato.random import SeededSource

LEAK = 0.1
REVIEW = ("200 quantiles of one person's rows", "100 patterns that one row reaches")


def test_equal_times_are_rarely_refuted() -> None:
    """Of 400 honest comparisons at 5 % about 20 are false alarms, or fewer since the p-value is doubled."""
    draw = np.random.default_rng(1)
    alarms = sum(difference_chance(draw.exponential(size=60), draw.exponential(size=60)) < 0.05 for _ in range(400))
    assert 2 <= alarms <= 32


def test_a_shift_and_a_wider_spread_are_found() -> None:
    draw = np.random.default_rng(2)
    noise = draw.normal(size=200)
    assert signed_rank_chance(noise + 0.5, draw.normal(size=200)) < 1e-4
    wide = 6 * draw.normal(size=200)
    assert signed_rank_chance(wide, noise) > 1e-3  # no shift
    assert smirnov_chance(wide, noise) < 1e-4


def test_p_values_are_those_of_the_tables() -> None:
    """Signed ranks of 1, 2, …, 20, of which 4 are negative; and the 5 % point of the Kolmogorov law, 1.358."""
    gaps = [-4.0, -3.0, -2.0, -1.0, *map(float, range(5, 21))]
    deviation = (200 - 20 * 21 / 4) / math.sqrt(20 * 21 * 41 / 24)
    wanted = 2 * statistics.NormalDist().cdf(-deviation)
    assert signed_rank_chance(gaps, [0.0] * 20) == pytest.approx(wanted, rel=1e-9)
    left, right = list(range(100)), [place + 19.2 for place in range(100)]
    assert smirnov_chance(left, right) == pytest.approx(0.0366, abs=0.002)


@pytest.mark.long
def test_a_leak_per_matching_row_is_refuted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that needs longer where alice is there is refuted without a deadline, and not with one."""
    true_collect = DuckRows.collect

    def leaky(self: DuckRows, request: object) -> object:
        tallies = true_collect(self, request)  # type: ignore[arg-type]
        if sum(int(count) for count in tallies.columns[0] if isinstance(count, int)) % 2:
            sleep(LEAK)
        return tallies

    monkeypatch.setattr(DuckRows, "collect", leaky)
    name = "a value beyond all others"
    (tmp_path / "open").mkdir()
    leak = {name: session_twins(tmp_path / "open", deadline=0, rows=50)[name]}
    (found,) = sf.audit.time(leak, runs=15, rng=SeededSource(1))
    assert found.refuted
    assert found.evidence["median difference"] == pytest.approx(LEAK, abs=LEAK / 2)
    (tmp_path / "closed").mkdir()
    hidden = {name: session_twins(tmp_path / "closed", deadline=0.4, rows=50)[name]}
    (found,) = sf.audit.time(hidden, runs=10, rng=SeededSource(1))
    assert not found.refuted


@pytest.mark.parametrize("wrong", [{"runs": 3}, {"confidence": 1.0}, {"subjects": {}}])
def test_parameters_are_checked(wrong: dict[str, object]) -> None:
    given: dict[str, object] = {"subjects": {"x": (lambda: None, lambda: None)}, **wrong}
    with pytest.raises(ParameterError):
        sf.audit.time(**given)  # type: ignore[arg-type]


def test_the_command_says_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    few = {name: ATTACKS[name] for name in REVIEW[1:]}
    monkeypatch.setattr("sfumato.audit.time_questions.ATTACKS", few)
    assert (
        run(["audit", "time", "--deadline", "0.3", "--runs", "10", "--rows", "50", "-o", "e.json", "--seed", "1"]) == 0
    )
    assert "NOT REFUTED: a clock cannot tell two neighbours apart by 100 patterns" in capsys.readouterr().out
    evidence = json.loads(Path("e.json").read_text(encoding="utf-8"))
    assert (evidence["audit"], evidence["parameters"]["runs"], evidence["parameters"]["seed"]) == ("time", 10, 1)
    assert run(["audit", "time", "--runs", "2"]) == 2


@pytest.mark.long
@pytest.mark.parametrize("name", REVIEW)
def test_the_attacks_of_the_review_see_no_difference(name: str, tmp_path: Path) -> None:
    twins = session_twins(tmp_path, deadline=0.3)[name]
    (found,) = sf.audit.time({name: twins}, runs=200, rng=SeededSource(3))
    assert not found.refuted, found.evidence
    assert found.evidence["pairs"] == 200
    assert statistics.fmean([found.evidence["median left"], found.evidence["median right"]]) >= 0.3
