"""The command that looks for a question whose time tells of somebody's rows."""

from __future__ import annotations

import secrets
from typing import Any

from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.options import MOST_RUNS, Flag, Whole, bounded
from sfumato.cli.progress import steps
from sfumato.core.files import Staging
from sfumato.core.progress import listening


def time(
    *,
    deadline: float = 0.5,
    runs: Whole = 50,
    rows: Whole = 2000,
    confidence: float = 0.999,
    seed: Whole = None,
    output: EvidenceFile = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Look for a question whose time tells whether somebody's rows are there; exit code 1 if one is found.

    Nasty questions are asked about made-up neighbouring tables, in pairs and in random order, and the times are
    compared. Nothing of yours is read. Not refuted is not proven: another machine, engine or question may tell more.

    Args:
        deadline: The deadline that the made-up ledgers declare, in seconds; 0 shows what time tells without one.
        runs: Pairs of runs for each question.
        rows: Rows of the made-up tables.
        confidence: How sure a refutation is, over all questions together.
        seed: Repeats the order of the runs.
        output: File for the evidence.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the findings as JSON.
    """
    pairs, size = bounded(runs, "--runs", MOST_RUNS), bounded(rows, "--rows", MOST_RUNS)
    number = secrets.randbits(32) if seed is None else seed
    with Staging(force=force) as staging, steps(1) as step, listening(step.share):
        place = None if output is None else staging.place(output, secret=True)
        step("audit:")
        from sfumato.audit.time_questions import audit_sessions
        from sfumato.random import SeededSource

        asked: dict[str, Any] = {"deadline": deadline, "runs": pairs, "rows": size, "confidence": confidence}
        findings = audit_sessions(**asked, rng=SeededSource(number))
        if place is not None:
            write_evidence(place, findings, "time", [], {**asked, "seed": number})
    return say(findings, json=json)
