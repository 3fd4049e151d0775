"""The steward's chapter on a stream: what each release of it promises, and its histogram against the truth.

Histograms are compared by their intersection (Swain & Ballard 1991) over 100 bins, as DOCA was measured (Leal, Vidal &
Machado 2018); it comes from the records themselves, so it is for the steward and never on a card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError
from sfumato.evaluate.stream import histogram_intersection
from sfumato.evaluate.utility import Histogram
from sfumato.release import Card, Finding
from sfumato.report import charts
from sfumato.report.chapters.promise import guarantee, limits, shown_card
from sfumato.report.chapters.signing import card_warnings
from sfumato.report.page.markup import Markup, element, figure, fold, grid, join
from sfumato.report.page.overview import Gist, claims_table
from sfumato.report.page.page import Chapter, Section
from sfumato.report.page.words import count, percent, pledge

Numbers = npt.NDArray[np.float64]
COARSE = 30
PARTS = 20
RAW = "The true values under the released ones are those of the original records."
QUARTERS = {"First quarter up to": 0.25, "Median": 0.5, "Third quarter up to": 0.75}
KEY = ("truth: filled", "released: line")


@dataclass(frozen=True, eq=False)
class StreamRelease:
    """The values that left by one publisher, their card, and what attacks found.

    One that is not `published` was made for comparison and kept back; `claimed` is what others say of it. With the
    `group` of each value the chapter shows the stream in the order of time, too.

    >>> from sfumato.stream import NaiveLaplace
    >>> StreamRelease(np.array([5.0]), NaiveLaplace(bounds=(0, 10)).card("hours")).card.algorithm
    'laplace'
    """

    values: Numbers
    card: Card
    findings: Sequence[Finding] = ()
    published: bool = True
    claimed: str = ""
    group: npt.NDArray[np.int64] | None = None


def stream_chapter(
    column: str, truth: Numbers, releases: Mapping[str, StreamRelease], *, heading: str = "Release of a stream"
) -> Chapter:
    """Return a chapter that shows releases of one column of a stream, by their names, beside the records themselves.

    >>> from sfumato.stream import NaiveLaplace
    >>> publisher = NaiveLaplace(bounds=(0, 10))
    >>> truth = np.linspace(0, 10, 50)
    >>> release = StreamRelease(publisher.push_many(truth).values, publisher.card("hours"))
    >>> [section.heading for section in stream_chapter("hours", truth, {"Laplace": release}).sections]
    ['Laplace', 'Side by side', 'What is promised', 'What attacks found', 'The public cards']
    """
    empty = next((name for name, release in releases.items() if not len(release.values)), None)
    if empty is not None or not len(truth):
        raise InputError(f"{empty or 'the stream'} has no rows; there is nothing to show")
    sections = [Section(name, _release(column, truth, release)) for name, release in releases.items()]
    lead = f"{count(len(truth))} records of {column} were published as a stream in {len(releases)} ways."
    alike = "The histogram of each release is shown over that of the records; nearer is better."
    summary = join([element("p", lead, class_="lead"), element("p", alike)])
    gists = [_gist(name, release) for name, release in releases.items()]
    sections += [Section("Side by side", _side_by_side(truth, releases)), *_promise_sections(releases)]
    left = [release for release in releases.values() if release.published]
    warnings = card_warnings([release.card for release in left], [one for each in left for one in each.findings])
    return Chapter(heading, summary, sections, RAW, gists, warnings)


def _gist(name: str, release: StreamRelease) -> Gist:
    left = f"{count(len(release.values))} values by {name}"
    promise = release.claimed or pledge(release.card)
    return Gist("stream", left, promise, release.findings, published=release.published)


def _promise_sections(releases: Mapping[str, StreamRelease]) -> list[Section]:
    """Return what each release promises and what attacks made of it, and the cards."""
    promised, findings, cards = [], [], []
    for name, release in releases.items():
        title = element("h4", name)
        promised += [title, guarantee(release.card), limits([release.card])]
        findings += [title, claims_table(release.findings, f"Claims of {name} that were attacked")]
        cards.append(shown_card(release.card, name))
    sections = {"What is promised": promised, "What attacks found": findings, "The public cards": cards}
    return [Section(heading, join(parts)) for heading, parts in sections.items()]


def _histogram(name: str, truth: Numbers, released: Numbers, bins: int) -> Histogram:
    edges = np.histogram_bin_edges(truth, bins)
    shown = np.clip(released, edges[0], edges[-1])
    before, after = (np.histogram(values, edges)[0].astype(np.float64) for values in (truth, shown))
    labels = tuple(f"{low:.6g} to {high:.6g}" for low, high in pairwise(edges))
    return Histogram(name, labels, before, after, edges)


def _release(column: str, truth: Numbers, release: StreamRelease) -> Markup:
    shape = _histogram(column, truth, release.values, COARSE)
    rows = [
        [label, count(before), count(after)]
        for label, before, after in zip(shape.labels, shape.before, shape.after, strict=True)
    ]
    numbers = fold("Numbers", grid(f"Rows by {column}", ["", "Truth", "Released"], rows), class_="numbers")
    pictures = [figure(f"{column}, all of it", charts.spans(shape, dates=False), numbers)]
    if release.group is not None and len(release.group) == len(truth):  # else rows are not the records of one time
        means = _means(truth, release.values, release.group)
        pictures.append(figure(f"{column}, part by part", charts.parts(column, *means)))
    keys = (element("span", word, class_=f"key {kind}") for word, kind in zip(KEY, ("before", "after"), strict=True))
    return join(
        [
            element("p", _promise(release.card)),
            element("p", *keys, class_="keys"),
            element("div", *pictures, class_="pictures"),
            _measures(truth, release.values),
        ]
    )


def _means(truth: Numbers, released: Numbers, group: npt.NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Return the means of truth and release in the order of time, cut where groups end: inside there is no order."""
    ends = [*np.flatnonzero(np.diff(group)) + 1, len(group)]
    kept = sorted({ends[round(place)] for place in np.linspace(0, len(ends) - 1, min(PARTS, len(ends)))})
    before, after = (
        np.array([values[start:end].mean() for start, end in pairwise([0, *kept])]) for values in (truth, released)
    )
    return before, after


