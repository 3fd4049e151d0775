"""The command that turns a file into an anonymous file with its card and, if asked, the steward's report."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.algorithms import AlgorithmOptions
from sfumato.cli.options import Flag, Input, ModelOptions, RoleOptions
from sfumato.cli.progress import steps
from sfumato.errors import ParameterError
from sfumato.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.card import Card
    from sfumato.models import Model
    from sfumato.release import Release
    from sfumato.schema import Schema
    from sfumato.table import Table
    from sfumato.tabular import Anonymizer

STDOUT = Path("-")


@dataclass(frozen=True)
class Outputs:
    """Where the three files go, refused at once if one exists; nothing appears before all are complete."""

    target: Path
    data: Path | None
    card: Path
    report: Path | None

    @classmethod
    def place(cls, staging: Staging, target: Path, card: Path | None, report: Path | None) -> Outputs:
        """Return temporary places for the outputs that were asked for."""
        data = None if target == STDOUT else staging.place(target)
        card_file = staging.place(card or target.with_name(f"{target.name}.card.json"))
        return cls(target, data, card_file, None if report is None else staging.place(report))

    def write(self, release: Release) -> Card:
        """Write data and card; return the card with the data file's name and hash."""
        final = release.card if self.data is None else release.write(self.data, name=self.target.name)
        self.card.write_text(final.to_json(), encoding="utf-8")
        return final


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
        json: Print the card.
    """
    _refuse_mixed_output(output, card, json=json)
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
        release = chosen.anonymize(original, schema, asked)
        step("writing")
        final = outputs.write(release)
        if outputs.report is not None:
            step("reporting")
            from sfumato.report import table_report

            outputs.report.write_text(table_report(original, schema, release), encoding="utf-8")
    if output == STDOUT:
        release.write(STDOUT)
    _tell(final, output, report, json=json)
    return 0


def _refuse_mixed_output(output: Path, card: Path | None, *, json: bool) -> None:
    if output != STDOUT:
        return
    if json:
        raise ParameterError("--json and -o - both write to standard output; give the data a file")
    if card is None:
        raise ParameterError("the data go to standard output; say with --card where the card goes")


def _explain(chosen: Anonymizer, table: Table, schema: Schema, models: Sequence[Model]) -> None:
    """Print every minimal generalisation, the released one first."""
    from sfumato.tabular import Incognito

    if not isinstance(chosen, Incognito):
        raise ParameterError("--explain lists the minimal generalisations of incognito; add --algorithm incognito")
    for node in chosen.minimal_nodes(table, schema, models):
        levels = ", ".join(f"{name} {level}" for name, level in node.levels.items())
        costs = f"{node.classes} classes, ncp {node.ncp:.4f}, discernibility {node.discernibility:g}"
        sys.stderr.write(f"height {node.height}: {levels} ({costs})\n")


def _tell(card: Card, output: Path, report: Path | None, *, json: bool) -> None:
    if json:
        sys.stdout.write(card.to_json())
        return
    released = card.released
    place = "standard output" if output == STDOUT else str(output)
    lines = [f"{released.rows} rows in {released.classes} classes written to {place}"]
    for model in released.models:
        column = f" of {model.column}" if model.column else ""
        lines.append(f"  {model.model}{column}: asked {model.asked:g}, released table has {model.measured:g}")
    lines += [f"  warning: {warning}" for warning in card.warnings]
    if report is not None:
        lines.append(f"  steward's report (do not publish): {report}")
    stream = sys.stderr if output == STDOUT else sys.stdout
    stream.write("\n".join(lines) + "\n")
