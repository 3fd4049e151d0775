"""The shape of a kd-tree whose records can be taken out one by one.

Bentley, "Multidimensional binary search trees used for associative searching" (1975).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Tree(NamedTuple):
    """A balanced tree in heap order (root 1, children 2i and 2i+1) with column-major leaves.

    Column-major leaves let one instruction handle several records, so the tree
    degrades to a fast scan, not to a slow one, where many columns defeat pruning.
    An empty node has ``low`` = +inf and ``high`` = -inf.
    """

    blocks: npt.NDArray[np.float64]  # (leaves, columns, capacity)
    ids: npt.NDArray[np.int64]  # (leaves, capacity): record of each slot
    alive: npt.NDArray[np.int64]  # (leaves,): slots 0..alive-1 are in use
    low: npt.NDArray[np.float64]  # (nodes, columns): smallest value below a node
    high: npt.NDArray[np.float64]  # (nodes, columns): largest value below a node
    slot: npt.NDArray[np.int64]  # (records,): leaf * capacity + position
