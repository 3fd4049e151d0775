"""A column's values as Spark expressions that agree with the codes of the single machine: numbers, words, missing.

The order of values is that of `sfumato.table.coding`: numbers by size, listed words as listed, other words by the
alphabet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.engines.spark.folders import quote_name
from sfumato.schema import Attribute, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def is_missing(attribute: Attribute) -> Column:
    """Return whether a cell is missing: null, or one of the declared marks that no hierarchy lists."""
    from pyspark.sql import functions

    cell = functions.col(quote_name(attribute.name))
    leaves = () if attribute.hierarchy is None else attribute.hierarchy.leaves
    marks = [mark for mark in attribute.missing if mark not in leaves]
    return cell.isNull() | cell.cast("string").isin(marks) if marks else cell.isNull()


def number_of(frame: DataFrame, attribute: Attribute) -> Column | None:
    """Return a numeric column's values as numbers, days for dates, null where missing; None for words."""
    from pyspark.sql import functions, types

    if attribute.kind is None or not attribute.kind.numeric or attribute.hierarchy is not None:
        return None
    cell = functions.col(quote_name(attribute.name))
    text = isinstance(frame.schema[attribute.name].dataType, types.StringType)
    if attribute.kind is Kind.DATE:
        day = functions.try_to_date(cell, "yyyy-MM-dd") if text else cell.cast("date")
        number = functions.unix_date(day).cast("double")
    else:
        number = cell.try_cast("double")
    return functions.when(~is_missing(attribute), number)


def up_to(frame: DataFrame, attribute: Attribute, value: object) -> Column:
    """Return whether a cell comes no later than `value` in the order of codes; a missing one comes before all."""
    from pyspark.sql import functions

    missing = is_missing(attribute)
    if value is None:
        return missing
    number = number_of(frame, attribute)
    if number is not None:
        return missing | functions.coalesce(number <= functions.lit(float(_days(value))), functions.lit(True))  # noqa: FBT003
    words = functions.col(quote_name(attribute.name)).cast("string")
    listed = attribute.categories if attribute.hierarchy is None else attribute.hierarchy.leaves
    if listed is None:
        return missing | (words <= functions.lit(str(value)))
    return missing | words.isin(list(listed[: listed.index(str(value)) + 1]))


def _days(value: object) -> float:
    from datetime import date

    if isinstance(value, date):
        return float((value - date(1970, 1, 1)).days)
    return float(value)  # type: ignore[arg-type]  # a number by its column's kind
