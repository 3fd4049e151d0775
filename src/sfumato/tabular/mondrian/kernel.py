"""The cuts of Mondrian, compiled: points are moved physically, so every pass reads memory in order.

LeFevre, DeWitt & Ramakrishnan 2006. Several columns share one 64-bit word, so that a move touches little memory.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import inlined, kernel
from sfumato.tabular.class_test import ClassTest
from sfumato.tabular.class_test_kernel import NUMBER, WEIGHT, class_holds, rows_of
from sfumato.tabular.mondrian.memory import (
    BUCKETS,
    CODES,
    CUT,
    FIRST,
    HIGH,
    LAST,
    LOW,
    MASK,
    MASSES,
    RANKED,
    RIGHT,
    SHIFT,
    SPARE,
    START,
    TREE,
    WORD,
)
from sfumato.tabular.mondrian.nodes import Nodes
from sfumato.tabular.mondrian.tree_kernel import NO_CUT, best_cut

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ATTEMPTS = 16  # how finely a column is searched when its best cut breaks a model beyond k
EVERYTHING = np.iinfo(np.int64).max
FEW = 48  # so many codes are sorted by insertion
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS


@kernel
def mondrian(
    words: Int64s,
    tags: Int64s,
    positions: Floats,
    nodes: Nodes | None,
    columns: Int64s,
    worths: Floats,
    scratch: Int64s,
    tried: Int64s,
    pending: Int64s,
    labels: Int64s,
    test: ClassTest | None,
    least: int,
    relaxed: bool,
) -> int:
    """Fill `labels` with the class of every point and return the number of classes.

    `tags` is the last row of `words`, both are left in class order; without a test, k alone is asked for, and without
    nodes no column has a hierarchy: Numba then leaves out what that needs.
    """
    pending[0, 0], pending[0, 1] = 0, len(tags)
    waiting, count = 1, 0
    attempts = 1 if test is None else ATTEMPTS - 1
    while waiting > 0:
        waiting -= 1
        start, end = pending[waiting, 0], pending[waiting, 1]
        middle = -1
        total = rows_of(tags, start, end)
        if total >= 2 * least:
            candidates = rank_columns(words, tags, positions, nodes, columns, worths, scratch, start, end, total, least)
            for attempt in range(attempts):
                away = (attempt + 1) // 2 if attempt % 2 else -(attempt // 2)  # 0, 1, -1, 2, -2 …
                target = total * (ATTEMPTS // 2 + away) / ATTEMPTS
                for rank in range(candidates):
                    column = columns[rank, RANKED]
                    if columns[column, TREE]:
                        quota = EVERYTHING
                        if attempt > 0 and worths[column] >= 0:
                            weigh_cuts(words, tags, nodes, columns, worths, scratch, column, start, end, total, least)
                        if worths[column] < 0:
                            continue
                    else:
                        found = profile(words, tags, columns, scratch, column, start, end)
                        place, quota = choose(scratch, found, total, target, least, relaxed)
                        columns[column, FIRST], columns[column, LAST] = columns[column, LOW], scratch[CODES, place]
                        if was_tried(tried, column, attempt, scratch[CODES, place] if place >= 0 else -1, quota):
                            continue
                    middle = divide(words, tags, columns, scratch, column, start, end, quota)
                    if test is not None:
                        low, high = start, middle
                        for _ in range(2):  # the left part, then the right one
                            if not class_holds(tags, test.members, test.ties, test.criteria, low, high, least):
                                middle = -1
                                break
                            low, high = high, end
                    if middle >= 0:
                        break
                if middle >= 0:
                    break
        if middle < 0:
            for place in range(start, end):
                labels[tags[place] & NUMBER] = count
            count += 1
        else:
            pending[waiting, 1] = middle
            pending[waiting + 1, 0], pending[waiting + 1, 1] = middle, end
            waiting += 2
    return count


@inlined
def was_tried(tried: Int64s, column: int, attempt: int, value: int, quota: int) -> bool:
    """Return whether this very cut was tried in an earlier attempt, and note it; a value of -1 is no cut at all."""
    tried[column, attempt] = value
    found = value < 0
    for earlier in range(attempt):
        found |= tried[column, earlier] == value and quota == EVERYTHING
    return found


@inlined
def rank_columns(
    words: Int64s,
    tags: Int64s,
    positions: Floats,
    nodes: Nodes | None,
    columns: Int64s,
    worths: Floats,
    scratch: Int64s,
    start: int,
    end: int,
    total: int,
    least: int,
) -> int:
    """Order the columns that may be cut by what that is worth, the best first; return how many there are.

    That is the normalised width, or what the best cut along a hierarchy saves: on one scale, since halving a range in
    the middle of the rows saves the same.
    """
    count = 0
    for column in range(len(columns)):
        word, shift, mask = columns[column, WORD], columns[column, SHIFT], columns[column, MASK]
        low = high = (words[word, start] >> shift) & mask
        for place in range(start + 1, end):
            value = (words[word, place] >> shift) & mask
            low = min(low, value)
            high = max(high, value)
        columns[column, LOW], columns[column, HIGH] = low, high
        worths[column] = NO_CUT
        if high > low:
            if columns[column, TREE]:
                worths[column] = np.inf
                columns[column, CUT] = -1
                weigh_cuts(words, tags, nodes, columns, worths, scratch, column, start, end, total, least)
            else:
                worths[column] = positions[columns[column, START] + high] - positions[columns[column, START] + low]
        if worths[column] >= 0:
            rank = count
            while rank > 0 and worths[columns[rank - 1, RANKED]] < worths[column]:
                columns[rank, RANKED] = columns[rank - 1, RANKED]
                rank -= 1
            columns[rank, RANKED] = column
            count += 1
    return count


@kernel
def weigh_cuts(
    words: Int64s,
    tags: Int64s,
    nodes: Nodes | None,
    columns: Int64s,
    worths: Floats,
    scratch: Int64s,
    column: int,
    start: int,
    end: int,
    total: int,
    least: int,
) -> None:
    """Note the cut along a hierarchy that is the best one behind the one noted last, and what it is worth."""
    if nodes is not None:
        found = profile(words, tags, columns, scratch, column, start, end)
        worths[column] = best_cut(nodes, columns, worths, scratch, column, found, total, least)


@inlined
def profile(words: Int64s, tags: Int64s, columns: Int64s, scratch: Int64s, column: int, start: int, end: int) -> int:
    """Fill scratch with the column's distinct codes, ascending, and their weights; return how many there are."""
    low, span = columns[column, LOW], columns[column, HIGH] - columns[column, LOW] + 1
    word, shift, mask = columns[column, WORD], columns[column, SHIFT], columns[column, MASK]
    count = 0
    if span <= 4 * (end - start) + 16:
        for bucket in range(span):
            scratch[BUCKETS, bucket] = 0
        for place in range(start, end):
            scratch[BUCKETS, ((words[word, place] >> shift) & mask) - low] += tags[place] >> WEIGHT
        for bucket in range(span):
            scratch[CODES, count], scratch[MASSES, count] = bucket + low, scratch[BUCKETS, bucket]
            count += scratch[BUCKETS, bucket] > 0
    else:
        count = profile_sparse(words, tags, columns, scratch, column, start, end)
    return count


