"""Provable publishers publish the same whatever the batches, and go on from any state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.checks.publishers import join_rows, run, same
from sfumato.random import SeededSource
from sfumato.stream.base import Publisher
from sfumato.stream.publishers.adaptive import AdaptiveHistogram
from sfumato.stream.publishers.linked import LinkedResponse
from sfumato.stream.publishers.rank import RankWindows

VALUES = st.lists(st.integers(-5, 105).map(float) | st.just(float("nan")), max_size=150)
CUTS = st.lists(st.integers(0, 150), max_size=10)
Maker = Callable[[int, SeededSource], Publisher]
MAKERS: dict[str, Maker] = {
    "rank": lambda window, source: RankWindows((0, 100), window, block=4, rng=source),
    "adaptive": lambda window, source: AdaptiveHistogram((0, 100), window, bins=12, rng=source),
    "crowded": lambda window, source: AdaptiveHistogram((-1000, 1000), window, epsilon=20.0, rng=source),
    "linked": lambda window, source: LinkedResponse((0, 100), window, rng=source),
}


@pytest.mark.parametrize("name", MAKERS)
@given(values=VALUES, cuts=CUTS, window=st.integers(1, 40))
def test_batches_change_nothing(name: str, values: list[float], cuts: list[int], window: int) -> None:
    batch = np.array(values)
    whole = join_rows(run(MAKERS[name](window, SeededSource(3)), batch))
    parts = join_rows(run(MAKERS[name](window, SeededSource(3)), batch, [min(cut, len(batch)) for cut in cuts]))
    single = MAKERS[name](window, SeededSource(3))
    pushed = join_rows([*(single.push(value) for value in values), single.flush()])
    assert same(whole, parts)
    assert same(whole, pushed)
    assert len(whole[3]) == len(values)


@pytest.mark.parametrize("name", MAKERS)
@given(values=VALUES, window=st.integers(1, 40))
def test_rows_stay_within_the_bounds(name: str, values: list[float], window: int) -> None:
    publisher = MAKERS[name](window, SeededSource(5))
    low, high = publisher.parameters()["bounds"]
    rows = join_rows(run(publisher, np.array(values)))[0]
    assert np.all((rows >= low) & (rows <= high))
    if not publisher.linked and len(values) >= window:
        assert np.all(np.diff(rows[:window]) >= 0)
