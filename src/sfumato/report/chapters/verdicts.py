"""Verdicts a reader can tell apart without colour, and the table of claims that were attacked.

A claim is refuted or it is not; it is never proven by a test (Kong et al. 2023), and what was not tried is said so.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.release import Finding
from sfumato.report.page.markup import Markup, element, grid, joined
from sfumato.report.page.words import count, shortened

MOST = 24
NOTE = "Not refuted means that the attempt failed, never that a claim is proven."
NOBODY_TRIED = "No attack was run on this release."
STOOD, FELL, UNTRIED = ("stood", "✓ NOT REFUTED"), ("fell", "✗ REFUTED"), ("untried", "– NOT ATTACKED")


def attacked(finding: Finding) -> bool:
    """Return whether a claim was really put to the test.

    >>> attacked(Finding(claim="k", verdict="NOT_REFUTED", evidence={"not audited": "no file"}))
    False
    """
    return finding.refuted or "not audited" not in finding.evidence


def badge(finding: Finding) -> Markup:
    """Return a finding's verdict with a sign and a frame of its own.

    >>> badge(Finding(claim="k", verdict="REFUTED"))
    '<span class="badge fell">✗ REFUTED</span>'
    """
    return _badge(FELL if finding.refuted else STOOD if attacked(finding) else UNTRIED)


def standing(findings: Sequence[Finding]) -> Markup:
    """Return one verdict over all claims of a release, with how many there were.

    >>> standing([Finding(claim="k", verdict="NOT_REFUTED")])
    '<span class="badge stood">✓ NOT REFUTED</span> 1 claim attacked'
    """
    tried = [finding for finding in findings if attacked(finding)]
    fallen = sum(finding.refuted for finding in tried)
    claims = f"{count(len(tried))} claim{'s' * (len(tried) != 1)}"
    if not tried:
        return _badge(UNTRIED)
    if fallen:
        return joined([_badge(FELL), f" {count(fallen)} of {claims} attacked"])
    return joined([_badge(STOOD), f" {claims} attacked"])


def _badge(form: tuple[str, str]) -> Markup:
    kind, words = form
    return element("span", words, class_=f"badge {kind}")


def found(findings: Sequence[Finding], caption: str = "Claims that were attacked, and what was found") -> Markup:
    """Return every claim with how far the attack came, why, and the verdict.

    >>> "No attack was run" in found([])
    True
    """
    if not findings:
        return element("p", NOBODY_TRIED)
    rows = [[_claim(finding), _reached(finding), badge(finding)] for finding in findings[:MOST]]
    more = f" The first {MOST} of {count(len(findings))} are shown." if len(findings) > MOST else ""
    return joined([grid(caption, ["Claim", "Reached", "Verdict"], rows), element("p", NOTE + more, class_="note")])


def _claim(finding: Finding) -> Markup:
    reason = finding.evidence.get("reason") or finding.evidence.get("not audited")
    why = element("small", shortened(str(reason))) if reason else Markup()
    return joined([finding.claim, why])


def _reached(finding: Finding) -> str:
    return "" if finding.bound is None else f"{finding.bound:.4g}"
