"""Texts that usually stand for a missing value: proposed where a schema is, told elsewhere, never applied unasked.

The list is that of the data frames in use (pandas and R read `NA`, `null` and `nan` so); a number such as 999 is
missing only where somebody declares it.
"""

from __future__ import annotations

import polars as pl

MISSING_MARKS = ("NA", "N/A", "n/a", "na", "null", "NULL", "None", "-", "--", "?", "nan", "NaN", ".")


def marks_in(series: pl.Series) -> tuple[str, ...]:
    """Return the texts of a column that usually stand for a missing value.

    >>> marks_in(pl.Series(["NA", "3", "?"])), marks_in(pl.Series([999]))
    (('NA', '?'), ())
    """
    if series.dtype != pl.String:
        return ()
    found = set(series.filter(series.is_in(list(MISSING_MARKS))).unique())
    return tuple(mark for mark in MISSING_MARKS if mark in found)
