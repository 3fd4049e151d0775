"""Declared rules on a cluster: every cell by the very code of the single machine, batch by batch.

Rules that look at one cell alone need no other row (Hundepool et al. 2012, chapter 3); microaggregation needs all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from sfumato.engines.spark.folders import quote_name
from sfumato.engines.spark.tables.counting import collect_frame, no_row_numbers, to_arrow
from sfumato.errors import ParameterError
from sfumato.schema import Attribute, Kind, Schema
from sfumato.table import Table
from sfumato.tabular.coarsen import coarse_attribute, coarsen_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

KINDS: dict[Kind, type[pl.DataType]] = {Kind.INTEGER: pl.Int64, Kind.NUMBER: pl.Float64, Kind.DATE: pl.Date}


def coarsen_rows(rows: DataFrame, settled: Schema) -> tuple[DataFrame, Schema]:
    """Return the rows and their settled schema after every declared rule.

    >>> from sfumato.schema import Coarsening, Role
    >>> cost = Attribute("cost", Role.SENSITIVE, Kind.NUMBER, coarsen=Coarsening(microaggregate=5))
    >>> coarsen_rows(None, Schema({"cost": cost}))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: column 'cost': coarsening microaggregate:5 needs every row on one machine; on Spark \
declare round, bands, top, bottom or period
    """
    ruled = {name: entry for name, entry in settled.columns.items() if entry.coarsen is not None}
    for name, attribute in ruled.items():
        if attribute.coarsen is not None and attribute.coarsen.microaggregate is not None:
            raise ParameterError(
                f"column '{name}': coarsening {attribute.coarsen.text} needs every row on one machine; on Spark "
                "declare round, bands, top, bottom or period"
            )
    if not ruled:
        return rows, settled
    coarse = rows.mapInArrow(_coarsen_batches(ruled), _types(rows, ruled))
    columns = {name: coarse_attribute(entry, _observed(coarse, entry)) for name, entry in ruled.items()}
    return coarse, replace(settled, columns={**settled.columns, **columns})


def _observed(coarse: DataFrame, attribute: Attribute) -> pl.Series:
    """Return the values of a column where they tell its periods; none where declared bounds do."""
    rule = attribute.coarsen
    if rule is None or rule.period is None or attribute.bounds is not None:
        return pl.Series(attribute.name, [], dtype=pl.String)
    return collect_frame(coarse.select(quote_name(attribute.name)).distinct())[attribute.name]


def _written(attribute: Attribute) -> type[pl.DataType]:
    """Return the type of a coarse column."""
    rule = attribute.coarsen
    if rule is None or rule.bands is not None or rule.period is not None:
        return pl.String
    return KINDS[attribute.kind or Kind.NUMBER]


def _types(rows: DataFrame, ruled: Mapping[str, Attribute]) -> StructType:
    """Return the types of the rows after the rules."""
    from pyspark.sql import types

    made = {
        pl.String: types.StringType(),
        pl.Int64: types.LongType(),
        pl.Float64: types.DoubleType(),
        pl.Date: types.DateType(),
    }
    return types.StructType(
        [
            types.StructField(field.name, made[_written(ruled[field.name])]) if field.name in ruled else field
            for field in rows.schema.fields
        ]
    )


def _coarsen_batches(
    ruled: Mapping[str, Attribute],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that follows the rules in some rows, for an executor to run."""

    def coarsen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            frame = pl.DataFrame(batch)
            with no_row_numbers():
                table, _ = coarsen_table(Table(frame), Schema(ruled))
            kinds = {name: _written(attribute) for name, attribute in ruled.items()}
            yield from to_arrow(table.frame.cast(kinds)).to_batches()  # type: ignore[arg-type]

    return coarsen
