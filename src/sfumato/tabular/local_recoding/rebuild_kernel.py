"""Take a few neighbouring classes apart and build them anew, again and again; keep what costs less.

Ruin and recreate (Schrimpf, Schneider, Stamm-Wilbrandt & Dueck 2000), accepted as in simulated annealing (Kirkpatrick,
Gelatt & Vecchi 1983). A rebuilt pair of classes is a relocation, a swap, a merge or a split, whichever comes out best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.class_test import ClassTest
from sfumato.tabular.class_test_kernel import WEIGHT
from sfumato.tabular.local_recoding.cover_kernel import begin, cheapest, widen
from sfumato.tabular.local_recoding.start_kernel import holds
from sfumato.tabular.local_recoding.strata import Strata
from sfumato.tabular.local_recoding.strata_kernel import (
    begin_class,
    lacking_first,
    take_in,
    want_as_rows,
    want_as_table,
)

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
MOST_CLASSES = 4  # taken apart at once
HOSTS = 4  # classes that a row left over may join where models ask for more than k rows, the cheapest ones
SLACK = 1e-12  # what rounding may make of no change
MULTIPLIER, INCREMENT = np.uint64(6364136223846793005), np.uint64(1442695040888963407)


class Classes(NamedTuple):
    """Rows in classes: a row's cell and class; by class its rows as a chain, their number and the penalty of each.

    `unused` has the numbers of classes without rows, the last entry how many those are; `covers` what each class shows.
    """

    cell: Int64s
    label: Int64s
    head: Int64s
    after: Int64s
    size: Int64s
    cost: Floats
    unused: Int64s
    covers: Int64s


class Scratch(NamedTuple):
    """Memory for one rebuilding: the rows taken apart, their cells, the new class of each, new covers, sizes, costs.

    `head` and `after` chain the places of each new class.
    """

    rows: Int64s
    left: Int64s
    cells: Int64s
    label: Int64s
    covers: Int64s
    sizes: Int64s
    costs: Floats
    tags: Int64s
    groups: Int64s
    floors: Floats
    head: Int64s
    after: Int64s


@kernel
def draw(state: npt.NDArray[np.uint64], below: int) -> int:
    """Return a number from 0 to below-1 (a linear congruential generator, Knuth 1997; a search needs no secret)."""
    state[0] = state[0] * MULTIPLIER + INCREMENT
    return np.int64((state[0] >> np.uint64(32)) * np.uint64(below) >> np.uint64(32))  # type: ignore[return-value]


@kernel
def rebuild(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    near: Int32s,
    rows: Int64s,
    first: Int64s,
    classes: Classes,
    scratch: Scratch,
    state: npt.NDArray[np.uint64],
    steps: int,
    heat: float,
    least: int,
    test: ClassTest | None,
    strata: Strata | None,
) -> float:
    """Make so many attempts at a temperature; return by how much the total penalty has changed.

    `near` has layers of near cells, -1 where a cell is in no layer.
    """
    change, fewest = 0.0, 2 if test is None else 1
    for _ in range(steps):
        scratch.groups[0] = costly_class(classes, state)
        wanted = fewest + draw(state, MOST_CLASSES + 1 - fewest)
        taken = near_classes(near, rows, first, classes, scratch.groups, state, wanted, len(scratch.rows))
        before, size = 0.0, 0
        for index in range(taken):
            group = scratch.groups[index]
            before += classes.cost[group] * classes.size[group]
            size += classes.size[group]
        if before <= 0.0 or size > len(scratch.rows):
            continue
        gather(classes, scratch, taken, state)
        bound = before - heat * np.log((draw(state, 1 << 30) + 1.0) / (1 << 30))
        made, total = recreate(facts, nodes, costs, codes, classes, scratch, size, bound, state, least, test, strata)
        if made > 0:
            commit(classes, scratch, taken, made, size)
            change += total - before
    return change


@kernel
def costly_class(classes: Classes, state: npt.NDArray[np.uint64]) -> int:
    """Return the costlier class of two drawn rows."""
    row, other = draw(state, len(classes.label)), draw(state, len(classes.label))
    if classes.cost[classes.label[other]] > classes.cost[classes.label[row]]:
        row = other
    return int(classes.label[row])


@kernel
def near_classes(
    near: Int32s,
    rows: Int64s,
    first: Int64s,
    classes: Classes,
    groups: Int64s,
    state: npt.NDArray[np.uint64],
    wanted: int,
    room: int,
) -> int:
    """Write so many classes near the first of `groups` behind it; return how many there are, that one included.

    Fewer are found where tries fail, or where their rows together are more than there is room for.
    """
    size, taken = classes.size[groups[0]], 1
    for _ in range(3 * max(wanted, MOST_CLASSES)):
        if taken == wanted:
            break
        member = any_row(classes, groups[draw(state, taken)], state)
        reach = near.shape[2]
        place = min(draw(state, reach), draw(state, reach))
        cell = near[draw(state, near.shape[0]), classes.cell[member], place]
        if cell < 0:
            continue
        found = classes.label[rows[first[cell] + draw(state, first[cell + 1] - first[cell])]]
        fresh = True
        for index in range(taken):
            fresh &= groups[index] != found
        if fresh and size + classes.size[found] <= room:
            groups[taken] = found
            size += classes.size[found]
            taken += 1
    return taken


@kernel
def any_row(classes: Classes, group: int, state: npt.NDArray[np.uint64]) -> int:
    """Return one of the first rows of a class."""
    row = classes.head[group]
    for _skip in range(draw(state, min(16, classes.size[group]))):
        row = classes.after[row]
    return int(row)


@kernel
def gather(classes: Classes, scratch: Scratch, taken: int, state: npt.NDArray[np.uint64]) -> None:
    """Write the rows of the chosen classes in random order."""
    filled = 0
    for index in range(taken):
        row = classes.head[scratch.groups[index]]
        while row >= 0:
            other = draw(state, filled + 1)
            scratch.left[filled] = scratch.left[other]
            scratch.left[other] = row
            filled += 1
            row = classes.after[row]
    for place in range(filled):
        scratch.cells[place] = classes.cell[scratch.left[place]]


@kernel
def recreate(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    classes: Classes,
    scratch: Scratch,
    size: int,
    bound: float,
    state: npt.NDArray[np.uint64],
    least: int,
    test: ClassTest | None,
    strata: Strata | None,
) -> tuple[int, float]:
    """Make new classes of the gathered rows; return how many, 0 if they cost more than `bound`, and their penalty."""
    left, cells, covers, floors = scratch.left, scratch.cells, scratch.covers, scratch.floors
    most = max(1, min(size // least, len(scratch.sizes)))
    while most > 1 and draw(state, 5) < 2:
        most -= 1
    apart, count, made, total, filled = draw(state, 3) > 0, size, 0, 0.0, 0
    mixed, bar = False, 0.0
    if strata is not None:
        mixed, bar = draw(state, 4) > 0, draw(state, 4) / 4.0
        if draw(state, 2):
            want_as_table(strata)
        else:
            want_as_rows(strata, left, size)
    while count > 0 and made < most:
        seed = 0
        if apart and made > 0:
            seed = far_cell(facts, nodes, costs, codes, covers, made - 1, cells, floors, count, state)
        begin(facts, codes, cells[seed], covers, made)
        floors[:count] = 0.0
        place, cost, members = seed, 0.0, 0
        scratch.head[made] = -1
        if strata is not None:
            begin_class(strata, left[seed])
        while True:
            row = left[place]
            scratch.rows[filled], scratch.label[filled] = row, made
            scratch.after[filled], scratch.head[made] = scratch.head[made], filled
            scratch.tags[members] = (np.int64(1) << WEIGHT) + row
            members += 1
            filled += 1
            count -= 1
            left[place], cells[place], floors[place] = left[count], cells[count], floors[count]
            if holds(scratch.tags, members, least, test):
                break
            lacked = count
            if strata is not None and mixed:
                lacked = lacking_first(strata, members, bar, left, cells, floors, count)
            place, cost = cheapest(facts, nodes, costs, codes, covers, made, cells, floors, 0, lacked, cost)
            if place < 0:
                break
            if strata is not None:
                take_in(strata, left[place])
            widen(facts, nodes, codes, cells[place], covers, made)
        if not holds(scratch.tags, members, least, test):
            for _ in range(members):  # nothing is left to grow by: these rows go where they cost least
                filled -= 1
                left[count] = scratch.rows[filled]
                cells[count] = classes.cell[left[count]]
                count += 1
            break
        scratch.sizes[made], scratch.costs[made] = members, cost
        total += cost * members
        made += 1
        if total > bound + SLACK:
            return 0, total
    if made == 0:
        return 0, np.inf
    while count > 0:
        count -= 1
        group, cost = cheapest_cover(facts, nodes, costs, codes, scratch, count, made)
        if test is not None:
            group, cost = cheapest_host(facts, nodes, costs, codes, scratch, count, made, least, test)
            if group < 0:
                return 0, total
            scratch.after[filled], scratch.head[group] = scratch.head[group], filled
        widen(facts, nodes, codes, cells[count], covers, group)
        total += cost * (scratch.sizes[group] + 1) - scratch.costs[group] * scratch.sizes[group]
        scratch.sizes[group] += 1
        scratch.costs[group] = cost
        scratch.rows[filled], scratch.label[filled] = left[count], group
        filled += 1
        if total > bound + SLACK:
            return 0, total
    return made, total


@kernel
def far_cell(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    covers: Int64s,
    slot: int,
    cells: Int64s,
    floors: Floats,
    count: int,
    state: npt.NDArray[np.uint64],
) -> int:
    """Return which of three drawn cells a cover would take in at the highest cost."""
    most, found = -1.0, 0
    for _ in range(3):
        index = draw(state, count)
        floors[index] = 0.0
        _, cost = cheapest(facts, nodes, costs, codes, covers, slot, cells, floors, index, index + 1, 0.0)
        if cost > most:
            most, found = cost, index
    return found


@kernel
def cheapest_cover(
    facts: Int64s, nodes: Int32s, costs: Floats, codes: Int32s, scratch: Scratch, place: int, made: int
) -> tuple[int, float]:
    """Return the new class whose penalty grows least by the cell at a place, and what each of its rows then costs."""
    best, group, reached = np.inf, 0, 0.0
    for index in range(made):
        scratch.floors[place] = 0.0
        _, cost = cheapest(
            facts, nodes, costs, codes, scratch.covers, index, scratch.cells, scratch.floors, place, place + 1, 0.0
        )
        grown = cost * (scratch.sizes[index] + 1) - scratch.costs[index] * scratch.sizes[index]
        if grown < best:
            best, group, reached = grown, index, cost
    return group, reached


@kernel
def cheapest_host(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    scratch: Scratch,
    place: int,
    made: int,
    least: int,
    test: ClassTest,
) -> tuple[int, float]:
    """Return the new class whose penalty grows least by the row at a place and that still holds with it; -1 if none.

    The cheapest ones alone are tried.
    """
    most = -np.inf
    for _ in range(HOSTS):
        best, group, reached = np.inf, -1, 0.0
        for index in range(made):
            scratch.floors[place] = 0.0
            _, cost = cheapest(
                facts, nodes, costs, codes, scratch.covers, index, scratch.cells, scratch.floors, place, place + 1, 0.0
            )
            grown = cost * (scratch.sizes[index] + 1) - scratch.costs[index] * scratch.sizes[index] + index * SLACK
            if most < grown < best:
                best, group, reached = grown, index, cost
        if group < 0:
            break
        most, members, member = best, 0, scratch.head[group]
        while member >= 0:
            scratch.tags[members] = (np.int64(1) << WEIGHT) + scratch.rows[member]
            members += 1
            member = scratch.after[member]
        scratch.tags[members] = (np.int64(1) << WEIGHT) + scratch.left[place]
        if holds(scratch.tags, members + 1, least, test):
            return group, reached
    return -1, 0.0


@kernel
def commit(classes: Classes, scratch: Scratch, taken: int, made: int, size: int) -> None:
    """Put the new classes in the place of those taken apart."""
    groups, unused = scratch.groups, classes.unused
    last = len(unused) - 1
    for index in range(made, taken):
        unused[unused[last]] = groups[index]
        unused[last] += 1
    for index in range(taken, made):
        unused[last] -= 1
        groups[index] = unused[unused[last]]
    for index in range(max(made, taken)):
        classes.head[groups[index]], classes.size[groups[index]], classes.cost[groups[index]] = -1, 0, 0.0
    for index in range(made):
        classes.size[groups[index]], classes.cost[groups[index]] = scratch.sizes[index], scratch.costs[index]
        classes.covers[groups[index]] = scratch.covers[index]
    for place in range(size):
        row, group = scratch.rows[place], groups[scratch.label[place]]
        classes.label[row], classes.after[row] = group, classes.head[group]
        classes.head[group] = row
