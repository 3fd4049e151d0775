"""What became of the cells of a table on Spark: counted where the rows are, by the single machine's own reading.

Each task reads its rows as declared and sends counts alone; they add up (Zaharia et al. 2012, "Resilient distributed
datasets", on why a task that runs twice changes nothing). Rows on Spark have no number, so none is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.engines.spark.folders import quote_name
from sfumato.engines.spark.tables.counting import collect_frame, to_arrow
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.values import parse_cells
from sfumato.table import ParseReport, Table
from sfumato.table.parse_report import NONE, CellCount, ColumnReport, limits_words

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

COUNTS = ("missing", "failed", "outside")
SENT = "column string, cells bigint, missing bigint, failed bigint, outside bigint, example string, remedy string"


def take_in_rows(rows: DataFrame, schema: Schema) -> tuple[DataFrame, ParseReport | None]:
    """Return the rows with every cell that could not be read as missing, and what became of the cells.

    Refused where more than the declared share of a column's filled cells could not be read. Where nothing is declared
    about values, no row is looked at and there is no report.

    >>> take_in_rows(None, Schema.from_roles(quasi=["age"]))
    (None, None)
    """
    declared = {name: entry for name, entry in schema.columns.items() if _says_something(entry)}
    if not declared:
        return rows, None
    declared = {name: entry for name, entry in declared.items() if name in rows.columns}
    report = count_cells(rows, Schema(declared))
    report.refuse_failed(schema.failed)
    broken = {name: entry for name, entry in declared.items() if report.columns[name].failed.cells}
    return rows.withColumns({name: _readable(rows, entry) for name, entry in broken.items()}), report


def take_in_sensitive_rows(
    rows: DataFrame, sensitive: list[str], schema: Schema
) -> tuple[DataFrame, ParseReport | None]:
    """Return what `take_in_rows` does, of sensitive columns alone: other cells are compared as they are written."""
    declared = {name: schema.columns[name] for name in sensitive if name in schema.columns}
    return take_in_rows(rows, replace(schema, columns=declared, person=None))


def count_cells(rows: DataFrame, schema: Schema) -> ParseReport:
    """Return what became of the cells of the declared columns, all parts of the rows added up."""
    parts = rows.select(*map(quote_name, schema.columns)).mapInArrow(_counting(schema), SENT)
    found = [_received(entry, schema.columns[entry["column"]]) for entry in collect_frame(parts).iter_rows(named=True)]
    none = {name: _empty(entry) for name, entry in schema.columns.items()}
    reports = [ParseReport({**none, entry.column: entry}) for entry in found]
    return reduce(ParseReport.add, reports, ParseReport(none))


def _says_something(attribute: Attribute) -> bool:
    """Whether a cell could fail, or lie outside."""
    listed = attribute.categories is not None or attribute.hierarchy is not None
    numeric = attribute.kind is not None and attribute.kind.numeric
    return attribute.role is not Role.IDENTIFIER and (listed or numeric)


def _counting(schema: Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that counts the cells of one part, for a task to run."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            report = ParseReport.of(Table(pl.DataFrame(batch)), schema)
            yield from to_arrow(pl.DataFrame([_sent(entry) for entry in report.columns.values()], TYPES)).to_batches()

    return count


TYPES = {
    "column": pl.String,
    "cells": pl.Int64,
    **dict.fromkeys(COUNTS, pl.Int64),
    "example": pl.String,
    "remedy": pl.String,
}


def _sent(entry: ColumnReport) -> dict[str, Any]:
    counts = {name: getattr(entry, name).cells for name in COUNTS}
    return {"column": entry.column, "cells": entry.cells, **counts, "example": entry.example, "remedy": entry.remedy}


def _received(sent: dict[str, Any], attribute: Attribute) -> ColumnReport:
    told: dict[str, Any] = {name: CellCount(sent[name]) for name in COUNTS}
    told |= {name: sent[name] for name in ("cells", "example", "remedy")}
    return replace(_empty(attribute), **told)


def _empty(attribute: Attribute) -> ColumnReport:
    kind = str(attribute.kind or "category")
    return ColumnReport(attribute.name, kind, 0, NONE, NONE, NONE, limits=limits_words(attribute))


def _readable(rows: DataFrame, attribute: Attribute) -> Column:
    """Return a column with a missing cell in place of every one that could not be read."""
    import pandas as pd
    from pyspark.sql import functions
    from pyspark.sql.pandas.functions import pandas_udf

    def keep(cells: Any) -> Any:
        failed = parse_cells(pl.Series(attribute.name, cells.to_list()), attribute).failed
        return cells.mask(failed.to_numpy(), None)

    keep.__annotations__ = {"cells": pd.Series, "return": pd.Series}  # by which Spark knows the sort of function
    wrap: Any = pandas_udf
    column: Column = wrap(keep, returnType=rows.schema[attribute.name].dataType)(
        functions.col(quote_name(attribute.name))
    )
    return column
