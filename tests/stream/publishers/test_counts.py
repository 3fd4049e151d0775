"""Categories and cells by noisy counts: shares are filtered, add up, and leave as declared."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.random import SeededSource
from sfumato.random.random_words import WordRun
from sfumato.stream.noise import laplace_draws
from sfumato.stream.publishers.counts import CategoryWindows, CellHistogram, Shares, apportion, simplex


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=12))
def test_the_simplex_point_is_the_nearest(values: list[float]) -> None:
    array = np.array(values)
    found = simplex(array)
    assert found.sum() == pytest.approx(1)
    assert np.all(found >= 0)
    gaps = array - found
    assert np.all(gaps[found == 0] <= gaps[found > 0].max() + 1e-9)  # the Karush-Kuhn-Tucker conditions
    assert np.ptp(gaps[found > 0]) < 1e-9


@given(st.lists(st.floats(0, 9), min_size=1, max_size=9))
def test_whole_numbers_add_up(shares: list[float]) -> None:
    total = round(sum(shares))
    array = np.array(shares) * (total / sum(shares) if sum(shares) > 0 else 0)
    if total:
        found = apportion(array, total)
        assert found.sum() == total
        assert np.all(np.abs(found - array) < 1 + 1e-6)


def test_shares_are_filtered_over_windows() -> None:
    draw = np.random.default_rng(1)
    truth = np.array([0.6, 0.3, 0.08, 0.02])
    shares = Shares(4, 20.0)
    errors, noises = [], []
    for _ in range(200):
        counts = draw.multinomial(1000, truth)
        noise = laplace_draws(WordRun(SeededSource(int(draw.integers(2**31))), "x"), 4, Fraction(20))
        errors.append(np.abs(shares.learn(counts + noise, 1000) - counts).mean())
        noises.append(np.abs(noise).mean())
    assert np.mean(errors[100:]) < 0.6 * np.mean(noises[100:])


def test_categories_leave_as_texts_and_unknown_ones_as_the_first() -> None:
    publisher = CategoryWindows(("a", "b", "c"), window=300, epsilon=5.0, rng=SeededSource(1))
    out = publisher.push_many(["a"] * 100 + ["c"] * 150 + ["nowhere"] * 50)
    texts = publisher.columns(out, ["x"])["x"]
    assert isinstance(texts, list)
    assert abs(texts.count("a") - 150) < 10
    assert abs(texts.count("c") - 150) < 10
    assert publisher.card("x").released.columns[0].type == "text"


def test_ordered_categories_are_ranked() -> None:
    publisher = CategoryWindows(("low", "mid", "high"), window=400, epsilon=5.0, ordered=True, rng=SeededSource(1))
    out = publisher.push_many(["low"] * 200 + ["high"] * 200)
    texts = publisher.columns(out, ["x"])["x"]
    assert texts[:100] == ["low"] * 100
    assert texts[-100:] == ["high"] * 100


def test_cells_keep_what_attributes_have_to_do_with_each_other() -> None:
    publisher = CellHistogram(((0, 10), (0, 10)), cells=2, window=1000, rng=SeededSource(1))
    records = np.repeat([[1.0, 9.0], [9.0, 1.0]], 500, axis=0)
    out = publisher.push_many(records)
    assert np.mean((out.values[:, 0] - 5) * (out.values[:, 1] - 5)) < -6
    with pytest.raises(ParameterError, match="more than 2"):
        CellHistogram(((0, 1),) * 8, cells=8)
