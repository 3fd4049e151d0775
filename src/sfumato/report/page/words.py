"""Promises and numbers in plain words, for a steward who has not read the papers.

Each model brings its own sentence (Sweeney 2002; Machanavajjhala et al. 2007; Li, Li & Venkatasubramanian 2007).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.models import model_on_card
from sfumato.release.card import Card, MeasuredModel

LETTERS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
LONG_SET = re.compile(r"\{([^{},]+(?:, [^{},]+){6,})\}")


def promise(entry: MeasuredModel, card: Card, quasi: Sequence[str]) -> str:
    """Return one model's promise as a sentence.

    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=0, columns=[]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 2}, unit="row"), assumptions=[])
    >>> promise(MeasuredModel(model="k-anonymity", asked=2, measured=3), card, ["age", "zip"])
    'Every combination of age and zip is shared by at least 2 rows.'
    """
    model = model_on_card(entry, card.guarantee.parameters)
    if model is None:
        return f"The release satisfies {entry.model} with {entry.asked:g}."
    others = [model_on_card(other, card.guarantee.parameters) for other in card.released.models]
    introduced = any(other is not None and "{quasi}" in other.sentence for other in others)
    one = "a combination" if introduced else f"a combination of {listed(quasi)}"
    stated = {
        name: f"{value:g}" if isinstance(value, int | float) else str(value)
        for name, value in model.parameters().items()
    }
    told = {
        "one": "a group number" if card.released.companions else one,
        "quasi": listed(quasi),
        "column": entry.column,
        "asked": f"{entry.asked:g}",
        "asked_percent": percent(entry.asked),
        "units": units(card),
    }
    return model.sentence.format(**{**stated, **told})


def units(card: Card) -> str:
    """Return what the promise counts: rows, or persons."""
    return "rows" if card.guarantee.unit == "row" else "persons"


def pledge(card: Card) -> str:
    """Return the promise of a card in a line, for a reader who wants to compare releases.

    >>> from sfumato.release.card import Guarantee, Released
    >>> guarantee = Guarantee(model="differential privacy", parameters={"epsilon": 1.0}, unit="record")
    >>> card = Card(version="0", door="stream", algorithm="laplace", released=Released(rows=0, columns=[]),
    ...             guarantee=guarantee, assumptions=[])
    >>> pledge(card)
    'differential privacy, ε = 1; protects one record'
    """
    guarantee = card.guarantee
    if not guarantee.parameters:
        cells = guarantee.of_cells
        return (
            f"nothing is promised{'' if cells is None else f'; ε = {cells.epsilon:.4g} for some cells of a row alone'}"
        )
    unit = guarantee.unit.removeprefix("one ")
    if card.released.models:
        asked = (
            f"{entry.model} {entry.asked:g}{f' on {entry.column}' * (entry.column is not None)}"
            for entry in card.released.models
        )
        return f"{', '.join(asked)}; protects one {unit}"
    losses = [f"{LETTERS[name]} = {value:.4g}" for name, value in guarantee.parameters.items() if name in LETTERS]
    return f"{', '.join([guarantee.model, *losses])}; protects one {unit}"


def sentence(text: str) -> str:
    """Return a remark of a card as a sentence.

    >>> sentence("noise was drawn from a seed")
    'Noise was drawn from a seed.'
    """
    return text[:1].upper() + text[1:] + "." * (text[-1:] != ".")


def shorten_sets(text: str) -> str:
    """Return text whose long sets are told by their ends.

    >>> shorten_sets("zip {1, 2, 3, 4, 5, 6, 7}, sex {F, M}")
    'zip {1, 2 … 7: 7 values}, sex {F, M}'
    """
    return LONG_SET.sub(_ends, text)


def _ends(found: re.Match[str]) -> str:
    values = found[1].split(", ")
    return f"{{{values[0]}, {values[1]} … {values[-1]}: {len(values)} values}}"


def listed(names: Sequence[str]) -> str:
    """Return names as one would say them.

    >>> listed(["age", "sex", "zip"]), listed(["age"])
    ('age, sex and zip', 'age')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def count(value: float) -> str:
    """Return a count with its thousands apart, to one decimal at most.

    >>> count(12345.0), count(2.5)
    ('12,345', '2.5')
    """
    return f"{value:,.1f}".removesuffix(".0")


def brief(value: float, farthest: float) -> str:
    """Return a number short enough for an axis that goes as far as `farthest`.

    >>> brief(20000.0, 80000.0), brief(0.25, 1.0), brief(50000.0, 100000.0), brief(-3e9, 4e9), brief(0.0, 4e9)
    ('20000', '0.25', '50k', '-3G', '0')
    """
    for scale, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value and farthest >= max(scale, 1e5):
            return f"{value / scale:g}{letter}"
    return f"{value:g}"


def percent(share: float) -> str:
    """Return a share as a percentage that is never rounded to nothing or to all.

    >>> percent(0.125), percent(0.00001), percent(1.0), percent(0.99999), percent(0.0)
    ('12.5%', '<0.1%', '100%', '>99.9%', '0%')
    """
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 < share < 1:
        return ">99.9%"
    return f"{100 * share:.0f}%" if share in {0, 1} else f"{100 * share:.1f}%"
