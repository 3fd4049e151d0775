"""Open a class that draws its rows from many, close one and share its rows out, or both; keep what costs less.

Facilities that open and close: Kuehn & Hamburger 1963 (add and drop). Large classes ask for it, since what a new class
holds lies in more classes than can be rebuilt together, and most of these can spare a few rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.class_test import ClassTest
from sfumato.tabular.class_test_kernel import WEIGHT
from sfumato.tabular.local_recoding.cover_kernel import begin, contains, cost_with, widen
from sfumato.tabular.local_recoding.rebuild_kernel import SLACK, Classes, any_row, costly_class, draw, near_classes
from sfumato.tabular.local_recoding.start_kernel import holds

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
NEIGHBOURS = 24  # classes that give rows to a new one, or take those of a closed one
EXAMPLES = 4  # rows at most that a new class is drawn around, beside the first
WIDENINGS = 6  # times that a cover is widened where too few rows lie in it
DRAWN = 24  # rows among which the cheapest one widens a cover


class Site(NamedTuple):
    """Memory for one opening: near classes with sizes, costs and covers, and the rows that may leave them.

    The last class is the new one, and one cover more is what it draws by. `gone` classes are closed; `lost` ones have
    fewer rows than before and `grown` ones more; `gives` counts the rows of each that the new class may have. Of the
    rows, `was` and `group` have the class before and after, and `pool` the places of those that look for a class.
    """

    groups: Int64s
    sizes: Int64s
    costs: Floats
    covers: Int64s
    gone: Bools
    lost: Bools
    grown: Bools
    gives: Int64s
    rows: Int64s
    was: Int64s
    group: Int64s
    pool: Int64s
    tags: Int64s


@kernel
def open_and_close(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    near: Int32s,
    rows: Int64s,
    first: Int64s,
    classes: Classes,
    site: Site,
    state: npt.NDArray[np.uint64],
    steps: int,
    heat: float,
    least: int,
    test: ClassTest | None,
) -> float:
    """Make so many attempts at a temperature; return by how much the total penalty has changed."""
    change = 0.0
    for _ in range(steps):
        site.groups[0] = costly_class(classes, state)
        if classes.size[site.groups[0]] > len(site.rows):
            continue
        kind = draw(state, 8)
        opens, closes, wide = kind < 6, kind > 2, 0.0
        if opens:
            wide = draw_cover(facts, nodes, costs, codes, near, classes, site, state)
            if wide >= classes.cost[site.groups[0]] - SLACK:
                continue
        taken = near_classes(near, rows, first, classes, site.groups, state, NEIGHBOURS, len(site.rows))
        if taken < 2:
            continue
        count = load(classes, site, taken, opens, closes, wide, test is not None)
        if opens and not fill(facts, nodes, costs, codes, classes, site, taken, count, closes, wide, state, least):
            continue
        limit = -heat * np.log((draw(state, 1 << 30) + 1.0) / (1 << 30))
        grown, waiting = settle(facts, nodes, costs, codes, classes, site, taken, count)
        grown = share_out(facts, nodes, costs, codes, classes, site, taken, waiting, grown, limit, state)
        if grown > limit + SLACK or not (test is None or all_hold(site, taken, count, least, test)):
            continue
        exchange(classes, site, taken, count)
        change += grown
    return change


@kernel
def draw_cover(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    near: Int32s,
    classes: Classes,
    site: Site,
    state: npt.NDArray[np.uint64],
) -> float:
    """Draw a cover around a row of the first class and a few others of it or near it; return what it costs."""
    slot = len(site.covers) - 1
    cell = classes.cell[any_row(classes, site.groups[0], state)]
    begin(facts, codes, cell, site.covers, slot)
    for _ in range(1 + draw(state, EXAMPLES)):
        other = int(near[draw(state, near.shape[0]), cell, draw(state, near.shape[2])])
        if other < 0 or draw(state, 2):
            other = int(classes.cell[any_row(classes, site.groups[0], state)])
        widen(facts, nodes, codes, other, site.covers, slot)
    return cost_with(facts, nodes, costs, codes, site.covers, slot, cell, np.inf)


@kernel
def load(classes: Classes, site: Site, taken: int, opens: bool, closes: bool, wide: float, every: bool) -> int:
    """Copy what is known of the classes, and the rows of those that may lose some, or of all; return how many."""
    new, count = len(site.groups) - 1, 0
    for index in range(taken):
        group = site.groups[index]
        site.sizes[index], site.costs[index] = classes.size[group], classes.cost[group]
        site.covers[index] = classes.covers[group]
        site.gone[index] = site.lost[index] = site.grown[index] = False
        if every or (opens and site.costs[index] > wide + SLACK) or (closes and index == 0):
            row = classes.head[group]
            while row >= 0:
                site.rows[count], site.was[count], site.group[count] = row, index, index
                count += 1
                row = classes.after[row]
    site.gone[0], site.gone[new], site.lost[new], site.grown[new] = closes, not opens, False, False
    site.sizes[new] = 0
    return count


@kernel
def fill(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    classes: Classes,
    site: Site,
    taken: int,
    count: int,
    closes: bool,
    wide: float,
    state: npt.NDArray[np.uint64],
    least: int,
) -> bool:
    """Move the rows in the drawn cover that cost more where they are to the new class; False where these are too few.

    A cover with too few is widened a few times, each time by the cheapest of some drawn rows.
    """
    new, slot = len(site.groups) - 1, len(site.covers) - 1
    for _ in range(WIDENINGS):
        site.gives[:] = 0
        for place in range(count):
            index = site.group[place]
            if site.costs[index] > wide + SLACK or (closes and index == 0):
                cell = classes.cell[site.rows[place]]
                site.gives[index] += contains(facts, nodes, codes, site.covers, slot, cell)
        if spare(site, taken, closes, state, least) >= least:
            turn = draw(state, count)
            for step in range(count):
                place = (turn + step) % count
                index, cell = site.group[place], classes.cell[site.rows[place]]
                if site.gives[index] and contains(facts, nodes, codes, site.covers, slot, cell):
                    site.gives[index] -= 1
                    site.lost[index] = True
                    site.group[place] = new
            return True
        wide, cell = widest_gain(facts, nodes, costs, codes, classes, site, count, wide, state)
        if cell < 0 or wide >= site.costs[0] - SLACK:
            return False
        widen(facts, nodes, codes, cell, site.covers, slot)
    return False


@kernel
def spare(site: Site, taken: int, closes: bool, state: npt.NDArray[np.uint64], least: int) -> int:
    """Return how many rows the classes give: all that are asked of them, or those that they can spare.

    A class that would be too small then is closed, the likelier the more is asked of it.
    """
    total = 0
    for index in range(taken):
        asked, size = site.gives[index], site.sizes[index]
        site.gone[index] = closes and index == 0
        if asked > 0 and not site.gone[index] and size - asked < least:
            if draw(state, size) < asked:
                site.gone[index] = True
            else:
                site.gives[index] = max(0, size - least)
        total += site.gives[index]
    return total


@kernel
def widest_gain(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    classes: Classes,
    site: Site,
    count: int,
    wide: float,
    state: npt.NDArray[np.uint64],
) -> tuple[float, int]:
    """Return the cell outside the drawn cover that widens it least of some drawn ones, after its cost; -1 if none."""
    slot, best, found = len(site.covers) - 1, np.inf, np.int64(-1)
    for _ in range(DRAWN):
        place = draw(state, count)
        cell = classes.cell[site.rows[place]]
        if site.costs[site.group[place]] > wide and not contains(facts, nodes, codes, site.covers, slot, cell):
            cost = cost_with(facts, nodes, costs, codes, site.covers, slot, cell, best)
            if cost < best:
                best, found = cost, cell
    return best, int(found)


@kernel
def settle(
    facts: Int64s, nodes: Int32s, costs: Floats, codes: Int32s, classes: Classes, site: Site, taken: int, count: int
) -> tuple[float, int]:
    """Cover anew the classes that rows have left or entered, and pool the rows of closed ones.

    Return by how much the penalty has changed so far, and how many rows wait in the pool.
    """
    new, change, waiting = len(site.groups) - 1, 0.0, 0
    for index in range(taken):
        if site.gone[index] or site.lost[index]:
            change -= site.costs[index] * site.sizes[index]
            site.sizes[index] = 0
    for place in range(count):
        index, cell = site.group[place], classes.cell[site.rows[place]]
        if index < new and site.gone[index]:
            site.pool[waiting] = place
            waiting += 1
        elif index == new or site.lost[index]:
            if site.sizes[index] == 0:
                begin(facts, codes, cell, site.covers, index)
                site.gives[index] = cell
            else:
                widen(facts, nodes, codes, cell, site.covers, index)
            site.sizes[index] += 1
    for index in range(new + 1):
        if (index == new or (index < taken and site.lost[index])) and not site.gone[index]:
            cell = site.gives[index]
            site.costs[index] = cost_with(facts, nodes, costs, codes, site.covers, index, cell, np.inf)
            change += site.costs[index] * site.sizes[index]
    return change, waiting


@kernel
def share_out(
    facts: Int64s,
    nodes: Int32s,
    costs: Floats,
    codes: Int32s,
    classes: Classes,
    site: Site,
    taken: int,
    waiting: int,
    change: float,
    limit: float,
    state: npt.NDArray[np.uint64],
) -> float:
    """Let each waiting row join the class whose penalty grows least; return the change of all, or one above the limit.

    Rows come in random order, since each one widens a class for the next.
    """
    new = len(site.groups) - 1
    for turn in range(waiting):
        if change > limit + SLACK:
            break
        other = turn + draw(state, waiting - turn)
        site.pool[turn], site.pool[other] = site.pool[other], site.pool[turn]
        place = site.pool[turn]
        cell, best, host, reached = classes.cell[site.rows[place]], np.inf, -1, 0.0
        for step in range(taken + 1):
            index = step if step < taken else new
            if not site.gone[index]:
                before, size = site.costs[index] * site.sizes[index], site.sizes[index] + 1
                cost = cost_with(facts, nodes, costs, codes, site.covers, index, cell, (best + before) / size)
                if cost * size - before < best:
                    best, host, reached = cost * size - before, index, cost
        if host < 0:
            return np.inf
        widen(facts, nodes, codes, cell, site.covers, host)
        site.group[place], site.grown[host] = host, True
        site.sizes[host] += 1
        site.costs[host] = reached
        change += best
    return change


@kernel
def all_hold(site: Site, taken: int, count: int, least: int, test: ClassTest) -> bool:
    """Return whether every class that has changed may be one."""
    new = len(site.groups) - 1
    for step in range(taken + 1):
        index, filled = step if step < taken else new, 0
        if site.gone[index] or not (index == new or site.lost[index] or site.grown[index]):
            continue
        for place in range(count):
            if site.group[place] == index:
                site.tags[filled] = (np.int64(1) << WEIGHT) + site.rows[place]
                filled += 1
        if not holds(site.tags, filled, least, test):
            return False
    return True


@kernel
def exchange(classes: Classes, site: Site, taken: int, count: int) -> None:
    """Put the changed classes in the place of those before."""
    unused, new = classes.unused, len(site.groups) - 1
    last = len(unused) - 1
    if not site.gone[new]:
        unused[last] -= 1
        site.groups[new] = unused[unused[last]]
    for step in range(taken + 1):
        index = step if step < taken else new
        group = site.groups[index]
        if index == new and site.gone[new]:
            continue
        if site.gone[index] or site.lost[index] or index == new:
            classes.head[group] = -1
        if site.gone[index]:
            classes.size[group], classes.cost[group] = 0, 0.0
        else:
            classes.size[group], classes.cost[group] = site.sizes[index], site.costs[index]
            classes.covers[group] = site.covers[index]
    for place in range(count):
        index = site.group[place]
        if index != site.was[place] or site.lost[index]:
            row, group = site.rows[place], site.groups[index]
            classes.label[row], classes.after[row] = group, classes.head[group]
            classes.head[group] = row
    for index in range(taken):
        if site.gone[index]:
            unused[unused[last]] = site.groups[index]
            unused[last] += 1
