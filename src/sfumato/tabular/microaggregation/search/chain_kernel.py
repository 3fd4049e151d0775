"""Ejection chains over three groups, for optima of relocation and swap.

Glover, "Ejection chains, reference structures and alternating path methods for traveling
salesman problems" (1996); Thompson & Orlin, "The theory of cyclic transfers" (1989).
"""

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.lanes_kernel import gap
from sfumato.tabular.microaggregation.search.annealing_kernel import PATIENCE
from sfumato.tabular.microaggregation.search.journal import Journal
from sfumato.tabular.microaggregation.search.journal_kernel import drain, push_members, touch
from sfumato.tabular.microaggregation.search.partition import Partition
from sfumato.tabular.microaggregation.search.partition_kernel import enter, leave, refit
from sfumato.tabular.microaggregation.search.polish_kernel import settle


@kernel
def best_end(p: Partition, k: int, first: int, second: int, so_far: float, limit: float) -> tuple[float, int, int]:
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
def best_chain(p: Partition, k: int, record: int, trifle: float) -> tuple[int, int, int]:
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
def apply_chain(p: Partition, journal: Journal, first: int, second: int, target: int, third: int) -> None:
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
def chain_sweep(p: Partition, journal: Journal, k: int, start: int, stop: int, trifle: float) -> int:
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
