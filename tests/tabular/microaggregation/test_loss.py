"""Standardization and information loss."""

from __future__ import annotations

import numpy as np
import pytest
from cases import record_sets
from hypothesis import given

from sfumato.tabular.microaggregation.loss import Records, information_loss, standardize


def test_standardize_centres_scales_and_zeroes_constants() -> None:
    x = np.array([[1.0, 0.1, 5.0], [2.0, 0.1, 7.0], [6.0, 0.1, 1.0]])
    z = standardize(x)
    assert z.flags.c_contiguous
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(z.std(axis=0), [1.0, 0.0, 1.0])


@given(record_sets(least=2))
def test_loss_is_0_for_singletons_and_100_for_one_group(x: Records) -> None:
    assert information_loss(x, np.arange(len(x))) == pytest.approx(0.0, abs=1e-9)
    expected = 100.0 if x.any() else 0.0
    assert information_loss(x, np.zeros(len(x), np.int64)) == pytest.approx(expected)


def test_loss_by_hand() -> None:
    x = np.array([[0.0], [2.0], [10.0], [12.0]])
    # Each pair errs by 1 + 1; around the mean 6 the total is 36 + 16 + 16 + 36.
    assert information_loss(x, np.array([0, 0, 1, 1])) == pytest.approx(100 * 4 / 104)
