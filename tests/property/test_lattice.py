"""Lattice searches against brute force: every node judged by the slow and obvious twin."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models.base import Model
from sfumato.tabular import Datafly, Incognito, Optimal
from sfumato.tabular.lattice.cheapest import cheapest
from sfumato.tabular.lattice.datafly import datafly
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.search import minimal, satisfying_nodes
from sfumato.tabular.lattice.suppression import most_rows, recode_locally, recode_node, stands
from sfumato.tabular.problem import Problem

ILLNESSES = ("asthma", "flu", "gout")


@dataclass(frozen=True)
class Case:
    """A small table with hierarchies, and models that the whole table satisfies."""

    frame: pl.DataFrame
    schema: sf.Schema
    models: list[Model]

    @property
    def quasi(self) -> list[str]:
        return list(self.schema.names(sf.Role.QUASI))

    @property
    def table(self) -> sf.Table:
        return sf.Table.from_frame(self.frame)

    @property
    def problem(self) -> Problem:
        return Problem.of(self.table, self.schema, self.models)


@st.composite
def hierarchies(draw: st.DrawFn, name: str) -> sf.Hierarchy:
    """Draw a tree of two to five leaves with no, one or two levels between leaf and root."""
    rows = [[f"{name}{leaf}"] for leaf in range(draw(st.integers(2, 5)))]
    groups = list(range(len(rows)))
    for level in range(draw(st.integers(0, 2))):
        joined = draw(st.lists(st.integers(0, 2), min_size=max(groups) + 1, max_size=max(groups) + 1))
        groups = [joined[group] for group in groups]
        for row, group in zip(rows, groups, strict=True):
            row.append(f"{name}.{level}.{group}")
    return sf.Hierarchy.from_rows([[*row, "*"] for row in rows])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows = draw(st.integers(4, 24))
    trees = {name: draw(hierarchies(name)) for name in ("a", "b", "c")[: draw(st.integers(1, 3))]}
    values: dict[str, list[Any]] = {
        name: draw(st.lists(st.sampled_from([*tree.leaves, "?"]), min_size=rows, max_size=rows))
        for name, tree in trees.items()
    }
    values["ill"] = draw(st.lists(st.sampled_from(ILLNESSES), min_size=rows, max_size=rows))
    by_person = draw(st.booleans())
    if by_person:
        values["id"] = draw(st.lists(st.integers(0, rows // 2), min_size=rows, max_size=rows))
    columns = {name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree, missing=("?",)) for name, tree in trees.items()}
    columns["ill"] = sf.Attribute("ill", sf.Role.SENSITIVE)
    if by_person:
        columns["id"] = sf.Attribute("id", sf.Role.IDENTIFIER)
    frame, schema = pl.DataFrame(values), sf.Schema(columns, person="id" if by_person else None)
    wanted: list[Model] = [sf.KAnonymity(draw(st.integers(2, 4)))]
    wanted += draw(
        st.lists(
            st.sampled_from(
                [
                    sf.LDiversity(2, "ill"),
                    sf.LDiversity(1.5, "ill", kind="entropy"),
                    sf.LDiversity(2, "ill", kind="recursive", c=2),
                    sf.TCloseness(0.25, "ill"),
                    sf.AlphaK(0.6, 2, "ill"),
                    sf.BetaLikeness(0.6, "ill"),
                    sf.BetaLikeness(0.6, "ill", kind="basic"),
                    sf.DeltaDisclosure(0.7, "ill"),
                    sf.DeltaDisclosure(0.7, "ill", absent="refused"),
                    sf.HighestRisk(0.3),
                ]
            ),
            max_size=2,
            unique=True,
        )
    )
    possible = [model for model in wanted if _possible(frame, schema, model)]
    assume(possible)
    return Case(frame, schema, possible)


def _possible(frame: pl.DataFrame, schema: sf.Schema, model: Model) -> bool:
    try:
        Problem.of(sf.Table.from_frame(frame), schema, [model])
    except sf.SfumatoError:
        return False
    return True


def labels(case: Case, levels: Levels) -> list[tuple[str, ...]]:
    """Return each row's quasi-identifiers at a node, straight from the hierarchies; `?` stays itself below the top."""
    shown = []
    for name, level in zip(case.quasi, levels, strict=True):
        tree = case.schema.columns[name].hierarchy
        assert tree is not None
        paths = {path[0]: path for path in tree.paths}
        top = len(tree.paths[0]) - 1
        column = case.frame[name].to_list()
        shown.append(["*" if level == top else "?" if value == "?" else paths[value][level] for value in column])
    return list(zip(*shown, strict=True))


