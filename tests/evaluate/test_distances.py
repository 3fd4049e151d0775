"""Distances of columns: by hand, against slow twins, and at both ends of the scale."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

import sfumato as sf
from sfumato.evaluate.distances import ColumnDistance, column_distances
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table


def one(kind: Kind, values: list[Any], labels: list[Any], **declared: Any) -> ColumnDistance:
    """The distances of a table with a single column."""
    schema = Schema({"x": Attribute("x", Role.QUASI, kind, **declared)})
    return column_distances(Table(pl.DataFrame({"x": values})), schema, Table(pl.DataFrame({"x": labels})))["x"]


def test_by_hand() -> None:
    found = one(Kind.CATEGORY, ["a", "a", "a", "b"], ["a", "{a, b}", "{a, b}", "b"])
    assert found.total_variation == pytest.approx(0.25)
    wanted = math.sqrt(((math.sqrt(0.75) - math.sqrt(0.5)) ** 2 + (math.sqrt(0.25) - math.sqrt(0.5)) ** 2) / 2)
    assert found.hellinger == pytest.approx(wanted)
    assert found.wasserstein is None
    ordered = one(Kind.ORDINAL, ["low", "low", "high"], ["[low..high]"] * 3, categories=("low", "mid", "high"))
    assert ordered.wasserstein == pytest.approx((1 / 3) + 0)
    assert ordered.wasserstein_share == pytest.approx(1 / 6)


def test_nothing_in_common_and_everything() -> None:
    apart = one(Kind.INTEGER, [0, 0], [9, 9], bounds=(0, 10))
    assert (apart.total_variation, apart.hellinger, apart.wasserstein) == pytest.approx((1, 1, 9))
    assert apart.wasserstein_share == pytest.approx(0.9)
    same = one(Kind.INTEGER, [3, 5, None], [5, None, 3])
    assert (same.total_variation, same.hellinger, same.wasserstein) == (0, 0, 0)


def test_dates_and_times_move_by_days() -> None:
    days = one(Kind.DATE, [dt.date(2026, 1, 1), dt.date(2026, 1, 31)], ["2026-01-03", "2026-01-31"])
    assert days.wasserstein == pytest.approx(1)
    hours = one(
        Kind.TIMESTAMP, ["2026-01-01 00:00:00", "2026-01-02 00:00:00"], ["2026-01-01 12:00:00", "2026-01-02 00:00:00"]
    )
    assert hours.wasserstein == pytest.approx(0.25)


def test_missing_values_are_a_bar_and_are_not_moved() -> None:
    found = one(Kind.INTEGER, [1, 1, None, None], [1, 1, 1, None])
    assert found.total_variation == pytest.approx(0.25)
    assert found.wasserstein == 0
    assert one(Kind.INTEGER, [1, 2], [None, None]).wasserstein is None


@given(
    values=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    ends=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), min_size=1, max_size=20),
)
def test_ranges_of_integers_against_listing_their_values(values: list[int], ends: list[tuple[int, int]]) -> None:
    found = one(Kind.INTEGER, values, [f"[{low}-{low + width}]" for low, width in ends])
    points = [value for low, width in ends for value in range(low, low + width + 1)]
    weights = [1 / (width + 1) for _, width in ends for _ in range(width + 1)]
    assert found.wasserstein == pytest.approx(wasserstein_distance(values, points, None, weights), abs=1e-9)
    before, after = np.bincount(values, minlength=60) / len(values), np.bincount(points, weights, 60) / len(ends)
    assert found.total_variation == pytest.approx(np.abs(before - after).sum() / 2, abs=1e-9)
    assert found.hellinger == pytest.approx(math.sqrt(((before**0.5 - after**0.5) ** 2).sum() / 2), abs=1e-6)


@given(
    values=st.lists(st.integers(0, 100), min_size=1, max_size=10),
    ends=st.lists(st.tuples(st.integers(0, 100), st.integers(0, 50)), min_size=1, max_size=8),
)
def test_ranges_of_numbers_against_fine_sampling(values: list[int], ends: list[tuple[int, int]]) -> None:
    scaled = [value / 8 for value in values]
    found = one(Kind.NUMBER, scaled, [f"[{low / 8}..{(low + width) / 8}]" for low, width in ends])
    fine = (np.arange(500) + 0.5) / 500
    points = np.concatenate([low / 8 + width / 8 * fine for low, width in ends])
    assert found.wasserstein == pytest.approx(wasserstein_distance(scaled, points), abs=0.01)


def test_whole_numbers_far_apart_are_a_continuous_scale() -> None:
    found = one(Kind.INTEGER, [0, 10**9], ["0", "[0-1000000000]"])
    assert found.wasserstein == pytest.approx(10**9 / 4, rel=1e-6)


def test_the_order_of_rows_does_not_matter_and_the_original_is_at_no_distance() -> None:
    people = sf.Table.from_frame(sf.samples.patients(300))
    schema = sf.Schema.from_roles(quasi=["age", "sex", "zip", "admission"], sensitive=["disease", "cost"], other="drop")
    released = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)]).table
    shuffled = Table(released.frame.sample(fraction=1.0, shuffle=True, seed=1))
    found, again = column_distances(people, schema, released), column_distances(people, schema, shuffled)
    assert [*found] == ["age", "sex", "zip", "admission", "disease", "cost"]
    for name, each in found.items():
        assert each.total_variation == pytest.approx(again[name].total_variation)
        assert each.wasserstein == (None if again[name].wasserstein is None else pytest.approx(again[name].wasserstein))
    assert found["disease"].total_variation == 0
    assert found["age"].total_variation > 0
    for each in column_distances(people, schema, people).values():
        assert (each.total_variation, each.hellinger, each.wasserstein or 0) == (0, 0, 0)


def test_stars_are_even_over_the_domain() -> None:
    found = one(Kind.CATEGORY, ["a"] * 9 + ["b"], ["*"] * 10)
    assert found.total_variation == pytest.approx(0.4)
