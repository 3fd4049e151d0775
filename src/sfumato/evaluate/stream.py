"""How far a released stream lies from the true one: window by window, over all, and record by record.

The squared Wasserstein distance W₂² between equally many values is that of their order statistics (Villani 2009);
histogram intersection is Swain & Ballard (1991), and the squared error in order is DOCA's EQM (Leal et al. 2018).
"""

from __future__ import annotations

import numpy as np

from sfumato.errors import InputError
from sfumato.stream.base import Numbers, Published


def window_distance(original: Numbers, released: Numbers, window: int) -> float:
    """Return the mean of W₂² between the true and the released values of each window of `window` records.

    >>> window_distance(np.array([1.0, 2.0, 9.0, 8.0]), np.array([2.0, 1.0, 8.0, 10.0]), 2)
    0.25
    """
    _same_length(original, released)
    total = 0.0
    for start in range(0, len(original), window):
        true, given = (np.sort(values[start : start + window]) for values in (original, released))
        total += float(((true - given) ** 2).sum())
    return total / max(len(original), 1)


def histogram_intersection(original: Numbers, released: Numbers, bins: int = 100) -> float:
    """Return the overlap of the two distributions in equal bins over the original range, 1 when they agree.

    >>> histogram_intersection(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 0.1, 2.0, 3.0]), 2)
    1.0
    """
    edges = np.linspace(original.min(), original.max(), bins + 1)
    true = np.histogram(original, edges)[0] / len(original)
    given = np.histogram(released, edges)[0] / len(released)
    return float(np.minimum(true, given).sum())


def squared_error(original: Numbers, published: Published) -> float:
    """Return the mean squared error of a linked release, record by record (EQM).

    >>> rows = np.arange(2)
    >>> squared_error(np.array([1.0, 5.0]), Published(np.array([5.0, 2.0]), rows, rows, rows, np.array([1, 0])))
    0.5
    """
    if published.position is None:
        raise InputError("the rows are not linked to records; measure the distance of windows instead")
    return float(((published.values - original[published.position]) ** 2).mean())


def _same_length(original: Numbers, released: Numbers) -> None:
    if len(original) != len(released):
        raise InputError(f"there are {len(original)} true values and {len(released)} released ones; give as many")
