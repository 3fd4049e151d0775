"""Branches of a lattice's tree against counting in dictionaries: what fails, and what each column costs at least."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.hierarchy import builders as build
from sfumato.tabular.lattice.branch import Branch, Tree, View
from sfumato.tabular.lattice.branch_kernel import condense, foresee
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.problem import Problem

ZIPS = ["11", "12", "21", "22"]
TREES = {"age": build.intervals(range(12), [2, 4]), "zip": build.prefixes(ZIPS, [1]), "sex": build.flat(["F", "M"])}
ROWS = st.lists(
    st.tuples(st.integers(0, 11), st.sampled_from(ZIPS), st.sampled_from("FM")),
    min_size=6,
    max_size=60,
)
K = 3


def _tree(rows: list[tuple[int, str, str]], limit: int) -> Tree:
    table = sf.Table.from_frame(pl.DataFrame(rows, schema=list(TREES), orient="row"))
    schema = sf.Schema({name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree) for name, tree in TREES.items()})
    return Tree(Lattice.of(Problem.of(table, schema, [sf.KAnonymity(K)])), "ncp", limit)


def _labels(lattice: Lattice, levels: Levels) -> list[tuple[str, ...]]:
    """Return what each row shows at a node."""
    return [
        tuple(
            ladder.labels[level][ladder.nodes[level][code]]
            for ladder, level, code in zip(lattice.ladders, levels, lattice.codes[cell], strict=True)
        )
        for cell in lattice.cell_of_point[lattice.problem.points.ids].tolist()
    ]


def _slow_cost(lattice: Lattice, levels: Levels, column: int) -> tuple[int, float]:
    """Return the failing rows of a node, and what all rows pay for one column, failing ones the whole of it."""
    shown = _labels(lattice, levels)
    sizes, ladder = Counter(shown), lattice.ladders[column]
    loss = dict(zip(ladder.labels[levels[column]], ladder.losses[levels[column]].tolist(), strict=True))
    failing = sum(sizes[label] < K for label in shown)
    return failing, failing + sum(loss[label[column]] for label in shown if sizes[label] >= K)


@given(ROWS, st.integers(0, 2), st.integers(0, 3), st.integers(0, 60))
@settings(deadline=None)
def test_what_a_branch_foresees_is_what_a_count_of_its_rows_finds(
    rows: list[tuple[int, str, str]], fixed: int, level: int, limit: int
) -> None:
    tree = _tree(rows, limit)
    top = tree.lattice.top
    level = min(level, top[fixed])
    view = tree.fix(tree.whole, (fixed,), (level,))
    base = (*top[:fixed], level, *top[fixed + 1 :])
    assert view.parts.failing == _slow_cost(tree.lattice, base, 0)[0]
    free = np.setdiff1d(np.arange(3), [fixed])
    lows = np.zeros(2, dtype=np.int64)
    lighter = View(*condense(tree.steps, *view, free, lows))
    for one in (view, lighter):
        paid, costs = foresee(tree.steps, *one, free, lows, K, limit)
        assert math.isclose(paid + view.parts.failing, _slow_cost(tree.lattice, base, fixed)[1], abs_tol=1e-9)
        for column in free.tolist():
            for finer in range(top[column]):
                node = (*base[:column], finer, *base[column + 1 :])
                failing, cost = _slow_cost(tree.lattice, node, column)
                wanted = cost if failing <= limit else math.inf
                assert math.isclose(costs[column, finer], wanted, abs_tol=1e-9)


@given(ROWS, st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_a_descent_meets_every_node_that_costs_less_than_the_best(rows: list[tuple[int, str, str]], limit: int) -> None:
    tree = _tree(rows, limit)
    shape = tree.lattice.shape
    costs = {}
    for node in np.ndindex(shape):
        parts = [_slow_cost(tree.lattice, node, column) for column in range(3)]
        if parts[0][0] <= limit:
            costs[node] = sum(cost for _, cost in parts)
    least = min(costs.values())
    found = tree.descend(tree.root, tree.whole, math.inf, lambda: False)
    assert math.isclose(min(leaf.bound for leaf in found.leaves), least, abs_tol=1e-9)
    assert all(math.isclose(leaf.bound, costs[leaf.node()], abs_tol=1e-9) for leaf in found.leaves)
    assert tree.descend(tree.root, tree.whole, least, lambda: False).leaves == []


@given(ROWS, st.lists(st.sampled_from([0.001, 0.3, 1.0, 7.0, 1000.0]), min_size=3, max_size=3))
@settings(max_examples=60, deadline=None)
def test_no_node_below_a_branch_costs_less_than_its_bound(
    rows: list[tuple[int, str, str]], weights: list[float]
) -> None:
    plain = _tree(rows, limit=len(rows) // 3)
    tree = replace(plain, lattice=replace(plain.lattice, weights=np.array(weights)))
    waiting: list[Branch] = [tree.root]
    while waiting:
        branch = waiting.pop()
        for node in np.ndindex(tree.lattice.shape):
            if all(node[column] == level for column, level in zip(branch.columns, branch.levels, strict=True)):
                parts = [_slow_cost(tree.lattice, node, column) for column in range(3)]
                whole = sum(weight * cost for weight, (_, cost) in zip(weights, parts, strict=True))
                assert parts[0][0] > tree.limit or branch.bound <= whole * (1 + 1e-9) + 1e-9
        waiting += tree.visit(branch, tree.enter(branch), math.inf).below
