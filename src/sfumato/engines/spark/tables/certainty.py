"""What classes cost: the share of each column's scale that a row's class covers (Xu et al. 2006)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Extent


def certainty_lost(problem: Problem, classes: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.float64]:
    """Return the certainty that each row loses in its class, 0 to 1, over all quasi-identifiers alike."""
    lost = np.zeros(len(classes))
    for column in problem.quasi:
        extent = Extent.of(column, column.codes, classes, count)
        empty = extent.low > extent.high
        low, high = np.where(empty, 0, extent.low), np.where(empty, 0, extent.high)
        share = np.where(extent.missing & ~empty, 1.0, column.positions[high] - column.positions[low])
        lost += share[classes]
    return lost / len(problem.quasi)


def average(lost: npt.NDArray[np.float64], weights: npt.NDArray[np.int64] | None) -> float:
    """Return the average over rows, each counted as often as it occurs.

    >>> average(np.array([0.0, 1.0]), np.array([3, 1]))
    0.25
    """
    return float(np.average(lost, weights=weights))
