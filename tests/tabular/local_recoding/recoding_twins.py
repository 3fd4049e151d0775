"""Slow twins: what a class costs by what its cells mean, and the least loss of a few rows by trying everything."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.checks.tables import random_schema, random_table
from sfumato.schema import Kind
from sfumato.table.coding import Column
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.problem import Problem

TREE = sf.Hierarchy.from_rows(
    [
        ("flat", "home", "*"),
        ("house", "home", "*"),
        ("ward", "clinic", "*"),
        ("lab", "clinic", "*"),
        ("park", "out", "*"),
    ]
)
KINDS: dict[str, tuple[sf.Attribute, list[object]]] = {
    "age": (sf.Attribute("age", sf.Role.QUASI, Kind.INTEGER), [18, 30, 31, 64, None]),
    "place": (sf.Attribute("place", sf.Role.QUASI, hierarchy=TREE), [*TREE.leaves, None]),
    "sex": (sf.Attribute("sex", sf.Role.QUASI, Kind.CATEGORY), ["F", "M", "X", None]),
    "born": (sf.Attribute("born", sf.Role.QUASI, Kind.DATE), ["2001-03-02", "2001-03-30", "2001-12-01", "1999-01-01"]),
    "note": (sf.Attribute("note", sf.Role.QUASI, Kind.TEXT), ["a", "b", "c"]),
}


def mixed_problem(rows: int, seed: int, k: int = 2, names: Sequence[str] = tuple(KINDS)) -> Problem:
    """Return a problem over columns of every kind, with missing values."""
    draw = np.random.default_rng(seed)
    drawn = {name: draw.integers(0, len(KINDS[name][1]), rows).tolist() for name in names}
    frame = pl.DataFrame({name: [KINDS[name][1][place] for place in drawn[name]] for name in names}, strict=False)
    return Problem.of(sf.Table(frame), sf.Schema({name: KINDS[name][0] for name in names}), [sf.KAnonymity(k)])


def conformance_problem(rows: int, seed: int, models: Sequence[sf.models.Model]) -> Problem:
    """Return a problem over the conformance suite's table."""
    return Problem.of(random_table(seed, rows), random_schema(), list(models))


@cache
def ladder_of(column: Column) -> Ladder:
    return Ladder.of(column)


def cost_of(column: Column, codes: set[int]) -> float:
    """Return the share of a column that the smallest cover of some codes leaves open."""
    if len(codes) == 1:
        return 0.0
    if column.has_missing and 0 in codes:
        return 1.0
    if column.attribute.hierarchy is not None or column.kind in {Kind.DATE, Kind.TEXT}:
        ladder = ladder_of(column)
        for nodes, losses in zip(ladder.nodes, ladder.losses, strict=True):
            if len({int(nodes[code]) for code in codes}) == 1:
                return float(losses[nodes[min(codes)]])
    if column.kind is Kind.CATEGORY:
        return len(codes) / len(column.levels)
    low, high = column.domain
    places = [code - column.has_missing for code in codes]
    values = [float(column.levels[place]) for place in places] if column.kind.numeric else places
    return (max(values) - min(values)) / (high - low)


def class_cost(problem: Problem, rows: Sequence[int]) -> float:
    """Return what one row of a class costs."""
    return sum(cost_of(column, {int(column.codes[row]) for row in rows}) for column in problem.quasi)


def partitions(rows: list[int], least: int) -> Iterator[list[list[int]]]:
    """Yield every way to put rows into classes of at least so many."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for mask in range(1 << len(rest)):
        chosen = [row for place, row in enumerate(rest) if mask >> place & 1]
        others = [row for place, row in enumerate(rest) if not mask >> place & 1]
        if len(chosen) + 1 >= least and (not others or len(others) >= least):
            for more in partitions(others, least):
                yield [[first, *chosen], *more]


def least_loss(problem: Problem, least: int) -> float:
    """Return the least total cost of any partition, by trying all."""
    best = math.inf
    for found in partitions(list(range(problem.table.rows)), least):
        if all(problem.admits(np.array(group)) for group in found):
            best = min(best, sum(len(group) * class_cost(problem, group) for group in found))
    return best
