"""The sort inside Mondrian's cuts, beside NumPy's: few codes, many codes, one digit and several."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.tabular.class_test_kernel import WEIGHT
from sfumato.tabular.mondrian.kernel import DIGITS, profile_sparse
from sfumato.tabular.mondrian.memory import CODES, FACTS, MASK, MASSES, ROWS, SHIFT


@pytest.mark.parametrize("size", [1, 3, 48, 49, 700])
@pytest.mark.parametrize("highest", [1, 10, 300, 70_000, 2**31])
def test_a_sparse_profile_has_each_code_once_in_order_with_its_weight(size: int, highest: int) -> None:
    rng = np.random.default_rng(size + highest)
    codes, weights = rng.integers(0, highest, size), rng.integers(1, 5, size)
    scratch = np.zeros((ROWS, max(size, DIGITS)), dtype=np.int64)
    columns = np.zeros((1, FACTS), dtype=np.int64)
    columns[0, SHIFT], columns[0, MASK] = 3, 2**32 - 1
    words = np.array([[-1, *(codes << 3), -1]])
    count = profile_sparse(words, np.array([-1, *(weights << WEIGHT), -1]), columns, scratch, 0, 1, 1 + size)
    values, places = np.unique(codes, return_inverse=True)
    assert scratch[CODES, :count].tolist() == values.tolist()
    assert scratch[MASSES, :count].tolist() == np.bincount(places, weights=weights).tolist()
