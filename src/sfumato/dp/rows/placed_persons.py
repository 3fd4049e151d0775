"""Persons counted in a place for each that may be there, where the bounds of their numbers are declared.

That is faster than sorting (Graefe 1993, "Query evaluation techniques for large databases", section 4, on aggregation).
How many places there are follows from public bounds alone, and every row within them costs the same.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sfumato.dp.rows.arrow_stream import Whole
from sfumato.dp.rows.sorted_persons import count_persons

MOST = 2**24  # persons that have places, 128 MB of them
BLOCK = 2**21  # rows in memory at a time: more of them cost more each


def has_places(bounds: tuple[int, int]) -> bool:
    """Return whether so few persons may be there that each gets a place.

    >>> has_places((0, 999_999)), has_places((0, 2**40))
    (True, False)
    """
    low, high = bounds
    return high - low < MOST


def count_in_places(blocks: Iterable[Whole], bounds: tuple[int, int], more_than: int = 0) -> dict[str, Whole]:
    """Return what `count_persons` returns; persons beyond the declared bounds are sorted. Blocks are changed.

    >>> found = count_in_places([np.array([7, 3, 7, 99])], (0, 9))
    >>> {name: column.tolist() for name, column in found.items()}
    {'person': [3, 7, 99], 'n': [1, 2, 1]}
    """
    low, high = bounds
    counts, beyond = np.zeros(high - low + 1, dtype=np.int64), []
    for places in blocks:
        np.subtract(places, low, out=places)  # beyond 64 bits it wraps, and never to a place
        inside = places.view(np.uint64) < np.uint64(counts.size)
        if inside.all():
            counts += np.bincount(places, minlength=counts.size)
        else:
            beyond.append(places[~inside] + low)
            counts += np.bincount(places[inside], minlength=counts.size)
    found = np.flatnonzero(counts > more_than)
    within = {"person": found + low, "n": counts[found]}
    return _in_order(within, count_persons(beyond, more_than)) if beyond else within


def _in_order(within: dict[str, Whole], beyond: dict[str, Whole]) -> dict[str, Whole]:
    persons = np.concatenate([within["person"], beyond["person"]])
    order = np.argsort(persons, kind="stable")
    return {"person": persons[order], "n": np.concatenate([within["n"], beyond["n"]])[order]}
