"""w-event histograms: budgets of any w windows, twins that follow the paper, noise of its size, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.seam import Outcome, watched_by
from sfumato.errors import ParameterError
from sfumato.promise import Neighbours, ProtectPersons, ProtectRows
from sfumato.random import SeededSource
from sfumato.stream import CappedPersons, TimedWindows, WEventWindows, build
from sfumato.stream.publishers.w_event import UNITS, absorbed, distributed

DECISIONS = st.lists(st.booleans(), max_size=60)


def run_budget(rule: str, windows: int, wanted: Sequence[bool]) -> list[int]:
    """Return what each window spends where those are published that are wanted and can be."""
    spent: list[int] = []
    for publish in wanted:
        before = np.array(([0] * windows + spent)[len(spent) + 1 :], dtype=np.int64)
        assert len(before) == windows - 1
        units = (distributed if rule == "distribution" else absorbed)(before)
        assert units >= 0
        spent.append(units if publish else 0)
    return spent


@given(rule=st.sampled_from(["distribution", "absorption"]), windows=st.integers(2, 9), wanted=DECISIONS)
def test_no_successive_windows_spend_more_than_there_is(rule: str, windows: int, wanted: list[bool]) -> None:
    spent = run_budget(rule, windows, wanted)
    assert all(sum(spent[start : start + windows]) <= UNITS for start in range(len(spent)))
    most = UNITS // 2 if rule == "distribution" else UNITS
    assert max(spent, default=0) <= most


@given(windows=st.integers(2, 9), wanted=DECISIONS)
def test_absorption_is_that_of_the_paper(windows: int, wanted: list[bool]) -> None:
    """Algorithm 3, with its counters; beyond w-1 windows ours forgets a publication, and may spend w shares."""
    share, last, spent_last = UNITS // windows, -(10**6), 1
    found = run_budget("absorption", windows, wanted)
    for place, publish in enumerate(wanted):
        nullified = spent_last - 1
        twin = max(0, min(place - (last + nullified), windows))
        if place - last >= windows:
            twin = windows
        assert found[place] == (twin * share if publish else 0)
        if publish and twin:
            last, spent_last = place, twin


class Scales:
    """A watcher that notes the scale of every draw."""

    def __init__(self) -> None:
        self.found: list[Fraction] = []

    def choose(self, law: Any, draw: Callable[[], Outcome]) -> Outcome:
        self.found.append(law.scale)
        return draw()


@pytest.mark.parametrize("spend", ["distribution", "absorption"])
def test_scales_of_any_successive_windows_keep_epsilon(spend: str) -> None:
    """All that was drawn, in windows that change wildly, at a sensitivity of 1: never more than ε in w windows."""
    publisher = WEventWindows((0, 4), 1.0, 5, 2, spend, rng=SeededSource(1))  # type: ignore[arg-type]
    costs, draw = [], np.random.default_rng(2)
    for _ in range(60):
        publisher.push_many(np.full(draw.choice([0, 3, 400]), draw.choice([1.0, 3.0])))
        watcher = Scales()
        with watched_by(watcher):
            publisher.tick()
        costs.append(sum((1 / scale for scale in watcher.found), Fraction(0)))
    sums = [sum(costs[start : start + 5], Fraction(0)) for start in range(56)]
    assert max(sums) <= 1
    assert max(sums) > Fraction(3, 4)  # and it is used
    assert max(costs) <= Fraction(str(publisher.promise().cost.epsilon))


def test_a_still_stream_is_published_once_and_repeated() -> None:
    publisher = WEventWindows((0, 4), 10.0, 5, 2, rng=SeededSource(1))
    rows = []
    for _ in range(12):
        publisher.push_many(np.repeat([1.0, 3.0], [500, 300]))
        rows.append(tuple(publisher.tick().values[0].tolist()))
    assert len(set(rows)) <= 3
    assert abs(rows[-1][0] - 500) < 10
    assert abs(rows[-1][1] - 300) < 10


@pytest.mark.long
def test_noise_of_the_first_window_has_its_scale() -> None:
    """Budget distribution: a quarter of ε pays for it, so that the spread is √2·4/ε; 30 % more or less is another."""
    found = []
    for seed in range(3000):
        publisher = WEventWindows((0, 4), 1.0, 5, 1, rng=SeededSource(seed))
        publisher.push_many(np.full(1000, 1.0))
        found.append(publisher.tick().values[0, 0] - 1000)
    spread = float(np.std(found)) / (np.sqrt(2) * 4)
    assert abs(spread - 1) < 0.12
    assert all(abs(spread / wrong - 1) > 0.12 for wrong in (0.7, 1.3))


def timed(**options: float) -> TimedWindows:
    inner = WEventWindows((0, 100), 1.0, 4, 2)
    return TimedWindows(inner, start=0.0, every=10.0, until=100.0, rng=SeededSource(1), **options)  # type: ignore[arg-type]


def test_a_record_pays_for_its_window_and_a_person_for_successive_ones() -> None:
    alone = timed().promise()
    assert alone is not None
    assert alone.cost.epsilon == Decimal("0.375")  # an eighth for the distance, a quarter for the counts
    person = CappedPersons(timed(), limit=2, person="meter").promise()
    assert person is not None
    assert person.cost.epsilon == 2
    assert person.horizon == 30  # a span that touches no more than four windows
    assert person.cost_for(ProtectPersons("meter", 2, 4), Neighbours.PRESENCE, 30.0).epsilon == 2
    with pytest.raises(ParameterError, match="declare the same horizon"):
        person.cost_for(ProtectPersons("meter", 2, 4), Neighbours.PRESENCE)
    with pytest.raises(ParameterError, match="does not bound how many"):
        alone.cost_for(ProtectPersons("meter", 2, 4), Neighbours.PRESENCE)
    assert alone.cost_for(ProtectRows(2), Neighbours.PRESENCE).epsilon == Decimal("0.75")


def test_persons_are_capped_in_each_window() -> None:
    publisher = CappedPersons(timed(), limit=1, rng=SeededSource(1))
    records = np.array(
        [[1.0, 7, 0.0], [2.0, 7, 9.0], [3.0, 7, 10.0], [4.0, 8, 5.0], [5.0, 7, 500.0], [6.0, np.nan, 1.0]]
    )
    assert publisher.counted(records)[:, 0].tolist() == [1.0, 3.0, 4.0]
    assert any("in any 4 successive windows" in note for note in publisher.card("watts").assumptions)
    with pytest.raises(ParameterError, match="leave the horizon out"):
        CappedPersons(timed(), limit=1, horizon=30.0)


def test_it_needs_windows_in_time() -> None:
    with pytest.raises(ParameterError, match="w-event publishes windows in time; give --every"):
        build("w-event", ["watts"], bounds=(0, 1))
