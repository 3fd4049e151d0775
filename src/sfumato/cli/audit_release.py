"""The command that attacks a release from its card alone: everything that applies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.options import Flag, Whole
from sfumato.cli.progress import steps
from sfumato.core.files import Staging

TRIALS = 20_000


def release(
    card: Annotated[Path, Parameter(name="CARD")],
    path: Annotated[Path | None, Parameter(name="RELEASE")] = None,
    /,
    *,
    trials: Whole = TRIALS,
    output: EvidenceFile = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Attack a release from its card alone: the file, its measures, its models, its noise.

    Exit code 1 if a claim is refuted; a claim that cannot be attacked says so in one sentence.

    Args:
        card: The public card, as it lies beside the release.
        path: The released file; not needed for a card that stands alone, as that of a mean does.
        trials: How often a named mechanism is run on made-up inputs.
        output: File for the evidence.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the findings as JSON.
    """
    from sfumato.audit import release as attack

    runs = TRIALS if trials is None else trials
    with Staging(force=force, inputs=[card, path]) as staging, steps(1) as step:
        place = None if output is None else staging.place(output)
        step("attacking")
        findings = attack(card, path, trials=runs)
        if place is not None:
            write_evidence(place, findings, "release", [card, *([] if path is None else [path])], {"trials": runs})
    return say(findings, json=json)
