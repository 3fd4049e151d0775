"""MDAV and MDAV+: agreement with full scans."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import twins
from cases import assert_grouped, record_sets
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tabular.microaggregation.algorithms.mdav import mdav
from sfumato.tabular.microaggregation.algorithms.mdav_plus import mdav_plus
from sfumato.tabular.microaggregation.loss import Labels, Records


@given(record_sets(), st.integers(2, 9))
def test_mdav_equals_its_twin(x: Records, k: int) -> None:
    labels = mdav(x, k)
    np.testing.assert_array_equal(labels, twins.mdav(x, k))
    assert_grouped(labels, len(x), k, 2 * k - 1)


@given(record_sets(), st.integers(2, 9))
def test_mdav_plus_equals_its_twin(x: Records, k: int) -> None:
    labels = mdav_plus(x, k)
    np.testing.assert_array_equal(labels, twins.mdav_plus(x, k))
    assert_grouped(labels, len(x), k)


@pytest.mark.parametrize("grouper, twin", [(mdav, twins.mdav), (mdav_plus, twins.mdav_plus)])
@pytest.mark.parametrize("d", [2, 13])
def test_larger_sets_equal_the_twin(
    grouper: Callable[[Records, int], Labels], twin: Callable[[Records, int], Labels], d: int
) -> None:
    rng = np.random.default_rng(d)
    x = np.concatenate([rng.normal(size=(700, d)), rng.integers(-2, 3, (500, d))])
    np.testing.assert_array_equal(grouper(x, 7), twin(x, 7))
