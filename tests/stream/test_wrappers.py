"""Persons whose first records count, and windows that end by the clock."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.checks import publisher_checks
from sfumato.errors import InputError, ParameterError
from sfumato.random import SeededSource
from sfumato.stream.publishers.adaptive import AdaptiveHistogram
from sfumato.stream.publishers.clock import ClockWindows
from sfumato.stream.publishers.doca import DOCA
from sfumato.stream.publishers.linked import LinkedResponse
from sfumato.stream.publishers.rank import RankWindows
from sfumato.stream.wrappers import MOST_AT_ONCE, CappedPersons, TimedWindows


def test_later_records_of_a_person_become_the_public_default() -> None:
    inner = RankWindows((0, 100), window=6, block=1, epsilon=1.0)
    records = np.array([[10.0, 1], [90, 1], [20, 2], [80, 1], [30, 3], [70, 2]])
    capped = CappedPersons(inner, limit=1, rng=SeededSource(1)).push_many(records)
    defaulted = np.array([10.0, 50, 20, 50, 30, 50])
    plain = RankWindows((0, 100), window=6, block=1, rng=SeededSource(1)).push_many(defaulted)
    assert capped.values == pytest.approx(plain.values, abs=0.01)


def test_capped_persons_are_linked_as_their_publisher_is() -> None:
    records = np.array([[10.0, 1], [90, 2]])
    out = CappedPersons(LinkedResponse((0, 100), window=2), rng=SeededSource(1))
    assert out.linked
    assert out.push_many(records).position is not None
    assert not CappedPersons(RankWindows((0, 100))).linked


def test_a_new_horizon_counts_anew() -> None:
    inner = RankWindows((0, 100), window=6)
    publisher = CappedPersons(inner, limit=1, horizon=10.0)
    times = np.array([[1.0, 7, 0], [2, 7, 9], [3, 7, 10], [4, 7, 5], [5, 7, 19], [6, 7, 20]])
    assert np.isnan(publisher.counted(times)).tolist() == [False, True, False, True, True, False]
    state = publisher.state()
    again = CappedPersons(RankWindows((0, 100), window=6), limit=1, horizon=10.0)
    again.restore(state)
    assert np.isnan(again.counted(np.array([[7.0, 7, 21]]))).all()


@given(
    persons=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    limit=st.integers(1, 4),
    chosen=st.integers(0, 4),
    seed=st.integers(0, 99),
)
def test_a_person_moves_at_most_limit_records(persons: list[int], limit: int, chosen: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    values, others = draw.random((2, len(persons)))
    changed = np.where(np.array(persons) == chosen, others, values)
    counted = [
        CappedPersons(RankWindows((0, 1)), limit=limit).counted(np.column_stack([column, persons]))
        for column in (values, changed)
    ]
    different = ~((counted[0] == counted[1]) | (np.isnan(counted[0]) & np.isnan(counted[1])))
    assert different.sum() <= limit


def test_capped_persons_promise_the_limit_times_epsilon() -> None:
    card = CappedPersons(AdaptiveHistogram((0, 1), epsilon=0.1), limit=3, horizon=30.0).card("hours")
    assert card.guarantee.parameters["epsilon"] == pytest.approx(0.3)
    assert "person" in card.guarantee.unit
    assert not any("30 records a month" in entry for entry in card.assumptions)
    with pytest.raises(ParameterError, match="private publisher"):
        CappedPersons(DOCA(sensitivity=1))


def timed_records(seed: int, rows: int) -> npt.NDArray[np.float64]:
    draw = np.random.default_rng(seed)
    times = np.cumsum(draw.exponential(0.3, rows)) + draw.choice([0.0, -4.0], rows)
    return np.column_stack([draw.uniform(0, 100, rows), np.where(draw.random(rows) < 0.1, np.nan, times)])


TIMED = TimedWindows(ClockWindows(bounds=(0, 100), epsilon=1.0, most=500), every=7.0)
CHECKS = {check.name: check for check in publisher_checks(TIMED, timed_records, keeps_rows=False)}


@pytest.mark.parametrize("name", CHECKS)
def test_windows_by_the_clock_conform(name: str) -> None:
    CHECKS[name].run()


def test_a_clock_that_jumps_too_far_is_refused_and_stays() -> None:
    publisher = TimedWindows(ClockWindows(bounds=(0, 100), epsilon=1.0), every=1.0, rng=SeededSource(1))
    publisher.push_many(np.array([[5.0, 10.0]]))
    with pytest.raises(InputError, match="the clock jumps over"):
        publisher.push_many(np.array([[5.0, 20.0 + MOST_AT_ONCE]]))
    assert len(publisher.advance(10.5)) == 0
    assert publisher.held == 1
