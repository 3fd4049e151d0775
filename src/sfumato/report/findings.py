"""A chapter of findings: what attacks on published files came to, with the reason each of them gives.

Verdicts are worded as in the auditing literature (Kong et al. 2023): refuted, or not refuted; never proven.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.finding import Finding
from sfumato.report.markup import element, grid, joined
from sfumato.report.page import Chapter, Section
from sfumato.report.words import count, verdict

MOST = 8


def findings_chapter(heading: str, summary: str, attacks: Mapping[str, Sequence[Finding]]) -> Chapter:
    """Return a chapter with one section per attack; of many refutations the first few are shown.

    >>> from sfumato.finding import NOT_REFUTED
    >>> finding = Finding(claim="nobody is exposed", verdict=NOT_REFUTED)
    >>> findings_chapter("Series", "Two releases were attacked.", {"Safe": [finding]}).sections[0].heading
    'Safe'
    """
    return Chapter(heading, element("p", summary, class_="lead"), [_section(*attack) for attack in attacks.items()])


def _section(heading: str, findings: Sequence[Finding]) -> Section:
    rows = [[_reason(finding), verdict(finding)] for finding in findings[:MOST]]
    refuted = sum(finding.refuted for finding in findings)
    lead = f"{count(refuted)} ways were found to expose somebody." if refuted else "No way was found to expose anybody."
    more = f" The first {MOST} are shown." if len(findings) > MOST else ""
    return Section(heading, joined([element("p", lead + more), grid("Findings", ["What was found", "Verdict"], rows)]))


def _reason(finding: Finding) -> str:
    return str(finding.evidence.get("reason", finding.claim))