def failing_rows(case: Case, levels: Levels) -> list[bool]:
    """Return which rows lie in a class that breaks a model, each class measured by itself against the table."""
    problem = case.problem
    rows = labels(case, levels)
    bad = {label for label in set(rows) if not _class_holds(problem, np.array([row == label for row in rows]))}
    return [row in bad for row in rows]


def _class_holds(problem: Problem, member: np.ndarray[Any, np.dtype[np.bool_]]) -> bool:
    groups = problem.groups(np.where(member, 0, 1))
    first = np.array([0])
    for model in problem.models:
        histograms = {
            name: type(found)(
                found.column,
                found.classes[found.classes == 0],
                found.values[found.classes == 0],
                found.counts[found.classes == 0],
                found.reference,
                found.units[first],
                found.holders[first],
            )
            for name, found in groups.sensitive.items()
        }
        alone = type(groups)(groups.sizes[first], groups.units[first], histograms)
        if isinstance(model, sf.TCloseness):
            if not _close(problem, model, member):
                return False
        elif not model.holds(model.measure(alone)):
            return False
    return True


def _close(problem: Problem, model: sf.TCloseness, member: np.ndarray[Any, np.dtype[np.bool_]]) -> bool:
    """Total variation of the class from the table, which is the distance of unordered values.

    Values are held by shares of the persons; a table whose persons have more values each is scaled down, and a surplus
    of the class counts in full.
    """
    codes = problem.sensitive["ill"].codes
    person = np.arange(len(codes)) if problem.person is None else problem.person
    table = Counter(code for code, _ in set(zip(codes.tolist(), person.tolist(), strict=True)))
    inside = Counter(code for code, _ in set(zip(codes[member].tolist(), person[member].tolist(), strict=True)))
    persons, here = len(set(person.tolist())), len(set(person[member].tolist()))
    scale = min(1.0, (inside.total() / here) / (table.total() / persons))
    gaps = [inside[c] / here - table[c] / persons * scale for c in table]
    distance = max(sum(max(gap, 0) for gap in gaps), sum(max(-gap, 0) for gap in gaps))
    return distance <= model.t + 1e-9


def every_node(case: Case) -> list[Levels]:
    return list(itertools.product(*(range(size) for size in Lattice.of(case.problem).shape)))


def slow_cost(case: Case, levels: Levels, metric: str) -> float:
    """Return the cost of a node, rows in failing classes counted as fully general."""
    failing, rows = failing_rows(case, levels), labels(case, levels)
    tops = [size - 1 for size in Lattice.of(case.problem).shape]
    if metric == "discernibility":
        sizes = Counter(rows)
        return sum(len(rows) if bad else sizes[row] for row, bad in zip(rows, failing, strict=True))
    if metric == "height":
        return sum(sum(tops) if bad else sum(levels) for bad in failing)
    total = 0.0
    for place, name in enumerate(case.quasi):
        tree = case.schema.columns[name].hierarchy
        assert tree is not None
        leaves = len(tree.leaves)
        under = Counter(path[levels[place]] for path in tree.paths)
        for row, bad in zip(rows, failing, strict=True):
            at_top = bad or levels[place] == tops[place]
            one = row[place] == "?" or under[row[place]] == 1
            total += 1 if at_top else 0 if one else under[row[place]] / leaves
    return total


