"""Sensitive values in strata, so that classes can be grown with a mix of values like that of the whole table.

Buckets of near sensitive values from which each class draws: Cao, Karras, Kalnis & Tan, "SABRE" (VLDB Journal 2011).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.models.criteria import CLOSENESS, COUNTED
from sfumato.table.coding import Column
from sfumato.tabular.problem import Problem

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
MOST = 16  # strata of a column


class Strata(NamedTuple):
    """The stratum of every row by sensitive column, and the share of each stratum in the table.

    `have` and `want` are memory for the strata of one class.
    """

    of_row: Int32s
    shares: Floats
    have: Int64s
    want: Floats


def strata_of(problem: Problem) -> Strata | None:
    """Return the strata of the columns whose models weigh all values of a class; None where there are none.

    Models that count rows or values alone are mostly satisfied by near rows, whatever their values.

    >>> import polars as pl, sfumato as sf
    >>> table = sf.Table.from_frame(pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["flu", "flu", "flu", "gout"]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
    >>> found = strata_of(Problem.of(table, schema, [sf.TCloseness(0.5, "ill")]))
    >>> found.of_row.tolist(), found.shares[0, :2].tolist()
    ([[0, 0, 0, 1]], [0.75, 0.25])
    >>> strata_of(Problem.of(table, schema, [sf.LDiversity(2, "ill")])) is None
    True
    """
    criteria, columns = problem.criteria(), list(problem.sensitive.values())
    weighing = criteria.column[~np.isin(criteria.kind, COUNTED)]
    used = [place for place in range(len(columns)) if place in weighing]
    if not used:
        return None
    of_row = np.zeros((len(used), problem.table.rows), dtype=np.int32)
    shares = np.zeros((len(used), MOST))
    for row, place in enumerate(used):
        kinds = criteria.kind[criteria.column == place]
        of_value = stratum_of_value(columns[place], ordered=bool(np.isin(kinds, CLOSENESS).any()))
        of_row[row] = of_value[columns[place].codes]
        shares[row] = np.bincount(of_row[row], minlength=MOST) / problem.table.rows
    return Strata(of_row, shares, np.zeros(shares.shape, dtype=np.int64), shares.copy())


def stratum_of_value(column: Column, *, ordered: bool) -> Int64s:
    """Return the stratum of each value: neighbours of equal share where order counts, else each value and the rest.

    >>> import polars as pl
    >>> from sfumato.schema import Attribute, Kind, Role
    >>> from sfumato.table.coding import code_sensitive
    >>> cost = code_sensitive(pl.Series("cost", list(range(64))), Attribute("cost", Role.SENSITIVE, Kind.INTEGER))
    >>> stratum_of_value(cost, ordered=True)[[0, 3, 4, 63]].tolist()
    [0, 0, 1, 15]
    """
    counts = np.bincount(column.codes, minlength=column.size)
    stratum = np.empty(column.size, dtype=np.int64)
    if ordered and column.kind.ordered:
        middle = np.cumsum(counts) - counts / 2
        stratum[:] = np.minimum(MOST - 1, middle * MOST // counts.sum())
    else:
        stratum[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(column.size), MOST - 1)
    return stratum
