"""The options that say how a file is written, shared by all commands that read one; and what is said of the guesses."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.options import names
from sfumato.cli.terminal import single_line
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.schema import Reading, Schema
    from sfumato.table import Table

Mark = Annotated[str | None, Parameter(allow_leading_hyphen=True)]


@Parameter(name="*", group="Reading")
@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """How the file is written; what is left out is as [reading] of the schema says, or guessed and told.

    Attributes:
        delimiter: What parts the cells of a CSV file: one character, or tab.
        quote: What encloses a cell: one character, or none.
        encoding: Encoding of the text, such as utf-8, utf-16, latin-1 or windows-1252.
        decimal: Decimal mark of numbers.
        thousands: Mark between thousands.
        date_format: How dates and times are written, as in %d.%m.%Y.
        zone: Time zone whose days and hours count, such as Europe/Berlin.
        missing: Cells that mean a missing value, separated by commas, as in NA,?,999.
        sheet: Sheet of a workbook.
    """

    delimiter: Mark = None
    quote: Mark = None
    encoding: str | None = None
    decimal: Mark = None
    thousands: Mark = None
    date_format: Mark = None
    zone: str | None = None
    missing: Annotated[
        tuple[str, ...], Parameter(negative=(), metavar="MARKS", allow_leading_hyphen=True, show_default=False)
    ] = ()
    sheet: str | None = None

    def reading(self, pinned: Reading | None = None) -> Reading:
        """Return what is declared here and, where nothing is, what was pinned before.

        >>> InputOptions(missing=("NA,-",)).reading().missing
        ('NA', '-')
        """
        from sfumato.schema import Reading

        asked = Reading(
            delimiter=self.delimiter,
            quote=self.quote,
            encoding=self.encoding,
            decimal=self.decimal,
            thousands=self.thousands,
            date_format=self.date_format,
            zone=self.zone,
            missing=tuple(names(self.missing)) or None,
            sheet=self.sheet,
        )
        return asked if pinned is None else asked.or_else(pinned)

    def under(self, schema: Schema) -> Schema:
        """Return the schema for a file that is written so."""
        return schema.read_as(self.reading())

    def refuse_layout(self, engine: str, schema: Schema | None = None) -> None:
        """Refuse a layout of files where an engine reads them, which takes UTF-8 and finds the delimiter itself."""
        from sfumato.table.formats.dialect import DELIMITERS, QUOTE
        from sfumato.table.formats.encodings import is_utf_8

        _refuse_first(self.reading().layout, engine)
        pinned = self.reading() if schema is None else schema.reading
        plain = is_utf_8(pinned.encoding) and pinned.quote in (None, QUOTE)
        if not plain or pinned.delimiter not in (None, *DELIMITERS):
            raise ParameterError(
                f"[reading] of the schema is for a file that one machine reads; with --engine {engine} give CSV in "
                "UTF-8 with double quotes, or Parquet"
            )

    def refuse_all(self, engine: str) -> None:
        """Refuse every option where an engine reads rows in its own way alone."""
        _refuse_first(self.reading(), engine)


def _refuse_first(given: Reading, engine: str) -> None:
    for name in given.to_mapping():
        option = name.replace("_", "-")
        raise ParameterError(f"--{option} is for files that one machine reads; leave it or --engine {engine} out")


def read_told(place: Path | str, options: InputOptions, schema: Schema | None = None) -> Table:
    """Return the table of a file, and tell the steward what was guessed."""
    from sfumato.table import read

    table = read(place, reading=options.reading(None if schema is None else schema.reading))
    tell_guesses(table, schema)
    return table


def tell_guesses(table: Table, schema: Schema | None = None) -> None:
    """Tell the steward what was guessed about a file, and which of its cells look like something undeclared."""
    from sfumato.table.guesses import cell_guesses

    cells = [] if schema is None else cell_guesses(table, schema)
    tell_sentences((*table.guesses, *cells))


def tell_sentences(sentences: Iterable[str]) -> None:
    """Tell the steward how a file was read, where that was guessed."""
    for sentence in sentences:
        sys.stderr.write(f"sfumato: read as (for the steward): {single_line(sentence)}\n")
