"""What classes of rows cost, and what they would cost with one cell more, each over all classes at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.local_recoding.cover_kernel import begin, cost_with, widen

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@kernel
def fill_covers(
    facts: Int64s,
    nodes: Int32s,
    codes: Int32s,
    of_row: Int64s,
    labels: Int64s,
    covers: Int64s,
    sizes: Int64s,
    example: Int64s,
) -> None:
    """Write the cover, the rows and a cell of every class; a row of class -1 is in none."""
    for row in range(len(labels)):
        group = labels[row]
        if group < 0:
            continue
        if sizes[group] == 0:
            begin(facts, codes, of_row[row], covers, group)
            example[group] = of_row[row]
        else:
            widen(facts, nodes, codes, of_row[row], covers, group)
        sizes[group] += 1


@kernel
def class_penalties(
    facts: Int64s, nodes: Int32s, costs: Floats, codes: Int32s, of_row: Int64s, labels: Int64s, count: int, width: int
) -> Floats:
    """Return the penalty of one row of each class."""
    covers, sizes, example = np.zeros((count, width), np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    fill_covers(facts, nodes, codes, of_row, labels, covers, sizes, example)
    found = np.zeros(count)
    for group in range(count):
        if sizes[group] > 0:
            found[group] = cost_with(facts, nodes, costs, codes, covers, group, example[group], np.inf)
    return found


@kernel
def growths(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    of_row: Int64s,
    labels: Int64s,
    count: int,
    width: int,
    cell: int,
    rows: int,
) -> Floats:
    """Return by how much the penalty of all rows of each class grows when a cell of so many rows joins it."""
    covers, sizes, example = np.zeros((count, width), np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    fill_covers(facts, nodes, codes, of_row, labels, covers, sizes, example)
    found = np.zeros(count)
    for group in range(count):
        before = cost_with(facts, nodes, costs, codes, covers, group, example[group], np.inf)
        after = cost_with(facts, nodes, costs, codes, covers, group, cell, np.inf)
        found[group] = after * (sizes[group] + rows) - before * sizes[group]
    return found
