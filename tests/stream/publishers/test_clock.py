"""Clock windows: counts are hidden, padding is blind to values, the clock alone ends a window."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.random import SeededSource
from sfumato.stream.publishers.clock import ClockWindows


def test_a_clock_window_hides_its_count() -> None:
    values = np.full(400, 5.0)
    sizes = []
    for seed in range(300):
        publisher = ClockWindows((0, 10), epsilon=1.0, rng=SeededSource(seed))
        publisher.push_many(values)
        sizes.append(len(publisher.tick()))
    error = np.abs(np.array(sizes) - 400).mean()
    wanted = 2 * math.exp(-0.1) / (1 - math.exp(-0.2))
    assert abs(error - wanted) < 5.5 * error / math.sqrt(300)
    assert abs(error - 0.7 * wanted) > 0.2 * wanted


def test_nothing_leaves_before_the_clock_says_so() -> None:
    publisher = ClockWindows((0, 10), kind="adaptive", rng=SeededSource(1))
    assert len(publisher.push_many(np.full(5000, 5.0))) == 0
    assert publisher.held == 5000
    first = publisher.tick()
    assert abs(len(first) - 5000) < 100
    assert publisher.held == 0
    assert set(first.group.tolist()) == {0}


def test_a_clock_window_counts_its_first_records_only() -> None:
    publisher = ClockWindows((0, 10), most=100, epsilon=50.0, rng=SeededSource(1))
    for _ in range(3):
        publisher.push_many(np.full(60, 5.0))
    assert publisher.held == 100
    assert len(publisher.tick()) <= 100


@given(st.lists(st.floats(0, 10), max_size=20), st.floats(0, 10), st.integers(0, 20), st.integers(1, 30))
def test_one_record_more_moves_a_padded_window_as_a_replacement_would(
    values: list[float], extra: float, place: int, size: int
) -> None:
    """The step of the proof: padded or cut to the same size, neighbours differ in one place of the multiset."""
    longer = [*values[:place], extra, *values[place:]]
    padded = [sorted(([*stream, *[5.0] * size])[:size]) for stream in (values, longer)]
    moved = np.array(padded[1]) - np.array(padded[0])
    assert np.abs(moved).sum() <= 10 + 1e-9


def test_clock_windows_say_add_or_remove() -> None:
    card = ClockWindows((0, 10)).card("x")
    assert card.guarantee.neighbours == "presence: streams that differ in the records of one unit, there or not"
    assert any("noisy count" in entry for entry in card.assumptions)


def test_clock_noise_splits_epsilon() -> None:
    publisher = ClockWindows((0, 65536), epsilon=1.0)
    assert publisher._count_scale == 10
    assert publisher._grid.scale == Fraction(65536) / Fraction(9, 10)
    assert publisher._bin_scale == 1
