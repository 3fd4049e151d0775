"""The command that puts candidate releases side by side for the steward, and makes one of them by its name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sfumato import plugins
from sfumato.cli.algorithms import AlgorithmOptions, ModelOptions
from sfumato.cli.anonymize import anonymize
from sfumato.cli.candidate_lines import LEGEND, NO_ROWS, PEOPLE, STEWARD, CandidateLines, json_line
from sfumato.cli.input_options import InputOptions, tell_guesses
from sfumato.cli.intake import IntakeOptions
from sfumato.cli.options import Columns, Flag, LedgerOption, RoleOptions, TableInput, Whole, names
from sfumato.cli.plugin_options import given_lists, list_group
from sfumato.cli.progress import INTERRUPTED, Interrupts, Steps, steps
from sfumato.cli.terminal import single_line
from sfumato.core.files import Staging, fill
from sfumato.core.parameters import Validated
from sfumato.errors import ParameterError
from sfumato.models import Model
from sfumato.tabular.base import Anonymizer
from sfumato.tabular.proposals import ALGORITHMS, Proposal, find_proposal, option_names, propose

if TYPE_CHECKING:
    from sfumato.evaluate import Candidate, Comparison
    from sfumato.schema import Schema
    from sfumato.table import Table

    @dataclass(frozen=True)
    class VariedOptions:
        """What candidates differ in: options of models and algorithms, several values each."""


def _classes() -> dict[str, type[Validated]]:
    """Return every model and algorithm that is offered, whose parameters may be varied."""
    return {**plugins.every("models", Model), **plugins.every("anonymizers", Anonymizer)}


VARIED = option_names(_classes())
if not TYPE_CHECKING:
    VariedOptions = list_group(
        "Parameters",
        "What candidates differ in: several values, separated by commas; a TEXT, which may have commas, is repeated.",
        _classes(),
        VARIED,
    )

MADE_UP_ROWS = 10_000
NOTHING = "no candidate could be made; each row says why"
STOPPED = "interrupted; {done} of {all} candidates were measured"


def compare(
    table: TableInput,
    /,
    *,
    algorithms: Columns = ALGORITHMS,
    roles: RoleOptions = RoleOptions(),
    varied: VariedOptions = VariedOptions(),
    reading: InputOptions = InputOptions(),
    intake: IntakeOptions = IntakeOptions(),
    target: str | None = None,
    regression: Annotated[tuple[str, ...], Parameter(negative=(), metavar="MODEL", show_default=False)] = (),
    made_up_rows: Whole = MADE_UP_ROWS,
    html: Annotated[Path | None, Parameter(metavar="PAGE")] = None,
    release: Annotated[str | None, Parameter(metavar="NAME")] = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="OUT")] = None,
    ledger: LedgerOption = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Compare candidate releases: algorithms and parameters in one table of loss and risk; nothing is released.

    What is printed is computed from the original rows: do not publish it. Lines come as candidates finish; Ctrl-C keeps
    those that are there. A candidate that cannot be made has a line that says why. Private algorithms are tried on
    made-up rows alone.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE.
        algorithms: Algorithms to try, separated by commas; each with the parameters that it takes.
        target: Column that a classifier learns from each candidate, tested on the original rows; needs scikit-learn.
            Local recoding is also tried with this target.
        regression: Model to fit on the table and on each candidate, as in "income ~ age + sex"; may be repeated.
        made_up_rows: How many rows to make up for private algorithms: a number that is public.
        html: HTML file for the comparison, with a picture of risk and loss; do not publish it.
        release: Make the candidate of this name, as sfumato anonymize does with its parameters; needs -o.
        output: File to write the release to, beside its card.
        ledger: Budget (sfumato budget) that pays for a private release, or lists another one.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print a JSON object for each candidate, one a line; with --release, the card.
    """
    given = given_lists(varied, _classes())
    schema = intake.declared(reading.under(roles.build()))
    proposals = propose(names(algorithms), given, schema, target)
    if release is not None:
        chosen = find_proposal(release, proposals)
        _refuse_unfit(chosen, output, ledger, html)
        sys.stderr.write(f"sfumato: {single_line(chosen.name)} is {single_line(chosen.command)}\n")
        models, algorithm = _as_options(chosen)
        written: Any = {"output": output, "ledger": ledger, "force": force, "json": json}
        return anonymize(
            table, roles=roles, models=models, algorithm=algorithm, reading=reading, intake=intake, **written
        )
    if output is not None or ledger is not None:
        raise ParameterError("-o and --ledger belong to --release NAME; a comparison alone releases nothing")
    page = None
    with Staging(force=force, inputs=[table, *roles.files(schema)]) as staging:
        if html is not None:
            page = _place(staging, html)
        shown = _Shown(json=json)
        with steps(1 + len(proposals)) as step, Interrupts() as interrupts:
            step("reading")
            private = all(proposal.anonymizer.private for proposal in proposals)
            original = None if private else _read(table, schema, intake, staging)
            comparison = _compare_proposals(original, schema, proposals, made_up_rows, target, regression)
            shown.take_all(comparison, step, interrupts)
        remarks = [] if shown.interrupted else comparison.remarks
        if page is not None:
            fill(page, _page(shown.candidates, comparison, remarks))
    shown.end(html, remarks)
    if shown.interrupted:
        return INTERRUPTED
    return 0 if any(candidate.made for candidate in shown.candidates) else 2


