"""What the gate found on a table that is about to leave, for the steward: what falls first, then the three risks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.cli.findings import line
from sfumato.cli.intake import STEWARD
from sfumato.cli.terminal import single_line

if TYPE_CHECKING:
    from sfumato.release import Finding, Release
    from sfumato.schema import Schema
    from sfumato.table import Table


def attack(release: Release, original: Table, schema: Schema) -> list[Finding]:
    """Return what attacks on all released columns found."""
    from sfumato.audit.gate import gate_release

    return gate_release(release, original, schema)


def page(original: Table, schema: Schema, release: Release, found: Sequence[Finding]) -> str:
    """Return the steward's report, headed by what fell."""
    from sfumato.report import table_report

    return table_report(original, schema, release, findings=[*found, *release.card.audits])


def say_fallen(found: Sequence[Finding]) -> None:
    """Print every claim that fell, beside the output: the release is written, but should not leave as it is.

    >>> say_fallen([])
    """
    sys.stderr.writelines(f"sfumato: {line(finding)} {STEWARD}\n" for finding in found if finding.refuted)


def say_untried(found: Sequence[Finding], *, quiet: bool) -> None:
    """Print how many rows were attacked, and each attack that was not made with its reason, for releases on a cluster.

    >>> say_untried([], quiet=False)
    """
    if quiet:
        return
    rows = dict.fromkeys(finding.evidence.get("rows attacked") for finding in found)
    sys.stdout.writelines(f"  rows attacked on the driver {STEWARD}: {told}\n" for told in rows if told)
    untried = [finding for finding in found if "not audited" in finding.evidence]
    sys.stdout.writelines(
        f"  {single_line(finding.claim)} {STEWARD}: {finding.evidence['not audited']}\n" for finding in untried
    )


def say_risks(found: Sequence[Finding], *, quiet: bool) -> None:
    """Print the three risks in a line, unless standard output holds something else.

    >>> say_risks([], quiet=False)
    """
    from sfumato.audit.gate import summary

    if found and not quiet and (told := summary(found)):
        sys.stdout.write(f"  risks by attacks on all columns {STEWARD}: {single_line(told)}\n")
