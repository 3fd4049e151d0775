"""The report's chapter on counts from local reports: what devices were promised, and how far the counts can be trusted.

Intervals say more than counts when noise is large: those that reach down to 0 may be noise alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.local.collector.estimate import Estimate
from sfumato.release import Finding
from sfumato.report.chapters.promise import guarantee, limits, shown_card
from sfumato.report.chapters.signing import card_warnings
from sfumato.report.charts import BAR_HEIGHT, short_label
from sfumato.report.charts.svg import AFTER, BAR, BEFORE, INK, draw
from sfumato.report.page.markup import Markup, element, figure, grid, join, tiles
from sfumato.report.page.overview import Gist, claims_table
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import brief, count, pledge

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = "Counts from local reports"
MOST = 24
RAW = "The true counts beside the estimates are those of the original rows; no collector of reports has them."
UNSEEN = " This is computed from the reports alone; no true value was seen."
Places = np.ndarray[tuple[int], np.dtype[np.int64]]
Truth = Mapping[str, int]


def local_report(estimate: Estimate, *, title: str = TITLE) -> str:
    """Return the report on an estimate as one self-contained HTML text.

    >>> from sfumato.local import GeneralizedResponse
    >>> protocol = GeneralizedResponse(["red", "green", "blue"], 2)
    >>> reports = protocol.report_many(protocol.encode_many(["red"] * 60 + ["blue"] * 40))
    >>> "100 reports" in local_report(protocol.estimate(protocol.aggregate(reports)))
    True
    """
    return collect(title, [local_chapter(estimate, heading=title)])


def local_chapter(
    estimate: Estimate, *, heading: str = TITLE, truth: Truth | None = None, findings: Sequence[Finding] = ()
) -> Chapter:
    """Return the report's chapter on an estimate, to stand alone or beside those of other releases.

    `truth` has the true count of each value, where a simulation knows it.

    >>> from sfumato.local import GeneralizedResponse
    >>> protocol = GeneralizedResponse(["red", "green"], 2)
    >>> chapter = local_chapter(protocol.estimate(protocol.aggregate(protocol.report_many([0, 1, 1]))))
    >>> [section.heading for section in chapter.sections]
    ['Estimated counts', 'What is promised', 'What attacks found', 'The public card']
    >>> chapter.raw
    ''
    """
    card = estimate.card
    sections = [
        Section("Estimated counts", _counts(estimate, truth)),
        Section("What is promised", join([guarantee(card), limits([card])])),
        Section("What attacks found", claims_table(findings)),
        Section("The public card", join([element("p", "This part travels with the counts."), shown_card(card)])),
    ]
    left = f"{count(len(estimate.values))} counts from {count(estimate.users)} reports"
    gist = Gist("local", left, pledge(card), findings)
    raw, warnings = "" if truth is None else RAW, card_warnings([card], findings)
    return Chapter(heading, _summary(estimate, truth), sections, raw, [gist], warnings)


def _summary(estimate: Estimate, truth: Truth | None) -> Markup:
    protocol = estimate.protocol
    lead = (
        f"{count(estimate.users)} reports by {protocol.words or protocol.name} say how often each of "
        f"{count(len(estimate.values))} values occurs, and no report tells its own value: each is "
        f"ε={protocol.spent:.4g} locally private.{UNSEEN * (truth is None)}"
    )
    rejected = sum(estimate.rejected.values())
    figures = {
        "Reports": count(estimate.users),
        "Rejected": count(rejected),
        "ε of a report": f"{protocol.spent:.4g}",
        "Standard deviation of a count": count(float(np.sqrt(np.median(estimate.variance)))),
        "Values clearly there": count(int((estimate.low > 0).sum())),
    }
    return join([element("p", lead, class_="lead"), tiles(figures)])


def _counts(estimate: Estimate, truth: Truth | None) -> Markup:
    order = np.argsort(-estimate.counts, kind="stable")
    shown = order[:MOST]
    rest = len(order) > MOST
    lead = "A diamond is the estimate, its line the interval that covers the true count 95 times of 100."
    rings = " A ring is the true count." * (truth is not None)
    more = f" The {MOST} largest of {count(len(order))} are shown." if rest else ""
    picture = figure("Counts and intervals", _picture(estimate, shown, truth))
    beside = element("div", picture, _numbers(estimate, shown, truth), class_="pictured")
    return join([element("p", lead + rings + more), beside])


def _numbers(estimate: Estimate, shown: Places, truth: Truth | None) -> Markup:
    rows = [
        [
            str(estimate.values[place]),
            *(count(round(column[place])) for column in (estimate.counts, estimate.low, estimate.high)),
            *([] if truth is None else [count(truth.get(str(estimate.values[place]), 0))]),
        ]
        for place in shown
    ]
    header = ["Value", "Count", "From", "To", *([] if truth is None else ["Truth"])]
    return grid("Estimated counts", header, rows)


def _picture(estimate: Estimate, shown: Places, truth: Truth | None) -> Markup:
    names = [short_label(str(estimate.values[place])) for place in shown]
    places = range(len(names))

    def paint(axes: Axes) -> None:
        axes.hlines(places, estimate.low[shown], estimate.high[shown], color=BAR, linewidth=2.5)
        axes.plot(estimate.counts[shown], places, "D", color=AFTER, markersize=5)
        if truth is not None:
            true = [truth.get(str(estimate.values[place]), 0) for place in shown]
            axes.plot(true, places, "o", markersize=9, markerfacecolor="none", markeredgecolor=BEFORE, mew=1.6)
        axes.set_yticks(places, names, color=INK)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.grid(axis="x")
        axes.set_xlabel("devices")
        axes.locator_params(axis="x", nbins=4)
        farthest = float(estimate.high[shown].max(initial=1.0))
        axes.xaxis.set_major_formatter(lambda value, _: brief(value, farthest))
        axes.spines["left"].set_visible(True)

    first = ", ".join(
        f"{name} {count(estimate.counts[place])}" for name, place in zip(names[:3], shown[:3], strict=True)
    )
    rings = "; rings: the truth" * (truth is not None)
    label = f"Diamonds with intervals of the estimated counts{rings}; the largest are {first}."
    return draw("local counts", 52 + BAR_HEIGHT * len(names), label, paint)
