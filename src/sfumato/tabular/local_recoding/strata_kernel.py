"""Rows of the strata that a class lacks most, put before the others: what a class takes in next.

After Cao, Karras, Kalnis & Tan 2011 (SABRE), who draw from each bucket in proportion.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.tabular.local_recoding.strata import Strata

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@kernel
def lacking_first(
    strata: Strata, members: int, bar: float, rows: Int64s, cells: Int64s, floors: Floats, count: int
) -> int:
    """Move the rows that a class of so many members lacks to the front, with their cells and floors; return how many.

    A class of n rows lacks what its stratum's share of n + 1 is above what it has; rows that are lacked by `bar`, or by
    the most there is, count. Columns take turns.
    """
    column = members % len(strata.shares)
    strata_of, want, have = strata.of_row[column], strata.want[column], strata.have[column]
    most = -np.inf
    for place in range(count):
        stratum = strata_of[rows[place]]
        most = max(most, want[stratum] * (members + 1) - have[stratum])
    bar, front = min(bar, most), 0
    for place in range(count):
        stratum = strata_of[rows[place]]
        if want[stratum] * (members + 1) - have[stratum] >= bar:
            rows[front], rows[place] = rows[place], rows[front]
            cells[front], cells[place] = cells[place], cells[front]
            floors[front], floors[place] = floors[place], floors[front]
            front += 1
    return front


@kernel
def want_as_table(strata: Strata) -> None:
    """Make classes want the strata in the shares of the table."""
    for column in range(len(strata.shares)):
        for stratum in range(strata.want.shape[1]):
            strata.want[column, stratum] = strata.shares[column, stratum]


@kernel
def want_as_rows(strata: Strata, rows: Int64s, count: int) -> None:
    """Make classes want the strata in the shares of some rows."""
    for column in range(len(strata.shares)):
        for stratum in range(strata.want.shape[1]):
            strata.want[column, stratum] = 0.0
        for place in range(count):
            strata.want[column, strata.of_row[column, rows[place]]] += 1.0 / count


@kernel
def begin_class(strata: Strata, row: int) -> None:
    """Begin a class with one row."""
    for column in range(len(strata.shares)):
        for stratum in range(strata.have.shape[1]):
            strata.have[column, stratum] = 0
    take_in(strata, row)


@kernel
def take_in(strata: Strata, row: int) -> None:
    """Count one row more."""
    for column in range(len(strata.shares)):
        strata.have[column, strata.of_row[column, row]] += 1
