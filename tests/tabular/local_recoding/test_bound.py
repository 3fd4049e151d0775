"""Bounds lie below the true optimum, found by looking at all partitions, and are what their slow twins say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.tabular.local_recoding.bound import bound_of_prices, counts_of, cover_bound, lattice_of, pair_bound
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.penalties import Penalties, penalties
from sfumato.tabular.local_recoding.prices import climb, groups_that_matter, price_bound
from sfumato.tabular.local_recoding.start import total_penalty
from sfumato.tabular.problem import Problem

TOWN = sf.Hierarchy.from_rows(
    [["Bern", "CH", "*"], ["Basel", "CH", "*"], ["Rome", "IT", "*"], ["Pisa", "IT", "*"], ["Bari", "IT", "*"]]
)
YEAR = sf.Hierarchy.from_rows([[str(year), str(year // 3), str(year // 6), "*"] for year in range(10)])
PRECISION = 1e-6
Make = Callable[[np.random.Generator, int], Problem]


def trees(rng: np.random.Generator, rows: int) -> Problem:
    """Return a made-up problem of two trees and a text, which has `*` alone."""
    frame = pl.DataFrame(
        {
            "town": rng.choice(TOWN.leaves, rows).tolist(),
            "year": rng.choice(YEAR.leaves, rows).tolist(),
            "note": rng.choice(["a", "b"], rows).tolist(),
        }
    )
    schema = {
        "town": sf.Attribute("town", sf.Role.QUASI, hierarchy=TOWN),
        "year": sf.Attribute("year", sf.Role.QUASI, hierarchy=YEAR),
        "note": sf.Attribute("note", sf.Role.QUASI, sf.schema.Kind.TEXT),
    }
    return Problem.of(sf.Table.from_frame(frame), sf.Schema(schema), [sf.KAnonymity(2)])


def mixed(rng: np.random.Generator, rows: int) -> Problem:
    """Return a made-up problem of a tree, a range and a set, with missing values."""
    frame = pl.DataFrame(
        {
            "town": rng.choice(TOWN.leaves, rows).tolist(),
            "age": [None if rng.random() < 0.1 else int(rng.integers(20, 60)) for _ in range(rows)],
            "sort": [None if rng.random() < 0.1 else str(rng.choice(["p", "q", "r", "s"])) for _ in range(rows)],
        }
    )
    schema = {
        "town": sf.Attribute("town", sf.Role.QUASI, hierarchy=TOWN),
        "age": sf.Attribute("age", sf.Role.QUASI, sf.schema.Kind.INTEGER),
        "sort": sf.Attribute("sort", sf.Role.QUASI, sf.schema.Kind.CATEGORY),
    }
    return Problem.of(sf.Table.from_frame(frame), sf.Schema(schema), [sf.KAnonymity(2)])


def partitions(rows: Sequence[int], least: int) -> Iterator[list[tuple[int, ...]]]:
    """Yield every partition of rows into classes of at least `least`."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for size in range(least - 1, len(rest) + 1):
        for chosen in combinations(rest, size):
            others = [row for row in rest if row not in chosen]
            for more in partitions(others, least):
                yield [(first, *chosen), *more]


def class_costs(problem: Problem, cells: Cells, costs: Penalties) -> dict[frozenset[int], float]:
    """Return what one row costs in each class of rows that there could be."""
    rows = range(problem.rows)
    found = {}
    for size in range(1, problem.rows + 1):
        for chosen in combinations(rows, size):
            labels = np.arange(problem.rows) + 1
            labels[list(chosen)] = 0
            others = np.flatnonzero(labels)
            labels[others] = np.arange(1, len(others) + 1)
            found[frozenset(chosen)] = total_penalty(cells, costs, labels) / size
    return found


def optimum(each: dict[frozenset[int], float], rows: int, least: int) -> float:
    """Return the least penalty of all rows over all partitions."""
    found = partitions(list(range(rows)), least)
    return min(sum(len(part) * each[frozenset(part)] for part in parts) for parts in found)


def slow_pairs(each: dict[frozenset[int], float], rows: int, least: int) -> float:
    """Return the penalties of all rows with their (k - 1)-th nearest companion."""
    with_others = [
        sorted(each[frozenset({row, other})] for other in range(rows) if other != row) for row in range(rows)
    ]
    return sum(near[least - 2] for near in with_others)


def slow_covers(each: dict[frozenset[int], float], rows: int, least: int) -> float:
    """Return the penalties of all rows with their cheapest k - 1 companions."""
    return sum(min(cost for part, cost in each.items() if row in part and len(part) >= least) for row in range(rows))


def slow_prices(each: dict[frozenset[int], float], prices: Sequence[float], columns: int, least: int) -> float:
    """Return what prices of rows prove: each row's price and the least slack of all classes that it could be in."""
    total = 0.0
    for row, price in enumerate(prices):
        slack = columns - price
        for part, cost in each.items():
            if row in part and len(part) >= least:
                slack = min(slack, cost - sum(sorted((prices[one] for one in part), reverse=True)[:least]) / least)
        total += price + slack
    return total


