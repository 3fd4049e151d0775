"""Counts over crossed attributes: views agree with sums, fits keep totals, and shrinkage stays between its ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError, ParameterError
from sfumato.local.surveys.structure import EVIDENCE, Observed, fit, likeliest_middle, shrink
from sfumato.local.surveys.survey import Axis, Crossing, Survey, View
from sfumato.random import SeededSource

CROSSING = Crossing(
    [
        Axis("sex", ("f", "m")),
        Axis("station", ("a", "b", "c"), {"district": ("north", "south", "north")}),
        Axis("hour", tuple("0123"), {"period": ("night", "day", "day", "night")}),
    ]
)
LEVELS = ["sex", "station", "district", "hour", "period"]
VIEWS = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=3, unique=True).map(
    lambda levels: View(tuple(levels), 1.0)
)
TABLES = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).gamma(0.5, 20, CROSSING.shape))


def slow_projection(table: np.ndarray[tuple[int, ...], np.dtype[np.float64]], view: View) -> dict[str, float]:
    sums = dict.fromkeys(CROSSING.domain(view), 0.0)
    for cell, count in np.ndenumerate(table):
        labels = []
        for level in view.levels:
            axis = next(axis for axis in CROSSING.axes if level == axis.name or level in axis.groups)
            place = cell[CROSSING.axes.index(axis)]
            labels.append(axis.values[place] if level == axis.name else axis.groups[level][place])
        sums[" | ".join(labels)] += float(count)
    return sums


@given(TABLES, VIEWS)
def test_a_view_is_the_sum_over_what_it_does_not_show(
    table: np.ndarray[tuple[int, ...], np.dtype[np.float64]], view: View
) -> None:
    assert CROSSING.project(table, view) == pytest.approx(list(slow_projection(table, view).values()))


@given(VIEWS, st.sampled_from("fm"), st.sampled_from("abc"), st.sampled_from("0123"))
def test_a_device_shows_the_cell_that_the_collector_counts(view: View, sex: str, station: str, hour: str) -> None:
    place = ("fm".index(sex), "abc".index(station), int(hour))
    assert CROSSING.domain(view)[CROSSING.cells(view)[place]] == CROSSING.shown((sex, station, hour), view)


@given(TABLES, st.lists(VIEWS, min_size=1, max_size=3), st.sampled_from([1.0, 1e3, 1e7]))
def test_a_fit_keeps_the_total_and_is_never_negative(
    table: np.ndarray[tuple[int, ...], np.dtype[np.float64]], views: list[View], noise: float
) -> None:
    observed = [Observed(view, CROSSING.project(table, view) - 3.0, noise, 1.0) for view in views]
    fitted = fit(CROSSING, observed, 500.0)
    assert fitted.sum() == pytest.approx(500.0)
    assert (fitted >= 0).all()


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1e4))
def test_shrinkage_stays_between_the_estimate_and_what_was_expected(seed: int, noise: float) -> None:
    draw = np.random.default_rng(seed)
    expected, estimates = draw.gamma(1, 30, 12), draw.gamma(1, 30, 12) + draw.normal(0, noise**0.5, 12)
    found = shrink(estimates, expected, np.full(12, noise))
    lower, upper = np.minimum(estimates, expected), np.maximum(estimates, expected)
    assert (found >= np.maximum(lower, 0) - 1e-9).all()
    assert (found <= upper + 1e-9).all()


def test_noise_alone_is_taken_for_structure_about_as_rarely_as_it_should() -> None:
    draw = np.random.default_rng(5)
    expected = np.full(200, 10.0)
    moved = sum(
        not np.array_equal(shrink(expected + draw.normal(0, 30, 200), expected, np.full(200, 900.0)), expected)
        for _ in range(500)
    )
    assert EVIDENCE == 2.0
    assert moved / 500 < 0.05  # half a chi-square beyond 4 has 2.3 %


@given(st.floats(0.0, 60.0))
def test_the_middle_is_the_median_of_a_poisson_count(expected: float) -> None:
    middle = int(likeliest_middle(np.array([expected]))[0])
    draws = np.random.default_rng(1).poisson(expected, 40_000)
    at_most, below = np.mean(draws <= middle), np.mean(draws < middle)
    assert at_most > 0.49
    assert below < 0.51


def test_a_survey_finds_a_product_of_margins() -> None:
    crossing = Crossing([Axis("row", tuple("abcd")), Axis("column", tuple("01234"))])
    true = np.outer([4, 3, 2, 1], [5, 4, 3, 2, 1]) * 200
    survey = Survey(crossing, (View(("row",), 0.5), View(("column",), 0.5)), 2.0, int(true.sum()))
    cells = np.repeat(np.arange(20), true.ravel())
    found = survey.estimate(survey.aggregate(survey.report_many(cells, SeededSource(2))))
    assert np.abs(found - true).mean() < 0.1 * true.mean()
    assert survey.plan.spent <= 2.0


def test_what_is_no_level_or_no_value_is_refused() -> None:
    with pytest.raises(ParameterError, match="no axis has a level 'hours'; did you mean 'hour'"):
        CROSSING.domain(View(("hours",), 1.0))
    with pytest.raises(ParameterError, match="give one for each of its 2 values"):
        Axis("sex", ("f", "m"), {"all": ("x",)})
    with pytest.raises(InputError, match="'d' is no value of axis 'station'"):
        CROSSING.shown(("f", "d", "0"), View(("hour",), 1.0))
    with pytest.raises(InputError, match="each of 3 axes; found 1"):
        CROSSING.shown(("f",), View(("hour",), 1.0))
    with pytest.raises(ParameterError, match="the same name"):
        Crossing([Axis("sex", ("f", "m")), Axis("hour", ("0", "1"), {"sex": ("a", "b")})])
