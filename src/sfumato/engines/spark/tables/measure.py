"""What is measured of tables on Spark: distinct rows and class sizes are counted there and written up here.

`check` measures what `sfumato.evaluate.check` measures (Machanavajjhala et al. 2007; Li, Li & Venkatasubramanian 2007);
the steward's report says how many rows, or persons, share a combination, which is what prosecutor and marketer need
(El Emam 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.engines.spark.folders import plain_columns, quote_name
from sfumato.engines.spark.session import spark_sentences
from sfumato.engines.spark.tables.counting import CountedRows, collect_counts, collect_frame, count_rows, refuse_many
from sfumato.errors import ParameterError, SchemaError
from sfumato.evaluate import Measures
from sfumato.evaluate import check as measure
from sfumato.evaluate.check import class_columns
from sfumato.models.base import Model
from sfumato.release import Finding
from sfumato.schema import Role, Schema
from sfumato.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sfumato.engines.spark.tables.release import SparkRelease
    from sfumato.report.chapters.risk import ClassSizes

MOST_POINTS = 20_000_000  # distinct rows that the driver takes
SIZE, NUMBER = "__sfumato_size", "__sfumato_number"


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
    counted = count_combinations(frame, quasi, sensitive, most_points=most_points)
    return measure(Table(counted.frame), quasi, sensitive, schema=schema, c=c, weights=counted.weights, models=models)


def count_combinations(
    frame: DataFrame, quasi: Sequence[str], sensitive: Sequence[str] = (), *, most_points: int = MOST_POINTS
) -> CountedRows:
    """Return each combination of quasi-identifiers and sensitive values with the number of its rows, counted on Spark.

    >>> count_combinations(None, [])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: no quasi-identifier was named; give the columns an attacker may know with --quasi
    """
    if not quasi:
        raise ParameterError("no quasi-identifier was named; give the columns an attacker may know with --quasi")
    rows = plain_columns(frame)
    empty = Table(pl.DataFrame({name: [] for name in rows.columns}))
    names = [found for name in quasi for found in class_columns(empty, name)]
    for name in sensitive:
        empty.column(name)
    counts = count_rows(rows, list(dict.fromkeys([*names, *sensitive]))).persist()
    try:
        with spark_sentences("the rows cannot be counted"):
            refuse_many(counts.count(), most_points)
        return collect_counts(counts)
    finally:
        counts.unpersist()


def spark_report(
    frame: DataFrame,
    schema: Schema,
    release: SparkRelease,
    *,
    released: DataFrame | None = None,
    findings: Sequence[Finding] = (),
    title: str | None = None,
) -> str:
    """Return the report on `release`, made from `frame`, as one self-contained HTML text; do not publish it.

    Two more aggregations run on the cluster. `released` are the rows of the release where they were written, which
    saves computing them again; `findings` are those of attacks on them.

    >>> spark_report(None, Schema(), None)
    Traceback (most recent call last):
    sfumato.errors.SchemaError: no column has the role quasi; name the columns an attacker may know
    """
    from sfumato.report.chapters.cluster import cluster_report

    if not schema.names(Role.QUASI):
        raise SchemaError("no column has the role quasi; name the columns an attacker may know")
    shown = [column.name for column in release.card.released.columns if column.role == Role.QUASI]
    before = _sizes(plain_columns(frame), list(schema.names(Role.QUASI)), schema.person)
    after = _sizes(release.frame if released is None else released, shown, None)
    return cluster_report(
        release.card, release.steward, before, after, title=title, intake=release.intake, findings=findings
    )


def _sizes(rows: DataFrame, names: Sequence[str], person: str | None) -> ClassSizes:
    """Return how many classes have each size, a class being the rows that agree on some columns."""
    from pyspark.sql import functions

    from sfumato.report.chapters.risk import ClassSizes

    size = functions.count(functions.lit(1)) if person is None else functions.countDistinct(quote_name(person))
    classes = rows.groupBy(*map(quote_name, names)).agg(size.alias(SIZE))
    found = collect_frame(classes.groupBy(SIZE).agg(functions.count(functions.lit(1)).alias(NUMBER))).sort(SIZE)
    return ClassSizes(found[SIZE].to_numpy().astype(np.int64), found[NUMBER].to_numpy().astype(np.int64))