@kernel
def profile_sparse(
    words: Int64s, tags: Int64s, columns: Int64s, scratch: Int64s, column: int, start: int, end: int
) -> int:
    """Do what `profile` does where few points are spread over many codes: sort them."""
    word, shift, mask = columns[column, WORD], columns[column, SHIFT], columns[column, MASK]
    size = end - start
    for place in range(size):
        scratch[CODES, place] = (words[word, start + place] >> shift) & mask
        scratch[MASSES, place] = tags[start + place] >> WEIGHT
    if size <= FEW:
        insert_sorted(scratch, size)
    else:
        sort_digits(scratch, size)
    count = 0
    for place in range(size):
        code, mass = scratch[CODES, place], scratch[MASSES, place]
        if count == 0 or scratch[CODES, count - 1] != code:
            scratch[CODES, count], scratch[MASSES, count] = code, 0
            count += 1
        scratch[MASSES, count - 1] += mass
    return count


@inlined
def insert_sorted(scratch: Int64s, size: int) -> None:
    """Sort few codes with their masses, each moved down to its place."""
    for place in range(1, size):
        code, mass = scratch[CODES, place], scratch[MASSES, place]
        slot = place
        while slot > 0 and scratch[CODES, slot - 1] > code:
            scratch[CODES, slot], scratch[MASSES, slot] = scratch[CODES, slot - 1], scratch[MASSES, slot - 1]
            slot -= 1
        scratch[CODES, slot], scratch[MASSES, slot] = code, mass


