"""Measures of a table on Spark: its distinct rows are counted there and judged here, by the code of the single machine.

What is measured is what `sfumato.evaluate.check` measures (Machanavajjhala et al. 2007; Li, Li & Venkatasubramanian
2007; El Emam 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sfumato.engines.spark.folders import plain
from sfumato.engines.spark.session import spark_sentences
from sfumato.engines.spark.tables.counting import collect_counts, count_rows, refuse_many
from sfumato.errors import ParameterError
from sfumato.evaluate import Measures
from sfumato.evaluate import check as measure
from sfumato.evaluate.check import class_columns
from sfumato.models.base import Model
from sfumato.schema import Schema
from sfumato.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_POINTS = 20_000_000  # distinct rows that the driver takes


def check(
    frame: DataFrame,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    schema: Schema | None = None,
    c: float = 2.0,
    models: Sequence[Model] = (),
    most_points: int = MOST_POINTS,
) -> Measures:
    """Return every measure of a Spark DataFrame whose cells may be values, ranges, sets or `*`.

    >>> check(None, [])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: no quasi-identifier was named; give the columns an attacker may know with --quasi
    """
    if not quasi:
        raise ParameterError("no quasi-identifier was named; give the columns an attacker may know with --quasi")
    rows = plain(frame)
    empty = Table(pl.DataFrame({name: [] for name in rows.columns}))
    names = [found for name in quasi for found in class_columns(empty, name)]
    for name in sensitive:
        empty.column(name)
    counts = count_rows(rows, list(dict.fromkeys([*names, *sensitive]))).persist()
    try:
        with spark_sentences("the rows cannot be counted"):
            refuse_many(counts.count(), most_points)
        counted = collect_counts(counts)
    finally:
        counts.unpersist()
    return measure(Table(counted.frame), quasi, sensitive, schema=schema, c=c, weights=counted.weights, models=models)
