"""The commands that propose: a schema file for a table, a hierarchy for a column."""

from __future__ import annotations

import sys
from pathlib import Path

from sfumato.cli.options import Input


def schema(table: Input, /) -> int:
    """Propose a schema file: roles, types and bounds, with comments; bounds are marked as inferred.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input.
    """
    from sfumato.schema.propose import propose
    from sfumato.table import read

    sys.stdout.write(propose(read(table)))
    return 0


def suggest(table: Input, /, *, column: str, schema: Path | None = None) -> int:
    """Propose a hierarchy for a column as a TOML file to read, change and use with --hierarchy.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input.
        column: The column to generalise.
        schema: TOML file that tells the column's type, missing marks and, if ordinal, its order.
    """
    from sfumato.schema import Schema
    from sfumato.schema.propose import suggest_column
    from sfumato.table import read

    known = Schema() if schema is None else Schema.from_toml(schema)
    sys.stdout.write(suggest_column(read(table), column, known).text)
    return 0
