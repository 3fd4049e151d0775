"""MDAV+ over a kd-tree with deletion.

Stoldt, "Datenbankanonymisierung auf Basis von k-means-Algorithmen" (slides, 2019).
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
from sfumato.tabular.microaggregation.kdtree.kernel import build


@kernel
def mdav_plus_groups(x: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.int64]:
    """Return the MDAV+ group of every record; fewer than k records are one group."""
    n = x.shape[0]
    labels = np.full(n, -1, np.int64)
    members, near = np.empty(k, np.int64), np.empty(k - 1)
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
        labels[members] = group
        left, group = left - k, group + 1
    if group == 0:
        labels[:] = 0
    join_nearest_group(x, group, labels)
    return labels
