"""Scores of probabilities: by hand, and against counting every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.evaluate.scores import Scores

ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4)), min_size=2, max_size=30)


def test_by_hand() -> None:
    found = Scores.of(np.array([0, 0, 0, 1]), np.array([[1.0, 0.0], [0.8, 0.2], [0.4, 0.6], [0.6, 0.4]]))
    assert found.accuracy == 0.5
    assert found.balanced_accuracy == pytest.approx((2 / 3 + 0) / 2)
    assert found.auc == pytest.approx(2 / 3)
    assert found.brier == pytest.approx((0 + 0.04 + 0.36 + 0.36) / 4)


def test_perfect_worst_and_a_single_class() -> None:
    truth = np.array([0, 1, 2])
    assert Scores.of(truth, np.eye(3)) == Scores(1.0, 1.0, 1.0, 0.0)
    assert Scores.of(truth, np.eye(3)[[1, 2, 0]]).brier == 1.0
    assert Scores.of(np.array([1, 1]), np.array([[0.5, 0.5], [0.2, 0.8]])).auc == 0.5


@given(ROWS)
def test_the_area_counts_pairs(rows: list[tuple[int, int]]) -> None:
    truth, score = np.array([one for one, _ in rows]), np.array([each / 4 for _, each in rows])
    pairs = [
        (score[high] > score[low]) + (score[high] == score[low]) / 2
        for high in np.flatnonzero(truth == 1)
        for low in np.flatnonzero(truth == 0)
    ]
    found = Scores.of(truth, np.stack([1 - score, score], axis=1)).auc
    assert found == pytest.approx(np.mean(pairs) if pairs else 0.5)


@given(ROWS)
def test_scikit_learn_agrees(rows: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the other opinion")
    truth, score = np.array([one for one, _ in rows]), np.array([each / 4 for _, each in rows])
    if len(set(truth.tolist())) < 2:
        return
    found = Scores.of(truth, np.stack([1 - score, score], axis=1))
    guesses = (score > 0.5).astype(int)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(truth, guesses))
    assert found.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(truth, guesses))
    assert found.auc == pytest.approx(metrics.roc_auc_score(truth, score))
    assert found.brier == pytest.approx(metrics.brier_score_loss(truth, score))


def test_mean_and_spread() -> None:
    mean, spread = Scores.over([Scores(0.5, 0.5, 0.5, 0.1), Scores(0.7, 0.5, 0.5, 0.1)])
    assert (mean.accuracy, spread.accuracy, spread.auc) == pytest.approx((0.6, 0.2 / 2**0.5, 0))
    assert Scores.over([mean])[1] == Scores(0.0, 0.0, 0.0, 0.0)
