"""What a release promises, under which assumptions, and the public card that says so.

A promise is only as good as its assumptions (Ciriani et al. 2007); both come from the card, word for word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.release.card import Card, CellPromise, MeasuredModel
from sfumato.report.page.markup import Markup, bullets, element, fold, grid, join
from sfumato.report.page.words import promise, sentence


def promises_table(card: Card, quasi: Sequence[str]) -> Markup:
    """Return the promises of a table with the values asked for and found."""
    if not card.released.models:
        return guarantee(card)
    promises = [
        [
            join([promise(entry, card, quasi), element("small", _name(entry))]),
            f"{entry.asked:g}",
            f"{entry.measured:.4g}",
        ]
        for entry in card.released.models
    ]
    table = grid("Promises, and what the released table has", ["Promise", "Asked", "Has"], promises)
    return join([element("p", f"Protected unit: {card.guarantee.unit}. Algorithm: {_maker(card)}."), table])


def names_and_day(card: Card) -> str:
    """Return what people call a release, its file and its day, as far as the card has them.

    >>> from sfumato.stream import NaiveLaplace
    >>> names_and_day(NaiveLaplace(bounds=(0, 10)).card("hours").for_file("hours.csv", "0" * 64))
    'hours.csv'
    """
    return " · ".join(part for part in (card.dataset, card.released.file, card.date) if part)


def guarantee(card: Card) -> Markup:
    """Return the guarantee of any card: its model, unit, neighbours and parameters, and who made the release.

    >>> from sfumato.stream import NaiveLaplace
    >>> "Protected unit" in guarantee(NaiveLaplace(bounds=(0, 10)).card("hours"))
    True
    """
    stated = card.guarantee
    rows = [
        ["Promise", stated.model if stated.parameters else "nothing is promised"],
        ["Protected unit", stated.unit],
        ["Neighbours", stated.neighbours or ""],
        ["Parameters", _settings(stated.parameters)],
        ["Of single cells alone", "" if stated.of_cells is None else _cell_words(stated.of_cells)],
        ["Made by", f"{card.algorithm}, {card.tool} {card.version}"],
    ]
    return grid("The guarantee on the card", [], [row for row in rows if row[1]], words=True)


def _cell_words(cells: CellPromise) -> str:
    each = ", ".join(f"{name} ε = {loss:.4g}" for name, loss in cells.columns.items())
    return f"{cells.model}: {each}; ε = {cells.epsilon:.4g} for these cells of a row together"


def limits(cards: Sequence[Card]) -> Markup:
    """Return the assumptions of cards, each once; their warnings head the chapter.

    >>> from sfumato.stream import NaiveLaplace
    >>> "holds only while" in limits([NaiveLaplace(bounds=(0, 10)).card("hours")])
    True
    """
    assumptions = dict.fromkeys(sentence(words) for card in cards for words in card.assumptions)
    lead = "The promise holds only while each of these is true. Check them before you publish the release."
    return join([element("p", lead), bullets(assumptions, class_="assumptions")]) if assumptions else Markup()


def public_card(card: Card) -> Markup:
    """Return the card of a table; it is the one part of its chapter that may be published."""
    lead = "Publish only this part with the release. Nothing on it was computed from rows that are not released."
    return join([element("p", lead), shown_card(card)])


def shown_card(card: Card, name: str = "") -> Markup:
    """Return a card as JSON, folded away.

    >>> from sfumato.stream import NaiveLaplace
    >>> "<details" in shown_card(NaiveLaplace(bounds=(0, 10)).card("hours"))
    True
    """
    text = element("pre", element("code", card.to_json()), tabindex="0")
    return fold(f"Show the card{f' of {name}' * bool(name)} (JSON)", text, class_="card")


def _name(entry: MeasuredModel) -> str:
    return entry.model if entry.column is None else f"{entry.model} on {entry.column}"


def _maker(card: Card) -> str:
    settings = _settings(card.released.settings)
    return f"{card.algorithm}{f' ({settings})' if settings else ''}, {card.tool} {card.version}"


def _settings(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in values.items() if value is not None)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return _settings(value) or "none"
    if isinstance(value, list):
        return ", ".join(str(part) for part in value) or "none"
    return str(value)
