"""Microaggregation on Spark: blocks of near rows of like size, groups polished inside each, one check of all.

Blocks are those of a k-d tree (Bentley 1975) over columns that are standardised by the mean and deviation of the whole
table, as MDAV wants them (Domingo-Ferrer & Torra 2005); only groups at the border of a block can be worse for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.coding import Column
from sfumato.engines.spark.counting import ROWS, to_arrow
from sfumato.engines.spark.cuts import PART, Int64s
from sfumato.engines.spark.folders import quoted
from sfumato.engines.spark.judging import LOST, Judge
from sfumato.engines.spark.recoding import dealt
from sfumato.engines.spark.release import SparkRelease, on_spark
from sfumato.engines.spark.splitting import split
from sfumato.engines.spark.values import is_missing, number_of
from sfumato.engines.spark.whole import Whole
from sfumato.kinds import Kind
from sfumato.roles import Role
from sfumato.tabular.microaggregation.anonymizers import Microaggregator
from sfumato.tabular.microaggregation.loss import Records, group_sums
from sfumato.tabular.problem import Problem

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

BLOCK = 20_000  # rows of a block: what stays in a processor's cache (see `microaggregation.polish`)
Scales = Mapping[str, tuple[float, float]]


def in_blocks(rows: DataFrame, algorithm: Microaggregator, whole: Whole, block: int = BLOCK) -> SparkRelease:
    """Return the release of a table whose groups were found block by block."""
    from pyspark.sql import functions

    scales = _scales(rows, whole)
    counted = rows.withColumn(ROWS, functions.lit(1))
    tree = split(counted, whole, -(-whole.rows // block), _deviation(scales))
    quasi = list(whole.schema.names(Role.QUASI))
    names = [name for name, part in whole.schema.columns.items() if part.role is not Role.IDENTIFIER]
    inside = [*names, *([] if whole.schema.person in {None, *names} else [str(whole.schema.person)])]
    texts = {name for name in quasi if _is_text(rows, whole, name)}
    placed = rows.select(*map(quoted, inside)).withColumn(PART, tree.parts(rows))
    grouped = placed.groupBy(PART).applyInArrow(
        _block(algorithm, whole, scales, texts), _types(rows, inside, quasi, texts)
    )
    grouped = grouped.persist()
    card, lost = Judge(whole, algorithm, quasi, names).card(grouped.withColumn(ROWS, functions.lit(1)))
    coordinates = sum(1 for name in quasi if scales.get(name, (0.0, 1.0))[1] > 0)
    steward = {"blocks": tree.leaves, "information_loss": 100 * lost / max(1, coordinates)}
    frame = dealt(grouped.select(*map(quoted, names)), whole.rows, quasi)
    return SparkRelease(frame.sortWithinPartitions(*map(quoted, names)), on_spark(card), steward, [grouped])


def _scales(rows: DataFrame, whole: Whole) -> dict[str, tuple[float, float]]:
    """Return the mean and deviation of every numeric quasi-identifier over the whole table."""
    from pyspark.sql import functions

    found = {name: number_of(rows, whole.schema.columns[name]) for name in whole.schema.names(Role.QUASI)}
    numbers = {name: number for name, number in found.items() if number is not None}
    if not numbers:
        return {}
    wanted = [wrap(number) for number in numbers.values() for wrap in (functions.avg, functions.stddev_pop)]
    measured = [0.0 if value is None else float(value) for value in rows.agg(*wanted).first() or ()]
    return dict(zip(numbers, zip(measured[::2], measured[1::2], strict=True), strict=True))


def _is_text(rows: DataFrame, whole: Whole, name: str) -> bool:
    """Return whether centroids of a column are written as text: all but numbers of which none is missing."""
    attribute = whole.schema.columns[name]
    if attribute.hierarchy is not None or attribute.kind not in {Kind.INTEGER, Kind.NUMBER}:
        return True
    return not rows.where(is_missing(attribute)).isEmpty()


def _deviation(scales: Scales) -> Callable[[Column, Int64s], float]:
    """Return how widely codes of a column are spread, in deviations of the whole."""

    def spread(column: Column, codes: Int64s) -> float:
        if column.name not in scales:
            return float(column.positions[codes].std())
        levels = np.concatenate([np.zeros(int(column.has_missing)), np.asarray(column.levels, dtype=np.float64)])
        return float(levels[codes].std()) / (scales[column.name][1] or 1.0)

    return spread


def _types(rows: DataFrame, names: Sequence[str], quasi: Sequence[str], texts: set[str]) -> StructType:
    from pyspark.sql import types

    fields = []
    for name in names:
        shown = types.StringType() if name in texts else types.DoubleType()
        fields.append(types.StructField(name, shown if name in quasi else rows.schema[name].dataType))
    return types.StructType([*fields, types.StructField(LOST, types.DoubleType())])


def _block(algorithm: Microaggregator, whole: Whole, scales: Scales, texts: set[str]) -> Callable[[pa.Table], pa.Table]:
    """Return the function that groups the rows of one block, for an executor to run."""

    def block(table: pa.Table) -> pa.Table:
        from sfumato.tabular.microaggregation.centroids import centroid

        frame = pl.DataFrame(table).drop(PART)
        frame = frame.sort(frame.columns)  # a task that is run again finds the same groups
        problem = whole.problem(frame)
        points = _points(problem, scales)
        labels = _groups(algorithm, problem, points)
        sums, sizes = group_sums(points, labels)
        lost = np.square(points - (sums / sizes[:, None])[labels]).sum(axis=1)
        for column in problem.quasi:
            shown = centroid(column, labels, len(sizes)).rows(labels)
            text = column.name in texts and shown.dtype != pl.String
            frame = frame.with_columns(shown.map_elements(str, pl.String) if text else shown)
        return to_arrow(frame.with_columns(pl.Series(LOST, lost)))

    return block


def _points(problem: Problem, scales: Scales) -> Records:
    """Return a point for each row: numbers on the scale of the whole table, the rest on that of the block."""
    from sfumato.tabular.microaggregation.records import numbers, records

    blocks = []
    for column in problem.quasi:
        mean, deviation = scales.get(column.name, (0.0, 0.0))
        if column.name in scales and not column.has_missing:
            blocks.append(((numbers(column) - mean) / (deviation or 1.0))[:, None])
        else:
            blocks.append(records([column]))
    return np.ascontiguousarray(np.concatenate(blocks, axis=1))


def _groups(algorithm: Microaggregator, problem: Problem, points: Records) -> Int64s:
    from sfumato.tabular.microaggregation.polish import polish
    from sfumato.tabular.microaggregation.repair import repaired

    k = max(2, problem.least_units)
    return repaired(problem, points, polish(points, k, algorithm.groups(points, k)))
