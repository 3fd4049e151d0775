from __future__ import annotations

import numpy as np
import pytest

from sfumato.local.collector.estimate import base_cut, norm, norm_mul, norm_sub, round_counts


def test_norm_sub_of_a_worked_example() -> None:
    assert norm_sub(np.array([50.0, 30.0, -10.0, 40.0]), 90).tolist() == [40.0, 20.0, 0.0, 30.0]


def test_norm_sub_also_lifts_counts_that_are_too_low() -> None:
    assert norm_sub(np.array([-5.0, -7.0]), 10).tolist() == [6.0, 4.0]


def test_nobody_gives_nothing() -> None:
    assert norm_sub(np.array([3.0, -1.0]), 0).tolist() == [0.0, 0.0]
    assert norm_mul(np.array([-3.0, -1.0]), 8).tolist() == [4.0, 4.0]


def test_the_kin_of_norm_sub() -> None:
    raw = np.array([6.4, -3.4, 2.0])
    assert norm(raw, 8).sum() == pytest.approx(8)
    assert norm_mul(raw, 8).tolist() == pytest.approx([8 * 6.4 / 8.4, 0, 8 * 2 / 8.4])
    assert round_counts(raw).tolist() == [6.0, 0.0, 2.0]
    assert round_counts(np.array([0.5, 1.5, 2.5])).tolist() == [0.0, 2.0, 2.0]  # halves go to even, without a drift


def test_base_cut_uses_each_values_own_deviation() -> None:
    raw = np.array([10.0, 10.0])
    assert base_cut(raw, np.array([1.0, 9.0])).tolist() == [10.0, 0.0]
