"""The opening of a report on several releases: what left by which door, with which promise, and whether it stood.

A reader should get the whole before the parts (Shneiderman 1996: overview first, details on demand).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.release import Finding
from sfumato.report.chapters.verdicts import attacked, standing
from sfumato.report.page.markup import Markup, element, joined, tiles
from sfumato.report.page.words import count


@dataclass(frozen=True)
class Gist:
    """One release, or several alike, in a line: what left, the promise in a few words, and what attacks found.

    A gist that is not `published` tells of something that was made and attacked for comparison and stayed in the house.

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
class Line:
    """A chapter as the opening lists it: its heading, its anchor, and the releases it tells of.

    >>> Line("Visits", "visits-1", []).anchor
    'visits-1'
    """

    heading: str
    anchor: str
    gists: Sequence[Gist]


def glance(lines: Sequence[Line]) -> Markup:
    """Return the strip of totals and a card for each chapter that tells of releases.

    >>> line = Line("Visits", "visits-1", [Gist("table", "2,000 rows", "k-anonymity 10")])
    >>> "Left by the table door" in glance([line])
    True
    """
    cards = [_card(line) for line in lines if line.gists]
    return joined([_strip([gist for line in lines for gist in line.gists]), element("ul", *cards, class_="doors")])


def _strip(gists: Sequence[Gist]) -> Markup:
    left = [gist for gist in gists if gist.published]
    kept = [gist for gist in gists if not gist.published]
    doors = dict.fromkeys(gist.door for gist in left)
    fallen, tried = _tally(left)
    figures = {
        "Releases": count(sum(gist.releases for gist in left)),
        "Doors they left by": ", ".join(doors) or "none",
        "Their claims refuted": f"{count(fallen)} of {count(tried)}",
    }
    if kept:
        fallen, tried = _tally(kept)
        figures["Refuted of what was kept back"] = f"{count(fallen)} of {count(tried)}"
    return tiles(figures)


def _tally(gists: Sequence[Gist]) -> tuple[int, int]:
    tried = [finding for gist in gists for finding in gist.findings if attacked(finding)]
    return sum(finding.refuted for finding in tried), len(tried)


def _card(line: Line) -> Markup:
    title = element("h3", element("a", line.heading, href=f"#{line.anchor}"))
    published_first = sorted(line.gists, key=lambda gist: not gist.published)
    return element("li", title, *(_gist(gist) for gist in published_first))


def _gist(gist: Gist) -> Markup:
    fate = f"Left by the {gist.door} door" if gist.published else "Kept back, for comparison"
    said = "Promise" if gist.published else "Claim"
    rows = ((fate, gist.left), (said, gist.promise), ("Attacked", standing(gist.findings)))
    entries = (element("div", element("dt", name), element("dd", value)) for name, value in rows)
    return element("dl", *entries, class_="gist" if gist.published else "gist kept")
