"""The command that runs another command twice, on neighbouring rows, forced to the same random outcomes."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.options import Flag
from sfumato.cli.progress import steps
from sfumato.core.files import Staging


def twice(
    *command: Annotated[str, Parameter(name="COMMAND", allow_leading_hyphen=True)],
    output: EvidenceFile = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Run a command twice on neighbouring rows, forced to the same random outcomes; exit code 1 if refuted.

    Write the command behind two hyphens: sfumato audit twice -- stream in.csv -o out.csv --column cost --bounds 0 100.
    The neighbours come from the command's own CSV file (its first 400 rows) and from the unit on its card. Refuted when
    the draws tell more than the card promises, or when anything public differs that was not drawn: rows, messages, the
    exit code, files. Nothing is written but the evidence, no ledger is charged. Not refuted is not proven.

    Args:
        command: The command to attack: stream, anonymize, query, local perturb or local mean, with all its options.
        output: File for the evidence, which names rows: the steward's, never published.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the finding as JSON.
    """
    from sfumato.audit.twin.command import command_path
    from sfumato.cli.main import run

    with Staging(force=force) as staging, steps(1) as step:
        place = None if output is None else staging.place(output, secret=True)
        step("running twice:")
        finding = command_path(run, command).attack()
        if place is not None:
            write_evidence(place, [finding], "twice", [], {"command": list(command)})
    return say([finding], json=json)
