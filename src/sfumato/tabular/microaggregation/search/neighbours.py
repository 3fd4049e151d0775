"""The nearest records of every record, which a local search takes its candidates from.

Bentley (1975). Each record's search stands alone, so all cores share them and the result is the same.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from sfumato.tabular.microaggregation.kdtree.kernel import build
from sfumato.tabular.microaggregation.loss import Records
from sfumato.tabular.microaggregation.search.neighbours_kernel import fill_near

CHUNK = 10_000


def near_records(x: Records, reach: int) -> npt.NDArray[np.int32]:
    """Return the ``reach`` records nearest to each record, itself left out, nearest first.

    >>> near_records(np.array([[0.0], [1.0], [5.0]]), 1).ravel().tolist()
    [1, 0, 1]
    """
    tree = build(x, np.arange(len(x)))
    result = np.empty((len(x), reach), np.int32)
    starts = range(0, len(x), CHUNK)
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        list(cores.map(lambda start: fill_near(tree, x, start, min(start + CHUNK, len(x)), result), starts))
    return result
