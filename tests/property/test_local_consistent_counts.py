from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.local.collector.estimate import METHODS, norm, norm_mul, norm_sub

COUNTS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40).map(np.array)


@given(COUNTS, st.integers(0, 10**6))
def test_norm_sub_is_the_nearest_consistent_answer(
    raw: np.ndarray[tuple[int], np.dtype[np.float64]], users: int
) -> None:
    found = norm_sub(raw, users)
    assert (found >= 0).all()
    assert abs(found.sum() - users) <= 1e-9 * max(1.0, float(np.abs(raw).max()), users) * raw.size
    taken = raw - found
    kept = found > 0
    if kept.any():  # the conditions of Karush, Kuhn & Tucker: one amount from all that stay, no more from the rest
        amount = taken[kept].mean()
        scale = 1e-9 * max(1.0, float(np.abs(raw).max()), users)
        assert np.abs(taken[kept] - amount).max() <= scale
        assert (taken[~kept] <= amount + scale).all()


@given(COUNTS, st.integers(1, 10**6))
def test_sums_are_kept(raw: np.ndarray[tuple[int], np.dtype[np.float64]], users: int) -> None:
    for method in (norm, norm_mul):
        assert abs(method(raw, users).sum() - users) <= 1e-6 * max(1.0, float(np.abs(raw).max()), users)


@given(COUNTS, st.integers(0, 10**6), st.sampled_from(sorted(METHODS)))
def test_order_is_kept(raw: np.ndarray[tuple[int], np.dtype[np.float64]], users: int, method: str) -> None:
    found = METHODS[method](raw, np.ones(raw.size), users)
    order = np.argsort(raw)
    assert (np.diff(found[order]) >= -1e-9 * max(1.0, float(np.abs(found).max()))).all()


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=20))
def test_a_consistent_answer_is_left_alone(counts: list[int]) -> None:
    raw = np.array(counts, dtype=np.float64)
    assert np.abs(norm_sub(raw, raw.sum()) - raw).max() <= 1e-9 * max(1, *counts) * len(counts)
