"""What a diary keeps of a run: it is right about all of it, and its memory does not grow."""

from __future__ import annotations

import math
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.stream import Published, build
from sfumato.stream.operate.diary import (
    BINS,
    CAME,
    LEFT,
    MOST_SIZES,
    MOST_SPANS,
    MOST_WAITING,
    Diary,
    PairedHistogram,
    Waits,
)


def window(number: int, size: int, value: float = 1.0) -> Published:
    """One window of so many rows."""
    return Published(np.full(size, value), np.full(size, number), np.full(size, size), np.arange(size))


@given(st.lists(st.integers(-5000, 5000), min_size=1, max_size=40), st.lists(st.integers(-500, 500), max_size=40))
def test_a_histogram_that_widens_is_the_one_over_its_last_bins(came: list[int], left: list[int]) -> None:
    pair = PairedHistogram((0.0, float(BINS)))
    for value in came:  # one by one: every one may widen it
        pair.add(CAME, np.array([float(value)]))
    pair.add(LEFT, np.array(left, dtype=np.float64))
    for side, values in enumerate((came, left)):
        inside = np.array(values, dtype=np.float64)
        assert pair.counts[side].tolist() == np.histogram(inside, pair.edges)[0].tolist()
    assert pair.means[CAME] == pytest.approx(np.mean(came))
    assert pair.spreads[CAME] == pytest.approx(np.std(came), abs=1e-6)


def test_what_histograms_have_in_common_is_between_nothing_and_all() -> None:
    values, pair = np.arange(100.0), PairedHistogram((0.0, 120.0))
    pair.add(CAME, values)
    assert pair.in_common == 0
    assert math.isnan(pair.means[LEFT])
    pair.add(LEFT, values[:50])
    assert pair.in_common == pytest.approx(0.5)
    pair.add(LEFT, values[50:])
    assert pair.in_common == pytest.approx(1.0)


def test_a_long_run_takes_no_more_memory_and_counts_everything() -> None:
    clock = count(1000)
    diary = Diary({"hours": PairedHistogram((0.0, 10.0))}, clock=lambda: float(next(clock)))
    total = 0
    for number in range(3000):
        size = 1 + number * 7 % 1500
        total += size
        diary.watch(np.full(size, 2.0), window(number, size), held=0)
    assert len(diary.spans) <= MOST_SPANS
    assert len(diary.sizes) <= MOST_SIZES
    assert (diary.records, diary.rows) == (total, total)
    assert sum(span.rows for span in diary.all_spans) == sum(span.records for span in diary.all_spans) == total
    assert sum(span.groups for span in diary.all_spans) == sum(diary.sizes.values()) == 3000
    assert diary.all_spans[0].start == 1000
    assert all(first.end == second.start for first, second in zip(diary.spans, diary.spans[1:], strict=False))
    assert sum(diary.waits.seconds.values()) == total


def test_waits_are_those_of_first_in_first_out() -> None:
    waits, queue, slow = Waits(), [], []
    draw = np.random.default_rng(1)
    for now in range(400):
        came = int(draw.integers(0, 5))
        queue += [now] * came
        held = int(draw.integers(0, len(queue) + 1))
        while len(queue) > held:
            slow.append(now - queue.pop(0))
        waits.take(came, held, float(now))
    assert waits.longest == max(slow)
    for step, records in waits.seconds.items():
        assert records == sum(max(wait, 2**-10) <= 2.0**step < 2 * max(wait, 2**-10) for wait in slow)
    assert sum(waits.seconds.values()) == len(slow)


def test_waiting_records_are_kept_in_few_pieces_and_none_is_lost() -> None:
    waits = Waits()
    for now in range(5 * MOST_WAITING):
        waits.take(1, now + 1, float(now))
        assert len(waits._waiting) <= MOST_WAITING
    waits.take(0, 0, 6.0 * MOST_WAITING)
    assert sum(waits.seconds.values()) == 5 * MOST_WAITING


def test_records_held_since_before_the_run_have_no_known_wait() -> None:
    waits = Waits()
    waits.take(came=2, held=7, now=1.0)
    waits.take(came=0, held=0, now=3.0)
    assert sum(waits.seconds.values()) == 2


@pytest.mark.parametrize("publisher", ["rank", "adaptive", "linked", "laplace", "doca"])
def test_every_publisher_can_be_watched(publisher: str) -> None:
    given_bounds = {} if publisher == "laplace" else {"delay": 20}
    setup = build(publisher, ["hours"], bounds=(0, 100), **given_bounds)  # type: ignore[arg-type]
    diary, records = Diary.of(setup), np.linspace(0, 100, 200)
    diary.watch(records, setup.publisher.push_many(records), setup.publisher.held)
    diary.watch(None, setup.publisher.flush(), 0)
    assert (diary.records, diary.rows) == (200, 200)
    assert diary.columns["hours"].numbers == (200, 200)
    assert sum(size * number for size, number in diary.sizes.items()) == 200
