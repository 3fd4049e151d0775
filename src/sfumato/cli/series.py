"""The commands for a table that is published again: attack a series of releases, and publish the next one safely."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from sfumato.cli.algorithms import AlgorithmOptions, ModelOptions, asked_models, chosen_anonymizer
from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.intake import IntakeOptions
from sfumato.cli.naming_options import NamingOptions
from sfumato.cli.options import Flag, FormulaChoice, RoleOptions, TableInput, Whole
from sfumato.cli.outputs import Outputs, say_what_left
from sfumato.cli.progress import steps
from sfumato.core.files import Staging, fill
from sfumato.errors import InputError, ParameterError


def series(
    *tables: Annotated[Path, Parameter(name="RELEASE")],
    roles: RoleOptions = RoleOptions(),
    reading: InputOptions = InputOptions(),
    people: Annotated[tuple[Path, ...], Parameter(negative=(), metavar="ORIGINAL", show_default=False)] = (),
    attacker: Literal["everyone", "one-person", "nobody"] | None = None,
    counterfeit: Annotated[tuple[int, ...], Parameter(negative=(), metavar="ROWS", show_default=False)] = (),
    l: Whole = 2,
    k: Whole = None,
    output: EvidenceFile = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Attack a series of releases: exactly, given the people behind it, else from the published files alone.

    Exit code 1 if somebody is exposed: fewer than l sensitive values remain possible for a person.

    Args:
        tables: The published files, oldest first.
        people: The original table of each release, in their order; --person names the people. Counts are added up, and
            each excluded value has a certificate.
        attacker: Whom the attacker knows: everyone (their quasi-identifiers and in which releases each is), one-person
            (the same of one person and nobody else), or nobody (quasi-identifiers, of nobody in which releases).
            Everyone with --people, else one-person.
        counterfeit: How many rows of each release belong to nobody, in their order; unless named, what the card beside
            each release (RELEASE.card.json) says, else none.
        l: How many sensitive values must remain possible for everybody.
        k: How many records of each release everybody must possibly be; needs --people.
        output: File for the evidence, with the certificates.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the findings as JSON.
    """
    from sfumato.audit import series as attack
    from sfumato.core.progress import listening

    schema = reading.under(roles.build())
    with Staging(force=force, inputs=[*tables, *people, *roles.files(schema)]) as staging, steps(2) as step:
        place = None if output is None else staging.place(output, secret=True)
        step("reading")
        published = [read_told(table, reading, schema) for table in tables]
        originals = [read_told(file, reading, schema) for file in people] if people else None
        if roles.person is not None and originals is None:
            for table in published:
                table.column(roles.person)  # a pseudonym named here must be there to be followed
        nobody = counterfeit or [_rows_of_nobody(table) for table in tables]
        step("attacking")
        with listening(step.share):
            asked: dict[str, Any] = {"l": 2 if l is None else l, "k": k, "attacker": attacker, "counterfeits": nobody}
            findings = attack(published, schema, people=originals, **asked)
        if place is not None:
            write_evidence(place, findings, "series", [*tables, *people], asked)
    return say(findings, json=json)


def _rows_of_nobody(table: Path) -> int:
    """Return how many rows of a release belong to nobody, as the card beside it says; none without a card."""
    from sfumato.core.files import sha256_of
    from sfumato.release import Card

    beside = table.with_name(f"{table.name}.card.json")
    if not table.name or not beside.is_file():
        return 0
    card = Card.read(beside)
    rows = int(card.released.measures.get("counterfeit_rows", 0))
    if rows and card.released.sha256 != sha256_of(table):
        raise InputError(
            f"card '{beside}' is of another file than '{table}', so it does not tell how many rows belong to nobody; "
            "say it with --counterfeit, once for each release"
        )
    return rows


def republish(
    table: TableInput,
    /,
    *,
    history: Annotated[Path, Parameter(metavar="DIR")],
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="OUT")] = None,
    layer: Literal["exact", "bpg", "m-invariance"] | None = None,
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
    formulas: FormulaChoice = "neutralise",
    json: Flag = False,
) -> int:
    """Publish a table again so that no attack on the series of its releases finds anybody.

    The release is recorded in the history folder, which is the steward's, before it is written.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE.
        history: Folder with the earlier releases; made if it is not there. Keep it, and keep it secret.
        output: File to write; without it the release lies in the history folder only.
        layer: Exact repairs what the algorithm proposes until an attacker who knows everybody and adds up finds nobody,
            and needs --person; BPG does so against comparisons of classes alone, and promises less; m-invariance adds
            counterfeit rows and needs --person. Unless named, it is that of the history, else exact, or bpg without
            --person.
        changed: What to do if somebody's sensitive values are not those of an earlier release; needs --person.
        card: Where the card goes; OUT.card.json unless named.
        report: Where the steward's HTML report goes; do not publish it.
        formulas: What becomes of cells that a spreadsheet would run as formulas, in text files: neutralise puts a '
            before them, keep leaves them.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the card.
    """
    from sfumato.tabular.republication.republish import republish as publish

    if output is None and (card or report):
        raise ParameterError("--card and --report go with a file of the release; say with -o where it goes")
    schema = intake.declared(reading.under(roles.build()))
    asked, chosen = asked_models(models, schema), chosen_anonymizer(algorithm)
    with Staging(force=force, inputs=[table, *roles.files(schema)]) as staging, steps(4) as step:
        outputs = None if output is None else Outputs.place(staging, output, card, report, naming.build())
        step("reading")
        original = chosen.take_in(read_told(table, reading, schema), schema)
        intake.stage(staging, original.intake)
        step("publishing")
        published = publish(original, schema, asked, history, chosen, layer=layer, changed=changed)
        release = replace(published, formulas=formulas)
        step("writing")
        final = release.card if outputs is None else outputs.write(release)
        if outputs is not None and outputs.report is not None:
            from sfumato.report import table_report

            step("reporting")
            page = table_report(original, schema, replace(release, card=final))
            fill(outputs.report, page)
    intake.say(original.intake, chosen.fate)
    say_what_left(release, output or history, report, json=json, card=final, read=original.rows)
    return 0
