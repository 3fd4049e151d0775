"""The commands of the local door: turn a column into reports as devices would, and reports into counts or a mean."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, Token

from sfumato import plugins
from sfumato.cli.engine import EngineOptions, refuse_folder_force
from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.intake import SilentOptions
from sfumato.cli.naming_options import NamingOptions
from sfumato.cli.options import Flag, FormulaChoice, Input, LedgerOption
from sfumato.cli.outputs import STDOUT, Outputs, refuse_mixed_output
from sfumato.cli.progress import steps
from sfumato.core.files import Staging, fill
from sfumato.core.progress import listening
from sfumato.errors import ParameterError


def _keep_text(_hint: object, tokens: Sequence[Token]) -> str:
    """Return what was typed: an alias is known to its class alone, which is loaded when it is used."""
    return tokens[0].value


def _name_choice(kind: str) -> Any:
    """Return the choice among the names of a kind of classes, and auto; no class is loaded."""
    offered = ("auto", *plugins.names(kind))
    return Annotated[Literal[offered], Parameter(converter=_keep_text)]


if TYPE_CHECKING:
    from sfumato.local.charge import CollectionCharge

    Protocol = str
    MeanProtocol = str
else:
    Protocol, MeanProtocol = _name_choice("protocols"), _name_choice("means")
Output = Annotated[Path, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)]
Bounds = Annotated[tuple[float, float], Parameter(allow_leading_hyphen=True, metavar="LOW HIGH", negative="")]


def perturb(
    table: Input,
    /,
    *,
    output: Output,
    column: str,
    epsilon: float,
    domain: Path,
    protocol: Protocol = "auto",
    reading: InputOptions = InputOptions(),
    intake: SilentOptions = SilentOptions(),
    card: Path | None = None,
    force: Flag = False,
    naming: NamingOptions = NamingOptions(),
    json: Flag = False,
    engine: EngineOptions = EngineOptions(),
) -> int:
    """Write a report for every row, drawn as the row's own device would draw it, and a card.

    A row whose value is missing or not in the domain has no report: the steward is told how many there are, and more
    than --max-failed of them are refused.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input. On Spark, also a
            folder.
        output: Report file to write: JSON lines if it ends in .jsonl, packed otherwise; .gz after it compresses. On
            Spark, a folder of JSON lines.
        column: The column to report.
        epsilon: What one report may cost.
        domain: Text file with the possible values, one a line; it is public and fixed beforehand.
        protocol: How a value becomes a report; auto takes the lowest predicted variance.
        card: Where the card goes; REPORTS.card.json unless named.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the card.
    """
    from sfumato.local.domain import read_domain

    intake.check()
    asked: Any = {"column": column, "epsilon": epsilon, "protocol": protocol, "card": card, "naming": naming.build()}
    asked |= {"reading": reading.reading(), "max_failed": intake.max_failed}
    with steps(1) as step, listening(step.share):
        step("reporting")
        if engine.spark:
            from sfumato.engines.spark.local import perturb_rows, read_rows

            refuse_folder_force(force=force)
            reading.refuse_layout("spark")
            made = perturb_rows(read_rows(table, engine.master), output, domain=read_domain(domain), **asked)
        else:
            from sfumato.local.columns import write_perturbed
            from sfumato.schema import Schema

            rows = read_told(table, reading, Schema())
            kept: Any = {"force": force, "keep": [table, domain]}
            made = write_perturbed(rows, output, domain=read_domain(domain), **asked, **kept)
    intake.tell_silent(made.others)
    chosen, final = made.protocol, made.card
    reason = f"\n  {chosen.reason}" if chosen.reason else ""
    lines = f"{final.released.rows} reports by {chosen.name} written to {output}, ε={chosen.spent:.6g} each{reason}\n"
    sys.stdout.write(final.to_json() if json else lines)
    return 0


def estimate(
    *reports: Annotated[Path, Parameter(name="REPORTS", allow_leading_hyphen=True)],
    output: Output,
    raw: Flag = False,
    card: Path | None = None,
    naming: NamingOptions = NamingOptions(),
    formulas: FormulaChoice = "neutralise",
    report: Path | None = None,
    ledger: LedgerOption = None,
    persons: str | None = None,
    force: Flag = False,
    json: Flag = False,
    engine: EngineOptions = EngineOptions(),
) -> int:
    """Write the estimated count of every value with its variance and 95 % interval, and a card.

    Files of one protocol and one domain add up. A report that does not belong is rejected and counted.

    Args:
        reports: Report files, also .gz; - is standard input. On Spark, also folders of them.
        output: File for value, count, variance, low, high; its ending chooses the format; - is standard output.
        raw: Leave the counts unbiased: some are negative, and they do not add up to the reports.
        card: Where the card goes; OUT.card.json unless named.
        formulas: What becomes of cells that a spreadsheet would run as formulas, in text files: neutralise puts a '
            before them, keep leaves them.
        report: Where the steward's HTML report goes.
        ledger: Budget (sfumato budget) about the same people that pays for the collection, once.
        persons: ID:REPORTS, for a ledger that protects persons: a person (column ID) sends at most REPORTS reports.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the card.
    """
    refuse_mixed_output(output, card, json=json)
    charge = _charge(ledger, persons)
    with Staging(force=force, inputs=[*reports, ledger]) as staging, steps(2) as step, listening(step.share):
        outputs = Outputs.place(staging, output, card, report, naming.build())
        step("counting")
        if engine.spark:
            from sfumato.engines.spark.local import tally_folders

            tally = tally_folders(reports, master=engine.master)
        else:
            from sfumato.local.collector.tally import tally_report_files

            tally = tally_report_files(reports)
        step("estimating")
        found = tally.protocol.estimate(tally, consistent=not raw)
        release = replace(found.release(), formulas=formulas)
        if charge is not None:
            charge.pay_tally(tally, [path.name for path in reports])
            release = replace(release, card=charge.on_card(release.card))
        final = outputs.write(release)
        if outputs.report is not None:
            from sfumato.report.chapters.local import local_report

            fill(outputs.report, local_report(found))
    if output == STDOUT:
        release.write(STDOUT)
    lines = [f"{len(found.values)} counts from {found.users} reports by {found.protocol.name} written to {output}"]
    lines += [f"warning: {warning}" for warning in final.warnings]
    stream = sys.stderr if output == STDOUT else sys.stdout
    stream.write(final.to_json() if json else "\n  ".join(lines) + "\n")
    return 0


def mean(
    table: Input,
    /,
    *,
    column: str,
    bounds: Bounds,
    epsilon: float,
    protocol: MeanProtocol = "auto",
    raw: Flag = False,
    reading: InputOptions = InputOptions(),
    intake: SilentOptions = SilentOptions(),
    card: Path | None = None,
    naming: NamingOptions = NamingOptions(),
    ledger: LedgerOption = None,
    persons: str | None = None,
    force: Flag = False,
    json: Flag = False,
    engine: EngineOptions = EngineOptions(),
) -> int:
    """Estimate the mean of a column from one report of every row, drawn as its own device would draw it.

    A row without a number within the bounds has no report: the steward is told how many there are, and more than
    --max-failed of them are refused.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input. On Spark, also a
            folder.
        column: The column of numbers.
        bounds: The smallest and the largest possible value, public and fixed beforehand.
        epsilon: What one report may cost.
        protocol: How a number becomes a report; auto takes the lowest worst-case variance.
        raw: Leave the mean unbiased: it can lie outside the bounds.
        card: Where the card goes, if anywhere.
        ledger: Budget about the same people that pays first; the same question again has the same answer, free.
        persons: ID:REPORTS, for a ledger that protects persons: a person (column ID) has at most REPORTS rows.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the card, which has the mean among its measures.
    """
    from sfumato.release.statement import CardFiles

    intake.check()
    asked: Any = {"column": column, "bounds": bounds, "epsilon": epsilon, "protocol": protocol, "consistent": not raw}
    asked |= {"reading": reading.reading(), "max_failed": intake.max_failed}
    charge = _charge(ledger, persons)
    if charge is not None and engine.spark:
        raise ParameterError("--ledger needs all rows on one machine here; leave it or --engine spark out")
    with Staging(force=force, inputs=[table, ledger]) as staging, steps(1) as step:
        files, names = None if card is None else CardFiles.place(staging, card), naming.build()
        step("estimating")
        if engine.spark:
            from sfumato.engines.spark.local import mean_of_rows, read_rows

            reading.refuse_layout("spark")
            made = mean_of_rows(read_rows(table, engine.master), **asked)
        else:
            from sfumato.local.columns import estimate_mean
            from sfumato.schema import Schema

            held = read_told(table, reading, Schema()) if charge is None else table
            made = estimate_mean(held, **asked, charge=charge)
        final = names.name(made.card)
        if files is not None:
            files.write(final)
    intake.tell_silent(made.others)
    found, chosen = made.estimate, made.protocol
    words = f"mean of {column}: {found.mean:.6g}, 95 % interval {found.low:.6g} to {found.high:.6g}"
    picked = " (auto: lowest worst-case variance)" if protocol == "auto" else ""
    lines = f"{words}, from {found.users} reports by {chosen.name}{picked}, ε={chosen.spent:.6g} each\n"
    lines += "".join(f"  warning: {warning}\n" for warning in final.warnings)
    sys.stdout.write(final.to_json() if json else lines)
    return 0


def _charge(ledger: Path | str | None, persons: str | None) -> CollectionCharge | None:
    """Return who pays, if a ledger is named."""
    if ledger is None:
        if persons is not None:
            raise ParameterError(
                "--persons says whom a ledger protects; name the ledger with --ledger, or leave it out"
            )
        return None
    from sfumato.local.charge import CollectionCharge

    return CollectionCharge.of(ledger, persons)
