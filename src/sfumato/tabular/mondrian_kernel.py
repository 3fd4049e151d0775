"""The cuts of Mondrian, compiled: points are moved physically, so every pass reads memory in order.

LeFevre, DeWitt & Ramakrishnan 2006. A cut falls only between values whose common ancestor is the
node being cut, so columns with a hierarchy are cut along its branches; without one, anywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.kernel import kernel
from sfumato.models.criteria import Criteria
from sfumato.models.criteria_kernel import criterion_holds

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ATTEMPTS = 16  # how finely a column is searched when the balanced cut breaks a model beyond k
EVERYTHING = np.iinfo(np.int64).max


class Points(NamedTuple):
    """Distinct rows: codes by column, how many rows each stands for, sensitive codes, persons."""

    codes: Int32s
    weights: Int64s
    sensitive: Int32s
    person: Int64s
    pairs: Int64s


class Domain(NamedTuple):
    """Every column's scale: positions and shared tree levels of its codes, one column after another."""

    positions: Floats
    shared: Int32s
    start: Int64s
    branching: npt.NDArray[np.bool_]


class Space(NamedTuple):
    """Working memory, allocated once."""

    low: Int32s
    high: Int32s
    ranked: Int64s
    values: Int32s
    masses: Int64s
    buckets: Int64s
    right: npt.NDArray[np.bool_]
    spare: Int64s
    counts: Int64s
    flow: Floats
    seen: Int64s
    stamp: Int64s
    tried: Int32s


