"""Nasty neighbours: the changes of one unit that break careless code most often.

First, last, at a window's edge, missing, unparseable, huge, equal to another, a person with many rows, the only row,
none: the corner cases that Zhang et al. (2020) and Ding, Wang, Wang, Zhang & Kifer (2018) found programs to fail on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.audit.twin import Pair

Records = npt.NDArray[Any]
Bounds = tuple[float, float]
HUGE = 1e300
NASTY = {"missing": math.nan, "huge": HUGE, "as far below": -HUGE, "infinite": math.inf}


def places_of(count: int, edge: int = 0) -> dict[str, int]:
    """Return the places of a list that matter: its ends, its middle, and those beside an edge.

    >>> places_of(10, 4)
    {'first': 0, 'last': 9, 'middle': 5, 'last before an edge': 3, 'first behind an edge': 4}
    """
    found = {"first": 0, "last": count - 1, "middle": count // 2}
    if 0 < edge < count:
        found |= {"last before an edge": edge - 1, "first behind an edge": edge}
    return found if count else {}


def changed_values(records: Records, bounds: Bounds | Sequence[Bounds], *, edge: int = 0) -> Iterator[Pair]:
    """Yield neighbours of equal length that differ in the value of one record, or in all of its values.

    >>> pairs = list(changed_values(np.array([1.0, 2.0, 3.0]), (0, 10)))
    >>> len(pairs), pairs[0].words
    (21, "the first record's value: lowest")
    """
    low, high = np.asarray(bounds, dtype=np.float64).T
    for name, place in places_of(len(records), edge).items():
        new = {"lowest": low, "highest": high, **NASTY, "equal to another": records[(place + 1) % len(records)]}
        for kind, value in new.items():
            left, right = records.copy(), records.copy()
            right[place] = value
            if kind == "lowest" and name == "first":
                left[place] = high  # from one end of the bounds to the other
            if not np.array_equal(left, right, equal_nan=True):
                yield Pair(left, right, f"the {name} record's value: {kind}")


def changed_persons(records: Records, bounds: Bounds, column: int = 1) -> Iterator[Pair]:
    """Yield neighbours that differ in the values of one person: the one with most records, the first, the last.

    >>> records = np.array([[1.0, 7], [2.0, 7], [3.0, 8]])
    >>> [pair.words for pair in changed_persons(records, (0, 9))][0]
    'all 2 values of the busiest person: lowest to highest'
    """
    persons, counts = np.unique(records[:, column], return_counts=True)
    chosen = {"busiest": persons[counts.argmax()], "first": records[0, column], "last": records[-1, column]}
    low, high = bounds
    for name, person in chosen.items():
        rows = np.flatnonzero(records[:, column] == person).tolist()
        for kind, value in {"lowest to highest": high, "missing": math.nan, "huge": HUGE}.items():
            left, right = _with_value(records, rows, low), _with_value(records, rows, value)
            yield Pair(left, right, f"all {len(rows)} values of the {name} person: {kind}")


def present_or_not(records: Records, bounds: Bounds) -> Iterator[Pair]:
    """Yield neighbours of which one has a record that the other lacks, nobody else's record being touched.

    >>> [pair.words for pair in present_or_not(np.array([1.0, 2.0]), (0, 9))][:2]
    ['the first record is there or not', 'the last record is there or not']
    """
    for name, place in places_of(len(records)).items():
        yield Pair(records, np.delete(records, place, axis=0), f"the {name} record is there or not")
    yield Pair(records[:1], records[:0], "the only record is there or not")
    for kind, value in {"lowest": bounds[0], "highest": bounds[1], **NASTY}.items():
        more = _with_value(np.concatenate([records, records[-1:]]), [len(records)], value)
        yield Pair(records, more, f"a last record more, its value: {kind}")


def odd_times(records: Records, every: float, column: int = 1) -> Iterator[Pair]:
    """Yield neighbours of which one has a record at an odd time: late, early, at an edge, missing, far ahead.

    >>> records = np.array([[1.0, 5.0], [2.0, 15.0], [3.0, 25.0]])
    >>> [pair.words for pair in odd_times(records, 10.0)][0]
    'a record more, its time: before all others'
    """
    times = records[:, column]
    first, last = float(np.nanmin(times)), float(np.nanmax(times))
    edge = math.ceil(first / every) * every
    odd = {
        "before all others": first - 3 * every,
        "late": first,
        "at an edge": edge,
        "just before an edge": math.nextafter(edge, -math.inf),
        "far ahead": last + 7 * every,
        "missing": math.nan,
    }
    for name, time in odd.items():
        for where, place in {"": len(records) // 2, ", the last to come": len(records)}.items():
            extra = records[:1].copy()
            extra[0, column] = time
            more = np.concatenate([records[:place], extra, records[place:]])
            yield Pair(records, more, f"a record more, its time: {name}{where}")


def _with_value(records: Records, rows: Sequence[int], value: Any) -> Records:
    changed = records.copy()
    if changed.ndim == 1:
        changed[list(rows)] = value
    else:
        changed[list(rows), 0] = value
    return changed
