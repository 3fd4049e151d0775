"""The search: its bookkeeping, its promise under any models, its optimum on few rows, and what it reaches on Adult."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from recoding_twins import class_cost, conformance_problem, least_loss, mixed_problem

import sfumato as sf
from sfumato.audit.minimality import minimality
from sfumato.checks.anonymizers import MODEL_SETS
from sfumato.core.compiling import working_time
from sfumato.errors import ParameterError, SchemaError
from sfumato.evaluate import utility
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.cover_kernel import begin, contains, cost_with, widen
from sfumato.tabular.local_recoding.penalties import penalties
from sfumato.tabular.local_recoding.search import Bench, search, without_large
from sfumato.tabular.local_recoding.start import (
    Deadlines,
    Founding,
    Start,
    compiled_test,
    node_classes,
    start_classes,
    total_penalty,
)
from sfumato.tabular.local_recoding.strata import strata_of
from sfumato.tabular.microaggregation.search.improve import Limit
from sfumato.tabular.problem import Problem

COMPILED = [models for models in MODEL_SETS if all(model.compiled for model in models)]
QUASI = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


def bench_of(problem: Problem, seed: int = 0) -> Bench:
    strata = strata_of(problem)
    cells, costs = Cells.of(problem) if strata is None else Cells.apart(problem), penalties(problem.quasi)
    start = start_classes(problem, cells, costs)
    return Bench(cells, costs, start, problem.least_units, compiled_test(problem), seed, strata)


def cover_cost(bench: Bench, group: int, row: int) -> float:
    """Return what the kept cover of a class costs with one of its rows, as the kernel reads it."""
    facts, nodes, costs, _ = bench.penalties
    return cost_with(facts, nodes, costs, bench.cells.codes, bench.classes.covers, group, bench.cells.of_row[row], 99.0)


def classes(labels: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(labels == group).tolist() for group in np.unique(labels)]


@pytest.mark.parametrize("models", COMPILED, ids=str)
@pytest.mark.parametrize("heat", [0.0, 1.0])
def test_chains_sizes_costs_and_total_stay_true_and_every_class_holds(
    models: Sequence[sf.models.Model], heat: float
) -> None:
    problem = conformance_problem(120, 4, models)
    bench = bench_of(problem)
    begun = bench.total
    bench.look_at_costly()
    for _ in range(5):
        bench.attempt(200, heat)
        bench.open_and_close(200, heat)
    found = bench.classes
    groups = classes(found.label)
    assert sorted(itertools.chain(*groups)) == list(range(120))
    for rows in groups:
        group = int(found.label[rows[0]])
        chain, row = [], int(found.head[group])
        while row >= 0:
            chain.append(row)
            row = int(found.after[row])
        assert sorted(chain) == rows
        assert found.size[group] == len(rows)
        assert found.cost[group] == pytest.approx(class_cost(problem, rows))
        assert cover_cost(bench, group, rows[0]) == pytest.approx(class_cost(problem, rows))
        assert problem.admits(np.array(rows))
    assert bench.total == pytest.approx(sum(len(rows) * class_cost(problem, rows) for rows in groups))
    assert heat > 0 or bench.total <= begun + 1e-9


def test_few_rows_nearly_always_end_at_the_optimum_that_trying_all_finds() -> None:
    ratios = []
    for seed in range(12):
        problem = mixed_problem(8, seed, k=2 + seed % 2)
        labels = search(bench_of(problem), Limit(None, 4_000, working_time()), lambda *_: None)
        reached = sum(len(rows) * class_cost(problem, rows) for rows in classes(labels))
        ratios.append(reached / least_loss(problem, 2 + seed % 2))
    assert min(ratios) >= 1 - 1e-9
    assert np.isclose(ratios, 1).sum() >= 10
    assert max(ratios) <= 1.1


def test_the_loss_is_what_the_released_labels_show() -> None:
    problem = mixed_problem(60, 1, k=3)
    release = sf.LocalRecoding(iterations=300, seconds=None, keep_order=True).anonymize(
        problem.table, problem.schema, problem.models
    )
    measured = utility(problem.table, problem.schema, release.table).gcp
    assert release.steward["certainty_lost"] == pytest.approx(measured)
    columns = sf.LocalRecoding(iterations=300, seconds=None, keep_order=True, ranges="columns").anonymize(
        problem.table, problem.schema, problem.models
    )
    assert {"born_min", "age_max"} <= set(columns.table.names)


def test_a_date_is_shown_by_its_period() -> None:
    days = ["2001-03-02", "2001-03-30", "2004-05-06", "2004-06-06"]
    schema = sf.Schema({"born": sf.Attribute("born", sf.Role.QUASI, sf.Kind.DATE)})
    release = sf.LocalRecoding(iterations=50, seconds=None, keep_order=True).anonymize(
        sf.Table(pl.DataFrame({"born": days})), schema, [sf.KAnonymity(2)]
    )
    assert release.frame["born"].to_list() == ["2001-03", "2001-03", "2004-Q2", "2004-Q2"]


@pytest.mark.parametrize("models", MODEL_SETS, ids=str)
def test_it_never_loses_more_than_mondrian(models: Sequence[sf.models.Model]) -> None:
    problem = conformance_problem(150, 2, models)
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    ours = sf.LocalRecoding(iterations=500, seconds=None).partition(problem)
    theirs = sf.Mondrian().partition(problem)
    ours_total, theirs_total = (total_penalty(cells, costs, np.asarray(one.rows)) for one in (ours, theirs))
    assert ours_total <= theirs_total + 1e-9


def test_the_same_seed_gives_the_same_classes_and_another_one_others() -> None:
    problem = mixed_problem(200, 5, k=3)
    runs = [sf.LocalRecoding(iterations=800, seconds=None, seed=seed).partition(problem).rows for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


def test_an_interrupt_keeps_the_best_so_far() -> None:
    bench = bench_of(mixed_problem(200, 6, k=3))
    seen: list[float] = []

    def interrupt(_: float, total: float) -> None:
        seen.append(total)
        if len(seen) == 3:
            raise KeyboardInterrupt

    labels = search(bench, Limit(None, 100_000, working_time()), interrupt)
    cells, costs = bench.cells, bench.penalties
    assert total_penalty(cells, costs, labels) == pytest.approx(min(seen))
    assert len(seen) == 3


def test_large_classes_are_split_at_no_cost_and_none_becomes_too_small() -> None:
    problem = mixed_problem(300, 7, k=4)
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    labels = np.random.default_rng(0).integers(0, 6, 300)
    split = without_large(labels, cells, 4)
    sizes = np.bincount(split)
    assert sizes.min() >= 4
    assert sizes.max() < 8
    assert total_penalty(cells, costs, split) <= total_penalty(cells, costs, labels) + 1e-9
    assert all(len(set(labels[split == group].tolist())) == 1 for group in range(len(sizes)))


def test_rows_left_over_join_classes_that_still_hold() -> None:
    problem = conformance_problem(80, 9, [sf.KAnonymity(7), sf.AlphaK(0.6, 7, "disease")])
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    labels = Founding(problem, cells, costs).labels()
    assert labels is not None
    assert all(problem.admits(np.array(rows)) for rows in classes(labels))


@pytest.mark.parametrize("models", COMPILED, ids=str)
@pytest.mark.parametrize("late", [False, True])
def test_classes_of_nodes_hold_every_row_and_each_is_one(models: Sequence[sf.models.Model], late: bool) -> None:
    problem = conformance_problem(120, 6, models)
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    labels = node_classes(problem, cells, costs, working_time() - 1 if late else None)
    assert labels is not None
    assert labels.min() >= 0
    assert all(problem.admits(np.array(rows)) for rows in classes(labels))


def test_rows_that_no_node_holds_and_that_are_too_few_join_the_class_that_grows_least() -> None:
    ages = [*[20] * 5, *[21] * 5, *[80] * 5, 79, 22]
    trees = sf.Hierarchy.from_rows([(str(age), "*") for age in sorted(set(ages))])
    schema = sf.Schema({"age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.CATEGORY, hierarchy=trees)})
    table = sf.Table(pl.DataFrame({"age": [str(age) for age in ages], "sex": ["F"] * 17}))
    columns = {**schema.columns, "sex": sf.Attribute("sex", sf.Role.QUASI)}
    problem = Problem.of(table, sf.Schema(columns), [sf.KAnonymity(5)])
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    labels = node_classes(problem, cells, costs)
    assert labels is not None
    joined = [rows for rows in classes(labels) if 15 in rows or 16 in rows]
    assert [len(rows) for rows in joined] == [7]  # both join one class: a second one would become wide too


@pytest.mark.parametrize("seed", range(3))
def test_a_class_is_opened_for_equal_rows_of_many_classes(seed: int) -> None:
    towns = [town for group in range(8) for town in [*[f"town {group}"] * 5, "village"]]
    bench = flat_bench(towns, np.repeat(np.arange(8), 6), seed)
    assert bench.total == 48
    bench.open_and_close(500, 0.0)
    assert bench.total == 0
    assert bench.count == 9


@pytest.mark.parametrize("seed", range(3))
def test_a_class_is_closed_where_each_row_fits_another_one(seed: int) -> None:
    towns = [f"town {place % 6}" for place in range(36)]
    bench = flat_bench(towns, np.where(np.arange(36) < 30, np.arange(36) % 6, 6), seed)
    assert bench.total == 6
    bench.open_and_close(500, 0.0)
    assert bench.total == 0
    assert bench.count == 6


def flat_bench(towns: list[str], labels: np.ndarray, seed: int) -> Bench:
    """Return a bench over one column that is shown by its values or wholly suppressed, k = 5."""
    tree = sf.Hierarchy.from_rows([(town, "*") for town in sorted(set(towns))])
    schema = sf.Schema({"town": sf.Attribute("town", sf.Role.QUASI, hierarchy=tree)})
    problem = Problem.of(sf.Table(pl.DataFrame({"town": towns})), schema, [sf.KAnonymity(5)])
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    near = cells.near(costs, np.arange(cells.count), 6)
    return Bench(cells, costs, Start(labels.astype(np.int64), near), 5, None, seed)


def test_what_a_cover_has_and_costs_with_one_cell_more_is_what_its_values_mean() -> None:
    problem = mixed_problem(80, 3)
    cells, (facts, nodes, costs, width) = Cells.of(problem), penalties(problem.quasi)
    draw, covers = np.random.default_rng(3), np.zeros((1, width), dtype=np.int64)
    for _ in range(300):
        rows = draw.integers(0, 80, draw.integers(1, 5)).tolist()
        other, most = int(draw.integers(0, 80)), draw.random() * 5
        begin(facts, cells.codes, cells.of_row[rows[0]], covers, 0)
        for row in rows[1:]:
            widen(facts, nodes, cells.codes, cells.of_row[row], covers, 0)
        wanted, before = class_cost(problem, [*rows, other]), class_cost(problem, rows)
        cell = cells.of_row[other]
        found = cost_with(facts, nodes, costs, cells.codes, covers, 0, cell, most)
        assert found == pytest.approx(wanted) if wanted <= most - 1e-9 else wanted > most - 1e-9 and found > most - 1e-9
        held = contains(facts, nodes, cells.codes, covers, 0, cell)
        assert not held or wanted == pytest.approx(before)
        assert held or other not in rows


def test_a_look_at_costly_rows_without_time_leaves_the_near_cells_as_they_are() -> None:
    bench = bench_of(mixed_problem(200, 6, k=3))
    before = bench.near
    assert not bench.look_at_costly(working_time() - 1)
    np.testing.assert_array_equal(bench.near, before)
    assert bench.look_at_costly()
    assert len(bench.near) == len(before) + 3


def test_without_time_for_a_start_it_goes_on_from_mondrians() -> None:
    problem = mixed_problem(300, 8, k=4)
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    start = start_classes(problem, cells, costs, Deadlines.of(working_time() - 2, 1))
    np.testing.assert_array_equal(start.labels, sf.Mondrian().partition(problem).rows)
    assert start.near is None
    bench = Bench(cells, costs, start, 4, None, 0)
    labels = search(bench, Limit(None, 5_000, working_time()), lambda *_: None)
    assert total_penalty(cells, costs, labels) < total_penalty(cells, costs, start.labels)
    short = sf.LocalRecoding(seconds=1e-9).partition(problem)
    assert total_penalty(cells, costs, short.rows) <= total_penalty(cells, costs, start.labels)


def test_a_column_that_tells_about_the_target_loses_less_and_weights_are_the_stewards() -> None:
    draw = np.random.default_rng(0)
    age, town = draw.integers(0, 80, 600), draw.integers(0, 80, 600)
    frame = pl.DataFrame({"age": age, "town": town, "income": np.where(age > 40, "high", "low")})
    schema = sf.Schema.from_roles(quasi=["age", "town"], other="keep")
    table = sf.Table(frame)
    lost = {}
    for target in (None, "income"):
        ours = sf.LocalRecoding(iterations=3_000, seconds=None, target=target)
        release = ours.anonymize(table, schema, [sf.KAnonymity(10)])
        lost[target] = utility(table, schema, release.table).columns["age"].ncp
        assert ("weight of age" in release.steward) == (target is not None)
        assert "weight of" not in release.card.to_json()
        told = "Columns were weighed by what they tell about income, learnt from the rows"
        assert any(change.startswith(told) for change in release.card.changes) == (target is not None)
        weighs = "what columns tell about 'income' weighs them: age "
        assert [note[: len(weighs)] for note in release.notes] == ([] if target is None else [weighs])
    assert lost["income"] < 0.7 * lost[None]
    with pytest.raises(SchemaError, match="the target 'age' is a quasi-identifier"):
        sf.LocalRecoding(target="age").anonymize(table, schema, [sf.KAnonymity(10)])
    private = sf.Schema.from_roles(quasi=["age", "town"], sensitive=["income"])
    with pytest.raises(ParameterError, match="the target 'income' is sensitive"):
        minimality(table, private, [sf.LDiversity(2, "income")], sf.LocalRecoding(iterations=9, target="income"))


def test_weights_that_the_steward_declares_stand_beside_a_target() -> None:
    draw = np.random.default_rng(1)
    age, town = draw.integers(0, 80, 300), draw.integers(0, 80, 300)
    table = sf.Table(pl.DataFrame({"age": age, "town": town, "income": np.where(age > 40, "high", "low")}))
    found = {}
    for target, weights in ((None, (1, 5)), ("income", (1, 5)), ("income", (None, None))):
        columns = {
            name: sf.Attribute(name, sf.Role.QUASI, weight=weight)
            for name, weight in zip(("age", "town"), weights, strict=True)
        }
        problem = Problem.of(table, sf.Schema(columns, other="keep"), [sf.KAnonymity(10)])
        search = sf.LocalRecoding(iterations=500, seconds=None, target=target)
        found[target, weights] = search.partition(problem).rows.tolist()
    assert found[None, (1, 5)] == found["income", (1, 5)] != found["income", (None, None)]


def test_a_search_without_an_end_is_refused() -> None:
    with pytest.raises(ParameterError, match="would never stop; give 'iterations', 'seconds' or both"):
        sf.LocalRecoding(seconds=None)


def test_somebody_who_knows_the_algorithm_learns_from_what_it_did_not_split() -> None:
    people = sf.Table(pl.DataFrame({"age": [20, 20, 30, 30, 30], "ill": ["HIV", "HIV", "flu", "gout", "cold"]}))
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
    models = [sf.KAnonymity(2), sf.LDiversity(2, "ill")]
    [finding] = minimality(people, schema, models, sf.LocalRecoding(iterations=100, seconds=None))
    assert finding.verdict == "REFUTED"
    assert finding.evidence["persons"][0]["share"] == 1.0
    with pytest.raises(ParameterError, match=r"stops by the clock never does the same twice.*give --iterations"):
        minimality(people, schema, models, sf.LocalRecoding())


@pytest.fixture
def adult(data: Callable[[str], Path]) -> Problem:
    """Return Adult's complete rows with eight quasi-identifiers and their hierarchies."""
    table = sf.read(data("adult_train.csv.gz"))
    complete = table.frame.filter(pl.all_horizontal(pl.col(QUASI).cast(pl.String) != "?"))
    trees = {name: sf.Hierarchy.from_csv(data(f"adult_hierarchies/{name}.csv")) for name in QUASI}
    columns = {name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree) for name, tree in trees.items()}
    return Problem.of(sf.Table(complete), sf.Schema(columns, other="drop"), [sf.KAnonymity(5)])


@pytest.mark.parametrize("k, most", [(5, 0.0585), pytest.param(10, 0.092, marks=pytest.mark.long)])
def test_adult_under_the_published_hierarchies(adult: Problem, k: int, most: float) -> None:
    # Mondrian loses 0.068 and 0.100 here; these are bars for the start and a few hundredths of a usual search.
    problem = replace(adult, models=[sf.KAnonymity(k)])
    found = sf.LocalRecoding(iterations=5_000, seconds=None, seed=3).partition(problem)
    assert found.steward["certainty_lost"] <= most
    assert np.bincount(found.classes).min() >= k
