"""The cells of a column read as its declaration says: what each holds, which are missing, which could not be read.

One reading for every door, so that a cell that one door counts as a number is one for all of them; nothing is refused
here, so that a whole file can be read once and all of its broken cells be told (frictionless-data, "Data Package").
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from sfumato.schema.attribute import Attribute
from sfumato.schema.detection import detect_marks, detected, possible_formats, possible_marks
from sfumato.schema.kinds import Kind, is_missing, numbers_in
from sfumato.schema.roles import Role

__all__ = ["ParsedCells", "advice", "detect_marks", "parse_cells"]


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
    values = numbers_in(series, attribute.kind, attribute.written).set(missing, None)
    failed = values.is_null() & ~missing
    if attribute.kind is Kind.NUMBER:
        failed = failed | values.is_infinite().fill_null(value=False) | values.is_nan().fill_null(value=False)
    return ParsedCells(values.set(failed, None), missing, failed)


def advice(series: pl.Series, attribute: Attribute) -> str | None:
    """Return the declaration with which the cells that cannot be read could be; None where all can, or none helps.

    It is computed from the rows, so it is for the steward alone.

    >>> advice(pl.Series("start", ["2015-09-21 14:53:16"]), Attribute("start", Role.QUASI, Kind.DATE))
    'type = "timestamp"'
    >>> advice(pl.Series("wage", ["1.234,56"]), Attribute("wage", Role.QUASI, Kind.NUMBER))
    'decimal = ",", thousands = "."'
    >>> advice(pl.Series("day", ["01/02/2024"]), Attribute("day", Role.QUASI, Kind.DATE))
    'format = "%d/%m/%Y" or format = "%m/%d/%Y"'
    """
    broken = series.filter(parse_cells(series, attribute).failed)
    if broken.is_empty() or attribute.kind is None:
        return None
    found = detected(Attribute(attribute.name, Role.OTHER), broken)
    if found.kind is None or not found.kind.numeric:
        return _either(broken, attribute.kind)
    keys = {key: value for key, value in found.to_mapping().items() if key != "role"}
    if found.kind is attribute.kind or (found.kind, attribute.kind) == (Kind.INTEGER, Kind.NUMBER):
        keys.pop("type")
    return ", ".join(f'{key} = "{value}"' for key, value in keys.items()) or None


def _either(broken: pl.Series, kind: Kind) -> str | None:
    """Return the two declarations that would both read the cells, for a person to choose."""
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        return " or ".join(f'format = "{form}"' for form in possible_formats(broken)) or None
    pairs = possible_marks(broken)
    return 'decimal = "," or thousands = ","' if (",", None) in pairs and (".", ",") in pairs else None
