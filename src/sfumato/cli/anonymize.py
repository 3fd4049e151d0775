"""The command that turns a file into an anonymous file with its card and, if asked, the steward's report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.algorithms import AlgorithmOptions
from sfumato.cli.engine import EngineOptions
from sfumato.cli.options import Flag, Input, ModelOptions, RoleOptions
from sfumato.cli.outputs import STDOUT, Outputs, refuse_mixed_output, say_what_left
from sfumato.cli.progress import INTERRUPTED, Interrupts, steps
from sfumato.core.files import Staging
from sfumato.core.progress import listening
from sfumato.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.models import Model
    from sfumato.release import Release
    from sfumato.schema import Schema
    from sfumato.table import Table
    from sfumato.tabular import Anonymizer, PrivateMondrian, SafePub

CARD_TRIALS = 200  # runs of an algorithm on made-up rows, for the card: a few seconds


def anonymize(
    table: Input,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], allow_leading_hyphen=True, metavar="OUT")],
    roles: RoleOptions = RoleOptions(),
    models: ModelOptions = ModelOptions(),
    algorithm: AlgorithmOptions = AlgorithmOptions(),
    engine: EngineOptions = EngineOptions(),
    card: Path | None = None,
    report: Path | None = None,
    ledger: Path | None = None,
    explain: Flag = False,
    json: Flag = False,
) -> int:
    """Write an anonymous table, its public card and, if asked, the steward's report.

    Identifiers are dropped, quasi-identifiers generalised, sensitive columns kept. Rows are shuffled.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input. With --engine spark, a
            file or folder of Parquet or CSV.
        output: File to write; its ending chooses the format; - is standard output. With --engine spark, a folder of
            Parquet.
        card: Where the card goes; OUT.card.json unless named.
        report: Where the steward's HTML report goes; do not publish it.
        ledger: Budget file that pays first (safepub, private-mondrian); see sfumato budget.
        explain: List all minimal generalisations and their costs (incognito).
        json: Print the card, and beside it what only the steward may know (information_loss).
    """
    refuse_mixed_output(output, card, json=json)
    schema = roles.build()
    asked = [] if algorithm.private and models == ModelOptions() else models.build(schema)
    chosen = algorithm.build_any()
    if engine.spark:
        _refuse_single(algorithm, {"--ledger": ledger, "--explain": explain or None})
        return _on_spark(algorithm.build(), (table, output, card, report), schema, asked, engine.master, json=json)
    _refuse_together(algorithm, report, ledger)
    with Staging() as staging, steps(4 if report or algorithm.private else 3) as step:
        outputs = Outputs.place(staging, output, card, report)
        step("reading")
        from sfumato.table import read

        original = read(table)
        step("anonymizing")
        if explain:
            _explain(chosen, original, schema, asked)
        with listening(step.share), Interrupts() as interrupts:
            release = _released(chosen, original, schema, asked, None if ledger is None else (ledger, table))
        if algorithm.private:
            step("auditing")
            release = _audited(release)
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


def _refuse_together(algorithm: AlgorithmOptions, report: Path | None, ledger: Path | None) -> None:
    """Refuse a report of a private release, and a ledger for one that is not."""
    if report is not None and algorithm.private:
        raise ParameterError(
            f"--report compares classes with the rows they hold, which {algorithm.algorithm} has none of"
        )
    if ledger is not None and not algorithm.private:
        raise ParameterError(f"--ledger pays for differential privacy, which {algorithm.algorithm} does not promise")


def _refuse_single(algorithm: AlgorithmOptions, given: Mapping[str, object]) -> None:
    """Refuse what only the single machine does."""
    if algorithm.private:
        raise ParameterError(f"{algorithm.algorithm} draws its noise on one machine; leave --engine spark out")
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{name} needs all rows on one machine; leave it or --engine spark out")


def _on_spark(
    chosen: Anonymizer,
    files: tuple[Path, Path, Path | None, Path | None],
    schema: Schema,
    models: Sequence[Model],
    master: str | None,
    *,
    json: bool,
) -> int:
    """Do the same on a Spark cluster, from folder to folder."""
    from sfumato.engines.spark import anonymize, read_folder, spark_report, spark_session
    from sfumato.engines.spark.folders import new_folder

    source, output, card, report = files
    if STDOUT in {source, output}:
        raise ParameterError("Spark reads and writes folders; name one instead of -")
    if output.resolve() in {file.resolve() for file in (card, report) if file is not None}:
        raise InputError(f"output '{output}' is named twice; choose another name for one of the two")
    with Staging() as staging, steps(4 if report is None else 5) as step:
        card_file = staging.place(card or output.with_name(f"{output.name}.card.json"))
        report_file = _report_place(staging, report)
        with new_folder(output) as rows:
            step("starting Spark")
            session = spark_session(master)
            step("reading")
            frame = read_folder(session, source)
            step("anonymizing")
            with listening(step.share):
                release = anonymize(frame, chosen, schema, models)
            step("writing")
            final = release.write(rows, output.name)
            card_file.write_text(final.to_json(), encoding="utf-8")
            if report_file is not None:
                step("reporting")
                page = spark_report(frame, schema, replace(release, card=final), released=read_folder(session, rows))
                report_file.write_text(page, encoding="utf-8")
    say_what_left(final, output, report, json=json, steward=release.steward)
    return 0


def _report_place(staging: Staging, report: Path | None) -> Path | None:
    """Return a place for the report, if one is wanted; refused now rather than after hours of work."""
    if report is None:
        return None
    from sfumato.report.charts.svg import refuse_without_matplotlib

    refuse_without_matplotlib()
    return staging.place(report)


def _released(
    chosen: Anonymizer | PrivateMondrian | SafePub,
    table: Table,
    schema: Schema,
    models: Sequence[Model],
    payment: tuple[Path, Path] | None,
) -> Release:
    """Return the release, paid for from a ledger first if there is one."""
    from sfumato.tabular import Charge, PrivateMondrian, SafePub

    if isinstance(chosen, PrivateMondrian | SafePub) and payment is not None:
        return chosen.anonymize(table, schema, models, charge=Charge(*payment))
    return chosen.anonymize(table, schema, models)


def _audited(release: Release) -> Release:
    """Return the release with what attacks on its promise found, run on made-up rows from the card alone."""
    import msgspec

    from sfumato.audit.release.private_tables import private_findings

    findings = private_findings(release.card, CARD_TRIALS, None)
    return replace(release, card=msgspec.structs.replace(release.card, audits=findings))


def _explain(
    chosen: Anonymizer | PrivateMondrian | SafePub, table: Table, schema: Schema, models: Sequence[Model]
) -> None:
    """Print every minimal generalisation, the released one first."""
    from sfumato.tabular import Incognito

    if not isinstance(chosen, Incognito):
        raise ParameterError("--explain lists the minimal generalisations of incognito; add --algorithm incognito")
    for node in chosen.minimal_nodes(table, schema, models):
        levels = ", ".join(f"{name} {level}" for name, level in node.levels.items())
        costs = f"{node.classes} classes, ncp {node.ncp:.4f}, discernibility {node.discernibility:g}"
        sys.stderr.write(f"height {node.height}: {levels} ({costs})\n")
