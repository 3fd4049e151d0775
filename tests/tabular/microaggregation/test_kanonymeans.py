"""kAnonyMeans and kAnonyMeans*: parts against twins, results against promises."""

from __future__ import annotations

import numpy as np
import pytest
import twins_kanonymeans as twins
from cases import Finder, assert_grouped, loaded, record_sets, sim_c
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tabular.microaggregation.algorithms.kanonymeans import (
    LOOPS,
    MergeLoop,
    Merging,
    Seeding,
    kanonymeans,
)
from sfumato.tabular.microaggregation.algorithms.kanonymeans_kernel import forgy, lloyd, merge_small, plus_plus
from sfumato.tabular.microaggregation.algorithms.kanonymeans_star import Breeding, kanonymeans_star
from sfumato.tabular.microaggregation.loss import Records, information_loss, squared_error


def gaussian(seed: int, n: int = 40) -> Records:
    """Records without ties, on which rounding decides nothing."""
    return np.random.default_rng(seed).normal(size=(n, 3))


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_lloyd_equals_its_twin(seed: int, count: int) -> None:
    x = gaussian(seed)
    np.testing.assert_array_equal(lloyd(x, x[:count].copy(), 100), twins.lloyd(x, x[:count].copy(), 100))


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(LOOPS)), st.booleans(), st.integers(2, 9))
def test_merge_equals_its_twin(seed: int, loop: MergeLoop, growth: bool, k: int) -> None:
    x = gaussian(seed)
    labels = np.random.default_rng(seed).integers(0, 15, len(x))
    merged = merge_small(x, labels, 15, k, LOOPS[loop], growth)
    groups = sorted(np.flatnonzero(merged == g).tolist() for g in np.unique(merged))
    assert groups == twins.merge(x, labels, k, loop, growth)


def test_forgy_draws_different_records() -> None:
    state = np.array([3], np.uint64)
    assert sorted(forgy(20, 20, state)) == list(range(20))


def test_plus_plus_never_draws_a_copy_while_others_are_left() -> None:
    x = np.repeat(gaussian(1, 8), 5, axis=0)
    for seed in range(20):
        chosen = plus_plus(x, 8, np.array([seed], np.uint64))
        assert len({int(i) // 5 for i in chosen}) == 8


@given(
    record_sets(),
    st.integers(2, 6),
    st.sampled_from(sorted(LOOPS)),
    st.sampled_from(["forgy", "plus_plus"]),
    st.integers(0, 99),
)
def test_sizes_hold_for_every_setting(x: Records, k: int, loop: MergeLoop, seeding: Seeding, seed: int) -> None:
    labels = kanonymeans(x, k, seeding=seeding, merging=Merging(loop, "centroid"), rounds=3, seed=seed)
    assert_grouped(labels, len(x), k)


def test_more_rounds_never_hurt_and_seeds_repeat() -> None:
    x = sim_c(2, 300)
    once = kanonymeans(x, 4, rounds=1, seed=5)
    often = kanonymeans(x, 4, rounds=20, seed=5)
    assert squared_error(x, often) <= squared_error(x, once)
    np.testing.assert_array_equal(often, kanonymeans(x, 4, rounds=20, seed=5))


def test_evolution_never_raises_the_error() -> None:
    x = sim_c(2, 200)
    errors: list[float] = []
    labels = kanonymeans_star(
        x,
        3,
        breeding=Breeding(population=8, survivors=3, mutants=3),
        generations=6,
        on_generation=lambda _, error: errors.append(error),
    )
    assert errors == sorted(errors, reverse=True)
    assert squared_error(x, labels) == pytest.approx(errors[-1])
    assert_grouped(labels, len(x), 3)


def test_kanonymeans_reaches_the_prototype(data: Finder) -> None:
    x = loaded(data, "census")
    # Design page: mean 5.81 over runs of 20 rounds.
    losses = [information_loss(x, kanonymeans(x, 3, seed=seed)) for seed in range(5)]
    assert np.mean(losses) < 6.0
