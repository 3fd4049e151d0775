"""What a local search remembers besides the groups: old groups to return to, records to visit.

Lourenço, Martin & Stützle, "Iterated local search" (2003).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.search.grouping_kernel import Grouping, close_group, refit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class SearchJournal(NamedTuple):
    """Groups as they were when first touched, and a queue of records whose surroundings changed."""

    touched: Integers  # (slots + 1,): groups saved; the last entry counts them
    saved_at: Integers  # (slots,): row of the copy, or -1
    members: Integers  # (slots, 2k): copies of the members
    size: Integers  # (slots,): copies of the sizes
    error: Floats  # (slots,): copies of the errors
    queue: Integers  # (n,): ring of records to visit
    span: Integers  # (2,): start and length of the ring's content
    queued: npt.NDArray[np.bool_]  # (n,)
    pool: Integers  # (10k,): records of the groups being rebuilt


def open_journal(p: Grouping, k: int) -> SearchJournal:
    """Return an empty journal for a grouping, with every record queued for a first visit."""
    n, slots = len(p.label), len(p.size)
    return SearchJournal(
        touched=np.zeros(slots + 1, np.int64),
        saved_at=np.full(slots, -1, np.int64),
        members=np.zeros((slots, 2 * k), np.int64),
        size=np.zeros(slots, np.int64),
        error=np.zeros(slots),
        queue=np.arange(n),
        span=np.array([0, n]),
        queued=np.ones(n, np.bool_),
        pool=np.zeros(10 * k, np.int64),
    )


@kernel
def touch(p: Grouping, journal: SearchJournal, group: int) -> None:
    """Save a group unless it is saved already."""
    if journal.saved_at[group] >= 0:
        return
    row = journal.touched[-1]
    journal.touched[row] = group
    journal.touched[-1] = row + 1
    journal.saved_at[group] = row
    journal.size[row] = p.size[group]
    journal.error[row] = p.error[group]
    for i in range(p.size[group]):
        journal.members[row, i] = p.members[group, i]


@kernel
def forget(journal: SearchJournal) -> None:
    """Drop all saved groups: the present groups stand."""
    for row in range(journal.touched[-1]):
        journal.saved_at[journal.touched[row]] = -1
    journal.touched[-1] = 0


@kernel
def take_from_spare(p: Grouping, group: int) -> None:
    """Remove a given slot from the unused ones; it was put there a moment ago."""
    i = p.spare[-1] - 1
    while p.spare[i] != group:
        i -= 1
    p.spare[-1] -= 1
    p.spare[i] = p.spare[p.spare[-1]]


@kernel
def roll_back(p: Grouping, journal: SearchJournal) -> None:
    """Put every saved group back, to the last bit, and drop the copies."""
    for row in range(journal.touched[-1]):
        group = journal.touched[row]
        if p.size[group] == 0 and journal.size[row] > 0:
            take_from_spare(p, group)
        elif p.size[group] > 0 and journal.size[row] == 0:
            close_group(p, group)
        p.size[group] = journal.size[row]
        for i in range(journal.size[row]):
            record = journal.members[row, i]
            p.members[group, i] = record
            p.label[record] = group
            p.place[record] = i
    for row in range(journal.touched[-1]):
        if journal.size[row] > 0:
            refit(p, journal.touched[row])
    forget(journal)


@kernel
def error_change(p: Grouping, journal: SearchJournal) -> float:
    """Return by how much the error has grown since the journal was last emptied."""
    change = 0.0
    for row in range(journal.touched[-1]):
        change += p.error[journal.touched[row]] - journal.error[row]
    return change


@kernel
def push_members(p: Grouping, journal: SearchJournal, group: int) -> None:
    """Queue the members of a group that are not queued yet."""
    n = journal.queue.size
    for i in range(p.size[group]):
        record = p.members[group, i]
        if not journal.queued[record]:
            journal.queued[record] = True
            journal.queue[(journal.span[0] + journal.span[1]) % n] = record
            journal.span[1] += 1


@kernel
def pop(journal: SearchJournal) -> int:
    """Return the record queued first."""
    record = journal.queue[journal.span[0]]
    journal.queued[record] = False
    journal.span[0] = (journal.span[0] + 1) % journal.queue.size
    journal.span[1] -= 1
    return int(record)


@kernel
def drain(journal: SearchJournal) -> None:
    """Empty the queue."""
    while journal.span[1] > 0:
        pop(journal)
