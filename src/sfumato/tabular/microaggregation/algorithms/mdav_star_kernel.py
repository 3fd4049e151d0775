"""MDAV* over a kd-tree with deletion, in our reading.

Thaeter & Reischuk, "Improving anonymization clustering" (2018), who weigh extending a group
by its nearest outsider against opening a new group there; the rule itself is inferred.
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.algorithms.peel_kernel import (
    join_nearest_group,
    outermost_first,
    take_nearest,
    unlabelled,
)
from sfumato.tabular.microaggregation.kdtree.kernel import build, nearest, remove
from sfumato.tabular.microaggregation.kdtree.rim_kernel import squared_distance
from sfumato.tabular.microaggregation.kdtree.tree import Tree

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def mean_of(x: Floats, members: Integers) -> Floats:
    """Return the centroid of some records."""
    centroid = np.zeros(x.shape[1])
    for record in members:
        centroid += x[record]
    return centroid / members.size


@kernel
def mean_error(x: Floats, members: Integers) -> float:
    """Return the mean squared distance of some records to their centroid."""
    centroid = mean_of(x, members)
    total = 0.0
    for record in members:
        total += squared_distance(x[record], centroid)
    return total / members.size


@kernel
def extend(x: Floats, k: int, tree: Tree, members: Integers, size: int, left: int) -> int:
    """Add the outsider nearest to the centroid while that is the cheaper; return the new size.

    Joining costs what the error of the group grows by; not joining costs the mean error of
    the group that the outsider would open with its k-1 nearest. ``left`` counts outsiders.
    """
    near, found = np.empty(1), np.empty(1, np.int64)
    peers, rival = np.empty(k), np.empty(k, np.int64)
    while size < members.size and left >= k:
        nearest(tree, mean_of(x, members[:size]), near, found)
        growth = near[0] * size / (size + 1.0)
        nearest(tree, x[found[0]], peers, rival)
        # Heap order depends on the tree; sums must not.
        if growth >= mean_error(x, np.sort(rival)):
            break
        remove(tree, found[0])
        members[size] = found[0]
        size, left = size + 1, left - 1
    return size


@kernel
def mdav_star_groups(x: Floats, k: int) -> Integers:
    """Return the MDAV* group of every record; fewer than k records are one group."""
    n = x.shape[0]
    labels = np.full(n, -1, np.int64)
    members, near = np.empty(2 * k - 1, np.int64), np.empty(k - 1)
    tree = build(x, unlabelled(labels))
    left, built, group = n, n, 0
    for seed in outermost_first(x):
        if left < k:
            break
        if labels[seed] >= 0:
            continue
        if 2 * left < built:
            tree, built = build(x, unlabelled(labels)), left
        take_nearest(x, tree, seed, members, near)
        members[:k].sort()
        size = extend(x, k, tree, members, k, left - k)
        labels[members[:size]] = group
        left, group = left - size, group + 1
    if group == 0:
        labels[:] = 0
    join_nearest_group(x, group, labels)
    return labels