def _promise(card: Card) -> str:
    guarantee = card.guarantee
    if not guarantee.parameters:
        return f"{card.algorithm}: nothing is promised."
    parameters = ", ".join(f"{name} {value}" for name, value in guarantee.parameters.items())
    unit = f"{card.algorithm}: {guarantee.model} with {parameters}; protected unit: {guarantee.unit}."
    return unit if guarantee.neighbours is None else f"{unit} Neighbours: {guarantee.neighbours}."


def _measures(truth: Numbers, released: Numbers) -> Markup:
    rows = [
        ["Rows", count(len(truth)), count(len(released))],
        ["Mean", f"{truth.mean():.6g}", f"{released.mean():.6g}"],
    ]
    for name, share in QUARTERS.items():
        rows.append([name, *(f"{np.quantile(values, share):.6g}" for values in (truth, released))])
    rows.append(
        ["Outside the true range", "0", count(int(((released < truth.min()) | (released > truth.max())).sum()))]
    )
    return grid("Values", ["", "Truth", "Released"], rows)


def _side_by_side(truth: Numbers, releases: Mapping[str, StreamRelease]) -> Markup:
    rows = [
        [
            name,
            percent(histogram_intersection(truth, release.values)),
            f"{release.card.guarantee.parameters['epsilon']:g}"
            if "epsilon" in release.card.guarantee.parameters
            else "none",
        ]
        for name, release in releases.items()
    ]
    lead = "What the two histograms have in common, over 100 bins, and the privacy loss that is proven."
    return join([element("p", lead), grid("Releases", ["", "In common", "ε"], rows)])
