"""The parts of the local search against computing everything anew."""

from __future__ import annotations

import numpy as np
import pytest
import twins_search
from cases import record_sets
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.algorithms.mdav import mdav
from sfumato.tabular.microaggregation.kdtree.lanes_kernel import gap
from sfumato.tabular.microaggregation.loss import Records, squared_error
from sfumato.tabular.microaggregation.random_kernel import next_below, next_unit, next_word
from sfumato.tabular.microaggregation.search.annealing_kernel import rebuild
from sfumato.tabular.microaggregation.search.grouping_kernel import Grouping, total_error
from sfumato.tabular.microaggregation.search.journal_kernel import (
    error_change,
    forget,
    pop,
    roll_back,
)
from sfumato.tabular.microaggregation.search.polish import REACH, Bench, near_records, open_bench
from sfumato.tabular.microaggregation.search.polish_kernel import (
    apply_chain,
    best_chain,
    best_move,
    dissolve_group,
    found_group,
    judge,
    settle,
)


def assert_consistent(bench: Bench) -> None:
    """Check that members, places, sizes, means, errors and spare slots all agree."""
    p, k = bench.grouping, bench.k
    used = np.flatnonzero(p.size)
    assert sorted(p.spare[: p.spare[-1]]) == sorted(np.flatnonzero(p.size == 0))
    assert sum(p.size) == len(p.label)
    for group in used:
        members = p.members[group, : p.size[group]]
        assert k <= len(members) <= 2 * k - 1
        assert (p.label[members] == group).all()
        assert (p.place[members] == np.arange(len(members))).all()
        np.testing.assert_allclose(p.centre[group], p.x[members].mean(axis=0), atol=1e-12)
    assert total_error(p) == pytest.approx(squared_error(p.x, p.label), abs=1e-9)


def emptied(bench: Bench) -> Bench:
    """Return the bench with nothing queued."""
    while bench.journal.span[1] > 0:
        pop(bench.journal)
    return bench


def photograph(p: Grouping) -> list[bytes]:
    """Everything a rollback must restore, to the bit."""
    used = p.size > 0
    return [a.tobytes() for a in (p.label, p.size, p.own, p.centre[used], p.error)]


@kernel
def call_gap(a: Records, i: int, b: Records, j: int) -> float:
    return gap(a, i, b, j)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_gap_is_the_squared_distance(seed: int, blocks: int) -> None:
    a = np.random.default_rng(seed).normal(size=(5, 4 * blocks))
    lanes = np.zeros(4)
    for block in range(blocks):
        lanes += np.square(a[1] - a[3])[4 * block : 4 * block + 4]
    # Equal to the bit: the order of the sum is part of what the kernel promises.
    assert call_gap(a, 1, a, 3) == (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


def test_random_words_equal_their_twin() -> None:
    state, plain = np.array([7], np.uint64), 7
    for _ in range(100):
        plain, word = twins_search.splitmix(plain)
        assert int(next_word(state)) == word


def test_random_numbers_stay_in_range() -> None:
    state = np.array([1], np.uint64)
    draws = [next_below(state, 6) for _ in range(6000)]
    assert set(draws) == set(range(6))
    assert max(np.bincount(draws)) < 1200
    assert all(0.0 <= next_unit(state) < 1.0 for _ in range(1000))


@given(record_sets(least=3))
def test_near_records_are_the_nearest(x: Records) -> None:
    reach = min(5, len(x) - 1)
    near = near_records(x, reach)
    for i, row in enumerate(near):
        gaps = np.square(x - x[i]).sum(axis=1)
        assert i not in row
        assert len(set(row)) == reach
        expected = np.sort(np.delete(gaps, i))[:reach]
        np.testing.assert_allclose(gaps[row], expected, atol=1e-12)


@given(record_sets(least=9, most=30), st.integers(2, 4))
def test_best_move_equals_its_twin(x: Records, k: int) -> None:
    bench = open_bench(x, k, mdav(x, k))
    p = bench.grouping
    for record in range(0, len(x), 5):
        moves = twins_search.one_moves(p.label, p.near, k, record)
        best = min((twins_search.change_of(x, p.label, m) for m in moves), default=0.0)
        change, target, _ = best_move(p, k, record, 1e-9)
        if target >= 0 or best < -1e-8:
            assert change == pytest.approx(best, abs=1e-9)


@given(record_sets(least=12, most=24), st.integers(2, 3))
def test_best_chain_equals_its_twin(x: Records, k: int) -> None:
    bench = emptied(open_bench(x, k, mdav(x, k)))
    settle(bench.grouping, bench.journal, k, 10**6, 1e-9)
    forget(bench.journal)
    p = bench.grouping
    paying, least = 0, 0.0
    for record in range(len(x)):
        moves = twins_search.chains(p.label, p.near, k, record)
        best = min((twins_search.change_of(x, p.label, m) for m in moves), default=0.0)
        least = min(least, best)
        second, target, third = best_chain(p, k, record, 1e-9)
        if second < 0:
            continue
        apply_chain(p, bench.journal, record, second, target, third)
        # A chain that pays only later on is left to be found from another of its records.
        assert best - 1e-9 <= error_change(p, bench.journal) < 0.0
        paying += 1
        roll_back(p, bench.journal)
        emptied(bench)
    # With few records all are near, so that a paying chain can start anywhere on it.
    assert paying > 0 or least > -1e-8 or len(x) > REACH
    assert_consistent(bench)


@given(record_sets(least=12), st.integers(2, 5), st.integers(0, 99))
def test_kicks_keep_sizes_and_roll_back_to_the_bit(x: Records, k: int, seed: int) -> None:
    bench = emptied(open_bench(x, k, mdav(x, k)))
    p, journal, _, trifle = bench
    before = photograph(p)
    state = np.array([seed], np.uint64)
    for wanted in (2, 3, 4):
        rebuild(p, journal, k, state, wanted)
        assert_consistent(bench)
        settle(p, journal, k, 10**6, trifle)
        assert_consistent(bench)
        roll_back(p, journal)
        assert photograph(p) == before
    assert_consistent(bench)


@given(record_sets(least=12), st.integers(2, 4))
def test_dissolving_and_founding_never_raise_the_error(x: Records, k: int) -> None:
    bench = emptied(open_bench(x, k, mdav(x, k)))
    p, journal, _, trifle = bench
    settle(p, journal, k, 10**6, trifle)
    forget(journal)
    assume(np.count_nonzero(p.size) > 1)
    for group in np.flatnonzero(p.size)[:3]:
        if p.size[group] > 0:
            before = total_error(p)
            judge(p, journal, k, dissolve_group(p, journal, k, group), trifle)
            assert total_error(p) <= before + 1e-12
            assert_consistent(bench)
    for record in np.flatnonzero(p.size[p.label] > k)[:3]:
        if p.size[p.label[record]] > k and p.spare[-1] > 0:
            before = total_error(p)
            judge(p, journal, k, found_group(p, journal, k, record), trifle)
            assert total_error(p) <= before + 1e-12
            assert_consistent(bench)
