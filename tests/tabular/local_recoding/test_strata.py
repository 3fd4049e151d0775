"""Strata of sensitive values: their shares, what a class lacks by a slow twin, and what they are worth to a search."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.compiling import working_time
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.penalties import penalties
from sfumato.tabular.local_recoding.search import Bench, search
from sfumato.tabular.local_recoding.start import compiled_test, start_classes, total_penalty
from sfumato.tabular.local_recoding.strata import MOST, Strata, strata_of
from sfumato.tabular.local_recoding.strata_kernel import (
    begin_class,
    lacking_first,
    take_in,
    want_as_rows,
    want_as_table,
)
from sfumato.tabular.microaggregation.search.improve import Limit
from sfumato.tabular.problem import Problem


def skewed(rows: int, seed: int) -> Problem:
    """Return a table whose sensitive values follow age, so that near rows are alike, under t-closeness."""
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 60, rows)
    ill = np.array(["flu", "gout", "cold", "none"])[(age // 15 + (draw.random(rows) < 0.3)) % 4]
    table = sf.Table(pl.DataFrame({"age": age, "zip": draw.integers(0, 40, rows), "ill": ill}))
    schema = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["ill"])
    return Problem.of(table, schema, [sf.KAnonymity(3), sf.TCloseness(0.3, "ill")])


def made_of(of_row: list[list[int]]) -> Strata:
    shares = np.array([[column.count(stratum) / len(column) for stratum in range(MOST)] for column in of_row])
    return Strata(np.array(of_row, dtype=np.int32), shares, np.zeros(shares.shape, dtype=np.int64), shares.copy())


def lacked_slowly(strata: Strata, taken: list[int], spare: list[int], bar: float) -> set[int]:
    """Return the spare rows whose stratum is lacked by the bar, or by the most that any of them is lacked."""
    column = len(taken) % len(strata.shares)
    of_row, have = strata.of_row[column].tolist(), Counter(strata.of_row[column, taken].tolist())
    lack = {row: strata.want[column, of_row[row]] * (len(taken) + 1) - have[of_row[row]] for row in spare}
    most = max(lack.values(), default=0.0)
    return {row for row, value in lack.items() if value >= min(bar, most)}


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=20),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.25, 0.5, 0.75]),
    st.booleans(),
)
def test_the_rows_that_a_class_lacks_come_first_as_a_slow_twin_says(
    values: list[tuple[int, int]], members: int, bar: float, by_table: bool
) -> None:
    rows = len(values)
    strata = made_of([[one for one, _ in values], [other for _, other in values]])
    members = min(members, rows - 1)
    if by_table:
        want_as_table(strata)
        np.testing.assert_allclose(strata.want, strata.shares)
    else:
        want_as_rows(strata, np.arange(rows // 2 + 1), rows // 2 + 1)
        np.testing.assert_allclose(strata.want.sum(axis=1), 1.0)
    begin_class(strata, 0)
    for row in range(1, members):
        take_in(strata, row)
    owners = np.arange(members, rows)
    spare, floors = owners * 10, owners / 7
    expected = lacked_slowly(strata, list(range(members)), owners.tolist(), bar)
    front = lacking_first(strata, members, bar, owners, spare, floors, len(owners))
    assert set(owners[:front].tolist()) == expected
    assert sorted(owners.tolist()) == list(range(members, rows))
    np.testing.assert_array_equal(spare, owners * 10)  # cells and floors stay with their rows
    np.testing.assert_allclose(floors, owners / 7)


def test_only_models_that_weigh_all_values_need_strata() -> None:
    problem = skewed(60, 0)
    found = strata_of(problem)
    assert found is not None
    np.testing.assert_allclose(found.shares.sum(axis=1), 1.0)
    table, schema = problem.table, problem.schema
    for models in ([sf.LDiversity(2, "ill")], [sf.AlphaK(0.5, 3, "ill")], [sf.KAnonymity(3)]):
        assert strata_of(Problem.of(table, schema, models)) is None
    entropy = Problem.of(table, schema, [sf.LDiversity(2, "ill", kind="entropy")])
    assert strata_of(entropy) is not None


@pytest.mark.parametrize("seed", range(3))
def test_with_strata_the_same_number_of_attempts_loses_less(seed: int) -> None:
    problem = skewed(400, seed)
    cells, costs = Cells.apart(problem), penalties(problem.quasi)
    start, lost = start_classes(problem, cells, costs), []
    for strata in (None, strata_of(problem)):
        bench = Bench(cells, costs, start, problem.least_units, compiled_test(problem), seed, strata)
        labels = search(bench, Limit(None, 20_000, working_time()), lambda *_: None)
        assert all(problem.admits(np.flatnonzero(labels == group)) for group in range(labels.max() + 1))
        lost.append(total_penalty(cells, costs, labels))
    assert lost[1] < 0.97 * lost[0]
