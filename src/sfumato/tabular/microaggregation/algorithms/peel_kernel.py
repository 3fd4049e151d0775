"""Steps shared by the algorithms that peel groups off from the outside in.

Stoldt, "Datenbankanonymisierung auf Basis von k-means-Algorithmen" (slides, 2019), for MDAV+;
V-MDAV and MDAV* differ from it only in when a group is closed.
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.kernel import nearest, remove
from sfumato.tabular.microaggregation.kdtree.tree import Tree

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def outermost_first(x: Floats) -> Integers:
    """Return the records by falling distance to the centroid of all, the lowest first on ties."""
    n, d = x.shape
    distances = np.zeros(n)
    for j in range(d):
        centre = 0.0
        for i in range(n):
            centre += x[i, j]
        centre /= n
        for i in range(n):
            distances[i] -= (x[i, j] - centre) ** 2
    return np.argsort(distances, kind="mergesort")


@kernel
def unlabelled(labels: Integers) -> Integers:
    """Return the records without a group."""
    return np.flatnonzero(labels < 0)


@kernel
def take_nearest(x: Floats, tree: Tree, seed: int, members: Integers, near: Floats) -> int:
    """Move ``seed`` and as many of its nearest records as ``near`` holds to ``members``."""
    # The seed goes first: a twin of lower index would be found before it.
    remove(tree, seed)
    members[0] = seed
    found = nearest(tree, x[seed], near, members[1 : near.size + 1])
    for i in range(1, found + 1):
        remove(tree, members[i])
    return found + 1


@kernel
def join_nearest_group(x: Floats, groups: int, labels: Integers) -> None:
    """Give every leftover the label of the group whose centroid, without leftovers, is nearest."""
    centroids = np.zeros((groups, x.shape[1]))
    sizes = np.zeros(groups)
    for i in range(x.shape[0]):
        if labels[i] >= 0:
            centroids[labels[i]] += x[i]
            sizes[labels[i]] += 1.0
    for group in range(groups):
        centroids[group] /= sizes[group]
    for i in unlabelled(labels):
        best = np.inf
        for group in range(groups):
            distance = 0.0
            for j in range(x.shape[1]):
                distance += (x[i, j] - centroids[group, j]) ** 2
            if distance < best:
                best, labels[i] = distance, group
