"""The join of a list with a release, compiled: a sweep over one column, with the classes open there at hand.

The sweep is that of Shamos & Hoey (1976): boxes enter where they begin on the sweep's column and leave where they
end, so a person is compared with the classes that fit there only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import inlined, kernel

Integers = npt.NDArray[np.int64]


class ClassBoxes(NamedTuple):
    """Classes as texts of every column, `cells[c, j]`; text t owns runs `starts[t]` to `starts[t + 1]`."""

    cells: Integers
    starts: Integers
    low: Integers
    high: Integers


class Entries(NamedTuple):
    """Where classes enter and leave the sweep over the first column, by where they enter."""

    low: Integers
    high: Integers
    owner: Integers


class ValueCounts(NamedTuple):
    """The sensitive values of each class and how often each occurs: class c owns `starts[c]` to `starts[c + 1]`."""

    starts: Integers
    values: Integers
    times: Integers


@inlined
def within(boxes: ClassBoxes, text: int, code: int) -> bool:
    """Return whether a text may stand for a code, by bisection over its runs."""
    first, last = boxes.starts[text], boxes.starts[text + 1]
    if first == last:
        return False
    while last - first > 1:
        middle = (first + last) // 2
        if boxes.low[middle] <= code:
            first = middle
        else:
            last = middle
    return bool(boxes.low[first] <= code <= boxes.high[first])


@kernel
def meet(
    points: Integers,
    weights: Integers,
    order: Integers,
    boxes: ClassBoxes,
    entries: Entries,
    counts: ValueCounts,
    values: int,
) -> tuple[Integers, Integers]:
    """Return what is found at each point, and how many persons fit each class.

    At each point: classes that fit, their rows, different values among these, rows of the most frequent value and of
    the next, the most frequent value, and one class that fits. `order` sorts the points on the first column.
    """
    found = np.zeros((len(points), 7), dtype=np.int64)
    persons = np.zeros(len(boxes.cells), dtype=np.int64)
    waiting = np.empty(len(entries.low), dtype=np.int64)
    tally, touched = np.zeros(values, dtype=np.int64), np.empty(values, dtype=np.int64)
    opened, entered = 0, 0
    for point in order:
        here = points[point, 0]
        while entered < len(entries.low) and entries.low[entered] <= here:
            waiting[opened] = entered
            opened += 1
            entered += 1
        place, seen = 0, 0
        while place < opened:
            entry = waiting[place]
            if entries.high[entry] < here:
                opened -= 1
                waiting[place] = waiting[opened]
                continue
            place += 1
            owner = entries.owner[entry]
            fits = True
            for column in range(1, points.shape[1]):
                if not within(boxes, boxes.cells[owner, column], points[point, column]):
                    fits = False
                    break
            if not fits:
                continue
            found[point, 0] += 1
            found[point, 6] = owner
            persons[owner] += weights[point]
            for held in range(counts.starts[owner], counts.starts[owner + 1]):
                value = counts.values[held]
                if tally[value] == 0:
                    touched[seen] = value
                    seen += 1
                tally[value] += counts.times[held]
        for number in range(seen):
            value = touched[number]
            times = tally[value]
            tally[value] = 0
            found[point, 1] += times
            if times > found[point, 3] or (times == found[point, 3] and value < found[point, 5]):
                found[point, 4] = found[point, 3]
                found[point, 3] = times
                found[point, 5] = value
            elif times > found[point, 4]:
                found[point, 4] = times
        found[point, 2] = seen
    return found, persons
