"""Coefficients with standard errors, by least squares or by logistic regression, in NumPy alone.

Least squares are Gauss's; logistic regression is fitted by iteratively reweighted least squares (McCullagh & Nelder
1989, section 4.4). A coefficient that the rows cannot tell is NaN.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
ROUNDS = 50
CLOSE = 1e-10  # relative change of the deviance at which the rounds end
NEW = 1e-9  # the share of a feature's square that other features must leave unexplained
WIDEST = 50.0  # a larger standard error, in log-odds, means that a feature separates the two values
LEAST = 1e-12  # of a probability


def linear_fit(design: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of least squares and their covariance; NaN where a feature tells nothing new.

    >>> values, covariance = linear_fit(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 3.0, 5.0]))
    >>> values.round(6).tolist(), bool(np.abs(covariance).max() < 1e-20)
    ([1.0, 2.0], True)
    """
    values, covariance = _blank(design)
    kept = _independent(design.T @ design)
    if len(design) <= len(kept):
        return values, covariance
    part = design[:, kept]
    values[kept], inverse = _solved(part.T @ part, part.T @ target)
    rest = target - part @ values[kept]
    covariance[np.ix_(kept, kept)] = inverse * (rest @ rest) / (len(design) - len(kept))
    return values, covariance


def logistic_fit(design: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of logistic regression and their covariance; NaN where the rows cannot tell.

    `target` is the probability of the second value, 0 or 1 where it is known. Features should be of about one scale.

    >>> values, _ = logistic_fit(np.ones((4, 1)), np.array([1.0, 1.0, 1.0, 0.0]))
    >>> round(float(np.exp(values[0])), 6)
    3.0
    """
    values, covariance = _blank(design)
    kept = _independent(design.T @ design)
    if len(design) <= len(kept) or not 0 < target.mean() < 1:
        return values, covariance
    part = design[:, kept]
    found = np.zeros(len(kept))
    inverse, last = np.eye(len(kept)), np.inf
    for _ in range(ROUNDS):
        chance = np.clip(1 / (1 + np.exp(-np.clip(part @ found, -500, 500))), LEAST, 1 - LEAST)
        deviance = -2 * (target * np.log(chance) + (1 - target) * np.log1p(-chance)).sum()
        weights = chance * (1 - chance)
        step, inverse = _solved((part * weights[:, None]).T @ part, part.T @ (target - chance))
        if abs(last - deviance) <= CLOSE * (deviance + CLOSE):
            break
        found, last = found + step, deviance
    told = np.sqrt(np.diag(inverse)) <= WIDEST
    values[kept[told]] = found[told]
    covariance[np.ix_(kept[told], kept[told])] = inverse[np.ix_(told, told)]
    return values, covariance


def _blank(design: Floats) -> tuple[Floats, Floats]:
    size = design.shape[1]
    return np.full(size, np.nan), np.full((size, size), np.nan)


def _independent(products: Floats) -> npt.NDArray[np.int64]:
    """Return the features that those before them do not explain, by their sums of products."""
    kept: list[int] = []
    for place in range(len(products)):
        left = products[place, place]
        if kept:
            ties = products[np.ix_(kept, [place])][:, 0]
            left -= ties @ np.linalg.lstsq(products[np.ix_(kept, kept)], ties, rcond=None)[0]
        if left > NEW * max(products[place, place], NEW):
            kept.append(place)
    return np.array(kept, dtype=np.int64)


def _solved(products: Floats, sums: Floats) -> tuple[Floats, Floats]:
    inverse = np.asarray(np.linalg.pinv(products, hermitian=True), dtype=np.float64)
    found: Floats = inverse @ sums
    return found, inverse
