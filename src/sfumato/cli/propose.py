"""The commands that propose: a schema file for a table, a hierarchy for a column."""

from __future__ import annotations

import sys
from pathlib import Path

from sfumato.cli.input_options import InputOptions, read_told, tell_sentences
from sfumato.cli.options import TableInput


def schema(table: TableInput, /, *, reading: InputOptions = InputOptions()) -> int:
    """Propose a schema file: roles, types and bounds, with comments; bounds are marked as inferred.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE.
    """
    from sfumato.schema.propose import propose
    from sfumato.table import read
    from sfumato.table.guesses import reading_lines

    found = read(table, reading=reading.reading())
    tell_sentences(found.guesses)
    lines = [f"{line}\n" for line in ("", *reading_lines(found))]
    sys.stdout.writelines([propose(found), *(lines if len(lines) > 1 else [])])
    return 0


def suggest(
    table: TableInput,
    /,
    *,
    column: str,
    schema: Path | None = None,
    reading: InputOptions = InputOptions(),
) -> int:
    """Propose a hierarchy for a column as a TOML file to read, change and use with --hierarchy.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE.
        column: The column to generalise.
        schema: TOML file that tells the column's type, missing marks and, if ordinal, its order.
    """
    from sfumato.schema import Schema
    from sfumato.schema.propose import suggest_column

    known = reading.under(Schema() if schema is None else Schema.from_toml(schema))
    sys.stdout.write(suggest_column(read_told(table, reading, known), column, known).text)
    return 0
