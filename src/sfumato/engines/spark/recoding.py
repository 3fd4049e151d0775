"""Classes brought back to the rows: a join on the quasi-identifiers, then an order that only released values decide.

Rows are dealt to files by a hash of what is released and sorted by it within a file, so that the folder is a function
of the released rows as a set and tells nothing of the file, the place or the time a row came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.engines.spark.folders import quoted
from sfumato.roles import Role
from sfumato.schema import Schema
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


def recoded(
    rows: DataFrame, schema: Schema, entries: pl.DataFrame, labels: Labels, names: Sequence[str], *, spread: Spread
) -> DataFrame:
    """Return the released rows: `entries` gives the class of each distinct row of quasi-identifiers."""
    from pyspark.sql import functions

    kept = [name for name, part in schema.columns.items() if part.role in {Role.SENSITIVE, Role.OTHER}]
    quasi = list(schema.names(Role.QUASI))
    small = len(entries) <= MOST_BROADCAST
    lookup = entries if small else entries.join(labels.frame, on=CLASS)
    keys = _on_cluster(rows, lookup.rename({name: f"{KEY}{place}" for place, name in enumerate(quasi)}), quasi)
    condition = [_same(rows, entries, name, f"{KEY}{place}") for place, name in enumerate(quasi)]
    joined = rows.join(functions.broadcast(keys) if small else keys, reduce(and_, condition))
    wanted = [CLASS, *kept] if small else [CLASS, *kept, *labels.frame.columns[1:]]
    dealt = spread.deal(joined.select(*map(quoted, wanted)), kept)
    if small:
        shown = rows.sparkSession.createDataFrame(labels.frame.to_arrow())
        dealt = dealt.join(functions.broadcast(shown), CLASS)
    return dealt.select(*map(quoted, names))


@dataclass(frozen=True)
class Spread:
    """How rows are dealt to files: how many there are, and the largest class."""

    rows: int
    largest: int

    def deal(self, frame: DataFrame, kept: Sequence[str]) -> DataFrame:
        """Return the rows in files by a hash of their class, or of all that is released where one class is a crowd."""
        files = max(1, -(-self.rows // FILE_ROWS))
        crowd = self.largest * files > 4 * self.rows
        by = [CLASS, *kept] if crowd else [CLASS]
        return frame.repartition(files, *map(quoted, by)).sortWithinPartitions(*map(quoted, [CLASS, *kept]))


def _on_cluster(rows: DataFrame, lookup: pl.DataFrame, quasi: Sequence[str]) -> DataFrame:
    """Return the lookup as a Spark frame whose keys have the very types of the columns they stand for."""
    made = rows.sparkSession.createDataFrame(lookup.to_arrow())
    kinds = {f"{KEY}{place}": rows.schema[name].dataType for place, name in enumerate(quasi)}
    return made.withColumns({key: made[key].cast(kind) for key, kind in kinds.items()})


def _same(rows: DataFrame, entries: pl.DataFrame, name: str, key: str) -> Column:
    """Return the condition of the join on one column; only one with missing values pays for telling them alike."""
    from pyspark.sql import functions

    left, right = rows[quoted(name)], functions.col(key)
    return left.eqNullSafe(right) if entries[name].null_count() else left == right
