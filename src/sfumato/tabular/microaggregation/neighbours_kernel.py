"""The nearest records of every record, which a local search takes its candidates from.

Bentley (1975), over the kd-tree of this package.
"""

import numpy as np
import numpy.typing as npt

from sfumato.kernel import kernel
from sfumato.tabular.microaggregation.kdtree_kernel import build, nearest


@kernel
def near_records(x: npt.NDArray[np.float64], reach: int) -> npt.NDArray[np.int32]:
    """Return the ``reach`` records nearest to each record, itself left out, nearest first."""
    n = x.shape[0]
    tree = build(x, np.arange(n))
    near, records = np.empty(reach + 1), np.empty(reach + 1, np.int64)
    result = np.empty((n, reach), np.int32)
    for i in range(n):
        nearest(tree, x[i], near, records)
        filled = 0
        for slot in np.argsort(near):
            # Among many copies of a record it may not find itself; then the last one goes.
            if records[slot] != i and filled < reach:
                result[i, filled] = records[slot]
                filled += 1
    return result
