"""Adult with the given hierarchies: Incognito against a group-by of relabelled rows at every node."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.tabular import Incognito, Optimal
from sfumato.tabular.lattice.branch import Branch, Tree, View, Visit
from sfumato.tabular.lattice.cheapest import cheap_nodes
from sfumato.tabular.lattice.lattice import JudgedNode, Lattice, Levels
from sfumato.tabular.lattice.loss import METRICS
from sfumato.tabular.problem import Problem

QUASI = ["age", "workclass", "marital-status", "race", "sex"]


EIGHT = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]


def adult(data: Callable[[str], Path], names: list[str]) -> tuple[sf.Table, sf.Schema]:
    """Adult's training rows with the given quasi-identifiers and their hierarchies."""
    trees = {name: sf.Hierarchy.from_csv(data(f"adult_hierarchies/{name}.csv")) for name in names}
    columns = {name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree, missing=("?",)) for name, tree in trees.items()}
    return sf.read(data("adult_train.csv.gz")), sf.Schema(columns, other="drop")


def test_incognito_judges_few_nodes_of_adult(data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[Levels] = set()
    tally = Lattice.tally

    def counted(lattice: Lattice, levels: Levels) -> JudgedNode:
        seen.add(levels)
        return tally(lattice, levels)

    monkeypatch.setattr(Lattice, "tally", counted)
    Incognito().anonymize(*adult(data, EIGHT), [sf.KAnonymity(5)])
    assert len(seen) == 134


@pytest.mark.parametrize("threads", ["1", "2"])
def test_optimal_visits_few_branches_of_adult_however_many_threads(
    threads: str, data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Branch] = []
    visit = Tree.visit

    def counted(tree: Tree, branch: Branch, view: View, best: float) -> Visit:
        seen.append(branch)
        return visit(tree, branch, view, best)

    monkeypatch.setattr(Tree, "visit", counted)
    monkeypatch.setenv("SFUMATO_THREADS", threads)
    Optimal(suppress=0.02).anonymize(*adult(data, EIGHT), [sf.KAnonymity(5)])
    assert len(seen) == 305


def test_weighted_and_limited_searches_of_adult_find_what_trying_every_node_finds(data: Callable[[str], Path]) -> None:
    table, schema = adult(data, QUASI)
    wishes: dict[str, dict[str, Any]] = {"age": {"weight": 5.0}, "race": {"weight": 0.2}, "sex": {"max_level": 0}}
    columns = {name: replace(one, **wishes.get(name, {})) for name, one in schema.columns.items()}
    lattice = Lattice.of(Problem.of(table, replace(schema, columns=columns), [sf.KAnonymity(10)]))
    costs = {}
    for node in itertools.product(
        *(range(low, high + 1) for low, high in zip(lattice.lows, lattice.highs, strict=True))
    ):
        tally = lattice.tally(node)
        if tally.failing_rows <= 600:
            costs[node] = METRICS["ncp"](lattice, tally).total
    found = cheap_nodes(lattice, "ncp", 600, most=10)
    assert found.proven
    assert [cost for cost, _ in found.nodes] == pytest.approx(sorted(costs.values())[:10])
    assert all(node[QUASI.index("sex")] == 0 for _, node in found.nodes)


def test_minimal_nodes_of_adult_equal_those_of_a_group_by_per_node(data: Callable[[str], Path]) -> None:
    table, schema = adult(data, QUASI)
    trees = {name: column.hierarchy for name, column in schema.columns.items() if column.hierarchy is not None}
    found = Incognito().minimal_nodes(table, schema, [sf.KAnonymity(5)])

    raw = table.frame.select(pl.col(QUASI).cast(pl.String)).group_by(QUASI).len("rows")
    good = []
    for node in itertools.product(*(range(len(trees[name].paths[0])) for name in QUASI)):
        shown = [
            pl.col(name).replace(
                {path[0]: path[level] for path in trees[name].paths}
                | ({"?": "*"} if level == len(trees[name].paths[0]) - 1 else {})
            )
            for name, level in zip(QUASI, node, strict=True)
        ]
        sizes = raw.with_columns(shown).group_by(QUASI).agg(pl.col("rows").sum())["rows"].to_list()
        if min(sizes) >= 5:
            good.append(node)
    minimal = {
        node
        for node in good
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in good)
    }
    assert len(minimal) > 1
    assert {tuple(one.levels.values()) for one in found} == minimal
