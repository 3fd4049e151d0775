"""Penalties, covers and near cells against slow twins, over columns of every kind."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recoding_twins import KINDS, class_cost, cost_of, mixed_problem

import sfumato as sf
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.classes_kernel import class_penalties, growths
from sfumato.tabular.local_recoding.cover_kernel import begin, cheapest, widen
from sfumato.tabular.local_recoding.penalties import MOST_PAIRED, penalties
from sfumato.tabular.problem import Problem

SEEDS = st.integers(0, 10_000)


def rows_of(cells: Cells, places: list[int]) -> list[int]:
    return [int(cells.rows[cells.first[place]]) for place in places]


@given(SEEDS, st.integers(1, 9), st.sampled_from([tuple(KINDS), ("age",), ("sex", "place")]))
def test_a_cover_costs_what_its_cells_mean_whatever_the_order(seed: int, count: int, names: tuple[str, ...]) -> None:
    problem = mixed_problem(12, seed, names=names)
    cells, (facts, nodes, costs, width) = Cells.of(problem), penalties(problem.quasi)
    draw = np.random.default_rng(seed)
    places = draw.integers(0, cells.count, count).tolist()
    covers = np.zeros((2, width), dtype=np.int64)
    begin(facts, cells.codes, places[0], covers, 1)
    for place in places[1:]:
        widen(facts, nodes, cells.codes, place, covers, 1)
    every, floors = np.arange(cells.count), np.zeros(cells.count)
    expected = [class_cost(problem, rows_of(cells, [*places, int(cell)])) for cell in every]
    _, cost = cheapest(facts, nodes, costs, cells.codes, covers, 1, every, floors, 0, len(every), 0.0)
    assert cost == pytest.approx(min(expected))
    for cell in range(cells.count):
        floors[:] = 0.0
        place, cost = cheapest(facts, nodes, costs, cells.codes, covers, 1, every, floors, cell, cell + 1, 0.0)
        assert place == cell
        assert cost == pytest.approx(expected[cell])


@given(SEEDS)
def test_floors_never_change_which_cell_is_cheapest(seed: int) -> None:
    problem = mixed_problem(30, seed)
    cells, (facts, nodes, costs, width) = Cells.of(problem), penalties(problem.quasi)
    covers, every = np.zeros((1, width), dtype=np.int64), np.arange(cells.count)
    begin(facts, cells.codes, 0, covers, 0)
    floors = np.zeros(cells.count)
    for step in range(1, min(6, cells.count)):
        place, cost = cheapest(facts, nodes, costs, cells.codes, covers, 0, every, floors, 0, len(every), -1.0)
        fresh = cheapest(facts, nodes, costs, cells.codes, covers, 0, every, np.zeros(len(every)), 0, len(every), -1.0)
        assert (place, cost) == fresh
        widen(facts, nodes, cells.codes, step, covers, 0)


@given(SEEDS, st.integers(1, 5))
def test_classes_and_their_growth_cost_what_their_rows_mean(seed: int, count: int) -> None:
    problem = mixed_problem(20, seed)
    cells, (facts, nodes, costs, width) = Cells.of(problem), penalties(problem.quasi)
    labels = np.random.default_rng(seed).integers(0, count, 20)
    labels[:count] = np.arange(count)
    groups = [np.flatnonzero(labels == group).tolist() for group in range(count)]
    each = class_penalties(facts, nodes, costs, cells.codes, cells.of_row, labels, count, width)
    assert each.tolist() == pytest.approx([class_cost(problem, group) for group in groups])
    grown = growths(facts, nodes, costs, cells.codes, cells.of_row, labels, count, width, 0, 2)
    newcomer = rows_of(cells, [0])
    expected = [
        class_cost(problem, [*group, *newcomer]) * (len(group) + 2) - class_cost(problem, group) * len(group)
        for group in groups
    ]
    assert grown.tolist() == pytest.approx(expected)


def near_costs(problem: Problem, reach: int) -> None:
    """Compare the near cells of a problem with those that trying all finds."""
    cells, found = Cells.of(problem), penalties(problem.quasi)
    places = np.arange(cells.count)[::2].copy()
    near = cells.near(found, places, reach)
    for row, place in list(enumerate(places.tolist()))[::25]:
        pairs = {other: class_cost(problem, rows_of(cells, [place, other])) for other in places.tolist()}
        expected = sorted(cost for other, cost in pairs.items() if other != place)[:reach]
        got = [pairs[other] for other in near[row].tolist() if other >= 0]
        assert got == pytest.approx(expected)
        assert len(set(near[row][near[row] >= 0].tolist())) == len(got)


@pytest.mark.parametrize("seed", range(3))
def test_near_cells_are_those_that_cost_least_together(seed: int) -> None:
    near_costs(mixed_problem(400, seed), 7)


def test_near_cells_of_a_column_with_too_many_codes_for_a_table_of_pairs() -> None:
    draw = np.random.default_rng(0)
    frame = pl.DataFrame({"age": draw.permutation(3 * MOST_PAIRED)[:300], "pay": draw.normal(size=300).round(9)})
    problem = Problem.of(sf.Table(frame), sf.Schema.from_roles(quasi=["age", "pay"]), [sf.KAnonymity(2)])
    assert max(column.size for column in problem.quasi) > MOST_PAIRED
    near_costs(problem, 5)


def test_weights_multiply_a_columns_penalty() -> None:
    problem = mixed_problem(12, 3)
    cells, age = Cells.of(problem), problem.quasi[0]
    once, thrice = (
        class_penalties(*found[:3], cells.codes, cells.of_row, np.zeros(12, dtype=np.int64), 1, found.width)[0]
        for found in (penalties(problem.quasi), penalties(problem.quasi, {"age": 3.0}))
    )
    assert age.name == "age"
    assert cost_of(age, set(age.codes.tolist())) > 0
    assert thrice - once == pytest.approx(2 * cost_of(age, set(age.codes.tolist())))
