"""The command that turns a file into an anonymous file with its card and, if asked, the steward's report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.algorithms import AlgorithmOptions
from sfumato.cli.options import Flag, Input, ModelOptions, RoleOptions
from sfumato.cli.outputs import STDOUT, Outputs, refuse_mixed_output, say_what_left
from sfumato.cli.progress import INTERRUPTED, Interrupts, steps
from sfumato.errors import ParameterError
from sfumato.progress import listening
from sfumato.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.models import Model
    from sfumato.schema import Schema
    from sfumato.table import Table
    from sfumato.tabular import Anonymizer


def anonymize(
    table: Input,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], allow_leading_hyphen=True, metavar="OUT")],
    roles: RoleOptions = RoleOptions(),
    models: ModelOptions = ModelOptions(),
    algorithm: AlgorithmOptions = AlgorithmOptions(),
    card: Path | None = None,
    report: Path | None = None,
    explain: Flag = False,
    json: Flag = False,
) -> int:
    """Write an anonymous table, its public card and, if asked, the steward's report.

    Identifiers are dropped, quasi-identifiers generalised, sensitive columns kept. Rows are shuffled.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input.
        output: File to write; its ending chooses the format; - is standard output.
        card: Where the card goes; OUT.card.json unless named.
        report: Where the steward's HTML report goes; do not publish it.
        explain: List all minimal generalisations and their costs (incognito).
        json: Print the card, and beside it what only the steward may know (information_loss).
    """
    refuse_mixed_output(output, card, json=json)
    schema = roles.build()
    asked = models.build(schema)
    chosen = algorithm.build()
    with Staging() as staging, steps(4 if report else 3) as step:
        outputs = Outputs.place(staging, output, card, report)
        step("reading")
        from sfumato.io import read

        original = read(table)
        step("anonymizing")
        if explain:
            _explain(chosen, original, schema, asked)
        with listening(step.share), Interrupts() as interrupts:
            release = chosen.anonymize(original, schema, asked)
        step("writing")
        final = outputs.write(release)
        if outputs.report is not None:
            step("reporting")
            from sfumato.report import table_report

            outputs.report.write_text(table_report(original, schema, release), encoding="utf-8")
    if output == STDOUT:
        release.write(STDOUT)
    say_what_left(final, output, report, json=json, steward=release.steward)
    return INTERRUPTED if interrupts.happened else 0


def _explain(chosen: Anonymizer, table: Table, schema: Schema, models: Sequence[Model]) -> None:
    """Print every minimal generalisation, the released one first."""
    from sfumato.tabular import Incognito

    if not isinstance(chosen, Incognito):
        raise ParameterError("--explain lists the minimal generalisations of incognito; add --algorithm incognito")
    for node in chosen.minimal_nodes(table, schema, models):
        levels = ", ".join(f"{name} {level}" for name, level in node.levels.items())
        costs = f"{node.classes} classes, ncp {node.ncp:.4f}, discernibility {node.discernibility:g}"
        sys.stderr.write(f"height {node.height}: {levels} ({costs})\n")
