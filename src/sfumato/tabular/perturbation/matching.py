"""Rows that agree where both show a value: how many rows each row may be taken for when `*` stands for any value.

This is how mu-Argus (Hundepool & Willenborg 1996) and sdcMicro (Templ, Kowarik & Meindl 2015) count frequencies after
suppression. An attacker who takes `*` for a value of its own sees other, smaller classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.progress import counting
from sfumato.table.distinct import distinct

Integers = npt.NDArray[np.int64]
Cells = npt.NDArray[np.int32]
STAR = -1
MOST_MATCHED = 30  # columns, one bit each


@dataclass(frozen=True, eq=False)
class Cases:
    """The different rows of some columns: `cells[column, case]` (STAR where suppressed), and how often each occurs.

    >>> cases = Cases.of([np.array([0, 0, 1]), np.array([5, 5, 5])])
    >>> cases.cells.tolist(), cases.times.tolist(), cases.rows.tolist()
    ([[0, 1], [5, 5]], [2, 1], [0, 0, 1])
    """

    cells: Cells
    times: Integers
    rows: Integers

    @classmethod
    def of(cls, columns: Sequence[Integers | Cells]) -> Cases:
        """Return the different rows of coded columns; a star is the code -1."""
        shifted = [column.astype(np.int64) + 1 for column in columns]
        numbering = distinct(shifted, [int(column.max(initial=0)) + 1 for column in shifted])
        cells = np.array([column[numbering.examples] - 1 for column in shifted], dtype=np.int32)
        return cls(np.ascontiguousarray(cells), numbering.counts.astype(np.int64), numbering.ids)


def match_counts(cases: Cases, asked: Cells | None = None) -> Integers:
    """Return how many rows agree with each asked case (all cases unless given): equal, or a star on either side.

    >>> match_counts(Cases.of([np.array([0, 0, 1]), np.array([0, -1, 1])])).tolist()
    [2, 2, 1]
    """
    if asked is not None:
        return _count(cases.cells, cases.times, asked)
    found, starred = cases.times.copy(), (cases.cells == STAR).any(axis=0)
    if starred.any():  # different rows without a star never agree with each other
        found[~starred] += _count(cases.cells[:, starred], cases.times[starred], cases.cells[:, ~starred])
        found[starred] = _count(cases.cells, cases.times, cases.cells[:, starred])
    return found


def _count(cells: Cells, times: Integers, asked: Cells) -> Integers:
    from sfumato.tabular.perturbation.matching_kernel import count_matches

    found = np.zeros(asked.shape[1], dtype=np.int64)
    with counting(asked.shape[1], "different rows counted") as done:
        count_matches(np.ascontiguousarray(cells), times, np.ascontiguousarray(asked), found, done)
    return found


def coded_texts(columns: Sequence[pl.Series]) -> list[Integers]:
    """Return published columns as codes, the star among them as -1.

    >>> [codes.tolist() for codes in coded_texts([pl.Series(["*", "F", "*"])])]
    [[-1, 0, -1]]
    """
    found = []
    for column in columns:
        texts = column.cast(pl.String).fill_null("")
        stars = (texts == "*").to_numpy()
        codes = texts.rank("dense").to_numpy().astype(np.int64)
        codes[stars] = 0
        found.append(np.unique(codes, return_inverse=True)[1].astype(np.int64) - int(stars.any()))
    return found
