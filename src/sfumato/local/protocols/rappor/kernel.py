"""Coordinate descent for non-negative sparse regression whose columns are few places of a long vector.

Friedman, Hastie, Höfling & Tibshirani (2007), "Pathwise Coordinate Optimization".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@kernel
def descend(
    starts: Places, places: Places, weights: Numbers, residual: Numbers, penalty: Numbers, found: Numbers, limit: int
) -> int:
    """Minimise |residual|²/2 + penalty·found over found ≥ 0, in place; return the sweeps it took.

    Column v has `weights[starts[v]:starts[v+1]]` at `places[…]` and zeros elsewhere; `residual` is what is left of the
    target at the present `found`.
    """
    sizes = np.zeros(found.size)
    for column in range(found.size):
        for entry in range(starts[column], starts[column + 1]):
            sizes[column] += weights[entry] * weights[entry]
    for sweep in range(1, limit + 1):
        moved = 0.0
        largest = 0.0
        for column in range(found.size):
            if sizes[column] == 0.0:
                continue
            slope = -penalty[column]
            for entry in range(starts[column], starts[column + 1]):
                slope += weights[entry] * residual[places[entry]]
            after = max(found[column] + slope / sizes[column], 0.0)
            step = after - found[column]
            if step != 0.0:
                for entry in range(starts[column], starts[column + 1]):
                    residual[places[entry]] -= weights[entry] * step
                found[column] = after
            moved = max(moved, abs(step))
            largest = max(largest, after)
        if moved <= 1e-9 * max(largest, 1.0):
            return sweep
    return limit
