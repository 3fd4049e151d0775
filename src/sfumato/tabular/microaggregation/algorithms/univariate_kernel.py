"""Optimal groups of sorted values in linear time.

Hansen & Mukherjee, "A polynomial algorithm for optimal univariate microaggregation" (2003),
gives the shortest path; Stamm & Schaub, "Faster optimal univariate microaggregation" (2024),
the observation that its costs are Monge; Aggarwal, Klawe, Moran, Shor & Wilber, "Geometric
applications of a matrix-searching algorithm" (1987), the row minima.
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def path_cost(best: Floats, sums: Floats, base: int, k: int, stop: int, start: int) -> float:
    """Return the least error of values[:stop] if the last group is values[start:stop].

    ``sums`` holds prefix sums of values and of squares, counted from ``base``.
    """
    size = stop - start
    if size < k:
        return np.inf
    total = sums[0, stop - base] - sums[0, start - base]
    squares = sums[1, stop - base] - sums[1, start - base]
    return float(best[start] + max(squares - total * total / size, 0.0))


@kernel
def survivors(best: Floats, sums: Floats, base: int, k: int, stops: Integers, starts: Integers, kept: Integers) -> int:
    """Write the starts that can be best for some stop to ``kept``; return how many.

    By the Monge property a start that loses to a later one at some stop loses at all
    stops after it, so that no more starts than stops survive.
    """
    top = 0
    for start in starts:
        while top > 0:
            stop = stops[top - 1]
            rival = path_cost(best, sums, base, k, stop, start)
            if path_cost(best, sums, base, k, stop, kept[top - 1]) <= rival:
                break
            top -= 1
        if top < stops.size:
            kept[top] = start
            top += 1
    return top


@kernel
def between(best: Floats, sums: Floats, base: int, k: int, stops: Integers, kept: Integers, arg: Integers) -> None:
    """Write the best start of every other stop, which lies between those of its neighbours."""
    position = 0
    for i in range(0, stops.size, 2):
        last = arg[stops[i + 1] - base] if i + 1 < stops.size else kept[-1]
        cheapest = np.inf
        while True:
            cost = path_cost(best, sums, base, k, stops[i], kept[position])
            if cost < cheapest:
                cheapest, arg[stops[i] - base] = cost, kept[position]
            if kept[position] == last:
                break
            position += 1


@kernel
def row_minima(best: Floats, sums: Floats, base: int, k: int, stops: Integers, starts: Integers, arg: Integers) -> None:
    """Write the best of ``starts`` for each of the consecutive ``stops`` to ``arg``.

    Level by level over every second, fourth, ... stop, not by recursion: compiled
    functions that call themselves do not survive being cached.
    """
    kept = np.empty(2 * stops.size, np.int64)
    ends = np.zeros(65, np.int64)
    level, step = 0, 1
    while step <= stops.size:
        room = kept[ends[level] :]
        count = survivors(best, sums, base, k, stops[step - 1 :: step], starts, room)
        starts = room[:count]
        ends[level + 1] = ends[level] + count
        level, step = level + 1, 2 * step
    while level > 0:
        level, step = level - 1, step // 2
        columns = kept[ends[level] : ends[level + 1]]
        between(best, sums, base, k, stops[step - 1 :: step], columns, arg)


@kernel
def window_sums(values: Floats, base: int, stop: int) -> Floats:
    """Return prefix sums of values and squares from ``base`` to ``stop``.

    They are taken around a value of the window: over the whole of a large set, squares
    would swamp the error of a group that spans a millionth of the range.
    """
    sums = np.zeros((2, stop - base + 1))
    origin = values[(base + stop) // 2]
    for i in range(stop - base):
        shifted = values[base + i] - origin
        sums[0, i + 1] = sums[0, i] + shifted
        sums[1, i + 1] = sums[1, i] + shifted * shifted
    return sums


@kernel
def best_starts(values: Floats, k: int) -> Integers:
    """Return for every stop the start of the last group of an optimal path to it.

    Stops go in blocks of k: a group has k values or more, so that a whole block depends
    on earlier blocks only, and starts further back than 2k are never needed.
    """
    n = values.size
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    starts = np.zeros(n + 1, np.int64)
    for first in range(k, n + 1, k):
        stop = min(first + k, n + 1)
        base = max(0, first - 2 * k + 1)
        sums = window_sums(values, base, stop - 1)
        columns = np.arange(base, stop - k)
        columns = columns[(columns == 0) | (columns >= k)]
        arg = np.zeros(stop - base, np.int64)
        row_minima(best, sums, base, k, np.arange(first, stop), columns, arg)
        for i in range(first, stop):
            starts[i] = arg[i - base]
            best[i] = path_cost(best, sums, base, k, i, starts[i])
    return starts


@kernel
def sorted_groups(values: Floats, k: int) -> Integers:
    """Return the optimal group of every sorted value."""
    n = values.size
    labels = np.zeros(n, np.int64)
    if n < 2 * k:
        return labels
    starts = best_starts(values, k)
    cuts = np.zeros(n // k + 2, np.int64)
    stop, count = n, 0
    while stop > 0:
        start = starts[stop]
        # Equal values can end in a group of 2k or more; halving it costs nothing.
        if stop - start >= 2 * k:
            start = stop - k
            starts[start] = starts[stop]
        cuts[count] = start
        count += 1
        stop = start
    for group in range(count):
        stop = cuts[count - group - 2] if group < count - 1 else n
        labels[cuts[count - group - 1] : stop] = group
    return labels
