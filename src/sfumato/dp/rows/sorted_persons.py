"""Persons counted by sorting their numbers: the work depends on how many rows there are, and hardly on what they hold.

A hash table of a million persons, one place in memory for each of ten million rows, costs several times what sorting
these rows does (Graefe 1993, "Query evaluation techniques for large databases", section 4, on aggregation by sorting).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sfumato.dp.rows.arrow_stream import Whole

NONE = np.empty(0, dtype=np.int64)


def count_persons(blocks: Iterable[Whole], more_than: int = 0) -> dict[str, Whole]:
    """Return the persons in more rows than so many, rising, and in how many each is; blocks may be sorted in place.

    >>> {name: column.tolist() for name, column in count_persons([np.array([7, 3, 7]), np.array([7])], 1).items()}
    {'person': [7], 'n': [3]}
    """
    runs = [_runs(block) for block in blocks]
    persons, counts = runs[0] if len(runs) == 1 else _merged(runs)
    if not more_than:
        return {"person": persons, "n": counts}
    over = counts > more_than
    return {"person": persons[over], "n": counts[over]}


def _runs(persons: Whole) -> tuple[Whole, Whole]:
    """Return each person once, rising, and in how many rows it is."""
    if persons.flags.writeable:
        persons.sort()
    else:
        persons = np.sort(persons)
    starts = _starts(persons)
    return persons[starts], np.diff(starts, append=persons.size)


def _merged(runs: list[tuple[Whole, Whole]]) -> tuple[Whole, Whole]:
    """Return the persons of all blocks, each once, with all its rows."""
    persons = np.concatenate([NONE, *(found for found, _ in runs)])
    counts = np.concatenate([NONE, *(found for _, found in runs)])
    order = np.argsort(persons, kind="stable")
    persons, counts = persons[order], counts[order]
    starts = _starts(persons)
    return persons[starts], np.add.reduceat(counts, starts) if starts.size else counts


def _starts(ordered: Whole) -> Whole:
    """Return where each number of a sorted column begins."""
    later = np.flatnonzero(ordered[1:] != ordered[:-1])
    starts = np.zeros(later.size + min(ordered.size, 1), dtype=np.int64)
    np.add(later, 1, out=starts[1:])
    return starts
