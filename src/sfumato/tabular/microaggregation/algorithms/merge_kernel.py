"""Merge clusters of fewer than k records with others until none is left.

Stoldt, "Datenbankanonymisierung auf Basis von k-means-Algorithmen" (slides, 2019).
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.rim_kernel import squared_distance

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def best_partner(centres: Floats, sizes: Integers, group: int, growth: bool) -> int:
    """Return the cluster nearest by centroid or, with ``growth``, the one that costs least."""
    best, partner = np.inf, -1
    for other in range(sizes.size):
        if other == group or sizes[other] == 0:
            continue
        cost = squared_distance(centres[group], centres[other])
        if growth:
            cost *= sizes[group] * sizes[other] / (sizes[group] + sizes[other])
        if cost < best:
            best, partner = cost, other
    return partner


@kernel
def absorb(centres: Floats, sizes: Integers, into: Integers, keeper: int, other: int) -> None:
    """Merge ``other`` into ``keeper``."""
    total = sizes[keeper] + sizes[other]
    for j in range(centres.shape[1]):
        weighted = centres[keeper, j] * sizes[keeper] + centres[other, j] * sizes[other]
        centres[keeper, j] = weighted / total
    sizes[keeper], sizes[other] = total, 0
    into[other] = keeper


@kernel
def merge_inner(centres: Floats, sizes: Integers, into: Integers, k: int, growth: bool) -> None:
    """Let each small cluster absorb partners until it is large enough, then go to the next."""
    for group in range(sizes.size):
        while 0 < sizes[group] < k:
            partner = best_partner(centres, sizes, group, growth)
            if partner < 0:
                return
            absorb(centres, sizes, into, group, partner)


@kernel
def merge_outer(centres: Floats, sizes: Integers, into: Integers, k: int, growth: bool) -> None:
    """Sweep over the clusters, each small one joining a partner once, until a sweep finds none."""
    merged = True
    while merged:
        merged = False
        for group in range(sizes.size):
            if 0 < sizes[group] < k:
                partner = best_partner(centres, sizes, group, growth)
                if partner < 0:
                    return
                absorb(centres, sizes, into, partner, group)
                merged = True


@kernel
def merge_once(centres: Floats, sizes: Integers, into: Integers, k: int, growth: bool) -> None:
    """Pass over the clusters once; a merged one goes to the end of the line."""
    line = np.empty(2 * sizes.size, np.int64)
    line[: sizes.size] = np.arange(sizes.size)
    start, stop = 0, sizes.size
    while start < stop:
        group = line[start]
        start += 1
        if 0 < sizes[group] < k:
            partner = best_partner(centres, sizes, group, growth)
            if partner < 0:
                return
            absorb(centres, sizes, into, group, partner)
            line[stop] = group
            stop += 1


@kernel
def merge_small(x: Floats, labels: Integers, count: int, k: int, loop: int, growth: bool) -> Integers:
    """Return dense labels with no cluster under k; ``loop`` 0 is inner, 1 outer, 2 none."""
    centres, sizes = np.zeros((count, x.shape[1])), np.zeros(count, np.int64)
    for i in range(x.shape[0]):
        sizes[labels[i]] += 1
        centres[labels[i]] += x[i]
    for group in range(count):
        if sizes[group] > 0:
            centres[group] /= sizes[group]
    into = np.arange(count)
    if loop == 0:
        merge_inner(centres, sizes, into, k, growth)
    elif loop == 1:
        merge_outer(centres, sizes, into, k, growth)
    else:
        merge_once(centres, sizes, into, k, growth)
    dense = np.cumsum(sizes > 0) - 1
    result = np.empty_like(labels)
    for i in range(labels.size):
        group = labels[i]
        while into[group] != group:
            group = into[group]
        result[i] = dense[group]
    return result
