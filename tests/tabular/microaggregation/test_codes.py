"""Codes in place of coordinates: nothing is lost, distances and groups stay what they were."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
import twins
from hypothesis import given
from hypothesis import strategies as st
from twins_codes import coded_distances, prices, tiers

from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Kind, Role
from sfumato.table.coding import Column, code
from sfumato.tabular.microaggregation.algorithms.mdav import mdav
from sfumato.tabular.microaggregation.algorithms.mdav_plus import mdav_plus
from sfumato.tabular.microaggregation.algorithms.mdav_star import mdav_star
from sfumato.tabular.microaggregation.algorithms.vmdav import vmdav
from sfumato.tabular.microaggregation.kdtree.coded_kernel import MOST_CODES, Coded, ask, distance_of
from sfumato.tabular.microaggregation.kdtree.codes import coded
from sfumato.tabular.microaggregation.kdtree.kernel import KDTree, build_coded, farthest, nearest, remove
from sfumato.tabular.microaggregation.kdtree.rim_kernel import farthest_on_rim, sort_rim
from sfumato.tabular.microaggregation.loss import Labels, Records, standardize
from sfumato.tabular.microaggregation.records import records

FAMILIES = {"fruit": ["apple", "pear", "plum"], "root": ["beet", "carrot"], "leaf": ["chard", "cress", "kale"]}
LINES = [(word, family, "*") for family, words in FAMILIES.items() for word in words]
WORDS = [word for words in FAMILIES.values() for word in words]


def words(values: list[str | None], *, nested: bool = False) -> Column:
    """A column of words, with their hierarchy or without."""
    hierarchy = Hierarchy.from_rows(LINES) if nested else None
    return code(pl.Series("w", values), Attribute("w", Role.QUASI, Kind.CATEGORY, hierarchy=hierarchy))


@st.composite
def mixed_sets(draw: st.DrawFn, *, ties: bool, most: int = 120) -> Records:
    """Rows of numbers, words, words of a hierarchy and missing words; a continuous number leaves no ties."""
    n, rng = draw(st.integers(1, most)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.integers(0, 3, n).astype(float) if ties else rng.normal(size=n)
    blocks = [standardize(values[:, None])] if draw(st.booleans()) or not ties else []
    for kind in draw(st.lists(st.sampled_from(["few", "nested", "missing", "many", "number"]), min_size=1, max_size=4)):
        picks = rng.choice(WORDS, n, p=rng.dirichlet(np.ones(len(WORDS)))).tolist()
        if kind == "number":
            blocks.append(standardize(rng.integers(0, 5, (n, 1)).astype(float)))
        elif kind == "many":
            blocks.append(records([words([f"word {pick}" for pick in rng.integers(0, 40, n)])]))
        elif kind == "missing":
            blocks.append(records([words([None if word == "kale" else word for word in picks])]))
        else:
            blocks.append(records([words(picks, nested=kind == "nested")]))
    return np.ascontiguousarray(np.concatenate(blocks, axis=1))


def in_full(held: Coded) -> Records:
    """The coordinates behind numbers and codes."""
    width = len(held.book.where) + int((held.book.runs[:, 1] - held.book.runs[:, 0]).sum())
    x = np.full((len(held.numbers), width), np.nan)
    x[:, held.book.where] = held.numbers
    for run, (first, stop, _) in enumerate(held.book.runs):
        x[:, first:stop] = held.book.values[first:stop, held.codes[:, run]].T
    return x


@given(mixed_sets(ties=True))
def test_codes_hold_every_bit_of_the_coordinates(x: Records) -> None:
    held = coded(x)
    np.testing.assert_array_equal(in_full(held), x)
    assert all(held.codes[:, run].max() + 1 == count <= MOST_CODES for run, (_, _, count) in enumerate(held.book.runs))


def test_each_category_is_one_code_however_many_words_and_levels() -> None:
    rng = np.random.default_rng(1)
    many = words([f"word {pick}" for pick in rng.integers(0, 40, 500)])
    nested = words(rng.choice(WORDS, 500).tolist(), nested=True)
    x = np.concatenate([rng.normal(size=(500, 1)), records([many]), records([nested])], axis=1)
    held = coded(x)
    assert x.shape[1] == 1 + 40 + len(WORDS) + len(FAMILIES)
    assert held.book.runs.tolist() == [[1, 41, 40], [41, x.shape[1], len(WORDS)]]
    assert held.book.where.tolist() == [0]


def test_small_categories_side_by_side_share_a_code() -> None:
    rng = np.random.default_rng(1)
    pairs = [words(rng.choice(WORDS[:4], 300).tolist()), words(rng.choice(WORDS[:5], 300).tolist())]
    assert coded(records(pairs)).book.runs.tolist() == [[0, 9, 20]]


@pytest.mark.parametrize(
    "x",
    [
        np.random.default_rng(1).normal(size=(50, 4)),
        np.random.default_rng(1).integers(0, 2, (50, 4)).astype(float),  # no row has exactly one
        np.zeros((50, 3)),
        np.eye(MOST_CODES + 1),
    ],
)
def test_numbers_are_left_alone(x: Records) -> None:
    held = coded(x)
    assert held.numbers is x or np.shares_memory(held.numbers, x)
    assert held.codes.shape == (len(x), 0)
    assert held.book.where.tolist() == list(range(x.shape[1]))


@given(mixed_sets(ties=True), st.integers(0, 2**32 - 1))
def test_coded_distances_are_those_of_the_coordinates(x: Records, seed: int) -> None:
    rng, held = np.random.default_rng(seed), coded(x)
    points: list[Records] = [x[rng.integers(len(x))], x[rng.integers(0, len(x), 3)].mean(axis=0)]
    for point in points:
        query = ask(held.book, point)
        found = np.array([distance_of(held, query, record) for record in range(len(x))])
        np.testing.assert_array_equal(found, coded_distances(held, point))
        np.testing.assert_allclose(found, twins.distances(x, point), rtol=1e-12, atol=1e-12)


@given(mixed_sets(ties=True), st.integers(0, 2**32 - 1))
def test_tiers_hold_every_code_once_in_order_of_price(x: Records, seed: int) -> None:
    held = coded(x)
    query = ask(held.book, x[np.random.default_rng(seed).integers(0, len(x), 2)].mean(axis=0))
    for run in range(len(held.book.runs)):
        expected = tiers(prices(held, run, query_point(held, query.numbers, x, seed)))
        count = int(query.tiers[run, -1])
        found = [{c for c in range(MOST_CODES) if int(query.tiers[run, t]) >> c & 1} for t in range(count)]
        assert found == [set(tier) for tier in expected]
        for tier, members in enumerate(found):
            assert query.least[run, tier] == min(query.prices[run, c] for c in members)
            assert query.most[run, tier] == max(query.prices[run, c] for c in members)


def query_point(held: Coded, numbers: Records, x: Records, seed: int) -> Records:
    """The point of the test above once more, checked against what the query says of its numbers."""
    point = np.asarray(x[np.random.default_rng(seed).integers(0, len(x), 2)].mean(axis=0))
    np.testing.assert_array_equal(point[held.book.where], numbers)
    return point


def assert_lists_its_codes(tree: KDTree, held: Coded, left: list[int]) -> None:
    """Check the codes that the root and the leaves list against those of their records."""
    leaves = len(tree.alive)
    for run in range(held.codes.shape[1]):
        assert int(tree.present[1, run]) == sum(1 << int(c) for c in set(held.codes[left, run].tolist()))
        for leaf in range(leaves):
            here = set(held.codes[tree.ids[leaf, : tree.alive[leaf]], run].tolist())
            assert int(tree.present[leaves + leaf, run]) == sum(1 << int(c) for c in here)


@given(mixed_sets(ties=True, most=200), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_queries_with_codes_equal_full_scans(x: Records, count: int, seed: int) -> None:
    rng, held = np.random.default_rng(seed), coded(x)
    tree = build_coded(held, np.arange(len(x)))
    left = list(range(len(x)))
    for gone in rng.permutation(len(x))[: len(x) // 2]:
        remove(tree, int(gone))
        left.remove(gone)
    assert_lists_its_codes(tree, held, left)
    points: list[Records] = [x[0], x[rng.integers(0, len(x), 3)].mean(axis=0)]
    for point in points:
        near, found_records = np.empty(count), np.empty(count, np.int64)
        found = nearest(tree, point, near, found_records)
        gaps = coded_distances(held, point)
        assert sorted(found_records[:found]) == sorted(sorted(left, key=lambda i: (gaps[i], i))[:count])
        assert farthest(tree, point) == min(left, key=lambda i: (-gaps[i], i))


@given(mixed_sets(ties=True, most=200), st.integers(0, 2**32 - 1))
def test_the_rim_with_codes_finds_the_farthest(x: Records, seed: int) -> None:
    rng, held = np.random.default_rng(seed), coded(x)
    labels = np.where(rng.random(len(x)) < 0.5, -1, 0)
    labels[0] = -1
    rim = sort_rim(held, np.arange(len(x)), x.mean(axis=0))
    centre = np.asarray(x[rng.integers(0, len(x), 3)].mean(axis=0))
    gaps = coded_distances(held, centre)
    record, _ = farthest_on_rim(held, rim, labels, centre)
    assert record == min(np.flatnonzero(labels < 0), key=lambda i: (-gaps[i], i))


@pytest.mark.parametrize(
    "grouper, twin",
    [
        (mdav, twins.mdav),
        (mdav_plus, twins.mdav_plus),
        (mdav_star, twins.mdav_star),
        (lambda x, k: vmdav(x, k, 1.1), lambda x, k: twins.vmdav(x, k, 1.1)),
    ],
)
@given(x=mixed_sets(ties=False, most=60), k=st.integers(2, 7))
def test_groups_with_words_are_those_of_full_scans_over_coordinates(
    grouper: Callable[[Records, int], Labels], twin: Callable[[Records, int], Labels], x: Records, k: int
) -> None:
    np.testing.assert_array_equal(grouper(x, k), twin(x, k))
