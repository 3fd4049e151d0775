"""The command that attacks files of local reports: what do they tell about their devices?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.options import Flag, Whole, bounded
from sfumato.cli.progress import steps
from sfumato.core.files import Staging
from sfumato.core.progress import listening

TRIALS = 200_000


def local(
    *reports: Annotated[Path, Parameter(name="REPORTS")],
    trials: Whole = TRIALS,
    output: EvidenceFile = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Attack files of local reports: the header's ε, the perturbing step, and a guess at every value.

    The guessing is done on reports of made-up values, drawn as devices draw them. Exit code 1 if a claim is refuted.

    Args:
        reports: Report files, as `sfumato local perturb` writes them.
        trials: How many reports of made-up values are drawn for each attack.
        output: File for the evidence.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the findings as JSON.
    """
    from sfumato.audit.local import local_files

    drawn = TRIALS if trials is None else bounded(trials, "--trials")
    with Staging(force=force, inputs=reports) as staging, steps(1) as step, listening(step.share):
        place = None if output is None else staging.place(output, secret=True)
        step("attacking")
        findings = local_files(reports, trials=drawn)
        if place is not None:
            write_evidence(place, findings, "local", reports, {"trials": drawn})
    return say(findings, json=json)
