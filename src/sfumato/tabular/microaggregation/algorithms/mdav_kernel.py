"""Exact MDAV over a kd-tree with deletion.

Domingo-Ferrer & Torra, "Ordinal, continuous and heterogeneous k-anonymity through
microaggregation" (2005).
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.algorithms.peel_kernel import take_nearest, unlabelled
from sfumato.tabular.microaggregation.kdtree.kernel import build, farthest
from sfumato.tabular.microaggregation.kdtree.rim_kernel import farthest_on_rim, sort_rim
from sfumato.tabular.microaggregation.kdtree.tree import Tree

PATIENCE = 16

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def add_exactly(high: Floats, low: Floats, row: Floats, sign: float) -> None:
    """Add ``sign * row`` to a sum kept in two doubles per column.

    The sum of the remaining records then never drifts, so that the centroid is the
    correctly rounded one however many records were taken out before.
    """
    for j in range(row.size):
        value = sign * row[j]
        total = high[j] + value
        part = total - high[j]
        low[j] += (high[j] - (total - part)) + (value - part)
        high[j] = total


@kernel
def take_group(x: Floats, tree: Tree, seed: int, k: int, group: int, labels: Integers, sums: Floats) -> None:
    """Give ``seed`` and its k-1 nearest records the label ``group`` and take them out."""
    members = np.empty(k, np.int64)
    for i in range(take_nearest(x, tree, seed, members, np.empty(k - 1))):
        labels[members[i]] = group
        add_exactly(sums[0], sums[1], x[members[i]], -1.0)


@kernel
def mdav_groups(x: Floats, k: int) -> Integers:
    """Return the MDAV group of every record."""
    n = x.shape[0]
    labels = np.full(n, -1, np.int64)
    sums = np.zeros((2, x.shape[1]))
    for i in range(n):
        add_exactly(sums[0], sums[1], x[i], 1.0)
    members = unlabelled(labels)
    tree, rim = build(x, members), sort_rim(x, members, (sums[0] + sums[1]) / n)
    left, built, group, looked = n, n, 0, 0
    while left >= 2 * k:
        centroid = (sums[0] + sums[1]) / left
        if 2 * left < built:
            tree, built = build(x, unlabelled(labels)), left
        # Sorting anew pays once the centroid has strayed for as many looks as a sort costs.
        if looked > PATIENCE * left:
            rim, looked = sort_rim(x, unlabelled(labels), centroid), 0
        seed, looks = farthest_on_rim(x, rim, labels, centroid)
        looked += looks
        take_group(x, tree, seed, k, group, labels, sums)
        left, group = left - k, group + 1
        # Only a pair that began with 3k or more has a second group; 2k of them remain.
        if left >= 2 * k:
            other = farthest(tree, x[seed])
            take_group(x, tree, other, k, group, labels, sums)
            left, group = left - k, group + 1
    labels[labels < 0] = group
    return labels
