"""Save groups before they change, roll them back, and queue records for another look.

Lourenço, Martin & Stützle, "Iterated local search" (2003).
"""

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.search.journal import Journal
from sfumato.tabular.microaggregation.search.partition import Partition
from sfumato.tabular.microaggregation.search.partition_kernel import close_group, refit


@kernel
def touch(p: Partition, journal: Journal, group: int) -> None:
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
def forget(journal: Journal) -> None:
    """Drop all saved groups: the present partition stands."""
    for row in range(journal.touched[-1]):
        journal.saved_at[journal.touched[row]] = -1
    journal.touched[-1] = 0


@kernel
def take_from_spare(p: Partition, group: int) -> None:
    """Remove a given slot from the unused ones; it was put there a moment ago."""
    i = p.spare[-1] - 1
    while p.spare[i] != group:
        i -= 1
    p.spare[-1] -= 1
    p.spare[i] = p.spare[p.spare[-1]]


@kernel
def roll_back(p: Partition, journal: Journal) -> None:
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
def error_change(p: Partition, journal: Journal) -> float:
    """Return by how much the error has grown since the journal was last emptied."""
    change = 0.0
    for row in range(journal.touched[-1]):
        change += p.error[journal.touched[row]] - journal.error[row]
    return change


@kernel
def push_members(p: Partition, journal: Journal, group: int) -> None:
    """Queue the members of a group that are not queued yet."""
    n = journal.queue.size
    for i in range(p.size[group]):
        record = p.members[group, i]
        if not journal.queued[record]:
            journal.queued[record] = True
            journal.queue[(journal.span[0] + journal.span[1]) % n] = record
            journal.span[1] += 1


@kernel
def pop(journal: Journal) -> int:
    """Return the record queued first."""
    record = journal.queue[journal.span[0]]
    journal.queued[record] = False
    journal.span[0] = (journal.span[0] + 1) % journal.queue.size
    journal.span[1] -= 1
    return int(record)


@kernel
def drain(journal: Journal) -> None:
    """Empty the queue."""
    while journal.span[1] > 0:
        pop(journal)
