"""The cells of a column read as its declaration says: what each holds, which are missing, which could not be read.

One reading for every door, so that a cell that one door counts as a number is one for all of them; nothing is refused
here, so that a whole file can be read once and all of its broken cells be told (frictionless-data, "Data Package").
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from sfumato.schema.attribute import Attribute
from sfumato.schema.kinds import Kind, is_missing, numbers_in


class ParsedCells(NamedTuple):
    """The values of a column (null where there is none), and which cells are missing and which could not be read.

    >>> ParsedCells(pl.Series([31]), pl.Series([False]), pl.Series([False])).failed.to_list()
    [False]
    """

    values: pl.Series
    missing: pl.Series
    failed: pl.Series


def parse_cells(series: pl.Series, attribute: Attribute) -> ParsedCells:
    """Return what the cells of a column hold, by its declared type; a column without numbers cannot fail.

    >>> from sfumato.schema import Role
    >>> age = Attribute("age", Role.QUASI, Kind.INTEGER, missing=("", "?"))
    >>> cells = parse_cells(pl.Series("age", ["31", "?", "x"]), age)
    >>> cells.values.to_list(), cells.missing.to_list(), cells.failed.to_list()
    ([31, None, None], [False, True, False], [False, False, True])
    """
    missing = is_missing(series, attribute.missing)
    if attribute.kind is None or not attribute.kind.numeric or attribute.hierarchy is not None:
        return ParsedCells(series.set(missing, None), missing, missing & ~missing)
    values = numbers_in(series, attribute.kind).set(missing, None)
    failed = values.is_null() & ~missing
    if attribute.kind is Kind.NUMBER:
        failed = failed | values.is_infinite().fill_null(value=False) | values.is_nan().fill_null(value=False)
    return ParsedCells(values.set(failed, None), missing, failed)
