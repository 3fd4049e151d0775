"""Relocate and swap records between near groups until no such move lowers the error.

Error terms after Ward (1963), as in the exchange algorithm of Späth, "Cluster analysis
algorithms" (1980).
"""

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.lanes_kernel import gap
from sfumato.tabular.microaggregation.search.journal import Journal
from sfumato.tabular.microaggregation.search.journal_kernel import pop, push_members, touch
from sfumato.tabular.microaggregation.search.partition import Partition
from sfumato.tabular.microaggregation.search.partition_kernel import enter, leave, refit

HUGE = 1e300


@kernel
def best_move(p: Partition, k: int, record: int, trifle: float) -> tuple[float, int, int]:
    """Return change, target group and swap partner (-1: relocate) of the best move of a record.

    One loop, not one per kind of move: calls with a whole partition cost more than the work.
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
def apply_move(p: Partition, journal: Journal, record: int, target: int, partner: int) -> None:
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
def settle(p: Partition, journal: Journal, k: int, visits: int, trifle: float) -> int:
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