def is_below(lower: Levels, upper: Levels) -> bool:
    return lower != upper and all(one <= other for one, other in zip(lower, upper, strict=True))


@given(cases())
@settings(max_examples=60, deadline=None)
def test_incognito_finds_exactly_the_minimal_nodes_of_brute_force(case: Case) -> None:
    good = [node for node in every_node(case) if not any(failing_rows(case, node))]
    wanted = {node for node in good if not any(is_below(other, node) for other in good)}
    found = Incognito().minimal_nodes(case.table, case.schema, case.models)
    assert {tuple(node.levels.values()) for node in found} == wanted


@given(cases(), st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_nodes_within_a_suppression_limit_are_those_of_brute_force(case: Case, limit: int) -> None:
    found = satisfying_nodes(Lattice.of(case.problem), limit)
    for node in every_node(case):
        assert found[node] == (sum(failing_rows(case, node)) <= limit)


@given(cases(), st.sampled_from(["ncp", "discernibility", "height"]), st.sampled_from([0.0, 0.1, 0.3]))
@settings(max_examples=60, deadline=None)
def test_optimal_is_the_cheapest_of_all_and_never_worse_than_datafly_or_incognito(
    case: Case, metric: str, share: float
) -> None:
    problem = case.problem
    lattice, limit = Lattice.of(problem), most_rows(share, case.table.rows)

    def accepts(levels: Levels) -> bool:
        return stands(problem, lattice, recode_node(lattice, levels))

    best = cheapest(lattice, metric, limit, accepts).levels
    assert best is not None
    cost = slow_cost(case, best, metric)
    allowed = [node for node in every_node(case) if sum(failing_rows(case, node)) <= limit and accepts(node)]
    assert cost == pytest.approx(min(slow_cost(case, node, metric) for node in allowed))
    assert cost <= slow_cost(case, datafly(problem, lattice, limit), metric) + 1e-9
    assert all(cost <= slow_cost(case, node, metric) + 1e-9 for node in minimal(satisfying_nodes(lattice)))


@given(cases(), st.sampled_from([0, 1]), st.sampled_from([0.0, 0.2, 0.5]))
@settings(max_examples=60, deadline=None)
def test_releases_satisfy_their_models_when_counted_from_their_texts(case: Case, local: int, share: float) -> None:
    k = max(model.least_units for model in case.models)
    for algorithm in (Datafly(share, local=bool(local)), Optimal(suppress=share, local=bool(local)), Incognito()):
        release = algorithm.anonymize(case.table, case.schema, case.models)
        left = case.table.rows - release.table.rows
        assert left == release.steward["rows_suppressed"] <= most_rows(share, case.table.rows)
        assert min(release.table.frame.group_by(case.quasi).len()["len"].to_list()) >= k
        stars = release.table.frame.filter(pl.all_horizontal(pl.col(case.quasi) == "*")).height
        if release.card.released.measures["rows_starred"]:
            assert stars >= release.card.released.measures["rows_starred"]


@given(cases(), st.sampled_from(["ncp", "discernibility", "height"]))
@settings(max_examples=60, deadline=None)
def test_local_recoding_loses_fewer_rows_than_suppression(case: Case, metric: str) -> None:
    lattice = Lattice.of(case.problem)
    levels = (0,) * len(lattice.ladders)

    def lost(classes: np.ndarray[Any, np.dtype[np.int64]], suppressed: int) -> int:
        return int(lattice.cell_rows[(classes < 0) | (classes == suppressed)].sum())

    plain, local = recode_node(lattice, levels), recode_locally(lattice, levels, metric)
    assert lost(local.classes, local.suppressed) <= lost(plain.classes, plain.suppressed)
    assert local.leaves_out <= plain.leaves_out
