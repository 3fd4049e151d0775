"""The goal on the bicycle rides: our best local answer against clamped symmetric unary encoding and all zeros."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.experiments.bike_answers import ANSWERS
from sfumato.experiments.bike_data import read_rides
from sfumato.experiments.bikes import (
    FILES,
    MIDDLE,
    SOURCE_MAE,
    SOURCE_RIDES,
    Grid,
    absolute_errors,
    hourly_errors,
    station_errors,
)

Find = Callable[[str], Path]
PLAIN = "local, all report, plain views"
OURS, THEIRS = "local, all report, views", "local, women report, symmetric unary, clamped"


def means(errors: pl.DataFrame, column: str = "mae") -> dict[tuple[float, str], float]:
    rows = errors.group_by("epsilon", "answer").agg(pl.col(column).mean()).iter_rows()
    return {(epsilon, answer): mean for epsilon, answer, mean in rows}


@pytest.mark.parametrize("name", FILES)
def test_our_local_answer_beats_half_of_symmetric_unary_and_all_zeros_with_every_seed(data: Find, name: str) -> None:
    rides = read_rides(data(FILES[name]), name)
    errors = absolute_errors([rides], Grid((MIDDLE,), (OURS, THEIRS, "all zeros"), (1, 2, 3)))
    for seed in (1, 2, 3):
        found = means(errors.filter(pl.col("seed") == seed))
        assert found[MIDDLE, OURS] < found[MIDDLE, THEIRS] / 2
        assert found[MIDDLE, OURS] < found[MIDDLE, "all zeros"]


@pytest.mark.parametrize("name", FILES)
def test_views_chosen_without_looking_do_so_on_average(data: Find, name: str) -> None:
    rides = read_rides(data(FILES[name]), name)
    found = means(absolute_errors([rides], Grid((MIDDLE,), (PLAIN, THEIRS, "all zeros"), (1, 2, 3, 4, 5))))
    assert found[MIDDLE, PLAIN] < found[MIDDLE, THEIRS] / 2
    assert found[MIDDLE, PLAIN] < found[MIDDLE, "all zeros"]


def test_the_answers_to_beat_are_those_that_were_declared(data: Find) -> None:
    grid = Grid((MIDDLE,), (THEIRS, "all zeros"), (1,))
    york, city = (means(absolute_errors([read_rides(data(file), name)], grid)) for name, file in FILES.items())
    assert york[MIDDLE, "all zeros"] == pytest.approx(0.51, abs=0.005)
    assert city[MIDDLE, "all zeros"] == pytest.approx(29.6, abs=0.1)
    assert city[MIDDLE, THEIRS] == pytest.approx(71, abs=4)


def test_the_errors_are_of_the_order_of_the_sources(data: Find) -> None:
    rides = read_rides(data(FILES["Jersey City"]), "Jersey City").first(SOURCE_RIDES[1])
    errors = absolute_errors(
        [rides], Grid(answers=tuple({answer for _, answer in SOURCE_MAE}), seeds=(1, 2, 3, 4, 5, 6))
    )
    over_all, nonempty = means(errors), means(errors, "mae_nonempty")
    for point, published in SOURCE_MAE.items():
        nearest = min((over_all[point], nonempty[point]), key=lambda found: abs(np.log(found / published)))
        assert 1 / 2 < nearest / published < 2


def test_local_error_is_large_in_quiet_hours_and_central_error_small_everywhere(data: Find) -> None:
    rides = read_rides(data(FILES["Jersey City"]), "Jersey City").first(SOURCE_RIDES[2])
    errors = hourly_errors(rides, Grid((MIDDLE,), tuple(ANSWERS), (1, 2)))
    assert errors.height == 3 * 2 * 24
    by_hour = errors.group_by("answer", "hour").agg(pl.col("error").mean())
    central = by_hour.filter(pl.col("answer") == "central")["error"].to_numpy()
    local = by_hour.filter(pl.col("answer") == "local, symmetric unary, clamped").sort("hour")["error"].to_numpy()
    assert central.max() < 3
    assert local[7:10].max() < 20  # the source: not above 20 % at the peaks
    assert local[:5].max() > 40


def test_the_heat_map_has_the_busiest_stations(data: Find) -> None:
    rides = read_rides(data(FILES["New York"]), "New York")
    rows = station_errors([rides], 1)
    assert rows.height == 24 * 24
    totals = rows.group_by("rank").agg(pl.col("rides").sum()).sort("rank")["rides"].to_list()
    assert totals == sorted(totals, reverse=True)
    assert rows["error"].to_numpy().max() == 200  # an empty hour answered by 1, or the other way round
