"""Mondrian where distinct rows do not fit on the driver: a coarse split, the exact cuts in each part, one check of all.

The first cuts are made on a sample, of the widest column at its median (LeFevre, DeWitt & Ramakrishnan 2006); all after
them is exact. What the coarse cuts cost shows in the certainty lost, which the steward is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.engines.spark.folders import quote_name
from sfumato.engines.spark.tables.counting import ROWS, to_arrow
from sfumato.engines.spark.tables.cut_trees import PART, mondrian_width, split_table
from sfumato.engines.spark.tables.distributed_check import LOST, DistributedCheck
from sfumato.engines.spark.tables.release import (
    KEY,
    SparkRelease,
    card_on_spark,
    certainty_lost,
    deal_to_files,
    join_condition,
)
from sfumato.engines.spark.tables.whole_table import WholeTable
from sfumato.errors import ParameterError
from sfumato.schema import Role
from sfumato.tabular import Mondrian
from sfumato.tabular.recode import recode

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

SHOWN = "__sfumato_shown_"


def anonymize_in_parts(
    rows: DataFrame, counts: DataFrame, algorithm: Mondrian, whole: WholeTable, most_points: int
) -> SparkRelease:
    """Return the release of a table whose distinct rows are more than the driver takes."""
    if algorithm.ranges != "text":
        raise ParameterError("ranges in two columns need all distinct rows on the driver; raise most_points")
    tree = split_table(counts, whole, -(-2 * whole.points // most_points), mondrian_width)
    if tree.leaves < 2:
        raise ParameterError(
            f"{whole.points:,} distinct rows are more than the {most_points:,} that the driver takes, and no cut of "
            "them keeps the models; raise most_points"
        )
    quasi = list(whole.schema.names(Role.QUASI))
    parted = counts.withColumn(PART, tree.parts(counts))
    lookup = parted.groupBy(PART).applyInArrow(_find_classes(algorithm, whole), _types(rows, quasi)).persist()
    shown = _show_classes(counts, lookup, quasi)
    kept = [name for name, part in whole.schema.columns.items() if part.role in {Role.SENSITIVE, Role.OTHER}]
    names = [name for name in whole.schema.columns if name in {*quasi, *kept}]
    card, lost = DistributedCheck(whole, algorithm, quasi, names).card(shown)
    frame = _show_classes(rows, lookup, quasi).select(*map(quote_name, names))
    sorted_rows = deal_to_files(frame, whole.rows, quasi).sortWithinPartitions(*map(quote_name, names))
    steward = {"distinct_rows": whole.points, "parts": tree.leaves, "certainty_lost": lost}
    return SparkRelease(sorted_rows, card_on_spark(card), steward, [lookup])


def _show_classes(rows: DataFrame, lookup: DataFrame, quasi: list[str]) -> DataFrame:
    """Return rows with what is released in place of their quasi-identifiers."""
    from pyspark.sql import functions

    joined = rows.join(lookup, join_condition(rows, quasi))
    released = {name: functions.col(f"{SHOWN}{place}") for place, name in enumerate(quasi)}
    return joined.withColumns(released).drop(
        *(f"{kind}{place}" for kind in (KEY, SHOWN) for place in range(len(quasi)))
    )


def _types(rows: DataFrame, quasi: list[str]) -> StructType:
    from pyspark.sql import types

    keys = [types.StructField(f"{KEY}{place}", rows.schema[name].dataType) for place, name in enumerate(quasi)]
    texts = [types.StructField(f"{SHOWN}{place}", types.StringType()) for place in range(len(quasi))]
    return types.StructType([*keys, *texts, types.StructField(LOST, types.DoubleType())])


def _find_classes(algorithm: Mondrian, whole: WholeTable) -> Callable[[pa.Table], pa.Table]:
    """Return the function that finds the classes of one part, for an executor to run."""

    def part(table: pa.Table) -> pa.Table:
        counted = pl.DataFrame(table)
        problem = whole.problem(counted.drop(ROWS, PART), counted[ROWS].to_numpy().astype(np.int64))
        found = algorithm.partition(problem)
        examples, row_class = found.points.examples, found.rows
        columns = []
        for place, column in enumerate(problem.quasi):
            shown = recode(column, column.codes[examples], found.classes, found.count, "text")[0]
            columns.append(shown.rows(row_class).cast(pl.String).alias(f"{SHOWN}{place}"))
        lost = pl.Series(LOST, certainty_lost(problem, row_class, found.count))
        keys = [counted[column.name].alias(f"{KEY}{place}") for place, column in enumerate(problem.quasi)]
        return to_arrow(pl.DataFrame([*keys, *columns, lost]).unique(maintain_order=True))

    return part
