"""Moves between near groups until none lowers the error: relocate, swap, chain, dissolve and found.

Error terms after Ward (1963), relocating and swapping as in the exchange algorithm of Späth,
"Cluster analysis algorithms" (1980). Chains over three groups after Glover, "Ejection chains,
reference structures and alternating path methods for traveling salesman problems" (1996), and
Thompson & Orlin, "The theory of cyclic transfers" (1989). Dissolving and founding groups is
ours: each trial is polished before it is judged, and rolled back unless the error fell.
"""

import numpy as np

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.lanes_kernel import gap
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
    pop,
    push_members,
    roll_back,
    touch,
)

HUGE = 1e300
# Visits after which polishing a single kick is given up; a few hundred are usual.
PATIENCE = 100_000


@kernel
def best_move(p: Grouping, k: int, record: int, trifle: float) -> tuple[float, int, int]:
    """Return change, target group and swap partner (-1: relocate) of the best move of a record.

    One loop, not one per kind of move: calls with a whole grouping cost more than the work.
    """
    x, centre, label, size, members = p.x, p.centre, p.label, p.size, p.members
    home, own, fresh = label[record], p.own[record], p.seen[-1] + 1
    p.seen[-1] = fresh
    p.seen[home] = fresh
    share = 1.0 / size[home]
    surplus = size[home] > k
    freed = own / (1.0 - share)
    best, target, partner = -trifle, -1, -1
    for i in range(p.near.shape[1]):
        group = label[p.near[record, i]]
        if p.seen[group] == fresh:
            continue
        p.seen[group] = fresh
        reach = gap(x, record, centre, group)
        if surplus and size[group] < 2 * k - 1:
            change = reach * size[group] / (size[group] + 1.0) - freed
            if change < best:
                best, target, partner = change, group, -1
        weight = share + 1.0 / size[group]
        # |x-y|^2 <= own(x) / (1-w) + |y-c|^2 / w by Young's inequality, so no swap changes
        # the error by less than the two floors: most partners need no distance at all.
        # Pairs (w = 1) have no such floor.
        stretch = 1.0 / (1.0 - weight) if weight < 1.0 else HUGE
        floor = reach - own * stretch - best
        for j in range(size[group]):
            other = members[group, j]
            if floor >= p.own[other]:
                continue
            back = gap(x, other, centre, home)
            if back - p.own[other] * stretch - own >= best:
                continue
            change = reach - own + back - p.own[other] - gap(x, record, x, other) * weight
            if change < best:
                best, target, partner = change, group, other
    return best, target, partner


@kernel
def apply_move(p: Grouping, journal: SearchJournal, record: int, target: int, partner: int) -> None:
    """Carry out a relocation or swap and queue both groups."""
    home = p.label[record]
    touch(p, journal, home)
    touch(p, journal, target)
    leave(p, record)
    if partner >= 0:
        leave(p, partner)
        enter(p, partner, home)
    enter(p, record, target)
    refit(p, home)
    refit(p, target)
    push_members(p, journal, home)
    push_members(p, journal, target)


@kernel
def settle(p: Grouping, journal: SearchJournal, k: int, visits: int, trifle: float) -> int:
    """Visit queued records, at most ``visits`` of them; return how many moves were made.

    Gains up to ``trifle`` are rounding: chasing them among equal records need not end.
    """
    moves = 0
    while journal.span[1] > 0 and visits > 0:
        visits -= 1
        record = pop(journal)
        _, target, partner = best_move(p, k, record, trifle)
        if target >= 0:
            apply_move(p, journal, record, target, partner)
            moves += 1
    return moves


@kernel
def best_end(p: Grouping, k: int, first: int, second: int, so_far: float, limit: float) -> tuple[float, int, int]:
    """Return change, group and record of the best end of a chain that ejected ``second``.

    The end is a group that takes ``second`` in: if the home of ``first`` can spare a
    record, for nothing (record -1), and else for a record that goes to that home.
    ``so_far`` leaves out what happens at home.
    """
    home, middle = p.label[first], p.label[second]
    size, own, last = p.size[home], p.own[first], home
    best, target, third = limit, -1, -1
    for i in range(p.near.shape[1]):
        group = p.label[p.near[second, i]]
        if group in (home, middle, last):
            continue
        last = group
        reach = gap(p.x, second, p.centre, group)
        if size > k and p.size[group] < 2 * k - 1:
            joined = reach * p.size[group] / (p.size[group] + 1.0)
            change = so_far - own * size / (size - 1.0) + joined
            if change < best:
                best, target, third = change, group, -1
        for j in range(p.size[group]):
            other = p.members[group, j]
            ejected = reach - p.own[other] - gap(p.x, second, p.x, other) / p.size[group]
            if so_far + ejected - own * size / (size - 1.0) >= best:
                continue
            back = gap(p.x, other, p.centre, home) - own - gap(p.x, first, p.x, other) / size
            if so_far + ejected + back < best:
                best, target, third = so_far + ejected + back, group, other
    return best, target, third


