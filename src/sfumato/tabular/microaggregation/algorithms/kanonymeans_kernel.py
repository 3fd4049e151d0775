"""k-means, merging of small clusters and splitting of large ones, for kAnonyMeans.

Lloyd, "Least squares quantization in PCM" (1982); Arthur & Vassilvitskii, "k-means++: the
advantages of careful seeding" (2007); Stoldt, "Datenbankanonymisierung auf Basis von
k-means-Algorithmen" (slides, 2019).
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.algorithms.mdav_kernel import mdav_plus_groups
from sfumato.tabular.microaggregation.kdtree.coded_kernel import uncoded
from sfumato.tabular.microaggregation.kdtree.kernel import build, nearest
from sfumato.tabular.microaggregation.kdtree.rim_kernel import squared_distance
from sfumato.tabular.microaggregation.random_kernel import State, next_below, next_unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# k-means ends by itself; the limit is for ties that rounding could keep in motion.
STEPS = 200


@kernel
def forgy(n: int, count: int, state: State) -> Integers:
    """Return ``count`` different records drawn at random."""
    order = np.arange(n)
    for i in range(count):
        j = i + next_below(state, n - i)
        order[i], order[j] = order[j], order[i]
    return order[:count].copy()


@kernel
def plus_plus(x: Floats, count: int, state: State) -> Integers:
    """Return ``count`` records, each drawn with odds as its squared distance to those before."""
    n = x.shape[0]
    chosen = np.empty(count, np.int64)
    chosen[0] = next_below(state, n)
    reach = np.full(n, np.inf)
    for c in range(1, count):
        total = 0.0
        for i in range(n):
            reach[i] = min(reach[i], squared_distance(x[i], x[chosen[c - 1]]))
            total += reach[i]
        left = next_unit(state) * total
        # With fewer different records than centres nothing is left to draw: any will do.
        pick = next_below(state, n)
        for i in range(n):
            left -= reach[i]
            if left < 0.0 and reach[i] > 0.0:
                pick = i
                break
        chosen[c] = pick
    return chosen


@kernel
def assign(x: Floats, centres: Floats, labels: Integers) -> bool:
    """Label every record with its nearest centre; return whether a label changed."""
    tree = build(centres, np.arange(centres.shape[0]))
    near, found = np.empty(1), np.empty(1, np.int64)
    changed = False
    for i in range(x.shape[0]):
        nearest(tree, x[i], near, found)
        if labels[i] != found[0]:
            labels[i] = found[0]
            changed = True
    return changed


@kernel
def means(x: Floats, labels: Integers, centres: Floats) -> None:
    """Move every centre to the mean of its records; one without records stays."""
    sums = np.zeros(centres.shape)
    sizes = np.zeros(centres.shape[0])
    for i in range(x.shape[0]):
        sizes[labels[i]] += 1.0
        for j in range(x.shape[1]):
            sums[labels[i], j] += x[i, j]
    for c in range(centres.shape[0]):
        if sizes[c] > 0.0:
            for j in range(x.shape[1]):
                centres[c, j] = sums[c, j] / sizes[c]


@kernel
def lloyd(x: Floats, centres: Floats, limit: int) -> Integers:
    """Return the k-means labels reached from ``centres``, which move, in up to ``limit`` steps."""
    labels = np.full(x.shape[0], -1, np.int64)
    for _ in range(limit):
        if not assign(x, centres, labels):
            break
        means(x, labels, centres)
    return labels


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
def absorb_partner(centres: Floats, sizes: Integers, into: Integers, group: int, growth: bool) -> bool:
    """Merge the best partner of ``group`` into it; return whether there was one."""
    partner = best_partner(centres, sizes, group, growth)
    if partner >= 0:
        absorb(centres, sizes, into, group, partner)
    return partner >= 0


@kernel
def merge_inner(centres: Floats, sizes: Integers, into: Integers, k: int, growth: bool) -> None:
    """Let each small cluster absorb partners until it is large enough, then go to the next."""
    for group in range(sizes.size):
        while 0 < sizes[group] < k:
            if not absorb_partner(centres, sizes, into, group, growth):
                return


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
            if not absorb_partner(centres, sizes, into, group, growth):
                return
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


@kernel
def split_large(x: Floats, labels: Integers, k: int) -> Integers:
    """Return labels in which clusters of 2k or more records are split by MDAV+."""
    result = labels.copy()
    order = np.argsort(labels, kind="mergesort")
    fresh = labels.max() + 1
    start = 0
    while start < labels.size:
        stop = start
        while stop < labels.size and labels[order[stop]] == labels[order[start]]:
            stop += 1
        if stop - start >= 2 * k:
            some = x[order[start:stop]]
            parts = mdav_plus_groups(some, uncoded(some), k, np.zeros(1, np.int64))
            for i in range(start, stop):
                if parts[i - start] > 0:
                    result[order[i]] = fresh + parts[i - start] - 1
            fresh += parts.max()
        start = stop
    return result


@kernel
def one_pass(x: Floats, k: int, centres: Floats, loop: int, growth: bool) -> Integers:
    """Return k-anonymous labels reached from ``centres``, which move to the k-means optimum."""
    labels = lloyd(x, centres, STEPS)
    return split_large(x, merge_small(x, labels, centres.shape[0], k, loop, growth), k)
