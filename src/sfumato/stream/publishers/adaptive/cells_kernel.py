"""What an adaptive histogram does on the public grid of cells, compiled: the long run, the next bins, the averages.

The long run is made monotone from the middle outwards, so that its tails end where the noise first reaches 0 or 1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def long_run(raw: Numbers) -> Numbers:
    """Return unprojected averages of cells as probabilities: the differences of a monotone distribution function."""
    size = raw.size
    rising, late = np.empty(size), np.empty(size)
    total, highest = 0.0, 0.0
    for cell in range(size):
        total += raw[cell]
        late[cell] = 1.0 if cell == size - 1 else total
        highest = min(max(highest, late[cell]), 1.0)
        rising[cell] = highest
    lowest = 1.0
    for cell in range(size - 1, -1, -1):
        lowest = max(min(lowest, late[cell]), 0.0)
        late[cell] = lowest
    found = np.empty(size)
    before, passed = 0.0, False
    for cell in range(size):
        passed = passed or rising[cell] >= 0.5
        level = max(before, rising[cell] if passed else late[cell])
        found[cell] = level - before
        before = level
    return found


@kernel
def cut_bins(probabilities: Numbers, even: float, count: int, shift: float) -> tuple[Integers, Integers]:
    """Return the cells where bins begin (with the end behind them), and the bin of each cell.

    A bin ends with the cell in which the distribution, mixed with an even one, passes (0, 1, 2 …+shift)/count.
    """
    size = probabilities.size
    edges, of_cell = np.zeros(count + 2, dtype=np.int64), np.empty(size, dtype=np.int64)
    bins, passed, total = 0, 0, 0.0
    for cell in range(size):
        of_cell[cell] = bins
        total += (1 - even) * probabilities[cell] + even / size
        if passed < count and total >= (passed + shift) / count and cell < size - 1:
            while passed < count and total >= (passed + shift) / count:
                passed += 1
            bins += 1
            edges[bins] = cell + 1
    edges[bins + 1] = size
    return edges[: bins + 2], of_cell


@kernel
def rooted(probabilities: Numbers, reach: int) -> Numbers:
    """Return a distribution as steep as the root of another one, smoothed over `reach` cells on either side.

    With bins in proportion to the root of the density, a sparse region is cut more finely than at quantiles.
    """
    size = probabilities.size
    near, roots, total = 0.0, np.empty(size), 0.0
    for cell in range(-reach, size):
        near += probabilities[cell + reach] if cell + reach < size else 0.0
        near -= probabilities[cell - reach - 1] if cell > reach else 0.0
        if cell >= 0:
            roots[cell] = math.sqrt(max(near, 0.0))
            total += roots[cell]
    return roots / total


@kernel
def bin_sums(cells: Numbers, edges: Integers) -> Numbers:
    """Return what each bin holds of something spread over cells."""
    sums = np.zeros(edges.size - 1)
    for place in range(sums.size):
        for cell in range(edges[place], edges[place + 1]):
            sums[place] += cells[cell]
    return sums


@kernel
def spread_counts(means: Numbers, edges: Integers, shape: Numbers) -> Numbers:
    """Return the bins' counts spread over their cells in proportion to a shape, which is nowhere quite 0."""
    cells = np.empty(shape.size)
    least = 1e-3 / shape.size
    for place in range(means.size):
        total = 0.0
        for cell in range(edges[place], edges[place + 1]):
            total += shape[cell] + least
        for cell in range(edges[place], edges[place + 1]):
            cells[cell] = means[place] * (shape[cell] + least) / total
    return cells


@kernel
def fix_total(means: Numbers, variances: Numbers, fallback: Numbers, size: int) -> None:
    """Make counts add up to `size`: what is missing is shared out by variance, negative counts become 0."""
    missing = (size - means.sum()) / variances.sum()
    total = 0.0
    for place in range(means.size):
        means[place] = max(means[place] + missing * variances[place], 0.0)
        total += means[place]
    if total <= 0:
        means[:] = fallback
        total = fallback.sum()
    means *= size / total


@kernel
def remember(
    raw: Numbers,
    shape: Numbers,
    likely: Numbers,
    noisy: Integers,
    edges: Integers,
    cells: Numbers,
    size: int,
    weight: float,
    sharper: float,
) -> None:
    """Average a window into the long run, as it was counted, and into the shape, as it was read."""
    total = 0.0
    for place in range(noisy.size):
        start, end = edges[place], edges[place + 1]
        missing = (noisy[place] / size - raw[start:end].sum()) * weight / (end - start)
        for cell in range(start, end):
            raw[cell] += missing
            total += raw[cell]
    for cell in range(raw.size):
        raw[cell] += (1 - total) * likely[cell]
        shape[cell] += sharper * (cells[cell] / size - shape[cell])