@kernel
def best_chain(p: Grouping, k: int, record: int, trifle: float) -> tuple[int, int, int]:
    """Return the second record, last group and third record of the best chain from ``record``."""
    home = p.label[record]
    freed = p.own[record] * p.size[home] / (p.size[home] - 1.0)
    limit, second, target, third = -trifle, -1, -1, -1
    last = home
    for i in range(p.near.shape[1]):
        group = p.label[p.near[record, i]]
        if group in (home, last):
            continue
        last = group
        reach = gap(p.x, record, p.centre, group)
        for j in range(p.size[group]):
            other = p.members[group, j]
            so_far = reach - p.own[other] - gap(p.x, record, p.x, other) / p.size[group]
            # A chain that pays has a record to start from at which every part of it pays.
            if so_far >= freed:
                continue
            change, end, back = best_end(p, k, record, other, so_far, limit)
            if end >= 0:
                limit, second, target, third = change, other, end, back
    return second, target, third


@kernel
def apply_chain(p: Grouping, journal: SearchJournal, first: int, second: int, target: int, third: int) -> None:
    """Move first to the group of second, second to ``target``, and third, if any, home."""
    home, middle = p.label[first], p.label[second]
    for group in (home, middle, target):
        touch(p, journal, group)
    leave(p, first)
    leave(p, second)
    enter(p, first, middle)
    if third >= 0:
        leave(p, third)
        enter(p, third, home)
    enter(p, second, target)
    for group in (home, middle, target):
        refit(p, group)
        push_members(p, journal, group)


@kernel
def chain_sweep(p: Grouping, journal: SearchJournal, k: int, start: int, stop: int, trifle: float) -> int:
    """Try a chain from each record from ``start`` to ``stop``; return how many paid."""
    moves = 0
    for record in range(start, stop):
        second, target, third = best_chain(p, k, record, trifle)
        if second >= 0:
            apply_chain(p, journal, record, second, target, third)
            settle(p, journal, k, PATIENCE, trifle)
            drain(journal)
            moves += 1
    return moves


@kernel
def cheapest_host(p: Grouping, k: int, record: int) -> int:
    """Return the near group with room that a record costs least to join, or -1."""
    home = p.label[record]
    best, host = np.inf, -1
    for i in range(p.near.shape[1]):
        group = p.label[p.near[record, i]]
        if group != home and p.size[group] < 2 * k - 1:
            cost = gap(p.x, record, p.centre, group) * p.size[group] / (p.size[group] + 1.0)
            if cost < best:
                best, host = cost, group
    return host


@kernel
def dissolve_group(p: Grouping, journal: SearchJournal, k: int, group: int) -> bool:
    """Move every member of ``group`` to its cheapest host; return whether all found one."""
    touch(p, journal, group)
    while p.size[group] > 0:
        record = p.members[group, p.size[group] - 1]
        host = cheapest_host(p, k, record)
        if host < 0:
            return False
        touch(p, journal, host)
        leave(p, record)
        enter(p, record, host)
        refit(p, host)
        push_members(p, journal, host)
    close_group(p, group)
    return True


@kernel
def found_group(p: Grouping, journal: SearchJournal, k: int, record: int) -> bool:
    """Start a group at ``record`` from near records that can be spared; tell if k were found."""
    group = open_group(p)
    touch(p, journal, group)
    candidate = record
    for i in range(p.near.shape[1] + 1):
        donor = p.label[candidate]
        if donor != group and p.size[donor] > k:
            touch(p, journal, donor)
            leave(p, candidate)
            enter(p, candidate, group)
            refit(p, donor)
            push_members(p, journal, donor)
            if p.size[group] == k:
                refit(p, group)
                push_members(p, journal, group)
                return True
        if i < p.near.shape[1]:
            candidate = p.near[record, i]
    return False


@kernel
def judge(p: Grouping, journal: SearchJournal, k: int, complete: bool, trifle: float) -> bool:
    """Polish a complete trial and keep it if the error fell; return whether it was kept."""
    if complete:
        settle(p, journal, k, PATIENCE, trifle)
    drain(journal)
    if complete and error_change(p, journal) < -trifle:
        forget(journal)
        return True
    roll_back(p, journal)
    return False


@kernel
def dissolve_sweep(p: Grouping, journal: SearchJournal, k: int, start: int, stop: int, trifle: float) -> int:
    """Try to dissolve the groups from ``start`` to ``stop``; return how many went."""
    moves = 0
    for group in range(start, stop):
        if p.size[group] > 0 and judge(p, journal, k, dissolve_group(p, journal, k, group), trifle):
            moves += 1
    return moves


@kernel
def found_sweep(p: Grouping, journal: SearchJournal, k: int, start: int, stop: int, trifle: float) -> int:
    """Try to found a group at each record from ``start`` to ``stop`` in a group with a surplus."""
    moves = 0
    for record in range(start, stop):
        if (
            p.spare[-1] > 0
            and p.size[p.label[record]] > k
            and judge(p, journal, k, found_group(p, journal, k, record), trifle)
        ):
            moves += 1
    return moves
