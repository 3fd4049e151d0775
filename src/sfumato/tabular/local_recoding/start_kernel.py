"""Classes to start from, the cheapest first: every cell's class is grown from near cells, and the cheapest is founded.

Greedy growth by the certainty penalty as in Xu et al. 2006 (bottom-up); a class takes in all cells that its cover holds
anyway, since they cost no more there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.class_test import ClassTest
from sfumato.tabular.class_test_kernel import WEIGHT, class_holds
from sfumato.tabular.local_recoding.cover_kernel import begin, cheapest, widen
from sfumato.tabular.local_recoding.heap_kernel import pop, push

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@kernel
def found_classes(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    width: int,
    places: Int64s,
    near: Int32s,
    rows: Int64s,
    first: Int64s,
    label: Int64s,
    founded: int,
    least: int,
    test: ClassTest | None,
) -> int:
    """Give classes to the cells at `places`, numbered from `founded` on, as far as near cells go; return the next one.

    `rows` has the rows of cell c from first[c] to first[c + 1]; `label` is -1 where a cell has no class yet.
    """
    reach = near.shape[1]
    covers = np.zeros((1, width), dtype=np.int64)
    members, spare = np.empty(reach + 1, dtype=np.int64), np.empty(reach + 1, dtype=np.int64)
    floors = np.empty(reach + 1)
    tags = np.empty(len(rows), dtype=np.int64)
    expected, waiting, pending = np.empty(len(places)), np.empty(len(places), dtype=np.int64), 0
    for index in range(len(places)):
        size, cost = grow(
            facts,
            nodes,
            costs,
            codes,
            covers,
            places[index],
            near,
            index,
            rows,
            first,
            label,
            members,
            spare,
            floors,
            tags,
            least,
            test,
        )
        if size > 0:
            pending = push(expected, waiting, pending, cost, index)
    while pending > 0:
        least_cost, index = expected[0], waiting[0]
        pending = pop(expected, waiting, pending)
        if label[places[index]] >= 0:
            continue
        size, cost = grow(
            facts,
            nodes,
            costs,
            codes,
            covers,
            places[index],
            near,
            index,
            rows,
            first,
            label,
            members,
            spare,
            floors,
            tags,
            least,
            test,
        )
        if size > 0 and cost > least_cost:
            pending = push(expected, waiting, pending, cost, index)
        elif size > 0:
            for place in range(size):
                label[members[place]] = founded
            founded += 1
    return founded


@kernel
def grow(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    covers: Int64s,
    cell: int,
    near: Int32s,
    index: int,
    rows: Int64s,
    first: Int64s,
    label: Int64s,
    members: Int64s,
    spare: Int64s,
    floors: Floats,
    tags: Int64s,
    least: int,
    test: ClassTest | None,
) -> tuple[int, float]:
    """Fill `members` with the cells of the cheapest class around a cell; return their number (0: none) and its cost."""
    count = 0
    for place in range(near.shape[1]):
        other = near[index, place]
        if other >= 0 and label[other] < 0:
            spare[count], floors[count] = other, 0.0
            count += 1
    begin(facts, codes, cell, covers, 0)
    members[0], size, cost = cell, 1, 0.0
    filled = tag_rows(tags, 0, rows, first, cell)
    while not holds(tags, filled, least, test):
        place, found = cheapest(facts, nodes, costs, codes, covers, 0, spare, floors, 0, count, cost)
        if place < 0:
            return 0, np.inf
        cost, members[size] = found, spare[place]
        filled = tag_rows(tags, filled, rows, first, spare[place])
        widen(facts, nodes, codes, spare[place], covers, 0)
        count -= 1
        spare[place], floors[place] = spare[count], floors[count]
        size += 1
    needed = size
    while True:
        place, found = cheapest(facts, nodes, costs, codes, covers, 0, spare, floors, 0, count, cost)
        if place < 0 or found > cost:
            break
        members[size] = spare[place]
        filled = tag_rows(tags, filled, rows, first, spare[place])
        count -= 1
        spare[place], floors[place] = spare[count], floors[count]
        size += 1
    return (size if test is None or size == needed or holds(tags, filled, least, test) else needed), cost


@kernel
def tag_rows(tags: Int64s, filled: int, rows: Int64s, first: Int64s, cell: int) -> int:
    """Add a cell's rows to the tags of a class; return how many there are then."""
    for place in range(first[cell], first[cell + 1]):
        tags[filled] = (np.int64(1) << WEIGHT) + rows[place]
        filled += 1
    return filled


@kernel
def holds(tags: Int64s, filled: int, least: int, test: ClassTest | None) -> bool:
    """Return whether the first tagged rows may be a class; without a test, k alone is asked for."""
    if filled < least:
        return False
    if test is None:
        return True
    return bool(class_holds(tags, test.members, test.ties, test.criteria, 0, filled, least))
