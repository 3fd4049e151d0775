"""The report's chapter on counts from local reports: what devices were promised, and how far the counts can be trusted.

Intervals say more than counts when noise is large: those that reach down to 0 may be noise alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.local.estimate import Estimate
from sfumato.report.charts import BAR_HEIGHT, short_label
from sfumato.report.markup import Markup, bullets, element, figure, folded, grid, joined
from sfumato.report.page import Chapter, Section, collect
from sfumato.report.svg import AFTER, BAR, INK, drawn
from sfumato.report.words import brief, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = "Counts from local reports"
MOST = 24
WORDS = {
    "grr": "generalised randomised response",
    "hr": "Hadamard response",
    "olh": "local hashing",
    "oue": "optimised unary encoding",
    "rappor": "RAPPOR",
    "rr": "randomised response",
    "ss": "subset selection",
    "sue": "symmetric unary encoding",
}


def local_report(estimate: Estimate, *, title: str = TITLE) -> str:
    """Return the report on an estimate as one self-contained HTML text.

    >>> from sfumato.local import GeneralizedResponse
    >>> protocol = GeneralizedResponse(["red", "green", "blue"], 2)
    >>> reports = protocol.report_many(protocol.encode_many(["red"] * 60 + ["blue"] * 40))
    >>> "100 reports" in local_report(protocol.estimate(protocol.aggregate(reports)))
    True
    """
    return collect(title, [local_chapter(estimate, heading=title)])


def local_chapter(estimate: Estimate, *, heading: str = TITLE) -> Chapter:
    """Return the report's chapter on an estimate, to stand alone or beside those of other releases.

    >>> from sfumato.local import GeneralizedResponse
    >>> protocol = GeneralizedResponse(["red", "green"], 2)
    >>> chapter = local_chapter(protocol.estimate(protocol.aggregate(protocol.report_many([0, 1, 1]))))
    >>> [section.heading for section in chapter.sections]
    ['Estimated counts', 'What is promised', 'The public card']
    """
    sections = [
        Section("Estimated counts", _counts(estimate)),
        Section("What is promised", _promise(estimate)),
        Section("The public card", _card(estimate)),
    ]
    return Chapter(heading, _summary(estimate), sections)


def _summary(estimate: Estimate) -> Markup:
    protocol = estimate.protocol
    lead = (
        f"{count(estimate.users)} reports by {WORDS[protocol.name]} say how often each of "
        f"{count(len(estimate.values))} values occurs, and no report tells its own value: each is "
        f"ε={protocol.spent:.4g} locally private. This is computed from the reports alone; no true value was seen."
    )
    rejected = sum(estimate.rejected.values())
    tiles = {
        "Reports": count(estimate.users),
        "Rejected": count(rejected),
        "ε of a report": f"{protocol.spent:.4g}",
        "Standard deviation of a count": count(float(np.sqrt(np.median(estimate.variance)))),
        "Values clearly there": count(int((estimate.low > 0).sum())),
    }
    figures = (element("div", element("dt", name), element("dd", value)) for name, value in tiles.items())
    return joined([element("p", lead, class_="lead"), element("dl", *figures, class_="tiles")])


def _counts(estimate: Estimate) -> Markup:
    order = np.argsort(-estimate.counts, kind="stable")
    shown = order[:MOST]
    rest = len(order) > MOST
    lead = "A diamond is the estimate, its line the interval that covers the true count 95 times of 100."
    more = f" The {MOST} largest of {count(len(order))} are shown." if rest else ""
    picture = figure("Counts and intervals", _picture(estimate, shown))
    return joined([element("p", lead + more), element("div", picture, _numbers(estimate, shown), class_="pictured")])


def _numbers(estimate: Estimate, shown: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Markup:
    rows = [
        [
            str(estimate.values[place]),
            *(count(round(column[place])) for column in (estimate.counts, estimate.low, estimate.high)),
        ]
        for place in shown
    ]
    return grid("Estimated counts", ["Value", "Count", "From", "To"], rows)


def _picture(estimate: Estimate, shown: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Markup:
    names = [short_label(str(estimate.values[place])) for place in shown]
    places = range(len(names))

    def paint(axes: Axes) -> None:
        axes.hlines(places, estimate.low[shown], estimate.high[shown], color=BAR, linewidth=2.5)
        axes.plot(estimate.counts[shown], places, "D", color=AFTER, markersize=5)
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
    label = f"Diamonds with intervals of the estimated counts; the largest are {first}."
    return drawn("local counts", 52 + BAR_HEIGHT * len(names), label, paint)


def _promise(estimate: Estimate) -> Markup:
    card = estimate.card
    promise = f"Protected unit: {card.guarantee.unit}. Neighbours: {card.guarantee.neighbours}."
    warnings = [warning[:1].upper() + warning[1:] + "." for warning in card.warnings]
    parts = [element("p", promise), bullets(card.assumptions, class_="assumptions")]
    if warnings:
        parts.append(element("div", bullets(warnings, class_="plain"), class_="warnings"))
    return joined(parts)


def _card(estimate: Estimate) -> Markup:
    card = element("pre", element("code", estimate.card.to_json()), tabindex="0")
    lead = "This part travels with the counts."
    return joined([element("p", lead), folded("Show the card (JSON)", card, class_="card")])
