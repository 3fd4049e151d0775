"""The exact optimum, and every heuristic measured against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from cases import assert_grouped, record_sets
from hypothesis import given, settings

from sfumato.tabular.microaggregation.algorithms.kanonymeans import kanonymeans
from sfumato.tabular.microaggregation.algorithms.kanonymeans_star import kanonymeans_star
from sfumato.tabular.microaggregation.algorithms.mdav import mdav
from sfumato.tabular.microaggregation.algorithms.mdav_plus import mdav_plus
from sfumato.tabular.microaggregation.algorithms.mdav_star import mdav_star
from sfumato.tabular.microaggregation.algorithms.optimum import optimum
from sfumato.tabular.microaggregation.algorithms.univariate import univariate
from sfumato.tabular.microaggregation.algorithms.vmdav import vmdav
from sfumato.tabular.microaggregation.loss import Labels, Records, squared_error, standardize
from sfumato.tabular.microaggregation.search.improve import improve
from sfumato.tabular.microaggregation.search.polish import polish

HEURISTICS: list[Callable[[Records, int], Labels]] = [
    mdav,
    mdav_plus,
    mdav_star,
    vmdav,
    kanonymeans,
    lambda x, k: kanonymeans_star(x, k, generations=3),
    lambda x, k: polish(x, k, mdav(x, k)),
]


def partitions(records: list[int], k: int) -> Iterator[list[list[int]]]:
    """All partitions into groups of k or more, by brute force."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for mask in range(2 ** len(rest)):
        group = [first] + [r for bit, r in enumerate(rest) if mask >> bit & 1]
        if len(group) >= k:
            for others in partitions([r for r in rest if r not in group], k):
                yield [group, *others]


def least_error(x: Records, k: int) -> float:
    """The optimum by brute force."""

    def total(groups: list[list[int]]) -> float:
        return sum(float(np.square(x[g] - x[g].mean(axis=0)).sum()) for g in groups)

    return min(total(groups) for groups in partitions(list(range(len(x))), k))


@settings(max_examples=15)
@given(record_sets(least=2, most=10))
def test_optimum_equals_brute_force(x: Records) -> None:
    labels, bound = optimum(x, 2, polish(x, 2, mdav(x, 2)))
    best = least_error(x, 2)
    assert squared_error(x, labels) == pytest.approx(best, abs=1e-7)
    assert bound <= best + 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_no_heuristic_beats_the_optimum_and_the_search_meets_it(seed: int) -> None:
    x = standardize(np.random.default_rng(seed).normal(size=(36, 2 + seed)))
    start = improve(x, 3, mdav(x, 3), iterations=3000)
    labels, bound = optimum(x, 3, start)
    best = squared_error(x, labels)
    assert_grouped(labels, len(x), 3, 5)
    assert bound <= best + 1e-7
    for heuristic in HEURISTICS:
        assert squared_error(x, heuristic(x, 3)) >= best - 1e-7
    assert squared_error(x, start) == pytest.approx(best)


def test_univariate_meets_the_optimum() -> None:
    x = standardize(np.random.default_rng(8).lognormal(size=(30, 1)))
    labels, _ = optimum(x, 3, polish(x, 3, mdav(x, 3)))
    assert squared_error(x, univariate(x, 3)) == pytest.approx(squared_error(x, labels))


def test_large_instances_are_refused() -> None:
    with pytest.raises(ValueError, match="small instances"):
        optimum(np.zeros((500, 2)), 3, np.arange(500) // 3)


@pytest.mark.long
def test_sixty_records() -> None:
    x = standardize(np.random.default_rng(60).normal(size=(60, 4)))
    start = improve(x, 3, mdav(x, 3), iterations=20_000)
    labels, bound = optimum(x, 3, start)
    best = squared_error(x, labels)
    assert bound - 1e-7 <= best
    assert squared_error(x, start) == pytest.approx(1.0055 * best, rel=1e-4)  # ten times the kicks meet it
    assert squared_error(x, improve(x, 3, mdav(x, 3), iterations=200_000)) == pytest.approx(best)
