"""A chapter of findings: what attacks on published files came to, with the reason each of them gives.

Verdicts are worded as in the auditing literature (Kong et al. 2023): refuted, or not refuted; never proven.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.release import Card, Finding
from sfumato.report.chapters.promise import guarantee, limits, shown_card
from sfumato.report.chapters.verdicts import badge
from sfumato.report.charts.svg import AFTER, BEFORE, BEFORE_FILL, INK, SOFT, drawn
from sfumato.report.page.markup import Markup, element, figure, grid, joined
from sfumato.report.page.overview import Gist
from sfumato.report.page.page import RAW, Chapter, Section
from sfumato.report.page.words import count, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 8
BARS = ((BEFORE_FILL, BEFORE, ""), ("none", AFTER, "////"))


def findings_chapter(
    heading: str,
    summary: str,
    attacks: Mapping[str, Sequence[Finding]],
    *,
    cards: Mapping[str, Card] | None = None,
    raw: str = RAW,
    gists: Sequence[Gist] = (),
) -> Chapter:
    """Return a chapter with one section per attack; of many refutations the first few are shown.

    `cards` are those of the releases that were attacked, by name; with two attacks a picture sets them side by side.

    >>> from sfumato.release.finding import NOT_REFUTED
    >>> finding = Finding(claim="nobody is exposed", verdict=NOT_REFUTED)
    >>> findings_chapter("Series", "Two releases were attacked.", {"Safe": [finding]}).sections[0].heading
    'Safe'
    """
    sections = [_section(*attack) for attack in attacks.items()]
    if len(attacks) == len(BARS):
        words = element("p", "Each way is a sure conclusion about somebody that no release allows by itself.")
        picture = element("div", figure("Ways to expose somebody", exposures_picture(attacks)), class_="pictures")
        sections.insert(0, Section("Before and after", joined([words, picture])))
    if cards:
        promised = [part for card in list(cards.values())[-1:] for part in (guarantee(card), limits([card]))]
        folded = [shown_card(card, name) for name, card in cards.items()]
        sections.insert(0, Section("What is promised", joined([*promised, *folded])))
    return Chapter(heading, element("p", summary, class_="lead"), sections, raw, gists)


def _section(heading: str, findings: Sequence[Finding]) -> Section:
    rows = [[_reason(finding), badge(finding)] for finding in findings[:MOST]]
    refuted = sum(finding.refuted for finding in findings)
    lead = f"{count(refuted)} ways were found to expose somebody." if refuted else "No way was found to expose anybody."
    more = f" The first {MOST} are shown." if len(findings) > MOST else ""
    return Section(heading, joined([element("p", lead + more), grid("Findings", ["What was found", "Verdict"], rows)]))


def _reason(finding: Finding) -> str:
    return shortened(str(finding.evidence.get("reason", finding.claim)))


def exposures_picture(attacks: Mapping[str, Sequence[Finding]]) -> Markup:
    """Return how many ways to expose somebody each attack found, kind by kind: filled before, hatched after.

    >>> found = [Finding(claim="c", verdict="REFUTED", evidence={"attack": "difference"})]
    >>> "careless: difference 1; safe: difference 0" in exposures_picture({"careless": found, "safe": []})
    True
    """
    counted = {name: Counter(map(_kind, filter(_refuted, findings))) for name, findings in attacks.items()}
    kinds = sorted({kind for counts in counted.values() for kind in counts}) or ["any attack"]

    def paint(axes: Axes) -> None:
        for number, (name, (fill, edge, hatch)) in enumerate(zip(counted, BARS, strict=True)):
            places = [place + 0.4 * number for place in range(len(kinds))]
            values = [counted[name][kind] for kind in kinds]
            bars = axes.barh(places, values, 0.34, facecolor=fill, edgecolor=edge, hatch=hatch, label=name)
            axes.bar_label(bars, padding=4, color=INK)
        axes.set_yticks([place + 0.2 for place in range(len(kinds))], kinds, color=INK)
        axes.set_ylim(len(kinds) - 0.3, -0.4)
        axes.margins(x=0.15)
        axes.set_xlabel("ways found")
        axes.locator_params(axis="x", integer=True)
        axes.spines["left"].set_visible(True)
        handles, labels = axes.get_legend_handles_labels()
        axes.figure.legend(handles, labels, loc="outside upper left", frameon=False, labelcolor=SOFT, fontsize=9.5)

    told = ("{}: {}".format(name, ", ".join(f"{kind} {counted[name][kind]}" for kind in kinds)) for name in counted)
    return drawn("exposures", 110 + 44 * len(kinds), f"Bars of the ways found; {'; '.join(told)}.", paint)


def _kind(finding: Finding) -> str:
    return str(finding.evidence.get("attack", "attack"))


def _refuted(finding: Finding) -> bool:
    return finding.refuted
