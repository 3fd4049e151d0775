"""The goal on the bicycle rides: our best local answer against clamped symmetric unary encoding and all zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from sfumato.experiments.bikes.cases import (
    FILES,
    FIRST,
    MIDDLE,
    SECOND,
    absolute_error,
    hourly_error,
    station_error,
)
from sfumato.experiments.bikes.comparison import HANDFUL, LOCAL, PLAIN, TABLE, VIEWS, WITHIN
from sfumato.experiments.data import Data

Find = Callable[[str], Path]


def real(find: Find) -> Data:
    return Data(find(FILES["New York"]).parent)


def mean(data: Data, rides: str, epsilon: float, answer: str, seeds: Sequence[int], measure: str = "mae") -> float:
    rows = [next(absolute_error(data, rides, epsilon, answer, seed)) for seed in seeds]
    return float(np.mean([float(row[measure] or 0) for row in rows]))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_our_local_answer_beats_half_of_symmetric_unary_and_all_zeros(data: Find, name: str, seed: int) -> None:
    ours, theirs, zeros = (mean(real(data), name, MIDDLE, answer, [seed]) for answer in (VIEWS, LOCAL, "all zeros"))
    assert ours < theirs / 2
    assert ours < zeros


@pytest.mark.parametrize("name", FILES)
def test_views_chosen_without_looking_do_so_on_average(data: Find, name: str) -> None:
    ours, theirs = (mean(real(data), name, MIDDLE, answer, range(1, 6)) for answer in (PLAIN, LOCAL))
    assert ours < theirs / 2
    assert ours < mean(real(data), name, MIDDLE, "all zeros", [1])


def test_the_answers_to_beat_are_those_that_were_declared(data: Find) -> None:
    york, city = (mean(real(data), name, MIDDLE, "all zeros", [1]) for name in FILES)
    assert york == pytest.approx(0.51, abs=0.005)
    assert city == pytest.approx(29.6, abs=0.1)
    assert mean(real(data), "Jersey City", MIDDLE, LOCAL, [1]) == pytest.approx(71, abs=4)


@pytest.mark.parametrize("point", [point for point in TABLE if point != HANDFUL])
def test_the_sources_table_is_met_within_the_stated_tolerance(data: Find, point: tuple[float, str]) -> None:
    found = mean(real(data), FIRST, *point, range(1, 6), "mae_nonempty")
    assert found == pytest.approx(TABLE[point], rel=WITHIN)


def test_local_error_is_large_in_quiet_hours_and_central_error_small_everywhere(data: Find) -> None:
    rows = [row for seed in (1, 2) for row in hourly_error(real(data), SECOND, MIDDLE, seed)]
    assert len(rows) == 3 * 2 * 24

    def errors(answer: str) -> list[float]:
        own = [row for row in rows if row["answer"] == answer]
        return [float(np.mean([float(row["error"] or 0) for row in own if row["hour"] == hour])) for hour in range(24)]

    local = errors("local, symmetric unary, clamped")
    assert max(errors("central")) < 3
    assert max(local[7:10]) < 20  # the source: not above 20 % at the peaks
    assert max(local[:5]) > 40


def test_the_heat_map_has_the_busiest_stations(data: Find) -> None:
    rows = list(station_error(real(data), "New York", MIDDLE, 1))
    assert len(rows) == 24 * 24
    totals = [sum(float(row["rides_there"] or 0) for row in rows if row["rank"] == rank) for rank in range(1, 25)]
    assert totals == sorted(totals, reverse=True)
    assert max(float(row["error"] or 0) for row in rows) == 200  # an empty hour answered by 1, or the other way round
