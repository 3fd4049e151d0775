"""What any class that takes in a row costs at least: by pairs of cells, and by the nodes of a lattice.

Groups are numbered in a hash table with open addressing (Knuth 1998, 6.4); equal hashes are compared in full.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.local_recoding.cover_kernel import apart
from sfumato.tabular.local_recoding.penalties import SIZE, START

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@kernel
def pair_penalties(
    facts: Int64s, nodes: Int32s, costs: Floats, codes: Int32s, counts: Int64s, near: Int32s, least: int
) -> Floats:
    """Return the penalty of each cell with the nearest cell by which `least` rows are together."""
    found = np.zeros(len(codes))
    for cell in range(len(codes)):
        rows, total = counts[cell], 0.0
        for place in range(near.shape[1]):
            if rows >= least:
                break
            other, total = near[cell, place], 0.0
            rows += counts[other]
            for column in range(len(facts)):
                one, two = int(codes[cell, column]), int(codes[other, column])
                if one != two:
                    total += apart(facts, nodes, costs, column, min(one, two), max(one, two))
        found[cell] = total
    return found


@kernel
def alike(facts: Int64s, nodes: Int32s, codes: Int32s, levels: Int64s, one: int, two: int) -> bool:
    """Return whether two cells lie under the same node."""
    for column in range(len(facts)):
        base = facts[column, START] + levels[column] * facts[column, SIZE]
        if nodes[base + codes[one, column]] != nodes[base + codes[two, column]]:
            return False
    return True


@kernel
def number_groups(
    facts: Int64s, nodes: Int32s, codes: Int32s, levels: Int64s, table: Int64s, first: Int64s, group: Int64s
) -> int:
    """Write the group of every cell at one node of the lattice, and the first cell of each; return their number.

    `table` has a power of two of places, more than there are cells.
    """
    table[:] = -1
    last, count = np.uint64(len(table) - 1), 0
    for cell in range(len(codes)):
        mixed = np.uint64(0)
        for column in range(len(facts)):
            node = nodes[facts[column, START] + levels[column] * facts[column, SIZE] + codes[cell, column]]
            mixed = (mixed ^ np.uint64(node)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        place = mixed & last
        while table[place] >= 0 and not alike(facts, nodes, codes, levels, first[table[place]], cell):
            place = (place + np.uint64(1)) & last
        if table[place] < 0:
            table[place] = count
            first[count] = cell
            count += 1
        group[cell] = table[place]
    return count


@kernel
def node_penalty(facts: Int64s, costs: Floats, codes: Int32s, levels: Int64s, cell: int) -> float:
    """Return what one row costs under the node of a cell."""
    total = 0.0
    for column in range(len(facts)):
        total += costs[facts[column, START] + levels[column] * facts[column, SIZE] + codes[cell, column]]
    return total


@kernel
def fill_slacks(
    facts: Int64s,
    costs: Floats,
    codes: Int32s,
    counts: Int64s,
    levels: Int64s,
    prices: Floats,
    order: Int64s,
    least: int,
    group: Int64s,
    first: Int64s,
    count: int,
    rows: Int64s,
    slacks: Floats,
) -> None:
    """Write each group's slack: its penalty less the mean price of its `least` dearest rows, infinite if it has fewer.

    `order` has the dearest cell first; `rows` is room for counting.
    """
    rows[:count] = 0
    slacks[:count] = 0.0
    for cell in order:
        place = group[cell]
        taken = min(counts[cell], least - rows[place])
        rows[place] += taken
        slacks[place] += taken * prices[cell]
    for place in range(count):
        penalty = node_penalty(facts, costs, codes, levels, first[place])
        slacks[place] = penalty - slacks[place] / least if rows[place] == least else np.inf


@kernel
def lower_slack(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    counts: Int64s,
    every: Int64s,
    prices: Floats,
    order: Int64s,
    least: int,
    slack: Floats,
) -> None:
    """Lower each cell's slack to that of its group at every node; `order` has the dearest cell first."""
    cells, size = len(codes), 1
    while size < 2 * cells:
        size *= 2
    table, first, group = np.empty(size, np.int64), np.empty(cells, np.int64), np.empty(cells, np.int64)
    rows, slacks = np.empty(cells, np.int64), np.empty(cells)
    for node in range(len(every)):
        levels = every[node]
        count = number_groups(facts, nodes, codes, levels, table, first, group)
        fill_slacks(facts, costs, codes, counts, levels, prices, order, least, group, first, count, rows, slacks)
        for cell in range(cells):
            slack[cell] = min(slack[cell], slacks[group[cell]])


@kernel
def tight_groups(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    counts: Int64s,
    every: Int64s,
    prices: Floats,
    order: Int64s,
    least: int,
    most: Floats,
    starts: Int64s,
    penalty: Floats,
    members: Int32s,
) -> tuple[int, int]:
    """Write the groups of `least` rows or more whose node is the smallest that covers them; return how many, and cells.

    Left out is a group whose slack is above `most` for each of its cells. Nothing is written beyond the ends of the
    arrays; they were long enough if there are not more groups and cells than they have room for.
    """
    cells, columns, size, made, filled = len(codes), len(facts), 1, 0, 0
    while size < 2 * cells:
        size *= 2
    table, first, group = np.empty(size, np.int64), np.empty(cells, np.int64), np.empty(cells, np.int64)
    rows, paid, held = np.empty(cells, np.int64), np.empty(cells), np.empty(cells, np.int64)
    where, worth, split = np.empty(cells, np.int64), np.empty(cells, np.bool_), np.empty((cells, columns), np.bool_)
    for node in range(len(every)):
        levels = every[node]
        count = number_groups(facts, nodes, codes, levels, table, first, group)
        fill_slacks(facts, costs, codes, counts, levels, prices, order, least, group, first, count, rows, paid)
        held[:count], where[:count], worth[:count] = 0, -1, False
        for column in range(columns):
            split[:count, column] = levels[column] == 0
        for cell in range(cells):
            place = group[cell]
            held[place] += 1
            worth[place] |= rows[place] == least and paid[place] <= most[cell]
            for column in range(columns):
                if not split[place, column]:
                    base = facts[column, START] + (levels[column] - 1) * facts[column, SIZE]
                    split[place, column] = (
                        nodes[base + codes[cell, column]] != nodes[base + codes[first[place], column]]
                    )
        for place in range(count):
            if worth[place] and split[place].all():
                if made < len(penalty) and filled + held[place] <= len(members):
                    starts[made], starts[made + 1], where[place] = filled, filled + held[place], filled
                    penalty[made] = node_penalty(facts, costs, codes, levels, first[place])
                filled += held[place]
                made += 1
        for cell in range(cells):
            place = group[cell]
            if where[place] >= 0:
                members[where[place]] = cell
                where[place] += 1
    return made, filled
