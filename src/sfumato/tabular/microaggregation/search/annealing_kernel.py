"""Iterated local search with annealed acceptance: tear down a few groups, build new ones, polish, judge.

Lourenço, Martin & Stützle, "Iterated local search" (2003), for the kick between two local
optima; acceptance after Kirkpatrick, Gelatt & Vecchi, "Optimization by simulated annealing"
(1983).
"""

import numpy as np

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.lanes_kernel import gap
from sfumato.tabular.microaggregation.random_kernel import State, next_below, next_unit
from sfumato.tabular.microaggregation.search.grouping_kernel import (
    Grouping,
    close_group,
    enter,
    leave,
    open_group,
    refit,
)
from sfumato.tabular.microaggregation.search.journal_kernel import (
    SearchJournal,
    drain,
    error_change,
    forget,
    push_members,
    roll_back,
    touch,
)
from sfumato.tabular.microaggregation.search.polish_kernel import PATIENCE, settle

TRIES = 8
# Groups torn down by a kick; more than that rarely lead anywhere and cost the most.
FEWEST, MOST = 2, 4


@kernel
def gather(p: Grouping, journal: SearchJournal, state: State, wanted: int) -> tuple[int, int]:
    """Move the records of up to ``wanted`` neighbouring groups to the pool; return both counts."""
    pool, filled, groups = journal.pool, 0, 0
    record = next_below(state, p.label.size)
    for _ in range(TRIES):
        group = p.label[record]
        if group >= 0:
            touch(p, journal, group)
            groups += 1
            while p.size[group] > 0:
                member = p.members[group, p.size[group] - 1]
                leave(p, member)
                pool[filled] = member
                filled += 1
            close_group(p, group)
        if groups == wanted:
            break
        start = pool[next_below(state, filled)]
        record = p.near[start, next_below(state, p.near.shape[1])]
    return filled, groups


@kernel
def pull_nearest(p: Grouping, journal: SearchJournal, group: int, start: int, stop: int) -> None:
    """Move the pool record nearest to the mean of ``group`` to pool[start]."""
    pool = journal.pool
    best, nearest = np.inf, start
    for i in range(start, stop):
        distance = gap(p.x, pool[i], p.centre, group)
        if distance < best:
            best, nearest = distance, i
    pool[start], pool[nearest] = pool[nearest], pool[start]


@kernel
def place_rest(p: Grouping, journal: SearchJournal, start: int, stop: int, first: int) -> None:
    """Put each pool record left into the group it costs least, among those from row ``first``."""
    room = p.members.shape[1] - 1
    for i in range(start, stop):
        record = journal.pool[i]
        best, target = np.inf, -1
        for row in range(first, journal.touched[-1]):
            group = journal.touched[row]
            size = p.size[group]
            if 0 < size < room:
                cost = size / (size + 1.0) * gap(p.x, record, p.centre, group)
                if cost < best:
                    best, target = cost, group
        enter(p, record, target)
        refit(p, target)


@kernel
def rebuild(p: Grouping, journal: SearchJournal, k: int, state: State, wanted: int) -> None:
    """Replace up to ``wanted`` neighbouring groups by new ones grown from random records."""
    stop, groups = gather(p, journal, state, wanted)
    fewest, most = (stop + 2 * k - 2) // (2 * k - 1), stop // k
    count = min(max(groups + next_below(state, 3) - 1, fewest), most)
    start = 0
    for _ in range(count):
        seed = start + next_below(state, stop - start)
        journal.pool[start], journal.pool[seed] = journal.pool[seed], journal.pool[start]
        group = open_group(p)
        touch(p, journal, group)
        for _ in range(k):
            if p.size[group] > 0:
                pull_nearest(p, journal, group, start, stop)
            enter(p, journal.pool[start], group)
            refit(p, group)
            start += 1
    place_rest(p, journal, start, stop, 0)
    for row in range(journal.touched[-1]):
        push_members(p, journal, journal.touched[row])


@kernel
def search(
    p: Grouping,
    journal: SearchJournal,
    k: int,
    state: State,
    steps: int,
    temperature: float,
    trifle: float,
) -> float:
    """Make ``steps`` kicks, each polished and then kept or rolled back; return the change."""
    total = 0.0
    for _ in range(steps):
        rebuild(p, journal, k, state, FEWEST + next_below(state, MOST - FEWEST + 1))
        settle(p, journal, k, PATIENCE, trifle)
        drain(journal)
        change = error_change(p, journal)
        if change <= -temperature * np.log(1.0 - next_unit(state)):
            total += change
            forget(journal)
        else:
            roll_back(p, journal)
    return total
