"""The kd-tree, its heap and the rim against full scans, while records are taken out."""

from __future__ import annotations

import numpy as np
import twins
from cases import record_sets
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tabular.microaggregation.kdtree.coded_kernel import uncoded
from sfumato.tabular.microaggregation.kdtree.kernel import build, farthest, nearest, offer, remove
from sfumato.tabular.microaggregation.kdtree.rim_kernel import farthest_on_rim, sort_rim
from sfumato.tabular.microaggregation.loss import Records


@given(record_sets(least=2, most=200), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_queries_equal_full_scans(x: Records, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = build(x, np.arange(len(x)))
    left = list(range(len(x)))
    for gone in rng.permutation(len(x))[: len(x) // 2]:
        remove(tree, int(gone))
        left.remove(gone)
    points: list[Records] = [x[0], rng.normal(size=(x.shape[1],))]
    for point in points:
        near, records = np.empty(count), np.empty(count, np.int64)
        found = nearest(tree, point, near, records)
        gaps = twins.distances(x, point)
        expected = sorted(left, key=lambda i: (gaps[i], i))[:count]
        assert sorted(records[:found]) == sorted(expected)
        assert farthest(tree, point) == twins.farthest(x, left, point)


@given(record_sets(least=2, most=200), st.integers(0, 2**32 - 1))
def test_the_rim_finds_the_farthest_from_a_moving_centre(x: Records, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(len(x)) < 0.5, -1, 0)
    labels[0] = -1
    left = np.flatnonzero(labels < 0).tolist()
    rim = sort_rim(uncoded(x), np.arange(len(x)), x.mean(axis=0))
    for size in (0.0, 0.1, 3.0):
        centre = x.mean(axis=0) + size * rng.normal(size=x.shape[1])
        record, looked = farthest_on_rim(uncoded(x), rim, labels, centre)
        assert record == twins.farthest(x, left, centre)
        assert looked <= len(x)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 9))
def test_the_heap_keeps_the_nearest(distances: list[int], room: int) -> None:
    near, records, found = np.empty(room), np.empty(room, np.int64), 0
    for record, distance in enumerate(distances):
        found = offer(near, records, found, float(distance), record)
    expected = sorted((d, r) for r, d in enumerate(distances))[:room]
    kept = zip(near[:found], records[:found], strict=True)
    assert sorted((int(d), int(r)) for d, r in kept) == expected
