"""The commands that propose: a schema file for a table, a hierarchy for a column."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.input_options import InputOptions, read_told, tell_sentences
from sfumato.cli.intake import STEWARD
from sfumato.cli.options import Flag, TableInput
from sfumato.cli.progress import steps
from sfumato.cli.terminal import single_line
from sfumato.core.files import Staging, fill

Output = Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="OUT")]


def schema(
    table: TableInput,
    /,
    *,
    reading: InputOptions = InputOptions(),
    output: Output = None,
    explain: Flag = False,
    force: Flag = False,
) -> int:
    """Propose a schema file: roles, types and bounds, with comments; bounds are marked as inferred.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE.
        output: File to write; standard output unless named.
        explain: Tell the steward, on the error stream, how well each column and small sets of columns tell rows apart.
        force: Replace an output that exists; a ledger, history, checkpoint or input is never replaced.
    """
    from sfumato.schema.key_sets import KeySets
    from sfumato.schema.propose import propose
    from sfumato.table import read
    from sfumato.table.guesses import reading_lines

    with Staging(force=force, inputs=[table]) as staging:
        place = None if output is None else staging.place(output, secret=True)
        with steps(3 if explain else 2) as step:
            step("reading")
            found = read(table, reading=reading.reading())
            tell_sentences(found.guesses)
            step("proposing roles")
            lines = [f"{line}\n" for line in ("", *reading_lines(found))]
            text = "".join([propose(found), *(lines if len(lines) > 1 else [])])
            told: list[str] = []
            if explain:
                step("measuring sets of columns")
                told = KeySets.of(found).lines()
        if told:
            sys.stderr.write(f"sfumato: how columns tell rows apart {STEWARD}: {told[0]}\n")
            sys.stderr.writelines(f"{single_line(line)}\n" for line in told[1:])
        _write(text, place)
    return 0


def suggest(
    table: TableInput,
    /,
    *,
    column: str,
    schema: Path | None = None,
    reading: InputOptions = InputOptions(),
    output: Output = None,
    force: Flag = False,
) -> int:
    """Propose a hierarchy for a column as a TOML file to read, change and use with --hierarchy.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE.
        column: The column to generalise.
        schema: TOML file that tells the column's type, missing marks and, if ordinal, its order.
        output: File to write; standard output unless named.
        force: Replace an output that exists; a ledger, history, checkpoint or input is never replaced.
    """
    from sfumato.schema import Schema
    from sfumato.schema.propose import suggest_column

    with Staging(force=force, inputs=[table, schema]) as staging:
        place = None if output is None else staging.place(output, secret=True)
        known = reading.under(Schema() if schema is None else Schema.from_toml(schema))
        with steps(1) as step:
            step("reading")
            text = suggest_column(read_told(table, reading, known), column, known).text
        _write(text, place)
    return 0


def _write(text: str, place: Path | None) -> None:
    if place is None:
        sys.stdout.write(text)
    else:
        fill(place, text)
