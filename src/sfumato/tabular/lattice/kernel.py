"""Roll-up and judgement of frequency sets, compiled: no node of the lattice reads the table again.

LeFevre, DeWitt & Ramakrishnan 2005: the counts of a node are sums of the counts of any node below it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.models.criteria import Criteria
from sfumato.models.criteria_kernel import criterion_holds
from sfumato.tabular.lattice.packing import Keys

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: neighbouring keys land far apart (Knuth 1973)


class Frequencies(NamedTuple):
    """Groups of one node: a cell that shows each, and its members as (rest, rows) from `start[g]` on.

    A rest is what a row holds beside its quasi-identifiers: its sensitive values and its person.
    """

    example: Int64s
    start: Int64s
    rest: Int64s
    rows: Int64s


class Rests(NamedTuple):
    """Every rest's sensitive codes, its person, and the number of each (person, sensitive value) pair."""

    sensitive: Int32s
    person: Int64s
    pairs: Int64s


@kernel
def owners(codes: Int32s, example: Int64s, keys: Keys) -> tuple[Int64s, int]:
    """Return the group each finer group joins, and their number; `codes` has a row per cell, packed."""
    size = len(example)
    joined = np.empty(size, dtype=np.int64)
    dense = keys.span <= 4 * size + 1024
    bits = 1
    while 1 << bits < 2 * size:
        bits += 1
    mask = (1 << bits) - 1
    number = np.full(keys.span if dense else 1 << bits, -1, dtype=np.int32)
    held = np.empty(0 if dense else size, dtype=np.int64)
    count = 0
    for group in range(size):
        cell = example[group]
        key = 0
        for index in range(len(keys.packs)):
            key += keys.sums[keys.starts[index] + codes[cell, keys.packs[index]]]
        slot = np.int64(key)
        if not dense:
            slot = np.int64((np.uint64(key) * GOLDEN) >> np.uint64(64 - bits))
            while number[slot] >= 0 and held[number[slot]] != key:
                slot = (slot + 1) & mask
            if number[slot] < 0:
                held[count] = key
        if number[slot] < 0:
            number[slot] = count
            count += 1
        joined[group] = number[slot]
    return joined, count


@kernel
def merge(finer: Frequencies, joined: Int64s, count: int, rests: int) -> Frequencies:
    """Return the frequency set in which each finer group has joined its owner."""
    example = np.empty(count, dtype=np.int64)
    for group in range(len(joined) - 1, -1, -1):
        example[joined[group]] = finer.example[group]
    if rests == 1:
        totals = np.zeros(count, dtype=np.int64)
        for group in range(len(joined)):
            totals[joined[group]] += finer.rows[group]
        return Frequencies(example, np.arange(count + 1), np.zeros(count, dtype=np.int64), totals)
    order, bounds = sorted_by_owner(joined, count)
    start = np.empty(count + 1, dtype=np.int64)
    rest = np.empty(len(finer.rest), dtype=np.int64)
    rows = np.empty(len(finer.rest), dtype=np.int64)
    place = np.full(rests, -1, dtype=np.int64)
    filled = 0
    for owner in range(count):
        start[owner] = filled
        for index in range(bounds[owner], bounds[owner + 1]):
            group = order[index]
            for entry in range(finer.start[group], finer.start[group + 1]):
                found = finer.rest[entry]
                if place[found] < start[owner]:
                    place[found] = filled
                    rest[filled] = found
                    rows[filled] = 0
                    filled += 1
                rows[place[found]] += finer.rows[entry]
    start[count] = filled
    return Frequencies(example, start, rest[:filled].copy(), rows[:filled].copy())


@kernel
def sorted_by_owner(joined: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """Return the groups ordered by owner, and where each owner's begin."""
    bounds = np.zeros(count + 1, dtype=np.int64)
    for owner in joined:
        bounds[owner + 1] += 1
    bounds = np.cumsum(bounds)
    cursor = bounds[:-1].copy()
    order = np.empty(len(joined), dtype=np.int64)
    for group in range(len(joined)):
        order[cursor[joined[group]]] = group
        cursor[joined[group]] += 1
    return order, bounds


@kernel
def judge(frequencies: Frequencies, rests: Rests, criteria: Criteria, least: int) -> tuple[Int64s, Bools]:
    """Return each group's rows, and whether it breaks a model."""
    count = len(frequencies.example)
    sizes = np.zeros(count, dtype=np.int64)
    failing = np.zeros(count, dtype=np.bool_)
    persons = len(rests.person) > 0
    widest, stamps = 1, 1
    for column in range(len(criteria.reference_start) - 1):
        widest = max(widest, criteria.reference_start[column + 1] - criteria.reference_start[column])
    if persons:
        stamps = max(rests.person.max(), rests.pairs.max() if rests.pairs.size else 0) + 1
    seen = np.full(stamps, -1, dtype=np.int64)
    histogram = np.zeros(widest, dtype=np.int64)
    flow = np.zeros(widest + 1, dtype=np.float64)
    stamp = 0
    for group in range(count):
        begin, end = frequencies.start[group], frequencies.start[group + 1]
        for entry in range(begin, end):
            sizes[group] += frequencies.rows[entry]
        units = sizes[group]
        if persons:
            stamp += 1
            units = 0
            for entry in range(begin, end):
                units += newly(seen, rests.person[frequencies.rest[entry]], stamp)
        if units < least:
            failing[group] = True
            continue
        for index in range(len(criteria.kind)):
            column = criteria.column[index]
            length = criteria.reference_start[column + 1] - criteria.reference_start[column]
            histogram[:length] = 0
            stamp += 1
            for entry in range(begin, end):
                rest = frequencies.rest[entry]
                value = rests.sensitive[column, rest]
                if persons:
                    histogram[value] += newly(seen, rests.pairs[column, rest], stamp)
                else:
                    histogram[value] += frequencies.rows[entry]
            holders = units
            if criteria.skip[index]:
                holders = units - histogram[0]
                if persons:
                    stamp += 1
                    holders = 0
                    for entry in range(begin, end):
                        rest = frequencies.rest[entry]
                        if rests.sensitive[column, rest] > 0:
                            holders += newly(seen, rests.person[rest], stamp)
            if not criterion_holds(criteria, index, histogram[:length], units, holders, flow):
                failing[group] = True
                break
    return sizes, failing


@kernel
def newly(seen: Int64s, number: int, stamp: int) -> int:
    """Return 1 when `number` is met for the first time under this stamp, otherwise 0."""
    if seen[number] == stamp:
        return 0
    seen[number] = stamp
    return 1
