"""Rows that belong to one person: numbers in place of ids, which promises about persons count.

A class of k rows of one person hides nobody, so units are counted and not rows (Samarati & Sweeney 1998 assume one row
for each person).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import SchemaError
from sfumato.schema import Schema
from sfumato.schema.kinds import is_missing
from sfumato.table import Table


def persons_of(table: Table, settled: Schema) -> npt.NDArray[np.int64] | None:
    """Return each row's person by number, or None where every row is a person of its own.

    >>> persons_of(Table(pl.DataFrame({"age": [31]})), Schema()) is None
    True
    """
    if settled.person is None:
        return None
    return number_persons(table.column(settled.person), settled.columns[settled.person].missing)


def number_persons(series: pl.Series, marks: tuple[str, ...] = ()) -> npt.NDArray[np.int64]:
    """Return a number for each person's id, in no particular order; a missing id is refused.

    >>> first, second, third = number_persons(pl.Series("id", ["b", "a", "b"])).tolist()
    >>> first == third, {first, second}
    (True, {0, 1})
    """
    missing = is_missing(series, marks)
    if missing.any():
        row = int(missing.arg_max() or 0)
        raise SchemaError(f"column '{series.name}' row {row + 1}: a person's id is missing; fill it in or drop the row")
    return (
        series.cast(pl.String)
        .cast(pl.Categorical)
        .to_physical()
        .cast(pl.Int64)
        .rank("dense")
        .to_numpy()
        .astype(np.int64)
        - 1
    )
