"""Crowded bins looked at more closely, compiled: where to cut them, and what the finer noisy counts say.

A window that sits in few bins is counted twice, coarsely and then finely where it is crowded; the two parts of ε add
up (sequential composition, Dwork & Roth 2014, theorem 3.16).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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
def sharpened(
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
