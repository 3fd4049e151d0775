"""The test of one class's sensitive counts, compiled: does this histogram satisfy this criterion?

Definitions: Machanavajjhala et al. 2007 (l-diversity), Li, Li & Venkatasubramanian 2007 (t-closeness),
Wong, Li, Fu & Wang 2006 (share), Cao & Karras 2012 (gain), Brickell & Shmatikov 2008 (ratio), Zhang, Koudas, Srivastava
& Yu 2007 (span). `measures.py` computes the same by other means.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import inlined, kernel
from sfumato.models.criteria import (
    CLOSENESS,
    DISTINCT,
    ENTROPY,
    GAIN,
    RATIO,
    RECURSIVE,
    SHARE,
    SLACK,
    SPAN,
    Criteria,
)


@kernel
def criterion_holds(
    criteria: Criteria,
    index: int,
    counts: npt.NDArray[np.int64],
    units: int,
    holders: int,
    flow: npt.NDArray[np.float64],
) -> bool:
    """Return whether a class with these counts of its sensitive values satisfies criterion `index`.

    `units` are in the class and `holders` of them have a value; the counts are used up.
    """
    kind, first, second = criteria.kind[index], criteria.first[index], criteria.second[index]
    if kind == CLOSENESS:
        return bool(distance_from_table(criteria, index, counts, units, flow) <= first + SLACK)
    if kind == GAIN or kind == RATIO:  # noqa: SIM109, PLR1714 - compiled faster
        return shares_hold(criteria, index, counts, units)
    values = counts[criteria.skip[index] :]
    wide = kind == SPAN and reach(criteria, index, counts, holders) >= first * (1 - SLACK)
    if wide or kind == DISTINCT or kind == ENTROPY or kind == RECURSIVE:  # noqa: SIM109, PLR1714 - compiled faster
        pin(values, total_of(values) - holders)
    if kind == ENTROPY:
        return bool(holders > 0 and entropy(values) >= math.log(first * (1 - SLACK)))
    if kind == RECURSIVE:
        return recursively_diverse(values, first, second)
    if kind == SPAN:
        wide = wide and met(values) >= second
    return wide or (kind != SPAN and counted_holds(criteria, index, counts, units, holders))


@inlined
def counted_holds(criteria: Criteria, index: int, counts: npt.NDArray[np.int64], units: int, holders: int) -> bool:
    """Return what `criterion_holds` does for the kinds that `COUNTED` names, of counts in which each unit is once.

    Apart from the rest, since most searches ask for nothing else and Numba compiles it in a fraction of the time.
    """
    first, skip = criteria.first[index], criteria.skip[index]
    most, values = 0, 0
    for value in range(skip, len(counts)):
        most = max(most, counts[value])
        values += counts[value] > 0
    if criteria.kind[index] == SPAN:
        wide = reach(criteria, index, counts, holders) >= first * (1 - SLACK)
        return bool(wide and values >= criteria.second[index])
    if criteria.kind[index] == SHARE:
        missing = counts[0] if skip else 0
        return bool(most <= (first + SLACK) * holders and missing <= (first + SLACK) * units)
    return bool(values >= first * (1 - SLACK))


@kernel
def shares_hold(criteria: Criteria, index: int, counts: npt.NDArray[np.int64], units: int) -> bool:
    """Return whether each value's share is near enough to that in the table: GAIN bounds it above, RATIO both ways."""
    offset = criteria.reference_start[criteria.column[index]]
    first, further = criteria.first[index], criteria.second[index] > 0
    for value in range(len(counts)):
        before = criteria.reference[offset + value]
        if counts[value] == 0:
            if further and before > 0 and criteria.kind[index] == RATIO:
                return False
            continue
        if before <= 0:
            return False
        share = counts[value] / units
        if criteria.kind[index] == RATIO:
            if abs(math.log(share / before)) > first + SLACK:
                return False
        else:
            most = min(first, max(0.0, -math.log(before))) if further else first
            if (share - before) / before > most + SLACK:
                return False
    return True


