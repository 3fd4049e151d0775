"""Classes brought back to the rows: a join on the quasi-identifiers, then an order that only released values decide.

Rows are dealt to files by a hash of what is released and sorted by it within a file, so that the folder is a function
of the released rows as a set and tells nothing of the file, the place or the time a row came from.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.engines.spark.counting import to_arrow
from sfumato.engines.spark.folders import quoted
from sfumato.roles import Role
from sfumato.tabular.base import Settled, released_names
from sfumato.tabular.recode import Coarse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CLASS = "__sfumato_class"
KEY = "__sfumato_key_"
FILE_ROWS = 1_000_000  # rows of an output file, on average
MOST_BROADCAST = 1_000_000  # distinct rows up to which the classes are sent to every executor


@dataclass(frozen=True, eq=False)
class Labels:
    """The released values of every class, each set of values once, numbered in their own order."""

    frame: pl.DataFrame
    number: npt.NDArray[np.int64]

    @classmethod
    def of(cls, coarse: Mapping[str, list[Coarse]], count: int) -> Labels:
        """Return the labels of classes 0…count-1; `number` is the label of each class."""
        every = np.arange(count)
        shown = pl.DataFrame([column.rows(every) for columns in coarse.values() for column in columns])
        shown = shown.with_columns(pl.col(pl.Null).cast(pl.String))
        names = shown.columns
        unique = shown.unique().sort(names).with_row_index(CLASS).with_columns(pl.col(CLASS).cast(pl.Int64))
        numbered = shown.join(unique, on=names, how="left", nulls_equal=True, maintain_order="left")
        return cls(unique, numbered[CLASS].to_numpy())


def recoded(rows: DataFrame, entries: pl.DataFrame, labels: Labels, found: Settled) -> DataFrame:
    """Return the released rows: `entries` gives the class of each distinct row of quasi-identifiers."""
    from pyspark.sql import functions

    schema = found.problem.schema
    kept = [name for name, part in schema.columns.items() if part.role in {Role.SENSITIVE, Role.OTHER}]
    quasi = list(schema.names(Role.QUASI))
    small = len(entries) <= MOST_BROADCAST
    lookup = entries if small else entries.join(labels.frame, on=CLASS)
    keys = _on_cluster(rows, lookup.rename({name: f"{KEY}{place}" for place, name in enumerate(quasi)}), quasi)
    present = {name for name in quasi if not entries[name].null_count()}
    joined = rows.join(functions.broadcast(keys) if small else keys, matching(rows, quasi, present))
    wanted = [CLASS, *kept] if small else [CLASS, *kept, *labels.frame.columns[1:]]
    crowd = int(found.groups.sizes.max()) * 4 > max(found.groups.rows, FILE_ROWS)
    by = [CLASS, *kept] if crowd else [CLASS]
    placed = dealt(joined.select(*map(quoted, wanted)), found.groups.rows, by, [CLASS, *kept])
    if small:
        shown = rows.sparkSession.createDataFrame(to_arrow(labels.frame))
        placed = placed.join(functions.broadcast(shown), CLASS)
    return placed.select(*map(quoted, released_names(schema, found.coarse)))


def dealt(frame: DataFrame, rows: int, by: Sequence[str], order: Sequence[str]) -> DataFrame:
    """Return the rows dealt to files by a hash of some released columns, in the order of others within a file."""
    files = max(1, -(-rows // FILE_ROWS))
    return frame.repartition(files, *map(quoted, by)).sortWithinPartitions(*map(quoted, order))


def matching(rows: DataFrame, quasi: Sequence[str], present: Container[str] = ()) -> Column:
    """Return the condition that joins rows to their class by keys; columns in `present` have no missing value.

    Telling missing values alike costs time, so only a column that may have one pays for it.
    """
    from pyspark.sql import functions

    keys = [functions.col(f"{KEY}{place}") for place in range(len(quasi))]
    cells = [rows[quoted(name)] for name in quasi]
    pairs = zip(quasi, cells, keys, strict=True)
    return reduce(and_, (cell == key if name in present else cell.eqNullSafe(key) for name, cell, key in pairs))


def _on_cluster(rows: DataFrame, lookup: pl.DataFrame, quasi: Sequence[str]) -> DataFrame:
    """Return the lookup as a Spark frame whose keys have the very types of the columns they stand for."""
    made = rows.sparkSession.createDataFrame(to_arrow(lookup))
    kinds = {f"{KEY}{place}": rows.schema[name].dataType for place, name in enumerate(quasi)}
    return made.withColumns({key: made[key].cast(kind) for key, kind in kinds.items()})
