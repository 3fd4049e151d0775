"""Verdicts of attacks, and the opening of a report: what was published, with which promise, and what attacks found.

A claim is refuted or it is not; a test never proves it (Kong et al. 2023), and a claim that was not attacked says so. A
reader gets the whole before the parts (Shneiderman 1996: overview first, details on demand).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.release import Finding
from sfumato.report.page.markup import Markup, element, grid, join, tiles
from sfumato.report.page.words import count, shorten_sets

MOST = 24
NOTE = "Not refuted means that the attack failed. It does not prove the claim."
NOBODY_TRIED = "No attack was run on this release."
STOOD, FELL, UNTRIED = ("stood", "✓ NOT REFUTED"), ("fell", "✗ REFUTED"), ("untried", "– NOT ATTACKED")


def was_attacked(finding: Finding) -> bool:
    """Return whether a claim was really attacked.

    >>> was_attacked(Finding(claim="k", verdict="NOT_REFUTED", evidence={"not audited": "no file"}))
    False
    """
    return finding.refuted or "not audited" not in finding.evidence


def badge(finding: Finding) -> Markup:
    """Return a finding's verdict with its own sign and frame.

    >>> badge(Finding(claim="k", verdict="REFUTED"))
    '<span class="badge fell">✗ REFUTED</span>'
    """
    return _badge(FELL if finding.refuted else STOOD if was_attacked(finding) else UNTRIED)


def overall_verdict(findings: Sequence[Finding]) -> Markup:
    """Return one verdict over all claims of a release, with how many there were.

    >>> overall_verdict([Finding(claim="k", verdict="NOT_REFUTED")])
    '<span class="badge stood">✓ NOT REFUTED</span> 1 claim attacked'
    """
    tried = [finding for finding in findings if was_attacked(finding)]
    fallen = sum(finding.refuted for finding in tried)
    claims = f"{count(len(tried))} claim{'s' * (len(tried) != 1)}"
    if not tried:
        return _badge(UNTRIED)
    if fallen:
        return join([_badge(FELL), f" {count(fallen)} of {claims} attacked"])
    return join([_badge(STOOD), f" {claims} attacked"])


def _badge(form: tuple[str, str]) -> Markup:
    kind, words = form
    return element("span", words, class_=f"badge {kind}")


def claims_table(findings: Sequence[Finding], caption: str = "Claims that were attacked, and what was found") -> Markup:
    """Return every claim with how far the attack came, why, and the verdict.

    >>> "No attack was run" in claims_table([])
    True
    """
    if not findings:
        return element("p", NOBODY_TRIED)
    rows = [[_claim(finding), _bound(finding), badge(finding)] for finding in findings[:MOST]]
    more = f" The first {MOST} of {count(len(findings))} are shown." if len(findings) > MOST else ""
    return join([grid(caption, ["Claim", "Bound", "Verdict"], rows), element("p", NOTE + more, class_="note")])


def _claim(finding: Finding) -> Markup:
    reason = finding.evidence.get("reason") or finding.evidence.get("not audited")
    why = element("small", shorten_sets(str(reason))) if reason else Markup()
    return join([finding.claim, why])


def _bound(finding: Finding) -> str:
    return "" if finding.bound is None else f"{finding.bound:.4g}"


@dataclass(frozen=True)
class Gist:
    """One release, or several of one kind, in a line: what was published, its promise, and what attacks found.

    A gist that is not `published` is about something that was made and attacked only for comparison.

    >>> Gist("table", "2,000 rows", "k-anonymity 10").published
    True
    """

    door: str
    left: str
    promise: str
    findings: Sequence[Finding] = ()
    published: bool = True
    releases: int = 1


@dataclass(frozen=True)
class OverviewEntry:
    """A chapter as the opening lists it: its heading, its anchor, and its releases.

    >>> OverviewEntry("Visits", "visits-1", []).anchor
    'visits-1'
    """

    heading: str
    anchor: str
    gists: Sequence[Gist]


def overview(lines: Sequence[OverviewEntry]) -> Markup:
    """Return the strip of totals and a card for each chapter about releases.

    >>> line = OverviewEntry("Visits", "visits-1", [Gist("table", "2,000 rows", "k-anonymity 10")])
    >>> "Published by the table door" in overview([line])
    True
    """
    cards = [_card(line) for line in lines if line.gists]
    return join([_strip([gist for line in lines for gist in line.gists]), element("ul", *cards, class_="doors")])


def _strip(gists: Sequence[Gist]) -> Markup:
    left = [gist for gist in gists if gist.published]
    kept = [gist for gist in gists if not gist.published]
    doors = dict.fromkeys(gist.door for gist in left)
    fallen, tried = _tally(left)
    figures = {
        "Releases": count(sum(gist.releases for gist in left)),
        "Doors": ", ".join(doors) or "none",
        "Claims refuted": f"{count(fallen)} of {count(tried)}",
    }
    if kept:
        fallen, tried = _tally(kept)
        figures["Claims refuted, not published"] = f"{count(fallen)} of {count(tried)}"
    return tiles(figures)


def _tally(gists: Sequence[Gist]) -> tuple[int, int]:
    tried = [finding for gist in gists for finding in gist.findings if was_attacked(finding)]
    return sum(finding.refuted for finding in tried), len(tried)


def _card(line: OverviewEntry) -> Markup:
    title = element("h3", element("a", line.heading, href=f"#{line.anchor}"))
    published_first = sorted(line.gists, key=lambda gist: not gist.published)
    return element("li", title, *(_gist(gist) for gist in published_first))


def _gist(gist: Gist) -> Markup:
    fate = f"Published by the {gist.door} door" if gist.published else "Not published, for comparison"
    said = "Promise" if gist.published else "Claim"
    rows = ((fate, gist.left), (said, gist.promise), ("Attacked", overall_verdict(gist.findings)))
    entries = (element("div", element("dt", name), element("dd", value)) for name, value in rows)
    return element("dl", *entries, class_="gist" if gist.published else "gist kept")
