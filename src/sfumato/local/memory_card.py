"""What the card of reports says when devices keep a memory: rounds of an unchanged value do not add up, changes do.

The longitudinal promise and its limits are those of Erlingsson, Pihur & Korolova (2014), section 3.
"""

from __future__ import annotations

import msgspec

from sfumato.card import Card

UNIT = "all reports of one device about one value"
ASSUMPTIONS = (
    "A device that still has the same value sends the report it drew for it before: the rounds do not add up.",
    "A device whose value changes draws a new report and pays ε again: n different values cost at most n times ε.",
    "That a value changed, or came back to an earlier one, can be seen when the report does.",
    "A device writes what it spends to its ledger before a report leaves, and draws nothing beyond its budget.",
)


def with_memory(card: Card, budget: float) -> Card:
    """Return the card of reports that come from devices with a memory and a budget.

    >>> from sfumato.local import OptimizedUnary
    >>> card = with_memory(OptimizedUnary(["a", "b"], 1).card(10), budget=4)
    >>> card.guarantee.unit, card.guarantee.parameters["device_budget"]
    ('all reports of one device about one value', 4)
    """
    guarantee = msgspec.structs.replace(
        card.guarantee, unit=UNIT, parameters={**card.guarantee.parameters, "device_budget": budget}
    )
    kept = [sentence for sentence in card.assumptions if "Fresh reports of the same device add up" not in sentence]
    return msgspec.structs.replace(card, guarantee=guarantee, assumptions=[*ASSUMPTIONS, *kept])
