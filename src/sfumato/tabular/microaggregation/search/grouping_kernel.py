"""Groups that a local search can change in place, one by one; their means and errors never drift.

Ward, "Hierarchical grouping to optimize an objective function" (1963), for the error terms.
Means are computed anew from the members after every change: groups are small, so that this
costs no more than updating them and leaves no rounding behind.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.microaggregation.kdtree.lanes_kernel import LANES, gap

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Grouping(NamedTuple):
    """Groups of k to 2k-1 records with their means, errors and near records."""

    x: Floats  # (n, width): columns padded with zeros to a multiple of four
    near: npt.NDArray[np.int32]  # (n, reach): nearest records of each record
    label: Integers  # (n,): group of each record
    place: Integers  # (n,): its position in the group
    own: Floats  # (n,): its squared distance to the mean of the group
    members: Integers  # (slots, 2k)
    size: Integers  # (slots,): 0 for a slot not in use
    centre: Floats  # (slots, width)
    error: Floats  # (slots,)
    spare: Integers  # (slots + 1,): slots not in use; the last entry counts them
    seen: Integers  # (slots + 1,): last visit to a group; the last entry counts them


def open_grouping(x: Floats, k: int, near: npt.NDArray[np.int32]) -> Grouping:
    """Return the records of ``x`` without any groups yet."""
    n, d = x.shape
    slots, width = n // k + 1, -(-d // LANES) * LANES
    padded = np.zeros((n, width))
    padded[:, :d] = x
    return Grouping(
        x=padded,
        near=near,
        label=np.full(n, -1, np.int64),
        place=np.zeros(n, np.int64),
        own=np.zeros(n),
        members=np.zeros((slots, 2 * k), np.int64),
        size=np.zeros(slots, np.int64),
        centre=np.zeros((slots, width)),
        error=np.zeros(slots),
        spare=np.zeros(slots + 1, np.int64),
        seen=np.zeros(slots + 1, np.int64),
    )


@kernel
def refit(p: Grouping, group: int) -> None:
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
def enter(p: Grouping, record: int, group: int) -> None:
    """Put a record that has no group into ``group``, without refitting."""
    p.label[record] = group
    p.place[record] = p.size[group]
    p.members[group, p.size[group]] = record
    p.size[group] += 1


@kernel
def leave(p: Grouping, record: int) -> None:
    """Take a record out of its group, without refitting."""
    group, place = p.label[record], p.place[record]
    p.size[group] -= 1
    last = p.members[group, p.size[group]]
    p.members[group, place] = last
    p.place[last] = place
    p.label[record] = -1


@kernel
def open_group(p: Grouping) -> int:
    """Return an unused slot and mark it as used."""
    p.spare[-1] -= 1
    return int(p.spare[p.spare[-1]])


@kernel
def close_group(p: Grouping, group: int) -> None:
    """Return the slot of an empty group to the unused ones."""
    p.error[group] = 0.0
    p.spare[p.spare[-1]] = group
    p.spare[-1] += 1


@kernel
def fill(p: Grouping, labels: Integers) -> None:
    """Load the groups of ``labels`` into an empty grouping."""
    groups = labels.max() + 1
    for record in range(labels.size):
        enter(p, record, labels[record])
    for group in range(groups):
        refit(p, group)
    p.spare[-1] = 0
    for slot in range(p.size.size - 1, groups - 1, -1):
        close_group(p, slot)


@kernel
def total_error(p: Grouping) -> float:
    """Return the sum of squared distances to the group means."""
    total = 0.0
    for group in range(p.size.size):
        total += p.error[group]
    return total
