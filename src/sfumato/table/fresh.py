"""Tables in memory of their own: what is not in a cell is not in a buffer either.

A column that was filtered, sorted or set to null shares memory with the one that it came from, and Arrow writes that
memory to files: texts of rows that were left out, in the order of the input, values under a null, and words that no
row has among a column's categories (Apache Arrow columnar format, "variable-size binary view layout" and "validity
bitmaps"). Here every column is built again, from its cells alone and in their order.
"""

from __future__ import annotations

import numpy as np
import polars as pl


def fresh_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with the same cells, whose memory is a function of these cells; categories become texts.

    >>> ill = pl.Series("ill", ["a rare disease", "flu"])
    >>> fresh_frame(pl.DataFrame([ill.set(pl.Series([True, False]), None)]))["ill"].to_list()
    [None, 'flu']
    """
    return pl.DataFrame([fresh_column(column) for column in frame])


def fresh_column(column: pl.Series) -> pl.Series:
    """Return a column with the same cells, whose memory is a function of them; categories become texts.

    >>> fresh_column(pl.Series("ill", ["flu", None], dtype=pl.Categorical)).to_list()
    ['flu', None]
    """
    column = column.rechunk()
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        return _set_nulls(column.fill_null("") + "", column)  # joining texts writes them anew
    if column.dtype.is_temporal():
        return fresh_column(column.to_physical()).cast(column.dtype)
    if column.dtype.is_integer() or column.dtype.is_float():
        numbers = np.array(column.fill_null(0).to_numpy(), copy=True)
        return _set_nulls(pl.Series(column.name, numbers, dtype=column.dtype), column)
    return pl.Series(column.name, column.to_list(), dtype=column.dtype)


def _set_nulls(values: pl.Series, column: pl.Series) -> pl.Series:
    """Return the values with nulls where the column has them; what lies below a null is a zero or an empty text."""
    return values.set(column.is_null(), None) if column.null_count() else values
