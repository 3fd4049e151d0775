"""Dissolve a group into its neighbours, or found one from what its neighbours can spare.

Ours, in the frame of Lourenço, Martin & Stützle, "Iterated local search" (2003): each trial
is polished before it is judged, and rolled back unless the error fell.
"""

import numpy as np

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.lanes_kernel import gap
from sfumato.tabular.microaggregation.search.annealing_kernel import PATIENCE
from sfumato.tabular.microaggregation.search.journal import Journal
from sfumato.tabular.microaggregation.search.journal_kernel import (
    drain,
    error_change,
    forget,
    push_members,
    roll_back,
    touch,
)
from sfumato.tabular.microaggregation.search.partition import Partition
from sfumato.tabular.microaggregation.search.partition_kernel import (
    close_group,
    enter,
    leave,
    open_group,
    refit,
)
from sfumato.tabular.microaggregation.search.polish_kernel import settle


@kernel
def cheapest_host(p: Partition, k: int, record: int) -> int:
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
def dissolve(p: Partition, journal: Journal, k: int, group: int) -> bool:
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
def found(p: Partition, journal: Journal, k: int, record: int) -> bool:
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
def judge(p: Partition, journal: Journal, k: int, complete: bool, trifle: float) -> bool:
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
def dissolve_sweep(p: Partition, journal: Journal, k: int, start: int, stop: int, trifle: float) -> int:
    """Try to dissolve the groups from ``start`` to ``stop``; return how many went."""
    moves = 0
    for group in range(start, stop):
        if p.size[group] > 0 and judge(p, journal, k, dissolve(p, journal, k, group), trifle):
            moves += 1
    return moves


@kernel
def found_sweep(p: Partition, journal: Journal, k: int, start: int, stop: int, trifle: float) -> int:
    """Try to found a group at each record from ``start`` to ``stop`` in a group with a surplus."""
    moves = 0
    for record in range(start, stop):
        if (
            p.spare[-1] > 0
            and p.size[p.label[record]] > k
            and judge(p, journal, k, found(p, journal, k, record), trifle)
        ):
            moves += 1
    return moves
