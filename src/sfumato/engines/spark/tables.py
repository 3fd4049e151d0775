"""The table door on Spark: count distinct rows there, find classes here with the same code, and join them back.

One aggregation, one join; classes are those of the single machine, since Mondrian (LeFevre, DeWitt & Ramakrishnan
2006), Datafly, Incognito and the optimal search read nothing but counts of distinct rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from sfumato.card import Card
from sfumato.engines.spark.counting import collect_counts, count_rows, keys_of, no_row_numbers, settled_schema
from sfumato.engines.spark.folders import plain
from sfumato.engines.spark.recoding import CLASS, Labels, Spread, recoded
from sfumato.engines.spark.release import SparkRelease
from sfumato.engines.spark.session import spark_sentences
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.roles import Role
from sfumato.schema import Schema
from sfumato.tabular import Anonymizer, Datafly, Incognito, Mondrian, Optimal
from sfumato.tabular.base import Settled, released_names
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Extent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_POINTS = 5_000_000  # distinct rows that the driver takes: about 1 GiB
COUNTED = (Mondrian, Datafly, Incognito, Optimal)


def anonymize(
    frame: DataFrame,
    algorithm: Anonymizer,
    schema: Schema,
    models: Sequence[Model],
    *,
    most_points: int = MOST_POINTS,
) -> SparkRelease:
    """Return an anonymous release of a Spark DataFrame, its classes those of the single machine.

    More than `most_points` distinct rows do not come to the driver: Mondrian then works part by part.
    """
    _refuse_rowwise(algorithm)
    rows = plain(frame)
    settled = settled_schema(rows, schema, models)
    counts = count_rows(rows, keys_of(settled, models)).persist()
    try:
        with spark_sentences("the rows cannot be counted"):
            points = counts.count()
        if points > most_points:
            raise ParameterError(
                f"{points:,} distinct rows are more than the {most_points:,} that the driver takes; raise most_points, "
                "or declare coarser quasi-identifiers"
            )
        counted = collect_counts(counts)
    finally:
        counts.unpersist()
    with no_row_numbers():
        problem = Problem.of(counted.table(rows.columns), settled, list(models), counted.weights)
    found = algorithm.settle(problem, algorithm.partition(problem))
    return _released(rows, algorithm, found, points)


def _refuse_rowwise(algorithm: Anonymizer) -> None:
    """Refuse what needs the rows themselves, one after the other."""
    if not isinstance(algorithm, COUNTED):
        raise ParameterError(
            f"{algorithm.algorithm} needs every row on one machine; on Spark use mondrian, datafly, incognito, optimal"
        )
    if isinstance(algorithm, Mondrian) and algorithm.relaxed:
        raise ParameterError("relaxed Mondrian parts equal rows, which Spark counts as one; use strict Mondrian")
    if algorithm.keep_order:
        raise ParameterError("rows on Spark have no order to keep; leave keep_order out")


def _released(rows: DataFrame, algorithm: Anonymizer, found: Settled, points: int) -> SparkRelease:
    problem = found.problem
    quasi = list(problem.schema.names(Role.QUASI))
    labels = Labels.of(found.coarse, found.partition.count)
    entries = problem.table.frame.select(quasi).with_columns(pl.Series(CLASS, labels.number[found.row_class])).unique()
    names = released_names(problem.schema, found.coarse)
    spread = Spread(found.groups.rows, int(found.groups.sizes.max()))
    frame = recoded(rows, problem.schema, entries, labels, names, spread=spread)
    steward = {**found.partition.steward, "distinct_rows": points, "certainty_lost": certainty_lost(found)}
    return SparkRelease(frame, on_spark(algorithm.card(found, names, seeded=False)), steward)


def on_spark(card: Card) -> Card:
    """Return the card with the engine among the settings, and the order that rows have there."""
    settings = {**card.released.settings, "engine": "spark"}
    return msgspec.structs.replace(
        card, released=msgspec.structs.replace(card.released, settings=settings, order="sorted")
    )


def certainty_lost(found: Settled) -> float:
    """Return the share of each column's scale that a row's class covers, on average (Xu et al. 2006); 0 to 1."""
    problem, classes = found.problem, found.row_class
    weights = np.ones(len(classes)) if problem.weights is None else problem.weights
    lost = 0.0
    for column in problem.quasi:
        extent = Extent.of(column, column.codes, classes, found.partition.count)
        empty = extent.low > extent.high
        low, high = np.where(empty, 0, extent.low), np.where(empty, 0, extent.high)
        share = np.where(extent.missing & ~empty, 1.0, column.positions[high] - column.positions[low])
        lost += float(weights @ share[classes])
    return lost / (float(weights.sum()) * len(problem.quasi))
