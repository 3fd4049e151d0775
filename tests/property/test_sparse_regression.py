"""The coordinate descent that decodes RAPPOR reaches the optimum: the conditions of Karush, Kuhn and Tucker hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.local.protocols.rappor.kernel import descend


@given(st.integers(1, 8), st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 2.0]))
def test_descent_ends_at_the_optimum(columns: int, rows: int, seed: int, weight: float) -> None:
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, rows + 1, columns)
    places = np.concatenate([draw.choice(rows, size, replace=False) for size in sizes]).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    weights = draw.uniform(0.5, 2.0, places.size)
    target, penalty, found = draw.normal(0, 3, rows), np.full(columns, weight), np.zeros(columns)
    residual = target.copy()
    sweeps = descend(starts, places, weights, residual, penalty, found, 100_000)
    matrix = np.zeros((rows, columns))
    for column in range(columns):
        entries = slice(starts[column], starts[column + 1])
        matrix[places[entries], column] = weights[entries]
    assert sweeps < 100_000
    assert (found >= 0).all()
    assert np.allclose(residual, target - matrix @ found, atol=1e-6)
    slope = matrix.T @ residual - penalty
    assert (slope <= 1e-4).all()
    assert np.abs(slope[found > 0]).max(initial=0.0) < 1e-4