@kernel
def mondrian(points: Points, domain: Domain, criteria: Criteria, least: int, relaxed: bool) -> tuple[Int64s, int]:
    """Return the class of every point and the number of classes."""
    moved = Points(points.codes.copy(), points.weights.copy(), points.sensitive, points.person, points.pairs)
    size = len(moved.weights)
    origin = np.arange(size)
    space = allocate(moved, domain, criteria)
    pending = np.empty((moved.weights.sum() // least + 2, 2), dtype=np.int64)
    pending[0] = 0, size
    waiting, count = 1, 0
    labels = np.empty(size, dtype=np.int64)
    while waiting > 0:
        waiting -= 1
        start, end = pending[waiting]
        middle = cut(moved, origin, domain, criteria, space, start, end, least, relaxed)
        if middle < 0:
            for place in range(start, end):
                labels[origin[place]] = count
            count += 1
        else:
            pending[waiting] = start, middle
            pending[waiting + 1] = middle, end
            waiting += 2
    return labels, count


@kernel
def allocate(points: Points, domain: Domain, criteria: Criteria) -> Space:
    """Return working memory for the largest class there can be: the whole table."""
    columns, size = points.codes.shape
    widest = 1
    for column in range(columns):
        widest = max(widest, domain.start[column + 1] - domain.start[column])
    values = 1
    for column in range(len(criteria.reference_start) - 1):
        values = max(values, criteria.reference_start[column + 1] - criteria.reference_start[column])
    stamps = 0
    if len(points.person):
        stamps = max(points.person.max(), points.pairs.max() if points.pairs.size else 0) + 1
    return Space(
        np.empty(columns, dtype=np.int32),
        np.empty(columns, dtype=np.int32),
        np.empty(columns, dtype=np.int64),
        np.empty(min(widest, size), dtype=np.int32),
        np.empty(min(widest, size), dtype=np.int64),
        np.zeros(widest, dtype=np.int64),
        np.empty(size, dtype=np.bool_),
        np.empty(size, dtype=np.int64),
        np.zeros(values, dtype=np.int64),
        np.zeros(values + 1, dtype=np.float64),
        np.full(stamps + 1, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty((columns, ATTEMPTS), dtype=np.int32),
    )


@kernel
def cut(
    points: Points,
    origin: Int64s,
    domain: Domain,
    criteria: Criteria,
    space: Space,
    start: int,
    end: int,
    least: int,
    relaxed: bool,
) -> int:
    """Cut points start…end-1 in two and return where the second part begins, or -1 if no cut is allowable."""
    total = points.weights[start:end].sum()
    if total < 2 * least:
        return -1
    candidates = rank_columns(points.codes, domain, space, start, end)
    plain = len(criteria.kind) == 0 and len(points.person) == 0
    space.tried[:] = -1
    for attempt in range(1 if plain else ATTEMPTS - 1):
        step = (attempt + 1) // 2 if attempt % 2 else -(attempt // 2)
        target = total * (ATTEMPTS // 2 + step) / ATTEMPTS
        for place in range(candidates):
            column = space.ranked[place]
            count = profile(points, space, column, start, end)
            chosen, quota = choose(domain, space, column, count, total, target, least, relaxed)
            if chosen < 0 or known(space, column, attempt, space.values[chosen], quota):
                continue
            middle = divide(points, origin, space, column, start, end, space.values[chosen], quota)
            if plain or (
                holds(points, origin, criteria, space, start, middle, least)
                and holds(points, origin, criteria, space, middle, end, least)
            ):
                return middle
    return -1


@kernel
def known(space: Space, column: int, attempt: int, value: int, quota: int) -> bool:
    """Return whether this very cut of this column was tried in an earlier attempt, and note it."""
    space.tried[column, attempt] = value
    if quota != EVERYTHING:
        return False
    for earlier in range(attempt):
        if space.tried[column, earlier] == value:
            return True
    return False


@kernel
def rank_columns(codes: Int32s, domain: Domain, space: Space, start: int, end: int) -> int:
    """Order the columns that still vary by normalised width, widest first; return how many there are."""
    count = 0
    widths = np.empty(len(codes))
    for column in range(len(codes)):
        low = high = codes[column, start]
        for place in range(start + 1, end):
            value = codes[column, place]
            low = min(low, value)
            high = max(high, value)
        space.low[column], space.high[column] = low, high
        offset = domain.start[column]
        widths[column] = domain.positions[offset + high] - domain.positions[offset + low]
        if high > low:
            place = count
            while place > 0 and widths[space.ranked[place - 1]] < widths[column]:
                space.ranked[place] = space.ranked[place - 1]
                place -= 1
            space.ranked[place] = column
            count += 1
    return count


@kernel
def profile(points: Points, space: Space, column: int, start: int, end: int) -> int:
    """Fill `values` and `masses` with the column's distinct codes, ascending, and their weights."""
    low, high = space.low[column], space.high[column]
    codes = points.codes[column]
    count = 0
    if high - low < 4 * (end - start) + 16:
        buckets = space.buckets[: high - low + 1]
        buckets[:] = 0
        for place in range(start, end):
            buckets[codes[place] - low] += points.weights[place]
        for bucket in range(len(buckets)):
            if buckets[bucket] > 0:
                space.values[count], space.masses[count] = bucket + low, buckets[bucket]
                count += 1
        return count
    for place in np.argsort(codes[start:end]) + start:
        if count == 0 or space.values[count - 1] != codes[place]:
            space.values[count], space.masses[count] = codes[place], 0
            count += 1
        space.masses[count - 1] += points.weights[place]
    return count


@kernel
def choose(
    domain: Domain,
    space: Space,
    column: int,
    count: int,
    total: int,
    target: float,
    least: int,
    relaxed: bool,
) -> tuple[int, int]:
    """Return the place of the last left value of the cut nearest to `target`, and how much of it goes left.

    The place is -1 when no cut is allowable.
    """
    if relaxed and not domain.branching[column]:
        return choose_relaxed(space, count, total, int(np.floor(target)), least)
    offset = domain.start[column]
    depth = shared_levels(domain.shared, offset + space.values[0], offset + space.values[count - 1])
    best, nearest, running = -1, np.inf, 0
    for place in range(count - 1):
        running += space.masses[place]
        if running < least or total - running < least or abs(running - target) >= nearest:
            continue
        if shared_levels(domain.shared, offset + space.values[place], offset + space.values[place + 1]) == depth:
            best, nearest = place, abs(running - target)
    return best, EVERYTHING


@kernel
def choose_relaxed(space: Space, count: int, total: int, target: int, least: int) -> tuple[int, int]:
    """Return the value at which exactly `target` rows lie to the left, and how many of its own rows do."""
    if target < least or total - target < least:
        return -1, EVERYTHING
    running = 0
    for place in range(count):
        if running + space.masses[place] >= target:
            return place, target - running
        running += space.masses[place]
    return -1, EVERYTHING


@kernel
def shared_levels(shared: Int32s, first: int, last: int) -> int:
    """Return how many tree levels all codes from `first` to `last` share."""
    least = shared[first + 1]
    for place in range(first + 2, last + 1):
        least = min(least, shared[place])
    return int(least)


@kernel
def divide(
    points: Points, origin: Int64s, space: Space, column: int, start: int, end: int, value: int, quota: int
) -> int:
    """Move points up to `value` to the left, of those at `value` only as many as `quota` allows."""
    codes = points.codes[column]
    for place in range(start, end):
        right = codes[place] > value
        if codes[place] == value:
            right = quota <= 0
            quota -= points.weights[place]
        space.right[place] = right
    for other in range(len(points.codes)):
        part(points.codes[other], space, start, end)
    part(points.weights, space, start, end)
    return int(part(origin, space, start, end))


@kernel
def part(array: Int32s | Int64s, space: Space, start: int, end: int) -> int:
    """Bring the entries marked `right` behind the others, order kept; return where they begin."""
    left, held = start, 0
    for place in range(start, end):
        if space.right[place]:
            space.spare[held] = array[place]
            held += 1
        else:
            array[left] = array[place]
            left += 1
    for place in range(held):
        array[left + place] = space.spare[place]
    return left


@kernel
def holds(points: Points, origin: Int64s, criteria: Criteria, space: Space, start: int, end: int, least: int) -> bool:
    """Return whether points start…end-1 may be a class: enough units, and every criterion satisfied."""
    units = points.weights[start:end].sum()
    if len(points.person):
        units = 0
        space.stamp[0] += 1
        for place in range(start, end):
            units += first_time(space, points.person[origin[place]])
    if units < least:
        return False
    for index in range(len(criteria.kind)):
        column = criteria.column[index]
        counts = space.counts[: criteria.reference_start[column + 1] - criteria.reference_start[column]]
        count_values(points, origin, space, column, start, end, counts)
        if not criterion_holds(criteria, index, counts, units, space.flow):
            return False
    return True


@kernel
def count_values(
    points: Points, origin: Int64s, space: Space, column: int, start: int, end: int, counts: Int64s
) -> None:
    """Fill `counts` with the rows, or the persons, that have each sensitive value."""
    counts[:] = 0
    space.stamp[0] += 1
    for place in range(start, end):
        point = origin[place]
        value = points.sensitive[column, point]
        if len(points.person):
            counts[value] += first_time(space, points.pairs[column, point])
        else:
            counts[value] += points.weights[place]


@kernel
def first_time(space: Space, number: int) -> int:
    """Return 1 when `number` is met for the first time under the present stamp, otherwise 0."""
    if space.seen[number] == space.stamp[0]:
        return 0
    space.seen[number] = space.stamp[0]
    return 1
