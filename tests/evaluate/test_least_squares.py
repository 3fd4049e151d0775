"""Fits against other ways to the same numbers: closed forms, minimisers, tables of counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import linregress

from sfumato.evaluate.least_squares import linear_fit, logistic_fit

DRAW = np.random.default_rng(5)
X = DRAW.normal(size=(200, 3))
DESIGN = np.column_stack([np.ones(200), X])


def test_least_squares_against_lstsq_and_a_line() -> None:
    y = 2 + X @ [1.0, -2.0, 0.5] + DRAW.normal(size=200)
    values, covariance = linear_fit(DESIGN, y)
    assert values == pytest.approx(np.linalg.lstsq(DESIGN, y, rcond=None)[0])
    line, spread = linear_fit(DESIGN[:, :2], y)
    other = linregress(X[:, 0], y)
    assert (line[1], line[0]) == pytest.approx((other.slope, other.intercept))
    errors = np.sqrt(np.diag(spread))
    assert (errors[1], errors[0]) == pytest.approx((other.stderr, other.intercept_stderr))
    assert (np.diag(covariance) > 0).all()


def test_logistic_regression_against_a_minimiser() -> None:
    y = (DRAW.random(200) < 1 / (1 + np.exp(-(0.3 + X @ [1.0, -1.0, 0.0])))).astype(float)
    values, covariance = logistic_fit(DESIGN, y)

    def loss(beta: np.ndarray) -> float:
        eta = DESIGN @ beta
        return float((np.logaddexp(0, eta) - y * eta).sum())

    wanted = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert values == pytest.approx(wanted.x, abs=1e-4)
    chance = 1 / (1 + np.exp(-DESIGN @ values))
    hessian = (DESIGN * (chance * (1 - chance))[:, None]).T @ DESIGN
    assert covariance == pytest.approx(np.linalg.inv(hessian), rel=1e-4)


def test_a_table_of_counts_gives_log_odds() -> None:
    design = np.column_stack([np.ones(100), np.repeat([0.0, 1.0], [40, 60])])
    y = np.concatenate([np.repeat([1.0, 0.0], [10, 30]), np.repeat([1.0, 0.0], [45, 15])])
    values, covariance = logistic_fit(design, y)
    assert values == pytest.approx([np.log(10 / 30), np.log(45 / 15) - np.log(10 / 30)])
    assert np.sqrt(np.diag(covariance)) == pytest.approx(
        [np.sqrt(1 / 10 + 1 / 30), np.sqrt(1 / 10 + 1 / 30 + 1 / 45 + 1 / 15)]
    )


def test_what_rows_cannot_tell_is_nan() -> None:
    twice = np.column_stack([DESIGN, X[:, 0] * 2, np.zeros(200)])
    values, _ = linear_fit(twice, X[:, 0])
    assert np.isnan(values).tolist() == [False, False, False, False, True, True]
    assert np.isnan(linear_fit(DESIGN[:3], np.ones(3))[0]).all()
    assert np.isnan(linear_fit(DESIGN[:0], np.ones(0))[0]).all()
    assert np.isnan(logistic_fit(DESIGN, np.ones(200))[0]).all()


def test_a_feature_that_separates_the_values_is_nan_and_others_stay() -> None:
    y = (DRAW.random(200) < 0.5).astype(float)
    rare = np.zeros(200)
    rare[np.flatnonzero(y == 1)[:4]] = 1.0  # all rows with it have the second value
    values, _ = logistic_fit(np.column_stack([DESIGN, rare]), y)
    assert np.isnan(values).tolist() == [False] * 4 + [True]
    assert np.isnan(logistic_fit(np.column_stack([np.ones(200), y]), y)[0]).all()
