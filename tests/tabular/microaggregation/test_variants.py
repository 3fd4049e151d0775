"""V-MDAV, MDAV* and the univariate optimum against their twins."""

from __future__ import annotations

import numpy as np
import pytest
import twins
from cases import Finder, assert_grouped, loaded, record_sets, sim_c, sim_u
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tabular.microaggregation.algorithms.mdav_plus import mdav_plus
from sfumato.tabular.microaggregation.algorithms.mdav_star import mdav_star
from sfumato.tabular.microaggregation.algorithms.univariate import univariate
from sfumato.tabular.microaggregation.algorithms.vmdav import vmdav
from sfumato.tabular.microaggregation.loss import (
    Records,
    information_loss,
    squared_error,
    standardize,
)


@given(record_sets(most=40), st.integers(2, 7), st.sampled_from([0.2, 0.5, 1.1, 3.0]))
def test_vmdav_equals_its_twin(x: Records, k: int, gamma: float) -> None:
    labels = vmdav(x, k, gamma)
    np.testing.assert_array_equal(labels, twins.vmdav(x, k, gamma))
    assert_grouped(labels, len(x), k)


@given(record_sets(most=40), st.integers(2, 7))
def test_mdav_star_equals_its_twin(x: Records, k: int) -> None:
    labels = mdav_star(x, k)
    np.testing.assert_array_equal(labels, twins.mdav_star(x, k))
    assert_grouped(labels, len(x), k)


def test_vmdav_with_gamma_0_is_mdav_plus() -> None:
    x = sim_u(3, 300)
    np.testing.assert_array_equal(vmdav(x, 4, 0.0), mdav_plus(x, 4))


def test_mdav_star_keeps_the_promise_of_the_slides(data: Finder) -> None:
    sets = [loaded(data, name) for name in ("census", "tarragona", "eia", "cloud1", "cloud2")]
    sets += [sim_u(1), sim_c(1)]
    ratios = [
        information_loss(x, mdav_star(x, k)) / information_loss(x, mdav_plus(x, k)) for x in sets for k in (3, 5, 10)
    ]
    assert np.mean(ratios) < 0.95


@given(
    st.lists(st.one_of(st.integers(-3, 3), st.floats(-9, 9)), min_size=1, max_size=60),
    st.integers(2, 7),
)
def test_univariate_is_optimal(values: list[float], k: int) -> None:
    x = np.array(values, np.float64)[:, None]
    labels = univariate(x, k)
    assert_grouped(labels, len(x), k, 2 * k - 1)
    expected = twins.univariate_error(x[:, 0], k)
    assert squared_error(x, labels) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("k", [2, 3, 10, 50])
def test_univariate_is_optimal_on_many_values(k: int) -> None:
    x = standardize(np.random.default_rng(k).lognormal(size=(700, 1)))
    expected = twins.univariate_error(x[:, 0], k)
    assert squared_error(x, univariate(x, k)) == pytest.approx(expected)


def test_univariate_takes_one_column() -> None:
    with pytest.raises(ValueError, match="one column"):
        univariate(np.zeros((4, 2)), 2)
