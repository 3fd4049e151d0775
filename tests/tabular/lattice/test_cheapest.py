"""The cheapest node: the same as by trying all, at any moment a good one with a true bound, whatever interrupts it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.compiling import working_time
from sfumato.core.progress import listening
from sfumato.models.base import Model
from sfumato.tabular import Optimal
from sfumato.tabular.lattice import cheapest as search
from sfumato.tabular.lattice import optimal
from sfumato.tabular.lattice.cheapest import Cheapest, cheap_nodes, cheapest, node_of_some
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.loss import METRICS
from sfumato.tabular.problem import Problem

Metric = Literal["ncp", "discernibility", "height"]
METRIC_NAMES: tuple[Metric, ...] = ("ncp", "discernibility", "height")
MODELS: dict[str, list[Model]] = {
    "k": [sf.KAnonymity(5)],
    "distinct l": [sf.KAnonymity(4), sf.LDiversity(3, "ill")],
    "t": [sf.KAnonymity(3), sf.TCloseness(0.3, "ill")],
}


def _people(seed: int, columns: int = 5, rows: int = 400) -> pl.DataFrame:
    """Return rows whose columns depend on each other, with numbers and words."""
    draw = np.random.default_rng(seed)
    common = draw.normal(size=rows)
    frame = {f"n{place}": np.round(common * 6 + draw.normal(scale=6, size=rows)) for place in range(columns - 1)}
    return pl.DataFrame(
        {name: values.astype(np.int64) for name, values in frame.items()}
        | {"sex": np.where(common > 0, "F", "M"), "ill": draw.choice(["flu", "gout", "asthma", "none"], rows)}
    )


def _lattice(seed: int, models: list[Model], columns: int = 5) -> Lattice:
    frame = _people(seed, columns)
    schema = sf.Schema.from_roles(quasi=[name for name in frame.columns if name != "ill"], sensitive=["ill"])
    return Lattice.of(Problem.of(sf.Table.from_frame(frame), schema, models))


def _bounded(seed: int, models: list[Model], columns: int = 5) -> Lattice:
    """Return a lattice whose columns have random weights and random lowest and highest levels."""
    lattice, draw = _lattice(seed, models, columns), np.random.default_rng(seed)
    limits = [sorted(draw.integers(0, top + 1, 2).tolist()) for top in lattice.top]
    lows, highs = (
        tuple(pair[end] if draw.random() < 0.6 else default[place] for place, pair in enumerate(limits))
        for end, default in ((0, (0,) * len(limits)), (1, lattice.top))
    )
    return replace(lattice, weights=draw.choice([0.001, 0.5, 1, 3, 1000], len(limits)), lows=lows, highs=highs)


def _slow_cost(lattice: Lattice, metric: str, levels: Levels) -> float:
    """Return what a node costs, row by row and column by column, each column by its weight."""
    tally, cost = lattice.classes(levels)[1], 0.0
    for group, rows in enumerate(tally.sizes.tolist()):
        cell, failing = lattice.codes[tally.frequencies.example[group]].tolist(), bool(tally.failing[group])
        if metric == "discernibility":
            cost += rows * (lattice.table_rows if failing else rows)
            continue
        for ladder, level, code, weight in zip(lattice.ladders, levels, cell, lattice.weights.tolist(), strict=True):
            shown = ladder.top if failing else level
            part = shown if metric == "height" else float(ladder.losses[shown][ladder.nodes[shown][code]])
            cost += rows * weight * part
    return cost


def _costs(lattice: Lattice, metric: str, limit: int, *, floor: bool = False) -> dict[Levels, float]:
    """Return the cost of every allowed node that leaves at most `limit` rows to suppress."""
    found = {}
    for levels in np.ndindex(lattice.shape):
        if not all(low <= level <= high for low, level, high in zip(lattice.lows, levels, lattice.highs, strict=True)):
            continue
        tally = lattice.tally(levels)
        if tally.failing_rows <= limit:
            cost = METRICS[metric](lattice, tally)
            found[levels] = cost.floor if floor else cost.total
    return found


@pytest.mark.parametrize("limit", [0, 40])
@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_the_search_finds_what_trying_every_node_finds(metric: str, models: str, limit: int) -> None:
    lattice = _lattice(1, MODELS[models])
    costs = _costs(lattice, metric, limit)
    found = cheapest(lattice, metric, limit)
    assert found.levels is not None
    assert costs[found.levels] == pytest.approx(min(costs.values()))
    assert found.cost == pytest.approx(min(costs.values()))
    assert found.gap == 0


@pytest.mark.parametrize("limit", [0, 40, 250])
@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("metric", METRIC_NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_with_weights_and_limits_the_search_finds_what_trying_every_node_finds(
    seed: int, metric: str, models: str, limit: int
) -> None:
    lattice = _bounded(seed, MODELS[models], columns=4)
    costs = _costs(lattice, metric, limit)
    for levels, cost in list(costs.items())[::7]:
        assert cost == pytest.approx(_slow_cost(lattice, metric, levels))
    found = cheapest(lattice, metric, limit)
    several = cheap_nodes(lattice, metric, limit, most=5)
    assert several.proven
    assert len({levels for _, levels in several.nodes}) == len(several.nodes)
    assert [cost for cost, _ in several.nodes] == pytest.approx(sorted(costs.values())[:5])
    assert all(cost == pytest.approx(costs[levels]) for cost, levels in several.nodes)
    if not costs:
        assert found.levels is None
        return
    assert found.levels is not None
    assert costs[found.levels] == pytest.approx(min(costs.values()))
    assert found.gap == pytest.approx(0)


@pytest.mark.parametrize("metric", METRIC_NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_a_weighted_search_without_time_has_a_true_bound(seed: int, metric: str) -> None:
    lattice = _bounded(seed, MODELS["k"])
    costs = _costs(lattice, metric, 100)
    found = cheapest(lattice, metric, 100, until=working_time())
    assert found.bound <= min(costs.values(), default=math.inf) * (1 + 1e-9)
    several = cheap_nodes(lattice, metric, 100, most=4, until=working_time())
    others = [cost for levels, cost in costs.items() if levels not in {node for _, node in several.nodes}]
    assert several.bound <= min(others, default=math.inf) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_node_for_some_rows_costs_least_if_nothing_is_suppressed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SOME_VISITS", 1 << 30)
    lattice = _lattice(seed, MODELS["k"])
    for metric in METRIC_NAMES:
        costs = _costs(lattice, metric, lattice.rows - 60, floor=True)
        levels = node_of_some(lattice, metric, 60)
        assert levels is not None
        assert costs[levels] == pytest.approx(min(costs.values()))


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_a_search_without_time_has_a_node_and_a_true_bound(metric: str) -> None:
    lattice = _lattice(2, MODELS["k"])
    costs = _costs(lattice, metric, 40)
    found = cheapest(lattice, metric, 40, until=working_time())
    assert found.levels is not None
    assert found.cost == pytest.approx(costs[found.levels])
    assert found.bound <= min(costs.values()) + 1e-9
    assert found.cost < costs[lattice.top]


def test_ctrl_c_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "DEEP", 0)
    lattice = _lattice(3, MODELS["k"], columns=7)
    told: list[str] = []

    def interrupt(share: float, note: str) -> None:
        assert 0 <= share <= 1
        told.append(note)
        if len(told) == 9:
            raise KeyboardInterrupt

    with listening(interrupt):
        stopped = cheapest(lattice, "ncp", 40)
    whole = cheapest(lattice, "ncp", 40)
    assert len(told) == 9
    assert stopped.levels is not None
    assert lattice.tally(stopped.levels).failing_rows <= 40
    assert stopped.bound <= whole.cost <= stopped.cost
    assert stopped.gap > 0 == whole.gap


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SMALL", 0)
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("SFUMATO_THREADS", threads)
        found.append(cheapest(_lattice(4, MODELS["k"], columns=6), "ncp", 40))
    assert found[0] == found[1] == found[2]


def test_a_large_lattice_is_given_a_time_of_its_own_which_the_steward_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = sf.Schema.from_roles(quasi=["n0", "n1", "n2", "n3", "sex"], sensitive=["ill"])
    table = sf.Table.from_frame(_people(5))
    until: list[float | None] = []

    def watched(*arguments: Any) -> Cheapest:
        until.append(arguments[-1])
        return cheapest(*arguments)

    monkeypatch.setattr(optimal, "cheapest", watched)
    whole = Optimal(suppress=0.1).anonymize(table, schema, [sf.KAnonymity(5)])
    monkeypatch.setattr(optimal, "MOST_NODES", 100)
    begun = working_time()
    release = Optimal(suppress=0.1).anonymize(table, schema, [sf.KAnonymity(5)])
    asked = Optimal(suppress=0.1, seconds=5).anonymize(table, schema, [sf.KAnonymity(5)])
    assert until[0] is None
    assert [None if moment is None else (moment - begun) // 30 for moment in until[1:]] == [2, 0]
    assert release.steward["search_gap"] == 0
    assert "search_gap" not in release.card.to_json()
    assert any("nodes, so the search ended after 60 seconds at most" in note for note in release.notes)
    assert not any("so the search ended" in note for note in (*whole.notes, *asked.notes))


@pytest.mark.parametrize("seed", range(4))
def test_what_a_hurried_search_releases_satisfies_models_that_are_not_monotone(seed: int) -> None:
    frame = _people(seed)
    schema = sf.Schema.from_roles(quasi=["n0", "n1", "n2", "n3", "sex"], sensitive=["ill"])
    models = [sf.KAnonymity(3), sf.TCloseness(0.2, "ill")]
    for local in (False, True):
        algorithm = Optimal(suppress=0.1, seconds=1e-9, local=local)
        release = algorithm.anonymize(sf.Table.from_frame(frame), schema, models)
        measured = {model.model: model.measured for model in release.card.released.models}
        assert measured["k-anonymity"] >= 3
        assert measured["t-closeness"] <= 0.2
        assert 400 - release.table.rows <= 40


def test_the_gap_is_the_share_that_the_cost_could_still_fall() -> None:
    assert search.Cheapest((0,), cost=4.0, bound=3.0).gap == 0.25
    assert search.Cheapest((0,), cost=0.0, bound=0.0).gap == 0
    assert search.Cheapest(None, cost=math.inf, bound=3.0).gap == 1
