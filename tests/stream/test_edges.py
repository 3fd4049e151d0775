"""Windows in time by declared edges: where a time belongs depends on that time and public numbers alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.stream.edges import ENDLESS, OUTSIDE, WindowEdges

TIMES = st.floats(-1e6, 1e6)


@given(TIMES, st.floats(0.1, 1e4), st.lists(TIMES | st.just(math.nan), max_size=20))
def test_a_time_is_in_the_window_that_holds_it(start: float, every: float, times: list[float]) -> None:
    edges = WindowEdges(start, every, start + 5.5 * every)
    assert edges.count == 6
    for time, place in zip(times, edges.places(np.array(times)).tolist(), strict=True):
        inside = start <= time < start + 5.5 * every
        assert (place != OUTSIDE) == inside
        if inside:
            assert start + place * every <= time + 1e-6
            assert time < min(start + (place + 1) * every, start + 5.5 * every) + 1e-6


@given(TIMES, st.floats(0.1, 1e4), TIMES)
def test_a_window_has_begun_before_it_ends(start: float, every: float, now: float) -> None:
    for edges in (WindowEdges(start, every), WindowEdges(start, every, start + 7 * every)):
        ended, begun, place = (int(found(np.array([now]))[0]) for found in (edges.ended, edges.begun, edges.places))
        assert 0 <= ended <= begun <= edges.count
        if place != OUTSIDE:
            assert ended <= place < begun


def test_windows_without_an_end_take_any_time_behind_their_start() -> None:
    edges = WindowEdges(0.0, 1e-12)
    assert edges.count == ENDLESS
    assert 0 < edges.places(np.array([1e11]))[0] < ENDLESS


@pytest.mark.parametrize("start, every, until, count", [(0.0, 0.1, 1.1, 11), (0.1, 0.2, 0.7, 3), (0.0, 10.0, 1.0, 1)])
def test_rounding_makes_no_window(start: float, every: float, until: float, count: int) -> None:
    assert WindowEdges(start, every, until).count == count


def test_edges_that_are_none_are_refused() -> None:
    with pytest.raises(ParameterError, match="give an end behind the start"):
        WindowEdges(10.0, 1.0, 10.0)
    with pytest.raises(ParameterError, match="'every' parameter"):
        WindowEdges(10.0, 0.0)
    with pytest.raises(ParameterError, match="'start' parameter"):
        WindowEdges(1e15, 1.0)
