"""From posterior counts to rows, compiled: quantiles of the window's distribution, tails by their expectation.

Between two distributions on a line the squared Wasserstein distance is that of their quantiles, so the best row for a
rank is the expectation of its quantile (Villani 2009, section 2.2); in the middle the plain quantile keeps the shape.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
SURE = 0.9999


@kernel
def quantile_rows(cells: Numbers, size: int) -> Numbers:
    """Return `size` rows in rank order, in cells: where the running sum of `cells` (in records) passes each rank."""
    rows = np.empty(size)
    cell, passed = 0, 0.0
    for rank in range(size):
        wanted = rank + 0.5
        while cell < cells.size - 1 and passed + cells[cell] < wanted:
            passed += cells[cell]
            cell += 1
        rows[rank] = cell + min(max((wanted - passed) / max(cells[cell], 1e-12), 0.0), 1.0)
    return rows


@kernel
def exceed(mean: float, variance: float, count: int) -> Numbers:
    """Return the probability that a negative binomial number of these moments exceeds each of 0…count−1."""
    over = np.empty(count)
    spread = variance > mean * 1.0001
    size = mean * mean / (variance - mean) if spread else 0.0
    fail = mean / (size + mean) if spread else 0.0
    mass = math.exp(size * math.log(1 - fail)) if spread else math.exp(-mean)
    below = 0.0
    for number in range(count):
        below += mass
        over[number] = max(1 - below, 0.0)
        mass *= (number + size) / (number + 1) * fail if spread else mean / (number + 1)
    return over


@kernel
def top_rows(means: Numbers, variances: Numbers, edges: Numbers, count: int) -> Numbers:
    """Return the expected values of the `count` largest records, the largest first, from the bins' posterior counts."""
    expected, before = np.zeros(count), np.zeros(count)
    mean, variance = 0.0, 0.0
    for place in range(means.size - 1, -1, -1):
        mean += max(means[place], 0.0)
        variance += variances[place]
        over = exceed(mean, variance, count) if mean > 1e-9 else np.zeros(count)
        expected += (edges[place + 1] - edges[place]) * (before + over) / 2
        before = over
        if over[count - 1] > SURE:
            expected += edges[place] - edges[0]
            break
    expected += edges[0]
    return expected


@kernel
def replace_tails(rows: Numbers, means: Numbers, variances: Numbers, edges: Numbers, count: int) -> None:
    """Put expectations in place of the `count` smallest and largest rows, never out of order with those between."""
    size = rows.size
    high = top_rows(means, variances, edges, count)
    low = -top_rows(means[::-1].copy(), variances[::-1].copy(), -edges[::-1].copy(), count)
    for place in range(count):
        upper, lower = size - count + place, count - 1 - place
        rows[upper] = max(rows[upper - 1], high[count - 1 - place])
        rows[lower] = min(rows[lower + 1], low[count - 1 - place])
