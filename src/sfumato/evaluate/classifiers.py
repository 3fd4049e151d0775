"""Two classifiers that tell a class's probability from features: logistic regression and gradient boosting.

scikit-learn (Pedregosa et al. 2011) trains both; boosting is over histograms of features (Ke et al. 2017).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

Floats = npt.NDArray[np.float64]
Classifier = Callable[[Floats], Floats]
LOGISTIC, TREES = "logistic regression", "gradient boosting"
MISSING_LIBRARY = 'a classifier needs scikit-learn, which is not installed; install it: pip install "sfumato[learn]"'
ROUNDS = 1000  # of logistic regression, at most
MANY, FEW = 10_000, 10  # rows from which on boosting stops early, and those that each class then needs
SEEDS = 2**32  # that scikit-learn takes


def refuse_missing_library() -> None:
    """Refuse to go on without scikit-learn, and say how to install it."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ParameterError(MISSING_LIBRARY) from error


def train_with(name: str, cells: Floats, shares: Floats, seed: int) -> Classifier:
    """Return a trained classifier: from cells to the probability of each class.

    A row counts for each class as much as its share. NaN is a cell that says nothing: boosting knows such cells,
    logistic regression takes the mean of the others. Rows of a single class train a constant.

    >>> told = train_with(LOGISTIC, np.array([[0.0], [0.0], [1.0], [1.0]]), np.eye(2)[[0, 0, 1, 1]], seed=0)
    >>> told(np.array([[0.0], [1.0]])).argmax(axis=1).tolist()
    [0, 1]
    """
    rows, classes = np.nonzero(shares)
    known = np.unique(classes)
    if len(known) < 2:
        return constant(shares)
    fill = _fill(cells, shares.sum(axis=1), gaps=name == TREES)
    model = _model(name, seed, early=len(classes) > MANY and np.bincount(classes)[known].min() >= FEW)
    with warnings.catch_warnings(), _one_thread():
        warnings.simplefilter("ignore", _unfinished())  # a fit that did not converge is scored as it is
        model.fit(_filled(cells, fill)[rows], classes, sample_weight=shares[rows, classes])

    def probabilities(asked: Floats) -> Floats:
        told = np.zeros((len(asked), shares.shape[1]))
        with _one_thread():
            told[:, known] = model.predict_proba(_filled(asked, fill))
        return told

    return probabilities


def constant(shares: Floats) -> Classifier:
    """Return the classifier that gives every row the shares of the classes; all alike where no row tells anything.

    >>> constant(np.eye(2)[[0, 0, 0, 1]])(np.zeros((1, 0))).tolist()
    [[0.75, 0.25]]
    """
    total = shares.sum()
    every = shares.sum(axis=0) / total if total > 0 else np.full(shares.shape[1], 1 / shares.shape[1])
    return lambda asked: np.tile(every, (len(asked), 1))


def _model(name: str, seed: int, *, early: bool) -> Any:
    """Return a classifier to train; boosting stops early where rows to stop by can be spared from every class."""
    refuse_missing_library()
    if name == LOGISTIC:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=ROUNDS)
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed % SEEDS, early_stopping=early)


def _one_thread() -> AbstractContextManager[object]:
    """Return what keeps OpenMP to one thread: where cores are busy, its threads wait for each other far longer."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="openmp")
    return limits


def _unfinished() -> type[Warning]:
    from sklearn.exceptions import ConvergenceWarning

    unfinished: type[Warning] = ConvergenceWarning
    return unfinished


def _fill(cells: Floats, weights: Floats, *, gaps: bool) -> Floats:
    """Return what stands for NaN in each feature: its mean, or NaN where gaps may stay; 0 if no cell says anything."""
    there = ~np.isnan(cells)
    counted = (there * weights[:, None]).sum(axis=0)
    sums = (np.where(there, cells, 0.0) * weights[:, None]).sum(axis=0)
    means: Floats = np.divide(sums, counted, out=np.zeros(cells.shape[1]), where=counted > 0)
    return np.where(counted > 0, np.nan, 0.0) if gaps else means


def _filled(cells: Floats, fill: Floats) -> Floats:
    return np.where(np.isnan(cells), fill, cells)
