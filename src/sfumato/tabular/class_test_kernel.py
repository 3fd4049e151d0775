"""Whether a set of points may be a class: enough units, and every criterion on sensitive values satisfied.

Units are rows, or persons when rows of one person are tied together; a person counts once for each value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import inlined, kernel
from sfumato.models.criteria import Criteria
from sfumato.models.criteria_kernel import counted_holds, criterion_holds

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
WEIGHT = 32  # a tag holds a point's weight above this bit and its number below it
NUMBER = (1 << WEIGHT) - 1


class Members(NamedTuple):
    """The sensitive codes of each point, by column, and memory for counting them."""

    sensitive: Int32s
    counts: Int64s


class Ties(NamedTuple):
    """The persons that tie points together, and memory for the tests that weigh counts.

    `person` and `pairs` hold numbers of persons and of (person, value) pairs, empty without persons; `seen` remembers
    under which stamp (its last entry) a number was met.
    """

    person: Int64s
    pairs: Int64s
    seen: Int64s
    flow: npt.NDArray[np.float64]


@kernel
def class_holds(
    tags: Int64s, members: Members, ties: Ties | None, criteria: Criteria, start: int, end: int, least: int
) -> bool:
    """Return whether the points tagged start…end-1 may be a class.

    `ties` is None where rows are the units and the criteria are `COUNTED` ones: Numba then leaves the rest out.
    """
    units = rows_of(tags, start, end) if ties is None else count_units(tags, ties, start, end)
    if units < least:
        return False
    for index in range(len(criteria.kind)):
        column = criteria.column[index]
        counts = members.counts[: criteria.reference_start[column + 1] - criteria.reference_start[column]]
        for value in range(len(counts)):
            counts[value] = 0
        holders = units
        if ties is None:
            for place in range(start, end):
                counts[members.sensitive[column, tags[place] & NUMBER]] += tags[place] >> WEIGHT
            if criteria.skip[index]:
                holders -= counts[0]
            if not counted_holds(criteria, index, counts, units, holders):
                return False
        else:
            count_values(tags, members, ties, column, start, end, counts)
            if criteria.skip[index]:
                holders = count_holders(tags, members, ties, column, start, end, units - counts[0])
            if not criterion_holds(criteria, index, counts, units, holders, ties.flow):
                return False
    return True


@inlined
def rows_of(tags: Int64s, start: int, end: int) -> int:
    """Return the rows that points start…end-1 stand for."""
    total = int(0)  # noqa: RUF046, UP018 - a bare 0 has its own type, for which Numba compiles callees again
    for place in range(start, end):
        total += tags[place] >> WEIGHT
    return total


@kernel
def count_holders(tags: Int64s, members: Members, ties: Ties, column: int, start: int, end: int, rows: int) -> int:
    """Return the units with a value, of a column whose code 0 is a missing one: `rows` where rows are the units."""
    if not len(ties.person):
        return rows
    holders = 0
    ties.seen[-1] += 1
    for place in range(start, end):
        point = tags[place] & NUMBER
        if members.sensitive[column, point] > 0:
            holders += first_time(ties.seen, ties.person[point])
    return holders


@kernel
def count_units(tags: Int64s, ties: Ties, start: int, end: int) -> int:
    """Return the rows, or the persons, among the points."""
    units = 0
    ties.seen[-1] += 1
    for place in range(start, end):
        if len(ties.person):
            units += first_time(ties.seen, ties.person[tags[place] & NUMBER])
        else:
            units += tags[place] >> WEIGHT
    return units


@kernel
def count_values(tags: Int64s, members: Members, ties: Ties, column: int, start: int, end: int, counts: Int64s) -> None:
    """Add to `counts` the rows, or the persons, that have each sensitive value."""
    ties.seen[-1] += 1
    for place in range(start, end):
        point = tags[place] & NUMBER
        value = members.sensitive[column, point]
        if len(ties.person):
            counts[value] += first_time(ties.seen, ties.pairs[column, point])
        else:
            counts[value] += tags[place] >> WEIGHT


@kernel
def first_time(seen: Int64s, number: int) -> int:
    """Return 1 when `number` is met for the first time under the present stamp, otherwise 0."""
    if seen[number] == seen[-1]:
        return 0
    seen[number] = seen[-1]
    return 1
