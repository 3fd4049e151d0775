"""The command that measures what a release keeps of its original, for the steward alone."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.intake import IntakeOptions
from sfumato.cli.options import Flag, RoleOptions, Whole
from sfumato.cli.progress import steps
from sfumato.cli.terminal import single_line
from sfumato.core.files import Staging, fill

if TYPE_CHECKING:
    from sfumato.evaluate import ColumnDistance, Learning, PairDistance, Regression, Scores

SHOWN = 10  # pairs that are printed
NOTE = "computed from the original rows; do not publish"


def utility(
    release: Annotated[Path, Parameter(name="RELEASE", allow_leading_hyphen=True)],
    /,
    *,
    original: Annotated[Path, Parameter(metavar="FILE", allow_leading_hyphen=True)],
    roles: RoleOptions = RoleOptions(),
    target: str | None = None,
    regression: Annotated[tuple[str, ...], Parameter(negative=(), metavar="MODEL", show_default=False)] = (),
    folds: Whole = 5,
    seed: Whole = 0,
    report: Path | None = None,
    reading: InputOptions = InputOptions(),
    intake: IntakeOptions = IntakeOptions(),
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Measure what a release keeps of its original: columns, pairs, classifiers and regressions; for the steward.

    Columns are given as to `anonymize`. Whatever is printed is computed from the original rows: do not publish it.

    Args:
        release: The released file; cells may be values, ranges, sets, labels, masked or *.
        original: The file that the release was made from.
        target: Column that classifiers learn from the release and are tested on in the original; needs scikit-learn.
        regression: Model to fit on both files, as in "income ~ age + sex"; may be repeated.
        folds: Parts of the original that classifiers are tested on one by one.
        seed: Draws the folds and what boosting draws.
        report: Where an HTML page with all of it goes; do not publish it.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print everything as JSON.
    """
    from sfumato.evaluate import column_distances, learning, pair_distances
    from sfumato.evaluate import regression as fit
    from sfumato.evaluate.classifiers import refuse_missing_library
    from sfumato.evaluate.formula import Formula
    from sfumato.report import utility_report
    from sfumato.table.parse_report import IN_TABLES, take_in

    schema = intake.declared(reading.under(roles.build()))
    models = [str(Formula.parse(text)) for text in regression]
    if target is not None:
        refuse_missing_library()
    with Staging(force=force, inputs=[release, original, *roles.files(schema)]) as staging, steps(3) as step:
        page = None if report is None else staging.place(report, secret=True)
        step("reading")
        sides = take_in(read_told(original, reading, schema), schema), schema, read_told(release, reading)
        intake.stage(staging, sides[0].intake)
        step("comparing")
        distances, pairs = column_distances(*sides), pair_distances(*sides)
        regressions = [fit(*sides, model) for model in models]
        step("learning")
        parts = 5 if folds is None else folds
        learnt = None if target is None else learning(*sides, target, folds=parts, seed=seed or 0)
        if page is not None:
            fill(page, utility_report(distances, pairs, learnt, regressions, about=release.name))
    intake.say(sides[0].intake, IN_TABLES)
    say = _as_json if json else _as_text
    sys.stdout.write(say(distances, pairs, learnt, regressions))
    return 0


def _as_json(
    distances: Mapping[str, ColumnDistance],
    pairs: Sequence[PairDistance],
    learnt: Learning | None,
    regressions: Sequence[Regression],
) -> str:
    from msgspec import to_builtins

    found = {
        "note": NOTE,
        "columns": to_builtins(distances),
        "pairs": to_builtins(pairs),
        "learning": to_builtins(learnt),
        "regressions": [each.as_json() for each in regressions],
    }
    return json_text.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _as_text(
    distances: Mapping[str, ColumnDistance],
    pairs: Sequence[PairDistance],
    learnt: Learning | None,
    regressions: Sequence[Regression],
) -> str:
    lines = [f"for the steward: {NOTE}", "column: total variation, Hellinger, moved"]
    for name, each in distances.items():
        moved = (
            "" if each.wasserstein is None else f", {each.wasserstein:.4g} ({each.wasserstein_share:.2%} of its scale)"
        )
        lines.append(f"  {name}: {each.total_variation:.4f}, {each.hellinger:.4f}{moved}")
    if pairs:
        lines.append("pairs that changed most, before -> after: Cramér's V, mutual information in bits, correlation")
    for pair in pairs[:SHOWN]:
        ties = [each for each in (pair.cramers_v, pair.information, pair.correlation) if each is not None]
        shown = ", ".join(f"{before:.3f} -> {after:.3f}" for before, after in ties)
        lines.append(f"  {pair.first}, {pair.second}: {shown}")
    lines += [] if learnt is None else _learning_lines(learnt)
    lines += [line for each in regressions for line in _regression_lines(each)]
    return "\n".join(map(single_line, lines)) + "\n"


def _learning_lines(found: Learning) -> list[str]:
    rows = f"{found.rows_trained} released rows to learn from, {found.rows_left_out} say nothing of the target"
    lines = [
        f"classifiers of {found.target}: {rows}; {found.folds} folds, seed {found.seed}",
        f"  always the majority: {_scores(found.majority)}",
    ]
    for name, each in found.classifiers.items():
        lines.append(f"  {name}, trained on the release: {_scores(*each.released)}")
        lines.append(f"  {name}, trained on originals: {_scores(*each.original)}")
        if each.seen is not None:
            lines.append(f"  {name}, tested on rows it has seen: {_scores(each.seen)}")
    lines.append(
        "  the release was made from the tested rows, so its scores are too good; those of seen rows hint how much"
    )
    return lines


def _scores(mean: Scores, spread: Scores | None = None) -> str:
    names = {"accuracy": "accuracy", "balanced": "balanced_accuracy", "AUC": "auc", "Brier": "brier"}
    return ", ".join(
        f"{label} {getattr(mean, name):.4f}" + ("" if spread is None else f" ± {getattr(spread, name):.4f}")
        for label, name in names.items()
    )


def _regression_lines(found: Regression) -> list[str]:
    what = found.method if found.modelled is None else f"{found.method}, probability of {found.modelled}"
    overlap = "none" if found.mean_overlap is None else f"{found.mean_overlap:.3f}"
    rows = f"{found.rows_original} original and {found.rows_released} released rows"
    lines = [f"{found.formula} ({what}; {rows}): mean overlap of intervals {overlap}"]
    lines += [f"  {name} is compared with {word}" for name, word in found.references.items()]
    for each in found.coefficients:
        sides = ["cannot be told" if side is None else f"{side.value:.4g} ± {side.error:.2g}" for side in each.sides]
        overlap = "" if each.overlap is None else f", overlap {each.overlap:.3f}"
        lines.append(f"  {each.name}: {sides[0]} -> {sides[1]}{overlap}")
    return lines
