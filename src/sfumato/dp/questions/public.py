"""Tables that are public: anybody may know every cell, so that types, bounds and categories are taken from the cells.

A join with such a table tells a row nothing that its own key did not (McSherry 2009, "Privacy integrated queries",
section 3, on joins with public keys). Its content is part of the question: another content is another question.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.dp.questions.clock import SECOND
from sfumato.errors import InputError, suggestion
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.schema.attribute import Bound
from sfumato.schema.detection import detected
from sfumato.schema.missing_marks import marks_in
from sfumato.schema.times import wall_time
from sfumato.schema.values import parse_cells
from sfumato.table import Table
from sfumato.table.io import read_hashed
from sfumato.table.table import text_columns

MOST_ROWS = 1_000_000  # they travel with every question
MOST_CATEGORIES = 10_000  # of a column of words; with more, its words are no declared keys
LONGEST_TEXT = 1000
EPOCH = dt.date(1970, 1, 1)
PublicCell = str | int | float | None


@dataclass(frozen=True, eq=False)
class PublicTable:
    """A public table under the name that questions call it; `digest` is the SHA-256 of its file, or of its cells.

    >>> stations = PublicTable.of(pl.DataFrame({"station": [1, 2], "city": ["Bern", "Basel"]}), "stations")
    >>> stations.attribute("city").categories, stations.attribute("station").bounds
    (('Basel', 'Bern'), (1, 2))
    """

    name: str
    frame: pl.DataFrame
    schema: Schema
    digest: str
    at_most: int = 1  # rows of one key, unless a join declares its own bound

    @classmethod
    def of(cls, data: Any, name: str | None = None, schema: Schema | None = None, at_most: int = 1) -> PublicTable:
        """Return the table in a file, a dataframe or a database; `schema` may say how its columns are to be read.

        A file's table is called by the file's stem unless it is named.
        """
        if isinstance(data, PublicTable):
            return data if name in {None, data.name} else replace(data, name=name)
        reading = None if schema is None else schema.reading
        if isinstance(data, str | Path):
            table, digest = read_hashed(data, empty=True, reading=reading)
            name = name or Path(str(data).rpartition("#")[2]).name.partition(".")[0].rpartition("/")[2]
        else:
            table = Table.from_frame(data)
            digest = _hash_of(table.frame)
        if not name:
            raise InputError('a public dataframe needs a name; write PublicTable.of(frame, "NAME")')
        if table.rows > MOST_ROWS:
            raise InputError(f"public table '{name}' has {table.rows} rows; at most {MOST_ROWS} are joined")
        return cls(name, table.frame, Schema() if schema is None else schema, digest, at_most)

    def __repr__(self) -> str:
        return f"PublicTable({self.name!r}, {self.frame.height} rows, {', '.join(self.names)})"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns: those that the schema declares, or all."""
        return tuple(self.schema.columns) or tuple(self.frame.columns)

    @property
    def identity(self) -> str:
        """What tells the table from every other one: its name, its content and how it is read."""
        found = [(name, str(dtype)) for name, dtype in self.frame.schema.items()]
        read = hashlib.sha256(f"{self.schema.to_toml()}{found}".encode()).hexdigest()[:16]
        return f"{self.name} (SHA-256 {self.digest}, read {read})"

    def cells(self, column: str, kind: Kind | None) -> list[PublicCell]:
        """Return a column's cells as engines hold those of a kind: days, seconds, numbers or texts; None where missing.

        >>> PublicTable.of(pl.DataFrame({"station": ["1", "", "2"]}), "stations").cells("station", Kind.INTEGER)
        [1, None, 2]
        """
        series, attribute = self._column(column), replace(self._read(column), kind=kind)
        found = parse_cells(series, attribute)
        wrong = int(found.failed.sum())
        if wrong:
            row = (found.failed.arg_max() or 0) + 1
            shown = str(series[row - 1])[:40]
            raise InputError(
                f"public table '{self.name}': {wrong} cells of column '{column}' are no {kind} "
                f"(first row {row}: '{shown}'); correct them, or the declared type"
            )
        if kind is None or not kind.numeric:
            return self._texts(column, found.values)
        values = found.values.cast(pl.Float64) / SECOND if kind is Kind.TIMESTAMP else found.values
        return values.cast(pl.Float64 if kind in {Kind.TIMESTAMP, Kind.NUMBER} else pl.Int64).to_list()

    def attribute(self, column: str) -> Attribute:
        """Return a column as if it were declared: its type, and bounds or categories from its public cells."""
        declared = self._read(column)
        plain = Attribute(column, Role.OTHER, declared.kind, missing=())
        there = [cell for cell in self.cells(column, declared.kind) if cell is not None]
        if declared.kind is not None and declared.kind.numeric:
            return replace(plain, bounds=_limits(declared.kind, there) if there else None)
        words = tuple(sorted({str(cell) for cell in there}))
        ordered = declared.categories if declared.kind is Kind.ORDINAL else None
        return replace(plain, categories=ordered or (words if 0 < len(words) <= MOST_CATEGORIES else None))

    def _column(self, column: str) -> pl.Series:
        if column not in self.names or column not in self.frame.columns:
            raise InputError(f"public table '{self.name}' has no column '{column}'{suggestion(column, self.names)}")
        return self.frame.get_column(column)

    def _read(self, column: str) -> Attribute:
        """Return how a column is read: as it is declared, or else as its cells suggest."""
        series = self._column(column)
        declared = self.schema.columns.get(column)
        if declared is not None and declared.kind is not None:
            return declared
        found = detected(declared or Attribute(column, Role.OTHER, missing=("", *marks_in(series))), series)
        try:
            mixed = bool(parse_cells(series, found).failed.any())
        except InputError:
            mixed = True
        return replace(found, kind=Kind.CATEGORY, decimal=None, thousands=None, format=None) if mixed else found

    def _texts(self, column: str, values: pl.Series) -> list[PublicCell]:
        texts = text_columns(pl.DataFrame({column: values})).get_column(column).cast(pl.String)
        texts = texts.str.replace(r"\.0+$", "") if values.dtype.is_float() else texts  # as engines write whole numbers
        found: list[PublicCell] = texts.to_list()
        for text in found:
            if text is not None and ("\0" in str(text) or len(str(text)) > LONGEST_TEXT):
                raise InputError(
                    f"public table '{self.name}': column '{column}' has a text with a NUL character, or with more than "
                    f"{LONGEST_TEXT} characters; leave the column out"
                )
        return found


def _limits(kind: Kind, cells: Sequence[Any]) -> tuple[Bound, Bound]:
    low, high = min(cells), max(cells)
    if kind is Kind.DATE:
        return EPOCH + dt.timedelta(days=int(low)), EPOCH + dt.timedelta(days=int(high))
    if kind is Kind.TIMESTAMP:
        return wall_time(round(low * SECOND)), wall_time(round(high * SECOND))
    return low, high


def _hash_of(frame: pl.DataFrame) -> str:
    """Return the SHA-256 of a dataframe's columns, types and cells."""
    kinds = repr([(name, str(dtype)) for name, dtype in frame.schema.items()])
    text = text_columns(frame).write_csv(quote_style="non_numeric", null_value="-")
    return hashlib.sha256(kinds.encode() + text.encode()).hexdigest()
