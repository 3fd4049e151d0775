"""The test of one class's sensitive counts, compiled: does this histogram satisfy this criterion?

Definitions: Machanavajjhala et al. 2007 (l-diversity), Li, Li & Venkatasubramanian 2007 (t-closeness),
Wong, Li, Fu & Wang 2006 (share). `measures.py` computes the same by other means.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import inlined, kernel
from sfumato.models.criteria import CLOSENESS, DISTINCT, ENTROPY, SHARE, SLACK, Criteria


@kernel
def criterion_holds(
    criteria: Criteria, index: int, counts: npt.NDArray[np.int64], units: int, flow: npt.NDArray[np.float64]
) -> bool:
    """Return whether a class with these counts of its sensitive values satisfies criterion `index`."""
    kind, first, second = criteria.kind[index], criteria.first[index], criteria.second[index]
    if kind == CLOSENESS:
        return bool(distance_from_table(criteria, index, counts, flow) <= first + SLACK)
    if kind == SHARE:
        return bool(largest(counts) <= (first + SLACK) * units)
    if kind == DISTINCT:
        return bool(values_met(counts) >= first * (1 - SLACK))
    if kind == ENTROPY:
        return bool(entropy(counts) >= math.log(first * (1 - SLACK)))
    return recursively_diverse(counts, first, second)


# Plain loops: Numba compiles them in a tenth of the time that it needs for the sort, sum and maximum of an array.
@inlined
def total_of(counts: npt.NDArray[np.int64]) -> int:
    """Return the sum of the counts."""
    total = 0
    for count in counts:
        total += count
    return total


@inlined
def largest(counts: npt.NDArray[np.int64]) -> int:
    """Return the largest count."""
    most = 0
    for count in counts:
        most = max(most, count)
    return most


@inlined
def values_met(counts: npt.NDArray[np.int64]) -> int:
    """Return how many values occur."""
    met = 0
    for count in counts:
        met += count > 0
    return met


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
    criteria: Criteria, index: int, counts: npt.NDArray[np.int64], flow: npt.NDArray[np.float64]
) -> float:
    """Return the earth mover's distance between a histogram and the table, by the mass across each cut."""
    offset = criteria.reference_start[criteria.column[index]]
    total = total_of(counts)
    running = 0.0
    flow[0] = 0.0
    for value in range(len(counts)):
        running += counts[value] / total - criteria.reference[offset + value]
        flow[value + 1] = running
    result = 0.0
    for cut in range(criteria.cut_start[index], criteria.cut_start[index + 1]):
        result += criteria.cut_weight[cut] * abs(flow[criteria.cut_high[cut]] - flow[criteria.cut_low[cut]])
    return result
