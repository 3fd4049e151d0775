"""k-means over a kd-tree of centres, with Forgy and k-means++ starts.

Lloyd, "Least squares quantization in PCM" (1982); Arthur & Vassilvitskii, "k-means++: the
advantages of careful seeding" (2007).
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.kernel import build, nearest
from sfumato.tabular.microaggregation.kdtree.rim_kernel import squared_distance
from sfumato.tabular.microaggregation.random_kernel import State, next_below, next_unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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
