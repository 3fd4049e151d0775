"""The command that turns a file into an anonymous file with its card and, if asked, the steward's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sfumato.cli.algorithms import AlgorithmOptions, ModelOptions, asked_models, chosen_anonymizer
from sfumato.cli.engine import EngineOptions, refuse_folder_force
from sfumato.cli.gate import attack, page, say_fallen, say_risks, say_untried
from sfumato.cli.input_options import InputOptions, tell_guesses
from sfumato.cli.intake import IntakeOptions
from sfumato.cli.level_options import LevelOptions
from sfumato.cli.naming_options import NamingOptions
from sfumato.cli.options import Flag, FormulaChoice, LedgerOption, RoleOptions, TableInput, Whole
from sfumato.cli.outputs import STDOUT, Outputs, refuse_mixed_output, say_explained, say_what_left
from sfumato.cli.progress import INTERRUPTED, Interrupts, steps
from sfumato.core.files import Staging, fill, refuse_same_files
from sfumato.core.progress import listening
from sfumato.errors import ParameterError
from sfumato.tabular.base import Anonymizer

if TYPE_CHECKING:
    from sfumato.engines.spark.tables.folder import FolderRelease
    from sfumato.models.base import Model
    from sfumato.release import Release
    from sfumato.schema import Schema
    from sfumato.table import Table
    from sfumato.tabular.charge import Charge


def anonymize(
    table: TableInput,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], allow_leading_hyphen=True, metavar="OUT")],
    roles: RoleOptions = RoleOptions(),
    models: ModelOptions = ModelOptions(),
    algorithm: AlgorithmOptions = AlgorithmOptions(),
    reading: InputOptions = InputOptions(),
    engine: EngineOptions = EngineOptions(),
    levels: LevelOptions = LevelOptions(),
    intake: IntakeOptions = IntakeOptions(),
    card: Path | None = None,
    report: Path | None = None,
    ledger: LedgerOption = None,
    naming: NamingOptions = NamingOptions(),
    formulas: FormulaChoice = "neutralise",
    explain: Flag = False,
    sample: Whole = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Write an anonymous table, its public card and, if asked, the steward's report.

    Identifiers are dropped, quasi-identifiers generalised, sensitive columns kept. Rows are shuffled.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE. With --engine spark, a file or folder of Parquet or CSV.
        output: File to write; its ending chooses the format; - is standard output. With --engine spark, a folder of
            Parquet.
        card: Where the card goes; OUT.card.json unless named.
        report: Where the steward's HTML report goes; do not publish it.
        ledger: Budget that pays first (safepub, private-mondrian), or lists the release outside its bound (all others);
            see sfumato budget.
        formulas: What becomes of cells that a spreadsheet would run as formulas, in text files: neutralise puts a '
            before them, keep leaves them.
        explain: List for the steward the generalisations to choose among and their costs: all minimal ones, or the
            cheapest where rows may be suppressed (datafly, incognito, optimal).
        sample: Try on so many random rows: what is written is marked as a trial and is not a release.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the card, and beside it what only the steward may know (information_loss; solutions of --explain).
    """
    refuse_mixed_output(output, card, json=json)
    schema = intake.declared(levels.declared(reading.under(roles.build())))
    chosen = chosen_anonymizer(algorithm)
    asked = asked_models(models, schema, needed=chosen.needs_models)
    if sample is not None and (ledger is not None or chosen.private):
        raise ParameterError("--sample is a trial that nobody pays for; leave --ledger and private algorithms out")
    if engine.spark:
        _refuse_single({"--ledger": ledger, "--explain": explain or None, "--sample": sample})
        refuse_folder_force(force=force)
        reading.refuse_layout("spark", schema)
        named = {"the output": output, "the card": card, "the report": report}
        refuse_same_files({**named, "the parse report": intake.parse_report})
        with steps(5 if report is None else 6) as step, listening(step.share):
            from sfumato.engines.spark import anonymize_folder

            outcome = anonymize_folder(
                Path(table),
                output,
                chosen,
                schema,
                asked,
                card=card,
                report=report,
                master=engine.master,
                naming=naming.build(),
                step=step,
            )
        return _say_outcome(outcome, intake, chosen, output, report, json=json)
    if report is not None and chosen.private:
        raise ParameterError(f"--report compares classes with the rows they hold, which {chosen.algorithm} has none of")
    given = [table, ledger, *roles.files(schema), *chosen.inputs]
    with Staging(force=force, inputs=given) as staging, steps(5 if report else 4) as step:
        outputs = Outputs.place(staging, output, card, report, naming.build())
        step("reading")
        from sfumato.tabular.charge import Charge
        from sfumato.tabular.trial import mark_trial, sample_rows

        original, charge = Charge.read(ledger, table, empty=chosen.private, reading=schema.reading)
        from sfumato.table.packed import PackedTable

        original = PackedTable.of(original)
        tell_guesses(original, schema)
        original = chosen.take_in(original if sample is None else sample_rows(original, sample), schema)
        intake.stage(staging, original.intake)
        step("anonymizing")
        with listening(step.share), Interrupts() as interrupts:
            explained = say_explained(chosen.explain(original, schema, asked), json=json) if explain else {}
            release = _released(chosen, original, schema, asked, charge)
            release = replace(release if sample is None else mark_trial(release), formulas=formulas)
        step("attacking")
        with listening(step.share):
            found = attack(release, original, schema)
        step("writing")
        final = outputs.write(release)
        if outputs.report is not None:
            step("reporting")
            fill(outputs.report, page(original, schema, replace(release, card=final), found))
    say_fallen(found)
    intake.say(original.intake, chosen.fate)
    if output == STDOUT:
        release.write(STDOUT)
    say_what_left(release, output, report, json=json, card=final, read=original.rows, further=explained)
    say_risks(found, quiet=json or output == STDOUT)
    return INTERRUPTED if interrupts.happened else 0


def _say_outcome(
    outcome: FolderRelease, intake: IntakeOptions, chosen: Anonymizer, output: Path, report: Path | None, *, json: bool
) -> int:
    """Print what left by Spark, what fell, and what was not attacked."""
    say_fallen(outcome.findings)
    intake.tell(outcome.intake, chosen.fate)
    say_what_left(outcome, output, report, json=json, card=outcome.card)
    say_risks(outcome.findings, quiet=json)
    say_untried(outcome.findings, quiet=json)
    return 0


def _released(
    chosen: Anonymizer, original: Table, schema: Schema, models: Sequence[Model], charge: Charge | None
) -> Release:
    """Return the release: a private one is paid for before it is drawn, another one is listed before it is written."""
    if charge is None:
        return chosen.anonymize(original, schema, models)
    if chosen.private:
        paid: Any = {"charge": charge}
        return chosen.anonymize(original, schema, models, **paid)
    return charge.list_release(original, chosen.anonymize(original, schema, models), schema)


def _refuse_single(given: Mapping[str, object]) -> None:
    """Refuse what only the single machine does."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{name} needs all rows on one machine; leave it or --engine spark out")
