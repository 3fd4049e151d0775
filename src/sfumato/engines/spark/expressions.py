"""A column's values as Spark expressions that agree with the codes of the single machine: numbers, words, missing.

The order of values is that of `sfumato.table.coding`: numbers by size, listed words as listed, other words by the
alphabet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core import calendar
from sfumato.engines.spark.folders import quote_name
from sfumato.schema import Attribute, Kind
from sfumato.schema.times import bound_number

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SECOND = 1_000_000  # microseconds
HOUR, DAY = 3_600, 86_400  # seconds


def is_missing(attribute: Attribute) -> Column:
    """Return whether a cell is missing: null, or one of the declared marks that no hierarchy lists."""
    from pyspark.sql import functions

    cell = functions.col(quote_name(attribute.name))
    leaves = () if attribute.hierarchy is None else attribute.hierarchy.leaves
    marks = [mark for mark in attribute.missing if mark not in leaves]
    return cell.isNull() | cell.cast("string").isin(marks) if marks else cell.isNull()


def number_of(frame: DataFrame, attribute: Attribute) -> Column | None:
    """Return a numeric column's values as numbers, null where missing; None for words.

    Dates are days since 1970, timestamps microseconds since 1970 on the wall of their zone.
    """
    from pyspark.sql import functions

    if attribute.kind is None or not attribute.kind.numeric or attribute.hierarchy is not None:
        return None
    if attribute.kind is Kind.TIMESTAMP:
        number = functions.round(_as_declared(frame, attribute) * SECOND)
    elif attribute.kind is Kind.DATE or attribute.written.numbers() is not None:
        number = _as_declared(frame, attribute).cast("double")
    else:
        number = functions.col(quote_name(attribute.name)).try_cast("double")
    return functions.when(~is_missing(attribute), number)


def _as_declared(frame: DataFrame, attribute: Attribute) -> Column:
    """Return the cells as the query door reads them: numbers, days, or seconds of a timestamp."""
    from pyspark.sql import functions

    from sfumato.engines.spark.queries import SPARK, moment_cell, storage_of

    kind = frame.schema[attribute.name].dataType.simpleString()
    cell = moment_cell(quote_name(attribute.name), kind)
    return functions.expr(SPARK.cell(cell, storage_of(kind), attribute.kind, attribute.written))


def up_to(frame: DataFrame, attribute: Attribute, value: object) -> Column:
    """Return whether a cell comes no later than `value` in the order of codes; a missing one comes before all."""
    from pyspark.sql import functions

    missing = is_missing(attribute)
    if value is None:
        return missing
    number = number_of(frame, attribute)
    if number is not None:
        limit = functions.lit(float(bound_number(value)))  # type: ignore[arg-type]  # a number by its column's kind
        return missing | functions.coalesce(number <= limit, functions.lit(True))  # noqa: FBT003
    words = _words(frame, attribute)
    listed = attribute.categories if attribute.hierarchy is None else attribute.hierarchy.leaves
    if listed is None:
        return missing | (words <= functions.lit(str(value)))
    return missing | words.isin(list(listed[: listed.index(str(value)) + 1]))


def _words(frame: DataFrame, attribute: Attribute) -> Column:
    """Return the cells as a hierarchy lists them: times by hours or by days."""
    from pyspark.sql import functions

    words = functions.col(quote_name(attribute.name)).cast("string")
    if attribute.kind is not Kind.TIMESTAMP or attribute.hierarchy is None:
        return words
    seconds = _as_declared(frame, attribute)
    day = functions.date_from_unix_date(functions.floor(seconds / DAY).cast("int")).cast("string")
    hour = functions.floor((seconds - functions.floor(seconds / DAY) * DAY) / HOUR).cast("string")
    by_hours = calendar.HOUR.fullmatch(attribute.hierarchy.leaves[0]) is not None
    shown = functions.concat(day, functions.lit(" "), functions.lpad(hour, 2, "0"), functions.lit("h"))
    return functions.coalesce(shown if by_hours else day, words)