@inlined
def reach(criteria: Criteria, index: int, counts: npt.NDArray[np.int64], holders: int) -> float:
    """Return the shortest part of the scale that could hold a number of every unit that has one; 0 without any."""
    skip, numbers = criteria.skip[index], criteria.cut_start[index]
    shortest, inside, low = math.inf, 0, skip
    for high in range(skip, len(counts)):
        inside += counts[high]
        while counts[high] > 0 and low <= high and inside >= holders:
            if counts[low] > 0:
                shortest = min(
                    shortest, criteria.cut_weight[numbers + high - skip] - criteria.cut_weight[numbers + low - skip]
                )
            inside -= counts[low]
            low += 1
    return 0.0 if holders == 0 else shortest


@kernel
def pin(counts: npt.NDArray[np.int64], surplus: int) -> None:
    """Take `surplus` off the smallest counts, so that each person counts for one value alone, the most frequent."""
    if surplus <= 0:
        return
    low, high = 0, largest(counts)  # all counts up to `low` go
    while low < high:
        middle = (low + high + 1) // 2
        if total_up_to(counts, middle) <= surplus:
            low = middle
        else:
            high = middle - 1
    for place in range(len(counts)):
        if counts[place] <= low:
            surplus -= counts[place]
            counts[place] = 0
    for place in range(len(counts)):
        if counts[place] == low + 1:
            taken = min(surplus, counts[place])
            counts[place] -= taken
            surplus -= taken


# Plain loops: Numba compiles them in a tenth of the time that it needs for the sort, sum and maximum of an array.
@inlined
def total_of(counts: npt.NDArray[np.int64]) -> int:
    """Return the sum of the counts."""
    total = 0
    for count in counts:
        total += count
    return total


@inlined
def met(counts: npt.NDArray[np.int64]) -> int:
    """Return how many counts are above 0."""
    total = 0
    for count in counts:
        total += count > 0
    return total


@inlined
def total_up_to(counts: npt.NDArray[np.int64], most: int) -> int:
    """Return the sum of the counts that are no larger than `most`."""
    total = 0
    for count in counts:
        if count <= most:
            total += count
    return total


@inlined
def largest(counts: npt.NDArray[np.int64]) -> int:
    """Return the largest count."""
    most = 0
    for count in counts:
        most = max(most, count)
    return most


@kernel
def entropy(counts: npt.NDArray[np.int64]) -> float:
    """Return the entropy of a histogram in nats."""
    total = total_of(counts)
    result = 0.0
    for count in counts:
        if count > 0:
            result -= count / total * math.log(count / total)
    return result


@kernel
def recursively_diverse(counts: npt.NDArray[np.int64], l: float, c: float) -> bool:
    """Return whether the top count is below c times the sum from the l-th largest count on."""
    before = math.ceil(l * (1 - SLACK)) - 1  # so many counts are larger than the l-th
    top = largest(counts)
    rest, level, taken = total_of(counts), top, 0
    while taken < before and level > 0:  # the largest counts, one value of them after the other
        below = 0
        for count in counts:
            if count == level and taken < before:
                rest -= count
                taken += 1
            elif count < level:
                below = max(below, count)
        if taken < before:
            level = below
    return bool(rest > 0 and top < c * rest)


@kernel
def distance_from_table(
    criteria: Criteria, index: int, counts: npt.NDArray[np.int64], units: int, flow: npt.NDArray[np.float64]
) -> float:
    """Return the earth mover's distance between a histogram and the table, by the mass across each cut."""
    column = criteria.column[index]
    offset = criteria.reference_start[column]
    scale = min(1.0, total_of(counts) / units / criteria.reference_mass[column])
    running = 0.0
    flow[0] = 0.0
    for value in range(len(counts)):
        running += counts[value] / units - criteria.reference[offset + value] * scale
        flow[value + 1] = running
    result = 0.0
    for cut in range(criteria.cut_start[index], criteria.cut_start[index + 1]):
        result += criteria.cut_weight[cut] * abs(flow[criteria.cut_high[cut]] - flow[criteria.cut_low[cut]])
    return result