class _Shown:
    """Prints candidates as they come, and keeps them for the page."""

    def __init__(self, *, json: bool) -> None:
        self.candidates: list[Candidate] = []
        self.interrupted = False
        self._json, self._all = json, 0
        self._legend: tuple[str, ...] = LEGEND
        self._terminal, self._output = sys.stdout.isatty(), sys.stdout

    def take_all(self, comparison: Comparison, step: Steps, interrupts: Interrupts) -> None:
        """Print every candidate; Ctrl-C ends it, and what is there stays."""
        self._all = len(comparison)
        self._legend = (*LEGEND, PEOPLE) if comparison.counts_people else LEGEND
        lines = CandidateLines.of(comparison)
        if not self._json:
            self._print(NO_ROWS if comparison.private else STEWARD)
            self._print(lines.header)
        try:
            for name in comparison.names:
                step(name)
                candidate = next(comparison)
                self.candidates.append(candidate)
                self._print(json_line(candidate) if self._json else lines.line(candidate))
                if interrupts.happened:  # a search heard of it first, and gave the best that it had
                    break
        except KeyboardInterrupt:
            pass
        self.interrupted = interrupts.happened
        if self.interrupted and not self.candidates:
            raise KeyboardInterrupt

    def end(self, html: Path | None, remarks: Sequence[str]) -> None:
        """Print which candidates are worth a look, and what the columns mean."""
        from sfumato.evaluate import front

        best = [candidate.name for candidate in front(self.candidates)]
        if not self._json:
            lines = [f"no other candidate has less loss and no more risk: {', '.join(best)}"] if best else []
            page = [] if html is None else [f"page (do not publish): {html}"]
            for text in (*lines, *self._legend, *remarks, *page):
                self._print(single_line(text))
        if self.interrupted:
            sys.stderr.write(f"sfumato: {STOPPED.format(done=len(self.candidates), all=self._all)}\n")
        elif not any(candidate.made for candidate in self.candidates):
            sys.stderr.write(f"sfumato: {NOTHING}\n")

    def _print(self, text: str) -> None:
        """Print a line at once: above the bar on a terminal, else to where the output went before there was a bar."""
        stream = sys.stdout if self._terminal else self._output
        stream.write(f"{text}\n")
        stream.flush()


def _place(staging: Staging, html: Path) -> Path:
    """Return where the page is written, refused before the work if it cannot be drawn."""
    from sfumato.report.charts.svg import refuse_without_matplotlib

    refuse_without_matplotlib()
    return staging.place(html, secret=True)


def _read(table: Path | str, schema: Schema, intake: IntakeOptions, staging: Staging) -> Table:
    """Return the rows, with what became of their cells told to the steward."""
    from sfumato.table import read
    from sfumato.table.packed import PackedTable
    from sfumato.table.parse_report import IN_TABLES, take_in

    original: Table = PackedTable.of(read(table, reading=schema.reading))
    tell_guesses(original, schema)
    original = take_in(original, schema)
    intake.stage(staging, original.intake)
    intake.say(original.intake, IN_TABLES)
    return original


def _compare_proposals(
    table: Table | None,
    schema: Schema,
    proposals: Sequence[Proposal],
    made_up_rows: int | None,
    target: str | None,
    regressions: Sequence[str],
) -> Comparison:
    from sfumato.evaluate import Comparison

    further: Any = {"target": target, "regressions": regressions, "made_up_rows": made_up_rows or 0}
    return Comparison.of(table, schema, proposals, **further)


def _page(candidates: Sequence[Candidate], comparison: Comparison, remarks: Sequence[str]) -> str:
    from sfumato.report import comparison_report

    return comparison_report(candidates, total=len(comparison), raw=not comparison.private, remarks=remarks)


def _as_options(chosen: Proposal) -> tuple[ModelOptions, AlgorithmOptions]:
    """Return the options of `anonymize` that make a candidate."""
    of_models = option_names(plugins.every("models", Model))
    models = {name: value for name, value in chosen.options.items() if name in of_models}
    others: Any = {name: value for name, value in chosen.options.items() if name not in of_models}
    return ModelOptions(**models), AlgorithmOptions(**others)


def _refuse_unfit(chosen: Proposal, output: Path | None, ledger: Path | str | None, html: Path | None) -> None:
    """Refuse a release without a place, and a private one that nobody pays for."""
    if output is None:
        raise ParameterError("--release needs a file for the release; name one with -o")
    if html is not None:
        raise ParameterError("--html shows a comparison and --release makes one candidate; leave one of them out")
    if chosen.anonymizer.private and ledger is None:
        raise ParameterError(
            f"candidate '{chosen.name}' is differentially private and would read the real rows; name the ledger that "
            "pays with --ledger"
        )
