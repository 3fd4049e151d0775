"""What an audit found, said: one line for each claim, everything as JSON, and a file of evidence to repeat it from."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sfumato.cli.terminal import single_line
from sfumato.core.files import fill

if TYPE_CHECKING:
    from sfumato.release import Finding

EvidenceFile = Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="EVIDENCE")]


def say(findings: Sequence[Finding], *, json: bool) -> int:
    """Print the findings; return the exit code: 1 when a claim is refuted.

    >>> from sfumato.release.finding import NOT_REFUTED, Finding
    >>> say([Finding(claim="k-anonymity with k=3", verdict=NOT_REFUTED, bound=4)], json=False)
    NOT REFUTED: k-anonymity with k=3
    0
    """
    if json:
        from msgspec import to_builtins

        sys.stdout.write(json_text.dumps(to_builtins(findings), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.writelines(line(finding) + "\n" for finding in findings)
    return 1 if any(finding.refuted for finding in findings) else 0


def write_evidence(
    place: Path, findings: Sequence[Finding], audit: str, inputs: Sequence[Path], parameters: Mapping[str, Any]
) -> None:
    """Write what was audited, with the hashes of the files read, how, and what was found."""
    from sfumato.release.finding import evidence_of

    content = evidence_of(findings, audit, inputs, parameters)
    fill(place, json_text.dumps(content, indent=2, ensure_ascii=False) + "\n")


def line(finding: Finding) -> str:
    """Return a finding in one line.

    >>> from sfumato.release.finding import REFUTED, Finding
    >>> line(Finding(claim="k = 3", verdict=REFUTED, evidence={"reason": "a class has 2 rows"}))
    'REFUTED: k = 3; a class has 2 rows'
    """
    found = str(finding.evidence.get("reason") or finding.evidence.get("not audited") or "")
    return single_line(f"{finding.verdict.replace('_', ' ')}: {finding.claim}{'; ' * bool(found)}{found}")
