"""The heap against Python's own."""

from __future__ import annotations

import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tabular.local_recoding.heap_kernel import pop, push


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=60))
def test_it_gives_what_pythons_heap_gives(steps: list[int | None]) -> None:
    costs, items, size = np.zeros(60), np.zeros(60, dtype=np.int64), 0
    expected: list[tuple[float, int]] = []
    for item, cost in enumerate(steps):
        if cost is not None:
            size = push(costs, items, size, cost / 2, item)
            heapq.heappush(expected, (cost / 2, item))
        elif expected:
            assert (costs[0], items[0]) == heapq.heappop(expected)
            size = pop(costs, items, size)
        assert size == len(expected)
