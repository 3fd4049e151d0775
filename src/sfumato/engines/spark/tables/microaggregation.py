"""Microaggregation on Spark: blocks of near rows of like size, groups polished inside each, one check of all.

Blocks are those of a k-d tree (Bentley 1975) over columns that are standardised by the mean and deviation of the whole
table, as MDAV wants them (Domingo-Ferrer & Torra 2005). Only groups at the border of a block can be worse for it, so
whole groups are dealt to other blocks, cut askew to the first, and polished there once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.engines.spark.expressions import is_missing, number_of
from sfumato.engines.spark.folders import quote_name
from sfumato.engines.spark.tables.counting import ROWS, to_arrow
from sfumato.engines.spark.tables.cut_trees import PART, Int64s, SkewTree, split_table
from sfumato.engines.spark.tables.distributed_check import LOST, DistributedCheck
from sfumato.engines.spark.tables.release import SparkRelease, card_on_spark, deal_to_files
from sfumato.engines.spark.tables.whole_table import WholeTable
from sfumato.schema import Kind, Role
from sfumato.table.coding import Column
from sfumato.tabular.microaggregation.base import Microaggregator
from sfumato.tabular.microaggregation.loss import Records, group_sums
from sfumato.tabular.problem import Problem

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

ROUNDS = 2  # further rounds of polishing, in blocks that are cut askew
GROUP = "__sfumato_group"
BLOCK = 20_000  # rows of a block: what stays in a processor's cache (see `microaggregation.search.polish`)
Scales = Mapping[str, tuple[float, float]]


def anonymize_in_blocks(
    rows: DataFrame, algorithm: Microaggregator, whole: WholeTable, block: int = BLOCK
) -> SparkRelease:
    """Return the release of a table whose groups were found block by block."""
    from pyspark.sql import functions

    scales = _scales(rows, whole)
    counted = rows.withColumn(ROWS, functions.lit(1))
    tree = split_table(counted, whole, -(-whole.rows // block), _deviation(scales))
    quasi = list(whole.schema.names(Role.QUASI))
    names = [name for name, part in whole.schema.columns.items() if part.role is not Role.IDENTIFIER]
    inside = [*names, *([] if whole.schema.person in {None, *names} else [str(whole.schema.person)])]
    texts = {name for name in quasi if _is_text(rows, whole, name)}
    placed = rows.select(*map(quote_name, inside)).withColumn(PART, tree.parts(rows))
    work = BlockWork(algorithm, whole, scales, frozenset(texts), _skew_trees(whole, scales, tree.leaves))
    raw = _types(rows, inside, (), texts, {GROUP: "long", PART: "int"})
    turned = placed.groupBy(PART).applyInArrow(_with_one_argument(work.first), raw)
    for number in range(1, len(work.trees)):
        turned = turned.groupBy(PART).applyInArrow(work.again(number), raw)
    grouped = (
        turned.groupBy(PART)
        .applyInArrow(_with_one_argument(work.last), _types(rows, inside, quasi, texts, {LOST: "double"}))
        .persist()
    )
    card, lost = DistributedCheck(whole, algorithm, quasi, names).card(grouped.withColumn(ROWS, functions.lit(1)))
    coordinates = sum(1 for name in quasi if scales.get(name, (0.0, 1.0))[1] > 0)
    steward = {"blocks": tree.leaves, "information_loss": 100 * lost / max(1, coordinates)}
    frame = deal_to_files(grouped.select(*map(quote_name, names)), whole.rows, quasi)
    return SparkRelease(frame.sortWithinPartitions(*map(quote_name, names)), card_on_spark(card), steward, [grouped])


def _scales(rows: DataFrame, whole: WholeTable) -> dict[str, tuple[float, float]]:
    """Return the mean and deviation of every numeric quasi-identifier over the whole table."""
    from pyspark.sql import functions

    found = {name: number_of(rows, whole.schema.columns[name]) for name in whole.schema.names(Role.QUASI)}
    numbers = {name: number for name, number in found.items() if number is not None}
    if not numbers:
        return {}
    wanted = [wrap(number) for number in numbers.values() for wrap in (functions.avg, functions.stddev_pop)]
    measured = [0.0 if value is None else float(value) for value in rows.agg(*wanted).first() or ()]
    return dict(zip(numbers, zip(measured[::2], measured[1::2], strict=True), strict=True))


def _is_text(rows: DataFrame, whole: WholeTable, name: str) -> bool:
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


def _with_one_argument(work: Callable[[pa.Table], pa.Table]) -> Callable[[pa.Table], pa.Table]:
    """Return a method as a function of one argument, by whose number Spark decides what it passes."""

    def block(table: pa.Table) -> pa.Table:
        return work(table)

    return block


def _types(
    rows: DataFrame, names: Sequence[str], shown: Sequence[str], texts: set[str], more: Mapping[str, str]
) -> StructType:
    """Return the types of rows on their way: columns among `shown` hold centroids, `more` are ours."""
    from pyspark.sql import types

    fields = []
    for name in names:
        written = types.StringType() if name in texts else types.DoubleType()
        fields.append(types.StructField(name, written if name in shown else rows.schema[name].dataType))
    kinds = {"long": types.LongType(), "int": types.IntegerType(), "double": types.DoubleType()}
    return types.StructType([*fields, *(types.StructField(name, kinds[kind]) for name, kind in more.items())])


def _skew_trees(whole: WholeTable, scales: Scales, leaves: int) -> list[SkewTree]:
    """Return the cuts of the further rounds: none where one block holds all, or where no column is a number."""
    if leaves < 2 or not scales:
        return []
    points = _coordinates(whole.quasi(whole.sample), scales)
    return [SkewTree.of(points, whole.weights, leaves, seed) for seed in range(ROUNDS)]


def _coordinates(columns: Sequence[Column], scales: Scales) -> Records:
    """Return where rows lie, by their numbers alone, on the scale of the whole table."""
    from sfumato.tabular.microaggregation.records import numbers

    found = [(numbers(column), *scales[column.name]) for column in columns if column.name in scales]
    return np.stack([(values - mean) / (deviation or 1.0) for values, mean, deviation in found], axis=1)


@dataclass(frozen=True, eq=False)
class BlockWork:
    """What executors do with a block: find its groups, polish those that came from elsewhere, write centroids.

    `trees` are the cuts of the further rounds; rows carry the number of their group and the block they go to next.
    """

    algorithm: Microaggregator
    whole: WholeTable
    scales: Scales
    texts: frozenset[str]
    trees: Sequence[SkewTree]

    def first(self, table: pa.Table) -> pa.Table:
        """Return a block with its groups found and polished."""
        frame, problem, points = self._open_block(pl.DataFrame(table))
        k = max(2, problem.least_units)
        return self._send_groups(frame, problem, points, self.algorithm.groups(points, k), table, 0)

    def again(self, number: int) -> Callable[[pa.Table], pa.Table]:
        """Return the function that polishes the groups of round `number` in the blocks they were sent to."""

        def polish_again(table: pa.Table) -> pa.Table:
            frame, problem, points = self._open_block(pl.DataFrame(table))
            return self._send_groups(frame, problem, points, _dense_labels(frame[GROUP]), table, number)

        return polish_again

    def last(self, table: pa.Table) -> pa.Table:
        """Return a block with centroids for its quasi-identifiers, after the last round of polishing."""
        from sfumato.tabular.microaggregation.centroids import centroid

        frame, problem, points = self._open_block(pl.DataFrame(table))
        labels = _dense_labels(frame[GROUP])
        labels = _polish_block(problem, points, labels) if self.trees else labels
        sums, sizes = group_sums(points, labels)
        lost = np.square(points - (sums / sizes[:, None])[labels]).sum(axis=1)
        frame = frame.drop(GROUP)
        for column in problem.quasi:
            shown = centroid(column, labels, len(sizes)).rows(labels)
            text = column.name in self.texts and shown.dtype != pl.String
            frame = frame.with_columns(shown.map_elements(str, pl.String) if text else shown)
        return to_arrow(frame.with_columns(pl.Series(LOST, lost)))

    def _open_block(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Problem, Records]:
        """Return the rows of a block in an order that a task run again finds too, as a problem and as points."""
        rows = frame.drop(PART)
        rows = rows.sort(rows.columns)
        problem = self.whole.problem(rows)
        return rows, problem, _points(problem, self.scales)

    def _send_groups(
        self, frame: pl.DataFrame, problem: Problem, points: Records, labels: Int64s, table: pa.Table, number: int
    ) -> pa.Table:
        """Return the rows with the polished groups they are in, each group with the block it goes to."""
        labels = _polish_block(problem, points, labels)
        target = np.full(len(labels), table.column(PART)[0].as_py(), dtype=np.int32)
        if self.trees:
            sums, sizes = group_sums(_coordinates(problem.quasi, self.scales), labels)
            target = self.trees[number].leaf(sums / sizes[:, None]).astype(np.int32)[labels]
        unique = (int(table.column(PART)[0].as_py()) << 32) + labels
        return to_arrow(frame.with_columns(pl.Series(GROUP, unique), pl.Series(PART, target)))


def _dense_labels(groups: pl.Series) -> Int64s:
    return groups.rank("dense").to_numpy().astype(np.int64) - 1


def _polish_block(problem: Problem, points: Records, labels: Int64s) -> Int64s:
    from sfumato.tabular.microaggregation.repair import merge_until_models_hold
    from sfumato.tabular.microaggregation.search.polish import polish

    return merge_until_models_hold(problem, points, polish(points, max(2, problem.least_units), labels))


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
