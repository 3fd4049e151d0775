"""V-MDAV over a kd-tree with deletion.

Solanas & Martínez-Ballesté, "V-MDAV: a multivariate microaggregation with variable group
size" (2006).
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
from sfumato.tabular.microaggregation.kdtree.tree import Tree

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def nearest_outsider(x: Floats, tree: Tree, members: Integers, size: int) -> tuple[float, int]:
    """Return squared distance and record of the outsider nearest to any of the members."""
    near, found = np.empty(1), np.empty(1, np.int64)
    best, record = np.inf, -1
    for i in range(size):
        if nearest(tree, x[members[i]], near, found) > 0 and (
            near[0] < best or (near[0] == best and found[0] < record)
        ):
            best, record = near[0], found[0]
    return best, record


@kernel
def own_nearest(x: Floats, tree: Tree, record: int) -> float:
    """Return the squared distance from an outsider to the nearest other outsider."""
    near, found = np.empty(2), np.empty(2, np.int64)
    best = np.inf
    for i in range(nearest(tree, x[record], near, found)):
        if found[i] != record:
            best = min(best, near[i])
    return best


@kernel
def extend(x: Floats, gamma: float, tree: Tree, members: Integers, size: int) -> int:
    """Add outsiders nearer to the group than gamma times to each other; return the new size."""
    while size < members.size:
        inward, record = nearest_outsider(x, tree, members, size)
        if record < 0 or np.sqrt(inward) >= gamma * np.sqrt(own_nearest(x, tree, record)):
            break
        remove(tree, record)
        members[size] = record
        size += 1
    return size


@kernel
def vmdav_groups(x: Floats, k: int, gamma: float) -> Integers:
    """Return the V-MDAV group of every record; fewer than k records are one group."""
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
        size = take_nearest(x, tree, seed, members, near)
        size = extend(x, gamma, tree, members, size)
        labels[members[:size]] = group
        left, group = left - size, group + 1
    if group == 0:
        labels[:] = 0
    join_nearest_group(x, group, labels)
    return labels
