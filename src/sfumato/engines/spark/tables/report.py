"""The steward's report on a Spark release: class sizes before and after are counted on the cluster, written up here.

What is counted is what prosecutor and marketer need (El Emam 2013): how many rows, or persons, share a combination.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.engines.spark.folders import plain, quoted
from sfumato.engines.spark.tables.counting import collected
from sfumato.errors import SchemaError
from sfumato.report.chapters.cluster import cluster_report
from sfumato.report.chapters.risk import ClassSizes
from sfumato.schema import Role, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sfumato.engines.spark.tables.release import SparkRelease

SIZE, NUMBER = "__sfumato_size", "__sfumato_number"


def spark_report(
    frame: DataFrame,
    schema: Schema,
    release: SparkRelease,
    *,
    released: DataFrame | None = None,
    title: str | None = None,
) -> str:
    """Return the report on `release`, made from `frame`, as one self-contained HTML text; do not publish it.

    Two more aggregations run on the cluster. `released` are the rows of the release where they were written, which
    saves computing them again.

    >>> spark_report(None, Schema(), None)
    Traceback (most recent call last):
    sfumato.errors.SchemaError: no column has the role quasi; name the columns an attacker may know
    """
    if not schema.names(Role.QUASI):
        raise SchemaError("no column has the role quasi; name the columns an attacker may know")
    shown = [column.name for column in release.card.released.columns if column.role == Role.QUASI]
    before = _sizes(plain(frame), list(schema.names(Role.QUASI)), schema.person)
    after = _sizes(release.frame if released is None else released, shown, None)
    return cluster_report(release.card, release.steward, before, after, title=title)


def _sizes(rows: DataFrame, names: Sequence[str], person: str | None) -> ClassSizes:
    """Return how many classes have each size, a class being the rows that agree on some columns."""
    from pyspark.sql import functions

    size = functions.count(functions.lit(1)) if person is None else functions.countDistinct(quoted(person))
    classes = rows.groupBy(*map(quoted, names)).agg(size.alias(SIZE))
    found = collected(classes.groupBy(SIZE).agg(functions.count(functions.lit(1)).alias(NUMBER))).sort(SIZE)
    return ClassSizes(found[SIZE].to_numpy().astype(np.int64), found[NUMBER].to_numpy().astype(np.int64))
