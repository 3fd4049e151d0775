"""What the steward is told of a lattice: the nodes, what each costs, and which is released, against slow counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.tabular import Datafly, Incognito, Optimal
from sfumato.tabular.explanation import Explanation
from sfumato.tabular.lattice import solutions
from sfumato.tabular.lattice.lattice import Lattice
from sfumato.tabular.lattice.loss import METRICS
from sfumato.tabular.lattice.solutions import describe_node
from sfumato.tabular.problem import Problem

SCHEMA = sf.Schema.from_roles(quasi=["age", "zip", "sex"])


def people(seed: int = 0, rows: int = 150) -> sf.Table:
    draw = np.random.default_rng(seed)
    frame = {"age": draw.integers(20, 40, rows), "zip": draw.choice(["1", "2", "3"], rows)}
    return sf.Table.from_frame(pl.DataFrame({**frame, "sex": draw.choice(["F", "M"], rows)}))


def node_of(solution: object) -> tuple[int, ...]:
    assert isinstance(solution, dict)
    return tuple(solution["levels"].values())


def facts(explained: Explanation) -> list[dict[str, object]]:
    nodes = explained.facts["nodes"]
    assert isinstance(nodes, list)
    return nodes


@pytest.mark.parametrize("seed", range(3))
def test_a_node_is_described_as_its_release_would_be_counted(seed: int) -> None:
    lattice = Lattice.of(Problem.of(people(seed), SCHEMA, [sf.KAnonymity(4)]))
    for levels in np.ndindex(lattice.shape):
        node = describe_node(lattice, levels)
        shown = [
            tuple(
                ladder.labels[level][ladder.nodes[level][code]]
                for ladder, level, code in zip(lattice.ladders, levels, lattice.codes[cell], strict=True)
            )
            for cell in lattice.cell_of_point[lattice.problem.points.ids].tolist()
        ]
        sizes = Counter(shown)
        kept = [size for size in sizes.values() if size >= 4]
        assert node.classes == len(kept)
        assert node.suppressed == len(shown) - sum(kept)
        assert node.risk == (1 / min(kept) if kept else 0)
        assert node.height == sum(levels)


def test_the_risk_counts_persons_where_they_are_the_unit() -> None:
    frame = pl.DataFrame({"sex": ["F"] * 4 + ["M"] * 6, "id": ["a", "a", "b", "c", "d", "e", "f", "f", "f", "f"]})
    schema = sf.Schema.from_roles(quasi=["sex"], person="id")
    lattice = Lattice.of(Problem.of(sf.Table.from_frame(frame), schema, [sf.KAnonymity(2)]))
    assert describe_node(lattice, (0,)).risk == pytest.approx(1 / 3)


@pytest.mark.parametrize("algorithm", [Optimal(suppress=0.1), Optimal(suppress=0.1, metric="height")])
def test_the_cheapest_nodes_are_those_of_trying_all(algorithm: Optimal) -> None:
    lattice = Lattice.of(Problem.of(people(), SCHEMA, [sf.KAnonymity(4)]))
    costs = {}
    for levels in np.ndindex(lattice.shape):
        tally = lattice.tally(levels)
        if tally.failing_rows <= 15:
            costs[levels] = METRICS[algorithm.metric](lattice, tally).total
    explained = algorithm.explain(people(), SCHEMA, [sf.KAnonymity(4)])
    told = [node_of(solution) for solution in facts(explained)]
    assert len(told) == min(len(costs), solutions.SHOWN) == len(set(told))
    assert [costs[node] for node in told] == pytest.approx(sorted(costs.values())[: len(told)])
    assert [solution["released"] for solution in facts(explained)] == [True] + [False] * (len(told) - 1)
    assert explained.facts["complete"] is True
    assert [line.split(":")[0] for line in explained.lines] == [f"height {sum(node)}" for node in told]
    release = algorithm.anonymize(people(), SCHEMA, [sf.KAnonymity(4)])
    starred = bool(release.card.released.measures["rows_starred"])
    assert release.card.released.classes == describe_node(lattice, told[0]).classes + starred


def test_without_suppression_all_three_list_the_same_minimal_nodes() -> None:
    asked = (people(), SCHEMA, [sf.KAnonymity(4)])
    told = {one.algorithm: facts(one.explain(*asked)) for one in (Incognito(), Optimal(), Datafly())}
    minimal = {node_of(solution) for solution in told["incognito"]}
    assert minimal == {tuple(node.levels.values()) for node in Incognito().minimal_nodes(*asked)}
    assert {node_of(solution) for solution in told["optimal"]} == minimal
    climbed = node_of(told["datafly"][0])
    assert {node_of(solution) for solution in told["datafly"]} == minimal | {climbed}
    assert any(all(map(int.__le__, low, climbed)) for low in minimal)


def test_a_search_that_the_clock_ends_says_so_and_names_no_release() -> None:
    explained = Optimal(suppress=0.1, seconds=1e-9).explain(people(), SCHEMA, [sf.KAnonymity(4)])
    assert "the search ended early, so that others may be cheaper" in explained.words
    assert explained.facts["complete"] is False
    assert not any(solution["released"] for solution in facts(explained))


def test_a_named_node_comes_first_though_others_are_cheaper() -> None:
    lattice = Lattice.of(Problem.of(people(), SCHEMA, [sf.KAnonymity(4)]))
    text = ",".join(map(str, lattice.top))
    for one in (Incognito(node=text), Optimal(node=text, suppress=0.1), Datafly(node=text)):
        explained = one.explain(people(), SCHEMA, [sf.KAnonymity(4)])
        assert node_of(facts(explained)[0]) == lattice.top
        assert "which is none of them" in explained.words
