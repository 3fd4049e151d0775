"""The codes behind coordinates: which of them only tell words apart, so that one code can stand for all of them.

`records` places a category by one coordinate per word, of which each row has one (Domingo-Ferrer & Torra 2005 compare
words for equality, and this is the same distance). The codes are read off the coordinates again: then every algorithm,
engine and caller that has only points profits, and what a distance means is said in one place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.tabular.microaggregation.kdtree.coded_kernel import MOST_CODES, Codebook, Coded
from sfumato.tabular.microaggregation.loss import Labels, Records

HEAD = 100  # rows that tell most numbers from two-valued coordinates


class Run(NamedTuple):
    """Coordinates side by side, from `first` up to `stop`, with the code of every row."""

    first: int
    stop: int
    codes: Labels
    size: int


def coded(x: Records) -> Coded:
    """Return the records with codes in place of the coordinates that only tell words apart.

    >>> sex = np.array([[-0.5, 1.5], [0.5, -1.5], [-0.5, 1.5]])
    >>> coded(sex).codes.ravel().tolist()
    [1, 0, 1]
    """
    x = np.ascontiguousarray(x)
    runs = joined(word_runs(x))
    covered = np.zeros(x.shape[1], dtype=bool)
    for run in runs:
        covered[run.first : run.stop] = True
    codes = np.array([run.codes for run in runs], np.uint8).reshape(len(runs), len(x)).T
    numbers = np.ascontiguousarray(x[:, ~covered]) if runs else x
    return Coded(numbers, np.ascontiguousarray(codes), _codebook(x, runs, np.flatnonzero(~covered)))


def _codebook(x: Records, runs: list[Run], where: Labels) -> Codebook:
    values, spread = np.zeros((x.shape[1] if runs else 0, MOST_CODES)), np.zeros(len(runs))
    for number, run in enumerate(runs):
        example = np.empty(run.size, np.int64)
        example[run.codes] = np.arange(len(x))
        places = x[example, run.first : run.stop]
        values[run.first : run.stop, : run.size] = places.T
        spread[number] = np.sqrt(max(np.square(places - place).sum(axis=1).max() for place in places))
    shapes = np.array([(run.first, run.stop, run.size) for run in runs], np.int64).reshape(-1, 3)
    return Codebook(where, shapes, values, spread)


def word_runs(x: Records) -> list[Run]:
    """Return the runs of two-valued coordinates of which every row has exactly one high."""
    head = x[:HEAD]
    hopeful = ((head == head.min(axis=0)) | (head == head.max(axis=0))).all(axis=0)
    high = [_high(x[:, j]) if hopeful[j] else None for j in range(x.shape[1])]
    runs: list[Run] = []
    first = 0
    while first < len(high):
        run = _run_from(first, high)
        first = first + 1 if run is None else run.stop
        runs += [] if run is None else [run]
    return runs


def _high(column: Records) -> npt.NDArray[np.bool_] | None:
    """Return where a coordinate of two values has the higher one, None for any other."""
    low, high = column.min(), column.max()
    is_high = column == high
    return is_high if low < high and np.all(is_high | (column == low)) else None


def _run_from(first: int, high: list[npt.NDArray[np.bool_] | None]) -> Run | None:
    """Return the run that begins at a coordinate, if one does."""
    last = min(len(high), first + MOST_CODES)
    codes, taken = np.zeros(0, np.int64), np.zeros(0, dtype=bool)
    for j in range(first, last):
        here = high[j]
        if here is None:
            return None
        if j == first:
            codes, taken = np.zeros(len(here), np.int64), np.zeros(len(here), dtype=bool)
        if np.any(taken & here):
            return None
        taken |= here
        codes[here] = j - first
        if taken.all():
            return Run(first, j + 1, codes, j + 1 - first)
    return None


def joined(runs: list[Run]) -> list[Run]:
    """Return runs side by side as one, as long as their combinations are few: above all the levels of a hierarchy."""
    result: list[Run] = []
    for run in runs:
        both = _both(result[-1], run) if result and result[-1].stop == run.first else None
        if both is None:
            result.append(run)
        else:
            result[-1] = both
    return result


def _both(left: Run, right: Run) -> Run | None:
    pairs = left.codes * right.size + right.codes
    present = np.bincount(pairs, minlength=left.size * right.size) > 0
    count = int(present.sum())
    if count > MOST_CODES:
        return None
    return Run(left.first, right.stop, (np.cumsum(present) - 1)[pairs], count)
