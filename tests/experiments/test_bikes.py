"""The bicycle experiments on made-up rides: the numbers are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.experiments.bikes.cases import (
    ANSWERS,
    PLAIN,
    VIEWS,
    Rides,
    absolute_error,
    adjusted_error,
    districts,
    rides_of,
)
from sfumato.experiments.data import Data
from sfumato.random import SeededSource


def test_rides_are_read_as_they_are() -> None:
    rides = rides_of(Data(None), "New York")
    assert rides.number == 20_000
    assert len(rides.stations) == rides.station.max() + 1
    assert rides.everybody().sum() == 20_000
    assert rides.women().sum() == rides.woman.sum() > 3000
    assert rides.first(100).everybody().sum() == 100
    assert rides.first(100).stations == rides.stations
    assert len(set(districts(rides.places))) == 16


def test_the_answers_have_the_shape_of_the_question() -> None:
    rides = rides_of(Data(None), "New York").first(1500)
    for name, answer in ANSWERS.items():
        found = answer(rides, 2.251, SeededSource(1))
        assert found.shape == rides.women().shape
        assert (found.min() < 0) == name.endswith("raw")
        assert name.endswith(("Norm-Sub", "symmetric unary, raw")) or np.array_equal(found, np.rint(found))


def test_the_shares_of_the_views_are_all_of_it() -> None:
    for views in (VIEWS, PLAIN):
        assert sum(view.share for view in views) == pytest.approx(1)
    rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0]), np.array([8]), np.array([True]))
    assert [view.levels for view in PLAIN] == [("woman",), ("hour",), ("station",)]
    assert {axis.name for axis in rides.crossing().axes} == {view.name for view in PLAIN}


def test_the_adjusted_error_is_the_sources() -> None:
    assert adjusted_error(np.array([100.0, 3.0]), np.array([100.0, 0.0])).tolist() == [0.0, 200.0]


def test_the_error_of_all_zeros_is_the_mean_count() -> None:
    (row,) = absolute_error(Data(None), "New York", 2.251, "all zeros", 1)
    true = rides_of(Data(None), "New York").women()
    assert row["mae"] == pytest.approx(true.mean())
    assert row["mae_nonempty"] == pytest.approx(true[true > 0].mean())


def test_a_toy_is_counted_by_hand() -> None:
    toy = Rides(
        "toy", ("A", "B"), np.zeros((2, 2)), np.array([1, 1, 0]), np.array([8, 8, 23]), np.array([True, True, False])
    )
    assert toy.women()[1, 8] == 2
    assert toy.everybody()[0, 23] == 1
    assert toy.cell.tolist() == [32, 32, 23]
