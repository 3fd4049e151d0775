"""What a release promises, under which assumptions, and the public card that says so.

A promise is only as good as its assumptions (Ciriani et al. 2007); both come from the card, word for word.
"""

from __future__ import annotations

from sfumato.card import MeasuredModel
from sfumato.report.evidence import Evidence
from sfumato.report.markup import Markup, bullets, element, folded, grid, joined
from sfumato.report.words import promise, verdict


def promised(evidence: Evidence) -> Markup:
    """Return the promises with the values asked for and found, and what audits made of them."""
    card = evidence.card
    promises = [
        [
            joined([promise(entry, card, evidence.quasi), element("small", _name(entry))]),
            f"{entry.asked:g}",
            f"{entry.measured:.4g}",
        ]
        for entry in card.released.models
    ]
    audits = [
        [finding.claim, "" if finding.bound is None else f"{finding.bound:.4g}", verdict(finding)]
        for finding in card.audits
    ]
    return joined(
        [
            element("p", f"Protected unit: {card.guarantee.unit}. Algorithm: {_maker(evidence)}."),
            element(
                "div",
                grid("Promises, and what the released table has", ["Promise", "Asked", "Has"], promises),
                grid("Audits, which try to refute each claim", ["Claim", "Reached", "Verdict"], audits),
                class_="beside",
            ),
            element("p", "Not refuted means that the attempt failed, never that a claim is proven.", class_="note"),
        ]
    )


def not_promised(evidence: Evidence) -> Markup:
    """Return the assumptions that the steward has to check, and the card's warnings."""
    card = evidence.card
    lead = "The promise holds only while each of these is true. Check them before the release leaves the house."
    parts = [bullets(card.assumptions, class_="assumptions")]
    if card.warnings:
        sentences = [warning[:1].upper() + warning[1:] + "." * (warning[-1:] != ".") for warning in card.warnings]
        title = element("p", element("strong", "Warnings on the card"))
        parts.append(element("div", title, bullets(sentences, class_="plain"), class_="warnings"))
    return joined([element("p", lead), element("div", *parts, class_="beside")])


def public_card(evidence: Evidence) -> Markup:
    """Return the card, folded away; it is the one part of the page that may be published."""
    lead = "This part alone travels with the release; nothing on it was computed from rows that are not released."
    card = element("pre", element("code", evidence.card.to_json()), tabindex="0")
    return joined([element("p", lead), folded("Show the card (JSON)", card, class_="card")])


def _name(entry: MeasuredModel) -> str:
    return entry.model if entry.column is None else f"{entry.model} on {entry.column}"


def _maker(evidence: Evidence) -> str:
    card = evidence.card
    settings = ", ".join(
        f"{name.replace('_', ' ')} {'yes' if value is True else 'no' if value is False else value}"
        for name, value in card.released.settings.items()
    )
    return f"{card.algorithm}{f' ({settings})' if settings else ''}, {card.tool} {card.version}"
