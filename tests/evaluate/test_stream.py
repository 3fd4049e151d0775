"""Measures of a released stream."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.evaluate.stream import histogram_intersection, squared_error, window_distance
from sfumato.random import SeededSource
from sfumato.stream.publishers.rank import RankWindows


def test_distances_of_windows() -> None:
    true, given_rows = np.array([3.0, 1, 2, 9, 7]), np.array([1.0, 2, 3, 8, 8])
    assert window_distance(true, given_rows, 3) == pytest.approx((0 + 0 + 0 + 1 + 1) / 5)
    assert histogram_intersection(true, true) == 1
    assert histogram_intersection(true, np.full(5, 100.0)) == 0
    with pytest.raises(InputError, match="5 true values and 4 released"):
        window_distance(true, given_rows[:4], 3)
    with pytest.raises(InputError, match="not linked"):
        squared_error(true, RankWindows((0, 10), window=5, rng=SeededSource(1)).push_many(true))
