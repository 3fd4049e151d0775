"""Find the record farthest from a centroid that moves only a little between queries.

Serves the farthest-from-the-centroid step of Domingo-Ferrer & Torra (2005). MDAV eats
the data down to a ball around its centroid, where all boxes of a tree look equally far;
the triangle inequality over one sorted list needs a handful of records instead.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.coded_kernel import Coded, ask, distance_of

# Covers the rounding of two square roots and a sum with room to spare.
SLACK = 1.0 + 1e-9

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Rim(NamedTuple):
    """Records by falling distance to ``reference``; dead ones are skipped by the reader."""

    records: Integers
    distances: Floats  # not squared
    reference: Floats
    start: Integers  # (1,): everything before it is dead


@kernel
def squared_distance(a: Floats, b: Floats) -> float:
    """Return the squared distance, columns added up from the first to the last."""
    total = 0.0
    for j in range(a.size):
        gap = a[j] - b[j]
        total += gap * gap
    return total


@kernel
def sort_rim(coded: Coded, members: Integers, reference: Floats) -> Rim:
    """Return the rim of ``members`` around ``reference``."""
    query, distances = ask(coded.book, reference), np.empty(members.size)
    for i in range(members.size):
        distances[i] = -np.sqrt(distance_of(coded, query, members[i]))
    order = np.argsort(distances)
    return Rim(members[order], -distances[order], reference.copy(), np.zeros(1, np.int64))


@kernel
def farthest_on_rim(coded: Coded, rim: Rim, labels: Integers, centroid: Floats) -> tuple[int, int]:
    """Return the unlabelled record farthest from ``centroid`` and how many were looked at."""
    start = rim.start[0]
    while labels[rim.records[start]] >= 0:
        start += 1
    rim.start[0] = start
    moved = np.sqrt(squared_distance(centroid, rim.reference))
    query, best, record = ask(coded.book, centroid), -1.0, -1
    for i in range(start, rim.records.size):
        reach = (rim.distances[i] + moved) * SLACK
        if reach * reach < best:
            return record, i - start
        candidate = rim.records[i]
        if labels[candidate] < 0:
            distance = distance_of(coded, query, candidate)
            if distance > best or (distance == best and candidate < record):
                best, record = distance, candidate
    return record, rim.records.size - start
