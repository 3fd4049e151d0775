"""One pass of kAnonyMeans: k-means, merge the small clusters, split the large ones.

Stoldt, "Datenbankanonymisierung auf Basis von k-means-Algorithmen" (slides, 2019).
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.algorithms.kmeans_kernel import lloyd
from sfumato.tabular.microaggregation.algorithms.mdav_plus_kernel import mdav_plus_groups
from sfumato.tabular.microaggregation.algorithms.merge_kernel import merge_small

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# k-means ends by itself; the limit is for ties that rounding could keep in motion.
STEPS = 200


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
            parts = mdav_plus_groups(x[order[start:stop]], k)
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
