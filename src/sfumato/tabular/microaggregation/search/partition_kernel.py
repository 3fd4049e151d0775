"""Build, change and read a partition; group means and errors never drift.

Ward (1963). Means are computed anew from the members after every change: groups are
small, so that this costs no more than updating them and leaves no rounding behind.
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.lanes_kernel import gap
from sfumato.tabular.microaggregation.search.partition import Partition

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def refit(p: Partition, group: int) -> None:
    """Compute mean, error and own distances of a group from its members."""
    size, width = p.size[group], p.x.shape[1]
    for j in range(width):
        p.centre[group, j] = 0.0
    for i in range(size):
        record = p.members[group, i]
        for j in range(width):
            p.centre[group, j] += p.x[record, j]
    for j in range(width):
        p.centre[group, j] /= size
    error = 0.0
    for i in range(size):
        record = p.members[group, i]
        p.own[record] = gap(p.x, record, p.centre, group)
        error += p.own[record]
    p.error[group] = error


@kernel
def enter(p: Partition, record: int, group: int) -> None:
    """Put a record that has no group into ``group``, without refitting."""
    p.label[record] = group
    p.place[record] = p.size[group]
    p.members[group, p.size[group]] = record
    p.size[group] += 1


@kernel
def leave(p: Partition, record: int) -> None:
    """Take a record out of its group, without refitting."""
    group, place = p.label[record], p.place[record]
    p.size[group] -= 1
    last = p.members[group, p.size[group]]
    p.members[group, place] = last
    p.place[last] = place
    p.label[record] = -1


@kernel
def open_group(p: Partition) -> int:
    """Return an unused slot and mark it as used."""
    p.spare[-1] -= 1
    return int(p.spare[p.spare[-1]])


@kernel
def close_group(p: Partition, group: int) -> None:
    """Return the slot of an empty group to the unused ones."""
    p.error[group] = 0.0
    p.spare[p.spare[-1]] = group
    p.spare[-1] += 1


@kernel
def fill(p: Partition, labels: Integers) -> None:
    """Load the groups of ``labels`` into an empty partition."""
    groups = labels.max() + 1
    for record in range(labels.size):
        enter(p, record, labels[record])
    for group in range(groups):
        refit(p, group)
    p.spare[-1] = 0
    for slot in range(p.size.size - 1, groups - 1, -1):
        close_group(p, slot)


@kernel
def total_error(p: Partition) -> float:
    """Return the sum of squared distances to the group means."""
    total = 0.0
    for group in range(p.size.size):
        total += p.error[group]
    return total
