"""Rank windows: kernels against twins, the sensitivity that the proof claims, noise of its scale, and the goal."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.evaluate.stream import window_distance
from sfumato.random import SeededSource, discrete_laplace
from sfumato.stream.publishers.rank import RankedAttributes, RankGrid, RankWindows
from sfumato.stream.publishers.rank.kernel import block_sums, isotonic, radix_sort, spread

VALUES = st.lists(st.floats(-20, 1020) | st.sampled_from([0.0, 1000.0, 500.0]), min_size=1, max_size=60)


def sums_twin(values: list[float], low: float, step: float, steps: int, block: int) -> list[int]:
    codes = sorted(
        steps // 2 if math.isnan(value) else min(max(round((value - low) / step), 0), steps) for value in values
    )
    return [sum(codes[start : start + block]) for start in range(0, len(codes), block)]


def isotonic_twin(levels: list[float], weights: list[float]) -> list[float]:
    """Return the fit by its min-max formula (Barlow et al. 1972)."""
    size = len(levels)

    def mean(low: int, high: int) -> float:
        part = range(low, high + 1)
        return sum(levels[i] * weights[i] for i in part) / sum(weights[i] for i in part)

    return [max(min(mean(low, high) for high in range(i, size)) for low in range(i + 1)) for i in range(size)]


@given(values=VALUES, block=st.integers(1, 9), low=st.sampled_from([0.0, -3.5]))
def test_block_sums_are_those_of_the_twin(values: list[float], block: int, low: float) -> None:
    found = block_sums(np.array([values]), low, 0.5, 2000, 1000, block)
    assert found[0].tolist() == sums_twin(values, low, 0.5, 2000, block)


@given(codes=st.lists(st.integers(0, 2**21 - 1), max_size=50))
def test_radix_sort_sorts(codes: list[int]) -> None:
    array = np.array(codes, dtype=np.int32)
    radix_sort(array, np.empty_like(array), 21)
    assert array.tolist() == sorted(codes)


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 10)), min_size=1, max_size=12))
def test_the_isotonic_fit_is_that_of_the_twin(entries: list[tuple[float, float]]) -> None:
    levels, weights = (list(column) for column in zip(*entries, strict=True))
    found = np.array([levels])
    isotonic(found, np.array(weights))
    assert found[0] == pytest.approx(isotonic_twin(levels, weights), abs=1e-9)
    assert np.all(np.diff(found[0]) >= -1e-9)


@given(
    levels=st.lists(st.floats(-5, 5), min_size=1, max_size=8).map(sorted),
    block=st.integers(1, 6),
    short=st.integers(0, 5),
)
def test_lines_join_the_middles_of_blocks(levels: list[float], block: int, short: int) -> None:
    size = max(len(levels) * block - min(short, block - 1), 1)
    starts = np.arange(len(levels)) * block
    middles = (starts + np.minimum(starts + block, size) - 1) / 2
    wanted = np.interp(np.arange(size), middles, levels)
    assert spread(np.array([levels]), block, size)[0] == pytest.approx(wanted, abs=1e-9)


@given(values=VALUES, place=st.integers(0, 59), other=st.floats(-20, 1020), block=st.integers(1, 9))
def test_replacing_a_record_moves_the_sums_by_the_width_at_most(
    values: list[float], place: int, other: float, block: int
) -> None:
    neighbour = values.copy()
    neighbour[place % len(values)] = other
    before, after = (block_sums(np.array([stream]), 0.0, 0.5, 2000, 1000, block)[0] for stream in (values, neighbour))
    moved = after - before
    assert np.abs(moved).sum() <= 2000
    assert np.all(moved >= 0) or np.all(moved <= 0)


def test_the_width_is_reached() -> None:
    streams = np.array([[0.0, 5.0, 9.0], [1000.0, 5.0, 9.0]])
    sums = block_sums(streams, 0.0, 0.5, 2000, 1000, 1)
    assert np.abs(sums[1] - sums[0]).sum() == 2000


def test_rows_are_the_noisy_means_of_blocks() -> None:
    publisher = RankWindows(bounds=(0, 100_000), window=6, block=6, epsilon=2.0, rng=SeededSource(4))
    values = np.array([10_000.0, 20_000, 30_000, 40_000, 50_000, 60_000])
    draw = int(discrete_laplace(1, Fraction(50_000), SeededSource(4))[0])
    wanted = min(max((values.sum() + draw) / 6, 0), 100_000)
    assert publisher.push_many(values).values.tolist() == [wanted] * 6


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1 / 3, 7.5])
def test_the_noise_has_at_least_the_scale_of_the_proof(epsilon: float) -> None:
    for bounds in ((0, 99618), (-1e-3, 2e-3), (1e6, 1e9)):
        grid = RankGrid(bounds, 50, epsilon)
        assert grid.scale >= grid.steps / Fraction(str(epsilon))
        assert grid.scale * Fraction(grid.step) < Fraction(1001, 1000) * Fraction(bounds[1] - bounds[0]) / Fraction(
            epsilon
        )
        assert grid.steps * grid.step >= bounds[1] - bounds[0]


def test_attributes_share_epsilon() -> None:
    assert RankGrid((0, 99618), 50, 1.0, parts=3).scale == 3 * RankGrid((0, 99618), 50, 1.0).scale


def test_bad_values_stand_in_their_place() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 50.0])
    clean = np.array([50.0, 100.0, 0.0, 50.0])
    rows = [RankWindows((0, 100), 4, rng=SeededSource(1)).push_many(batch).values for batch in (values, clean)]
    assert rows[0] == pytest.approx(rows[1], abs=0.01)


def test_the_last_window_may_be_shorter() -> None:
    publisher = RankWindows((0, 100), window=10, block=3, rng=SeededSource(1))
    assert len(publisher.push_many(np.full(14, 50.0))) == 10
    rest = publisher.flush()
    assert (len(rest), rest.size.tolist(), rest.group.tolist()) == (4, [4] * 4, [1] * 4)
    assert len(publisher.flush()) == 0


def test_an_epsilon_too_small_for_exact_noise_is_refused() -> None:
    with pytest.raises(ParameterError, match="give a larger ε"):
        RankWindows((0, 100), epsilon=1e-9)


def test_the_card_says_what_is_promised_and_what_is_not() -> None:
    card = RankWindows((0, 100), window=500, epsilon=0.5).card("hours")
    assert card.guarantee.parameters == {"epsilon": 0.5}
    assert card.guarantee.unit == "record (event level)"
    assert "same arrivals" in str(card.guarantee.neighbours)
    text = " ".join(card.assumptions)
    assert "30 records a month" in text
    assert "Windows of 500 records" in text
    assert card.warnings == []


def test_the_goal_is_reached(data: Callable[[str], Path]) -> None:
    readings = pl.read_parquet(data("backblaze_smart9_201609.parquet"))["smart_9_raw"].to_numpy().astype(np.float64)
    values = readings[np.random.default_rng(0).permutation(len(readings))[:300_000]]
    for seed in (1, 2):
        rows = RankWindows((0, 99618), rng=SeededSource(seed)).push_many(values).values
        assert window_distance(values, rows, 1000) <= 3.8e6


def test_attributes_are_ranked_apart() -> None:
    publisher = RankedAttributes(((0, 10), (0, 1000)), window=500, epsilon=20.0, rng=SeededSource(1))
    draw = np.random.default_rng(1)
    records = np.column_stack([draw.uniform(0, 10, 500), draw.uniform(0, 1000, 500)])
    out = publisher.push_many(records)
    for place in range(2):
        assert np.sort(records[:, place]) == pytest.approx(out.values[:, place], abs=0.06 * (10, 1000)[place])
    assert [grid.scale / grid.steps for grid in publisher._grids] == [Fraction(2, 20)] * 2
    assert any("do not belong together" in entry for entry in publisher.card("x", "y").assumptions)