@pytest.mark.parametrize("least", [2, 3, 4])
@pytest.mark.parametrize("make", [trees, mixed])
def test_pairs_say_what_the_twin_says_and_lie_below_the_optimum(make: Make, least: int) -> None:
    rng = np.random.default_rng(least)
    below = 0
    for _ in range(12):
        problem = make(rng, int(rng.integers(6, 9)))
        cells, costs = Cells.of(problem), penalties(problem.quasi)
        each = class_costs(problem, cells, costs)
        scale, best = problem.rows * 3, optimum(each, problem.rows, least)
        found = pair_bound(cells, costs, least) * scale
        assert found == pytest.approx(slow_pairs(each, problem.rows, least), abs=PRECISION)
        assert found <= best
        below += found < 0.99 * best
    assert below > 0  # otherwise a bound that is the optimum itself would pass


@pytest.mark.parametrize("least", [2, 3, 4])
def test_covers_and_prices_say_what_the_twins_say_and_lie_below_the_optimum(least: int) -> None:
    rng = np.random.default_rng(10 + least)
    higher = 0
    for _ in range(12):
        problem = trees(rng, int(rng.integers(6, 9)))
        cells, costs = Cells.of(problem), penalties(problem.quasi)
        each = class_costs(problem, cells, costs)
        scale, best = problem.rows * 3, optimum(each, problem.rows, least)
        covers = cover_bound(cells, costs, least) * scale
        assert covers == pytest.approx(slow_covers(each, problem.rows, least), abs=PRECISION)
        assert pair_bound(cells, costs, least) * scale <= covers + PRECISION
        drawn = rng.normal(0.5, 0.5, cells.count)
        proven = bound_of_prices(cells, costs, least, drawn) * scale
        slow = slow_prices(each, drawn[cells.of_row].tolist(), 3, least)
        assert proven == pytest.approx(max(0.0, slow), abs=PRECISION)
        climbed = price_bound(cells, costs, least, best / scale) * scale
        assert proven <= best
        assert covers <= climbed + PRECISION
        assert climbed <= best
        higher += climbed > 1.02 * covers
    assert higher > 3


def test_groups_stand_under_their_smallest_node_and_hold_k_rows() -> None:
    problem = trees(np.random.default_rng(5), 40)
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    groups = groups_that_matter(cells, costs, 3, np.zeros(cells.count), np.full(cells.count, np.inf))
    counts, seen = counts_of(cells), set()
    for (start, end), cost in zip(pairwise(groups.starts.tolist()), groups.penalty.tolist(), strict=True):
        members = groups.members[start:end]
        labels = np.where(np.isin(cells.of_row, members), 0, 1)
        assert counts[members].sum() >= 3
        rows = np.flatnonzero(labels == 0)
        part = Cells(cells.codes, cells.of_row[rows], cells.rows, cells.first)
        assert cost == pytest.approx(total_penalty(part, costs, np.zeros(len(rows), dtype=np.int64)) / len(rows))
        seen.add(frozenset(members.tolist()))
    assert len(seen) == len(groups.penalty)
    assert seen == slow_groups(problem, cells, 3)


def slow_groups(problem: Problem, cells: Cells, least: int) -> set[frozenset[int]]:
    """Return the sets of cells that some node covers, with at least `least` rows."""
    facts, nodes, _, _ = penalties(problem.quasi)
    found, counts = set(), counts_of(cells)
    for levels in lattice_of(penalties(problem.quasi)).tolist():
        under: dict[tuple[int, ...], set[int]] = {}
        for cell, codes in enumerate(cells.codes.tolist()):
            place = zip(facts.tolist(), levels, codes, strict=True)
            key = tuple(int(nodes[fact[1] + level * fact[2] + code]) for fact, level, code in place)
            under.setdefault(key, set()).add(cell)
        found |= {frozenset(each) for each in under.values() if counts[list(each)].sum() >= least}
    return found


def test_prices_climb_on_a_larger_table_and_stay_below_what_a_search_reaches() -> None:
    problem = trees(np.random.default_rng(8), 150)
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    release = sf.LocalRecoding(seconds=None, iterations=2000).partition(problem)
    reached = release.steward["certainty_lost"]
    covers, prices = cover_bound(cells, costs, 2), price_bound(cells, costs, 2, reached)
    assert covers < prices <= reached


def test_a_wrong_guess_of_the_loss_still_gives_a_bound() -> None:
    problem = trees(np.random.default_rng(3), 8)
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    best = optimum(class_costs(problem, cells, costs), 8, 2) / 24
    for reached in (best / 10, best, 50.0):
        assert price_bound(cells, costs, 2, reached) <= best


def test_what_cannot_be_bounded_is_refused() -> None:
    problem = mixed(np.random.default_rng(1), 8)
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    with pytest.raises(ParameterError, match="needs a hierarchy for every quasi-identifier"):
        cover_bound(cells, costs, 2)
    with pytest.raises(ParameterError, match="classes of 9 rows were asked for and the table has 8"):
        pair_bound(cells, costs, 9)


def test_steps_without_a_way_up_leave_the_prices() -> None:
    problem = trees(np.random.default_rng(2), 30)
    cells, costs = Cells.of(problem), penalties(problem.quasi)
    prices = np.zeros(cells.count)
    groups = groups_that_matter(cells, costs, 2, prices, np.full(cells.count, np.inf))
    found, _ = climb(groups, counts_of(cells), prices, 3.0, 2, target=-1.0, step=1.0)
    assert found.tolist() == prices.tolist()
