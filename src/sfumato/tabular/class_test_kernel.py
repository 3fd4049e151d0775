"""Whether a set of points may be a class: enough units, and every criterion on sensitive values satisfied.

Units are rows, or persons when rows of one person are tied together; a person counts once for each value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.models.criteria import Criteria
from sfumato.models.criteria_kernel import criterion_holds

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
WEIGHT = 32  # a tag holds a point's weight above this bit and its number below it
NUMBER = (1 << WEIGHT) - 1


class Members(NamedTuple):
    """What is known of each point beside its quasi-identifiers, and memory for counting.

    `sensitive` holds codes by column, `person` and `pairs` numbers of persons and of (person, value) pairs, empty
    without persons; `seen` remembers under which stamp (its last entry) a number was met.
    """

    sensitive: Int32s
    person: Int64s
    pairs: Int64s
    counts: Int64s
    flow: npt.NDArray[np.float64]
    seen: Int64s


@kernel
def class_holds(tags: Int64s, members: Members, criteria: Criteria, start: int, end: int, least: int) -> bool:
    """Return whether the points tagged start…end-1 may be a class."""
    units = count_units(tags, members, start, end)
    if units < least:
        return False
    for index in range(len(criteria.kind)):
        column = criteria.column[index]
        counts = members.counts[: criteria.reference_start[column + 1] - criteria.reference_start[column]]
        count_values(tags, members, column, start, end, counts)
        if not criterion_holds(criteria, index, counts, units, members.flow):
            return False
    return True


@kernel
def count_units(tags: Int64s, members: Members, start: int, end: int) -> int:
    """Return the rows, or the persons, among the points."""
    units = 0
    members.seen[-1] += 1
    for place in range(start, end):
        if len(members.person):
            units += first_time(members.seen, members.person[tags[place] & NUMBER])
        else:
            units += tags[place] >> WEIGHT
    return units


@kernel
def count_values(tags: Int64s, members: Members, column: int, start: int, end: int, counts: Int64s) -> None:
    """Fill `counts` with the rows, or the persons, that have each sensitive value."""
    counts[:] = 0
    members.seen[-1] += 1
    for place in range(start, end):
        point = tags[place] & NUMBER
        value = members.sensitive[column, point]
        if len(members.person):
            counts[value] += first_time(members.seen, members.pairs[column, point])
        else:
            counts[value] += tags[place] >> WEIGHT


@kernel
def first_time(seen: Int64s, number: int) -> int:
    """Return 1 when `number` is met for the first time under the present stamp, otherwise 0."""
    if seen[number] == seen[-1]:
        return 0
    seen[number] = seen[-1]
    return 1
