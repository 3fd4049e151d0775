"""The commands for a table that is published again: attack a series of releases, and publish the next one safely."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from sfumato.cli.algorithms import AlgorithmOptions, ModelOptions, asked_models, chosen_anonymizer
from sfumato.cli.findings import say
from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.intake import IntakeOptions
from sfumato.cli.naming_options import NamingOptions
from sfumato.cli.options import Flag, RoleOptions, TableInput, Whole
from sfumato.cli.outputs import Outputs, say_what_left
from sfumato.cli.progress import steps
from sfumato.core.files import Staging
from sfumato.errors import ParameterError


def series(
    *tables: Annotated[Path, Parameter(name="RELEASE")],
    roles: RoleOptions = RoleOptions(),
    reading: InputOptions = InputOptions(),
    l: Whole = 2,
    json: Flag = False,
) -> int:
    """Attack a series of releases by difference and intersection, from the published files alone.

    Exit code 1 if somebody is exposed: fewer than l sensitive values remain possible for a person.

    Args:
        tables: The published files, oldest first.
        l: How many sensitive values must remain possible for everybody.
        json: Print the findings as JSON.
    """
    from sfumato.audit import series as attack

    schema = reading.under(roles.build())
    with steps(2) as step:
        step("reading")
        published = [read_told(table, reading, schema) for table in tables]
        if roles.person is not None:
            for table in published:
                table.column(roles.person)  # a pseudonym named here must be there to be followed
        step("attacking")
        findings = attack(published, schema, l=2 if l is None else l)
    return say(findings, json=json)


def republish(
    table: TableInput,
    /,
    *,
    history: Annotated[Path, Parameter(metavar="DIR")],
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="OUT")] = None,
    layer: Literal["bpg", "m-invariance"] = "bpg",
    changed: Literal["refuse", "warn"] = "refuse",
    roles: RoleOptions = RoleOptions(),
    models: ModelOptions = ModelOptions(),
    algorithm: AlgorithmOptions = AlgorithmOptions(),
    reading: InputOptions = InputOptions(),
    intake: IntakeOptions = IntakeOptions(),
    card: Path | None = None,
    report: Path | None = None,
    force: Flag = False,
    naming: NamingOptions = NamingOptions(),
    json: Flag = False,
) -> int:
    """Publish a table again so that no attack on the series of its releases finds anybody.

    The release is recorded in the history folder, which is the steward's, before it is written.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE.
        history: Folder with the earlier releases; made if it is not there. Keep it, and keep it secret.
        output: File to write; without it the release lies in the history folder only.
        layer: BPG repairs what the algorithm proposes; m-invariance adds counterfeit rows and needs --person.
        changed: What to do if somebody's sensitive values are not those of an earlier release; needs --person.
        card: Where the card goes; OUT.card.json unless named.
        report: Where the steward's HTML report goes; do not publish it.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the card.
    """
    from sfumato.tabular.republication.republish import republish as publish

    if output is None and (card or report):
        raise ParameterError("--card and --report go with a file of the release; say with -o where it goes")
    schema = intake.declared(reading.under(roles.build()))
    asked, chosen = asked_models(models, schema), chosen_anonymizer(algorithm)
    with Staging(force=force, inputs=[table, *roles.files(schema)]) as staging, steps(3) as step:
        outputs = None if output is None else Outputs.place(staging, output, card, report, naming.build())
        step("reading")
        original = chosen.take_in(read_told(table, reading, schema), schema)
        step("publishing")
        release = publish(original, schema, asked, history, chosen, layer=layer, changed=changed)
        step("writing")
        final = release.card if outputs is None else outputs.write(release)
        if outputs is not None and outputs.report is not None:
            from sfumato.report import table_report

            page = table_report(original, schema, replace(release, card=final))
            outputs.report.write_text(page, encoding="utf-8")
    intake.tell(original.intake, chosen.fate)
    say_what_left(release, output or history, report, json=json, card=final, read=original.rows)
    return 0
