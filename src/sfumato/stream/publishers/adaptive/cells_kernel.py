"""What an adaptive histogram does on the public grid of cells, compiled: the long run, the bins, the rows.

The long run is made monotone from the middle outwards, so that its tails end where the noise first reaches 0 or 1. A
window that sits in few bins is counted twice, coarsely and then finely where it is crowded; the two parts of ε add up
(sequential composition, Dwork & Roth 2014, theorem 3.16). Between two distributions on a line the squared Wasserstein
distance is that of their quantiles, so the best row for a rank is the expectation of its quantile (Villani 2009,
section 2.2); in the middle the plain quantile keeps the shape. A window's own posterior is drawn towards the long run
and errs alike for many windows; the sum of unprojected counts does not. Carrying the difference forward is error
diffusion (Floyd & Steinberg 1976), over windows instead of pixels.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
SURE = 0.9999
MOST = 2.0  # the ratio of due to given beyond which nothing more is made up at once


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
def root_of(probabilities: Numbers, reach: int) -> Numbers:
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


@kernel
def finer_bins(means: Numbers, edges: Integers, cells: Numbers, records: float) -> tuple[Integers, Integers]:
    """Return bins that cut each bin into parts of about `records` records, at cells: their edges, and each cell's."""
    finer, of_cell = np.zeros(cells.size + 1, dtype=np.int64), np.empty(cells.size, dtype=np.int64)
    count = 0
    for place in range(means.size):
        start, end = edges[place], edges[place + 1]
        parts = min(int(means[place] / records), end - start)
        total = cells[start:end].sum()
        passed, cut = 0.0, 1
        for cell in range(start, end):
            of_cell[cell] = count
            passed += cells[cell]
            if cell == end - 1 or (cut < parts and passed * parts >= cut * total):
                while cut < parts and passed * parts >= cut * total:
                    cut += 1
                count += 1
                finer[count] = cell + 1
    return finer[: count + 1], of_cell


@kernel
def sharpen_counts(
    means: Numbers, edges: Integers, cells: Numbers, finer: Integers, noisy: Integers, noise: float
) -> Numbers:
    """Return the counts of finer bins: as expected from the shape, moved towards the noisy counts as far as they tell.

    The shape may be wrong by as much as it says, so an expected count e has the variance e²+e before it is counted; the
    counts within a bin still add up to what the bin was read as.
    """
    counts = np.empty(noisy.size)
    first = 0
    for place in range(means.size):
        last, found, spread = first, 0.0, 0.0
        while last < noisy.size and finer[last] < edges[place + 1]:
            expected = cells[finer[last] : finer[last + 1]].sum()
            variance = expected * expected + expected
            trust = variance / (variance + noise)
            counts[last] = expected + trust * (noisy[last] - expected)
            found += counts[last]
            spread += trust
            last += 1
        missing = (means[place] - found) / max(spread, 1e-12)
        total = 0.0
        for part in range(first, last):
            expected = cells[finer[part] : finer[part + 1]].sum()
            variance = expected * expected + expected
            counts[part] = max(counts[part] + missing * variance / (variance + noise), 0.0)
            total += counts[part]
        for part in range(first, last):
            counts[part] = counts[part] * means[place] / total if total > 0 else means[place] / (last - first)
        first = last
    return counts


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


@kernel
def follow_stream(cells: Numbers, due: Numbers, given: Numbers, calm: float) -> Numbers:
    """Return a window's cells, more where more is due than was given, in all as many; `calm` rows count as agreed on.

    The factor is the cube of due over given (this window included), so that what is missing is made up soon; a cell
    that the window has left empty stays empty.
    """
    found = np.empty(cells.size)
    before, after = 0.0, 0.0
    for cell in range(cells.size):
        ratio = (max(due[cell], 0.0) + calm) / (given[cell] + cells[cell] + calm)
        ratio = min(max(ratio, 1 / MOST), MOST)
        found[cell] = cells[cell] * ratio * ratio * ratio
        before += cells[cell]
        after += found[cell]
    return found * (before / after)


@kernel
def hand_out(rows: Numbers, given: Numbers) -> None:
    """Add rows, in cells, to what was given before."""
    for row in rows:
        given[min(int(row), given.size - 1)] += 1
