"""Minimal sample uniques beside brute force over all subsets of columns, their scores, and the chances made of them."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.evaluate.population.suda import (
    UniqueSets,
    dis_suda,
    largest_size,
    number_of_sets,
    set_scores,
    suda_scores,
    summarise,
)

Int64s = npt.NDArray[np.int64]
TABLES = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.lists(st.integers(0, 3), min_size=columns, max_size=columns), min_size=1, max_size=14)
)


def slow_sets(rows: list[list[int]], row: int, star: int | None) -> list[tuple[int, ...]]:
    """All minimal sets of columns on which a row is alone, by looking at every subset and every other row."""
    columns = range(len(rows[0]))

    def alone(chosen: tuple[int, ...]) -> bool:
        mine = [rows[row][column] for column in chosen]
        if star in mine:
            return False
        return all(mine != [other[column] for column in chosen] for place, other in enumerate(rows) if place != row)

    unique = [chosen for size in range(1, len(columns) + 1) for chosen in combinations(columns, size) if alone(chosen)]
    return [chosen for chosen in unique if not any(set(other) < set(chosen) for other in unique)]


@given(TABLES, st.sampled_from([None, 3]), st.integers(1, 4))
def test_sets_are_those_of_brute_force(rows: list[list[int]], star: int | None, most: int) -> None:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    largest = min(most, len(columns))
    found = UniqueSets.of(columns, largest, [column == (-1 if star is None else star) for column in columns])
    by_column = np.zeros((len(columns), largest), dtype=np.int64)
    for row in range(len(rows)):
        sets = [chosen for chosen in slow_sets(rows, row, star) if len(chosen) <= largest]
        sizes = [len(chosen) for chosen in sets]
        assert found.by_row[row].tolist() == [sizes.count(size) for size in range(1, largest + 1)]
        for chosen in sets:
            by_column[list(chosen), len(chosen) - 1] += 1
    assert (found.by_column == by_column).all()


def test_scores_are_products_over_the_sizes_above() -> None:
    assert set_scores(8, 3).tolist() == [7 * 6 * 5, 6 * 5, 5]
    assert set_scores(4, 4).tolist() == [math.factorial(3), 2, 1, 1]
    assert set_scores(1, 1).tolist() == [1]


def test_scores_and_shares_of_a_small_table() -> None:
    codes = [np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0]), np.array([0, 0, 0, 0, 0])]
    found = UniqueSets.of(codes, 3)
    scores = suda_scores(found)
    assert scores.tolist() == [1, 1, 1, 1, 2]  # pairs of the first two columns, and a value that occurs once
    told = summarise(found, scores, scores, ["a", "b", "c"], uniques=6)
    assert (told.sets, told.rows, told.missed) == ([1, 4, 0], 5, 1)
    assert told.columns == {"a": 1.0, "b": pytest.approx(4 / 6), "c": 0.0}


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=40), st.integers(1, 30), st.floats(0.01, 0.99))
def test_harmonic_mean_of_the_odds_is_the_odds_of_a_right_match(scores: list[int], columns: int, chance: float) -> None:
    given_scores = np.array(scores, dtype=np.float64)
    found = dis_suda(given_scores, columns, chance)
    assert ((found == 0) == (given_scores == 0)).all()
    scored = found[given_scores > 0]
    if len(scored):
        assert np.mean(1 / scored - 1) == pytest.approx(1 / chance - 1, rel=1e-9)
        order = np.argsort(given_scores[given_scores > 0])
        assert (np.diff(scored[order]) >= -1e-12).all()


def test_no_chance_without_uniques_and_certainty_without_pairs() -> None:
    assert dis_suda(np.array([1.0]), 4, None).tolist() == [0]
    assert dis_suda(np.array([3.0, 1.0, 0.0]), 4, 1.0).tolist() == [1, 1, 0]


def test_sizes_that_are_tried() -> None:
    assert [largest_size(columns) for columns in (1, 8, 12, 13, 20, 200)] == [1, 8, 12, 6, 3, 1]
    assert number_of_sets(20, 3) == 20 + 190 + 1140
    with pytest.raises(ParameterError, match="has 9 and the table 8 quasi-identifiers; give 1 to 8"):
        largest_size(8, 9)
    assert largest_size(8, 8, rows=2_000_000) == 8
    with pytest.raises(
        ParameterError, match="sets of 8 columns of 3000000 rows do not fit into memory; give at most 3"
    ):
        largest_size(8, 8, rows=3_000_000)
