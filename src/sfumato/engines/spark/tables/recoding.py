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

from sfumato.engines.spark.folders import quoted
from sfumato.engines.spark.tables.counting import ROWS, to_arrow
from sfumato.schema import Role, Schema
from sfumato.tabular.base import Settled, released_names
from sfumato.tabular.recode import Coarse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CLASS = "__sfumato_class"
KEY = "__sfumato_key_"
PIECE = "__sfumato_piece"
LONGEST_RUN = 100_000  # equal rows that are written out at once
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
    """Return the released rows: `entries` gives the class of each distinct row of quasi-identifiers.

    Rows may be counted before; what is released of equal rows is then sorted once and written as often as it occurs.
    """
    from pyspark.sql import functions

    schema = found.problem.schema
    kept = kept_names(schema)
    quasi = list(schema.names(Role.QUASI))
    small = len(entries) <= MOST_BROADCAST
    lookup = entries if small else entries.join(labels.frame, on=CLASS)
    keys = _on_cluster(rows, lookup.rename({name: f"{KEY}{place}" for place, name in enumerate(quasi)}), quasi)
    present = {name for name in quasi if not entries[name].null_count()}
    joined = rows.join(functions.broadcast(keys) if small else keys, matching(rows, quasi, present))
    counted = [ROWS] if ROWS in rows.columns else []
    wanted = [CLASS, *kept, *counted] if small else [CLASS, *kept, *counted, *labels.frame.columns[1:]]
    crowd = int(found.groups.sizes.max()) * 4 > max(found.groups.rows, FILE_ROWS)
    by = [CLASS, *kept] if crowd else [CLASS]
    placed = dealt(joined.select(*map(quoted, wanted)), found.groups.rows, by)
    if small:  # labels join late, so that numbers travel and not words; but before the sort, which a join would undo
        shown = rows.sparkSession.createDataFrame(to_arrow(labels.frame))
        placed = placed.join(functions.broadcast(shown), CLASS)
    placed = placed.sortWithinPartitions(*map(quoted, [CLASS, *kept]))
    return (repeated(placed) if counted else placed).select(*map(quoted, released_names(schema, found.coarse)))


def kept_names(schema: Schema) -> list[str]:
    """Return the columns that are released as they are.

    >>> kept_names(Schema.from_roles(quasi=["age"], sensitive=["disease"], identifier=["name"]))
    ['disease']
    """
    return [name for name, part in schema.columns.items() if part.role in {Role.SENSITIVE, Role.OTHER}]


def repeated(frame: DataFrame) -> DataFrame:
    """Return every counted row as often as it occurs, in its place; long runs are made piece by piece."""
    from pyspark.sql import functions

    count, run, piece = functions.col(ROWS), functions.lit(LONGEST_RUN), functions.col(PIECE)
    pieces = functions.explode(functions.sequence(functions.lit(0), functions.floor((count - 1) / run).cast("int")))
    left = functions.least(run, count - piece * run).cast("int")
    cut = frame.withColumn(PIECE, pieces).withColumn(ROWS, left)
    return cut.withColumn(PIECE, functions.explode(functions.array_repeat(functions.lit(0), functions.col(ROWS))))


def dealt(frame: DataFrame, rows: int, by: Sequence[str]) -> DataFrame:
    """Return the rows dealt to files by a hash of some released columns."""
    return frame.repartition(max(1, -(-rows // FILE_ROWS)), *map(quoted, by))


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
