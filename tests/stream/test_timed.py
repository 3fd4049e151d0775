"""Windows in event time: a record is in the window of its own time, and no record moves the clock or another record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.checks import Check, publisher_checks
from sfumato.errors import InputError, ParameterError
from sfumato.random import SeededSource
from sfumato.stream.base import Published, Sample
from sfumato.stream.edges import MOST_AT_ONCE
from sfumato.stream.publishers.clock import ClockWindows
from sfumato.stream.publishers.statistics.clocked import ClockStatistics
from sfumato.stream.timed import TimedWindows, sample_arrivals
from sfumato.stream.wrappers import join_published


class ReaderClock(TimedWindows):
    """Windows whose clock is read whenever a record arrives, as a feed that never rests does."""

    def push_many(self, batch: Any) -> Published:
        left = [Published.empty()]
        for record in np.asarray(batch, dtype=np.float64).reshape(-1, 3):
            left.append(self.advance(float(record[2])))
            super().push_many(record[None])
        return join_published(left)


def conformance() -> dict[str, Check]:
    inner = ClockWindows((0, 100), kind="adaptive", bins=16, expected=30)
    slides = ClockStatistics({"cost": (0, 100)}, "count, mean, median", panes=3)
    samples = [
        *TimedWindows.sample(),
        Sample(ReaderClock(ClockWindows((0, 100), most=500), start=0.0, every=7.0, late=5.0), sample_arrivals),
        Sample(ReaderClock(inner, start=0.0, every=7.0, late=0.0), sample_arrivals),
        Sample(ReaderClock(slides, start=0.0, every=7.0, late=5.0), sample_arrivals),
    ]
    return {
        f"{place}: {check.name}": check
        for place, sample in enumerate(samples)
        for check in publisher_checks(sample.publisher, sample.records, keeps_rows=False)
    }


CHECKS = conformance()


@pytest.mark.parametrize("name", CHECKS)
def test_windows_in_time_conform(name: str) -> None:
    CHECKS[name].run()


class Counting(ClockWindows):
    """Clock windows whose rows tell exactly what was in each window, for tests."""

    def tick(self) -> Any:
        self.windows = [*getattr(self, "windows", []), sorted(self._waiting)]
        return super().tick()


def windows_of(publisher: TimedWindows) -> list[list[float]]:
    return publisher.publisher.windows  # type: ignore[no-any-return]


def exact(**edges: Any) -> TimedWindows:
    return TimedWindows(Counting((0, 1000)), rng=SeededSource(1), **edges)


@given(
    st.lists(st.tuples(st.integers(0, 999), st.floats(-20, 120)), max_size=30),
    st.tuples(st.integers(0, 999), st.floats(-1e9, 1e9) | st.just(float("nan"))),
    st.integers(0, 30),
    st.randoms(use_true_random=False),
)
def test_one_record_more_changes_one_window_by_itself(
    records: list[tuple[int, float]], extra: tuple[int, float], place: int, shuffle: Any
) -> None:
    runs = []
    other = [*records[:place], extra, *records[place:]]
    shuffle.shuffle(other)
    for stream in (records, other):
        publisher = exact(start=0.0, every=10.0, until=100.0)
        publisher.push_many(np.array(stream, dtype=np.float64).reshape(-1, 2))
        publisher.flush()
        runs.append(windows_of(publisher))
    assert len(runs[0]) == len(runs[1]) == 10
    more = [(number, window, runs[0][number]) for number, window in enumerate(runs[1]) if window != runs[0][number]]
    inside = 0 <= extra[1] < 100
    assert len(more) == int(inside)
    for number, window, before in more:
        assert number == int(extra[1] // 10)
        assert window == sorted([*before, float(extra[0])])


@given(
    st.lists(st.tuples(st.floats(-30, 30), st.floats(0, 5)), min_size=1, max_size=25),
    st.integers(0, 24),
    st.sampled_from([0.0, 5.0, 12.0]),
)
def test_a_late_record_is_late_by_the_clock_alone(moves: list[tuple[float, float]], gone: int, late: float) -> None:
    arrivals = np.cumsum([gap for _, gap in moves])
    records = np.array([[value, at + moves[value][0], at] for value, at in enumerate(arrivals)])
    runs = []
    for stream in (records, np.delete(records, gone % len(records), axis=0)):
        publisher = exact(start=0.0, every=10.0, late=late)
        publisher.push_many(stream)
        publisher.advance(float(arrivals[-1]))
        publisher.flush()
        runs.append(windows_of(publisher))
    assert len(runs[0]) == len(runs[1])
    left_out = [value for window in runs[0] for value in window if value != gone % len(records)]
    assert left_out == [value for window in runs[1] for value in window]
    for value, time, arrival in records.tolist():
        end = (time // 10 + 1) * 10
        taken = time >= 0 and arrival - late < end and (time // 10) * 10 <= arrival + late
        assert any(value in window for window in runs[0]) == taken


def test_an_empty_stream_has_the_windows_of_any_other() -> None:
    ended = []
    for records in ([], [[5.0, 12.0]], [[5.0, 29.0]] * 50):
        publisher = TimedWindows(ClockWindows((0, 9)), start=0.0, every=10.0, until=30.0, rng=SeededSource(1))
        publisher.push_many(np.array(records).reshape(-1, 2))
        publisher.flush()
        ended.append(publisher.ended)
    assert ended == [3, 3, 3]


def test_the_clock_ends_windows_and_begins_them() -> None:
    publisher = exact(start=100.0, every=10.0, until=150.0, late=2.0)
    publisher.advance(90.0)
    publisher.push_many(np.array([[1.0, 101.0, 95.0], [2.0, 101.0, 98.5], [3.0, 113.0, 111.0], [9.0, 101.0, 113.0]]))
    assert (publisher.ended, publisher.held) == (
        0,
        2,
    )  # the first came too early by 2 seconds, the last late
    publisher.advance(111.9)
    assert publisher.ended == 0
    publisher.advance(112.0)
    assert windows_of(publisher) == [[2.0]]
    publisher.advance(105.0)  # a clock that goes back does nothing
    publisher.push_many(np.array([[4.0, 109.0, 105.0]]))  # and the record of a window that has ended is late
    publisher.flush()
    assert windows_of(publisher) == [[2.0], [3.0]]


def test_no_record_ends_a_window() -> None:
    publisher = exact(start=0.0, every=10.0, late=0.0)
    publisher.advance(5.0)
    publisher.push_many(np.array([[1.0, 3.0, 5.0], [2.0, 700.0, 700.0]]))
    assert publisher.ended == 0
    publisher.flush()
    assert windows_of(publisher) == [[1.0]]  # the clock was last seen at 5


def test_many_windows_at_once_are_refused_by_public_numbers() -> None:
    with pytest.raises(ParameterError, match="100001 windows of 1 seconds from 1970-01-01T00:00:00Z on would leave"):
        exact(start=0.0, every=1.0, until=MOST_AT_ONCE + 1.0)
    publisher = exact(start=0.0, every=1.0, late=0.0)
    with pytest.raises(ParameterError, match="give longer windows or a later start"):
        publisher.advance(20.0 + MOST_AT_ONCE)
    assert (publisher.held, publisher.ended, len(publisher.advance(0.5))) == (0, 0, 0)


def test_records_that_do_not_arrive_need_an_end_and_no_clock() -> None:
    with pytest.raises(ParameterError, match="need an end"):
        exact(start=0.0, every=1.0)
    with pytest.raises(ParameterError, match="no clock ends windows"):
        exact(start=0.0, every=1.0, until=5.0).advance(3.0)


def test_rank_windows_ahead_hold_no_more_than_the_most() -> None:
    publisher = TimedWindows(ClockWindows((0, 9), most=20), start=0.0, every=1.0, until=3.0)
    for _ in range(5):
        publisher.push_many(np.column_stack([np.full(30, 5.0), np.repeat([0.5, 1.5, 2.5], 10)]))
    assert publisher.held == 60 <= publisher.delay


def test_a_state_with_open_windows_is_refused_by_other_edges() -> None:
    publisher = exact(start=0.0, every=10.0, until=40.0)
    publisher.push_many(np.array([[1.0, 35.0], [2.0, 5.0], [3.0, 15.0]]))
    again = exact(start=0.0, every=10.0, until=40.0)
    again.restore(publisher.state())
    again.flush()
    assert windows_of(again) == [[2.0], [3.0], [], [1.0]]
    with pytest.raises(InputError, match="with other parameters"):
        exact(start=1.0, every=10.0, until=40.0).restore(publisher.state())


def test_rows_tell_when_their_window_began() -> None:
    publisher = TimedWindows(ClockWindows((0, 9), epsilon=500.0), start=0.0, every=10.0, until=40.0)
    publisher.push_many(np.array([[5.0, 12.0]] * 3 + [[5.0, 31.0]]))
    rows = publisher.flush()
    columns = publisher.columns(rows, ["x"])
    assert rows.group.tolist() == [1, 1, 1, 3]
    assert columns["window_start"] == ["1970-01-01T00:00:10Z"] * 3 + ["1970-01-01T00:00:30Z"]
    assert list(columns) == ["x", "window_start"]
    with pytest.raises(ParameterError, match="a column 'window_start' cannot be published"):
        publisher.card("window_start")
