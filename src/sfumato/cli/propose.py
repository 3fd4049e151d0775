"""The commands that propose: a schema file for a table, a hierarchy for a column."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.options import Flag, Input
from sfumato.core.files import Staging

Output = Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="OUT")]


def schema(table: Input, /, *, output: Output = None, force: Flag = False) -> int:
    """Propose a schema file: roles, types and bounds, with comments; bounds are marked as inferred.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input.
        output: File to write; standard output unless named.
        force: Replace an output that exists; a ledger, history, checkpoint or input is never replaced.
    """
    from sfumato.schema.propose import propose
    from sfumato.table import read

    with Staging(force=force, inputs=[table]) as staging:
        place = None if output is None else staging.place(output)
        _write(propose(read(table)), place)
    return 0


def suggest(
    table: Input, /, *, column: str, schema: Path | None = None, output: Output = None, force: Flag = False
) -> int:
    """Propose a hierarchy for a column as a TOML file to read, change and use with --hierarchy.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input.
        column: The column to generalise.
        schema: TOML file that tells the column's type, missing marks and, if ordinal, its order.
        output: File to write; standard output unless named.
        force: Replace an output that exists; a ledger, history, checkpoint or input is never replaced.
    """
    from sfumato.schema import Schema
    from sfumato.schema.propose import suggest_column
    from sfumato.table import read

    with Staging(force=force, inputs=[table, schema]) as staging:
        place = None if output is None else staging.place(output)
        known = Schema() if schema is None else Schema.from_toml(schema)
        _write(suggest_column(read(table), column, known).text, place)
    return 0


def _write(text: str, place: Path | None) -> None:
    if place is None:
        sys.stdout.write(text)
    else:
        place.write_text(text, encoding="utf-8")