@inlined
def sort_digits(scratch: Int64s, size: int) -> None:
    """Sort codes with their masses digit by digit, the last digit first; Numba compiles it faster than its own sort."""
    highest = 0
    for place in range(size):
        highest = max(highest, scratch[CODES, place])
    shift = 0
    while highest >> shift > 0:
        for digit in range(DIGITS):
            scratch[BUCKETS, digit] = 0
        for place in range(size):
            scratch[BUCKETS, (scratch[CODES, place] >> shift) & (DIGITS - 1)] += 1
        before = 0
        for digit in range(DIGITS):
            before, scratch[BUCKETS, digit] = before + scratch[BUCKETS, digit], before
        for place in range(size):
            digit = (scratch[CODES, place] >> shift) & (DIGITS - 1)
            slot = scratch[BUCKETS, digit]
            scratch[BUCKETS, digit] = slot + 1
            scratch[RIGHT, slot], scratch[SPARE, slot] = scratch[CODES, place], scratch[MASSES, place]
        for place in range(size):
            scratch[CODES, place], scratch[MASSES, place] = scratch[RIGHT, place], scratch[SPARE, place]
        shift += DIGIT_BITS


@inlined
def choose(scratch: Int64s, count: int, total: int, target: float, least: int, relaxed: bool) -> tuple[int, int]:
    """Return the place of the last left code of the cut nearest to `target`, and how much of it goes left.

    The place is -1 when no cut is allowable.
    """
    best, quota = -1, EVERYTHING
    if relaxed:
        best, quota = choose_relaxed(scratch, count, total, int(target), least)
    else:
        nearest, running = np.inf, 0
        for place in range(count - 1):
            running += scratch[MASSES, place]
            if running >= least and total - running >= least and abs(running - target) < nearest:
                best, nearest = place, abs(running - target)
    return best, quota


@kernel
def choose_relaxed(scratch: Int64s, count: int, total: int, target: int, least: int) -> tuple[int, int]:
    """Return the code at which exactly `target` rows lie to the left, and how many of its own rows do."""
    running = 0
    for place in range(count):
        if running + scratch[MASSES, place] >= target >= least and total - target >= least:
            return place, target - running
        running += scratch[MASSES, place]
    return -1, EVERYTHING


@inlined
def divide(
    words: Int64s, tags: Int64s, columns: Int64s, scratch: Int64s, column: int, start: int, end: int, quota: int
) -> int:
    """Move points with the codes of the noted cut to the left, of those at its last only as many as `quota` allows."""
    word, shift, mask = columns[column, WORD], columns[column, SHIFT], columns[column, MASK]
    first, last = columns[column, FIRST], columns[column, LAST]
    for place in range(start, end):
        code = (words[word, place] >> shift) & mask
        scratch[RIGHT, place - start] = (code > last) | (code < first)
    if quota != EVERYTHING:
        for place in range(start, end):
            if ((words[word, place] >> shift) & mask) == last:
                scratch[RIGHT, place - start] = quota <= 0
                quota -= tags[place] >> WEIGHT
    middle = start
    for row in range(len(words)):
        middle, held = start, 0
        for place in range(start, end):  # both places are written, one advances: no branch to mispredict
            entry = words[row, place]
            scratch[SPARE, held] = words[row, middle] = entry
            held += scratch[RIGHT, place - start]
            middle += 1 - scratch[RIGHT, place - start]
        for place in range(held):
            words[row, middle + place] = scratch[SPARE, place]
    return middle
