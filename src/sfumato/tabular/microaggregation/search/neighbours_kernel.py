"""The nearest records of some records, found in a tree of all of them.

Bentley (1975), over the kd-tree of this package.
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.kernel import nearest
from sfumato.tabular.microaggregation.kdtree.tree import Tree


@kernel
def fill_near(tree: Tree, x: npt.NDArray[np.float64], start: int, stop: int, result: npt.NDArray[np.int32]) -> None:
    """Fill rows ``start`` to ``stop - 1`` of ``result`` with the records nearest to each, itself left out."""
    reach = result.shape[1]
    near, records = np.empty(reach + 1), np.empty(reach + 1, np.int64)
    for i in range(start, stop):
        nearest(tree, x[i], near, records)
        filled = 0
        for slot in np.argsort(near):
            # Among many copies of a record it may not find itself; then the last one goes.
            if records[slot] != i and filled < reach:
                result[i, filled] = records[slot]
                filled += 1
