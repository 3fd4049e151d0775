"""The card of a differentially private table: promise, assumptions and the released rows, nothing of the raw ones.

What a card of a private release may say is post-processing of what is released (Dwork & Roth 2014, proposition 2.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.release.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.tabular.private.public_columns import PublicColumn
from sfumato.version import __version__

NEIGHBOURS = "presence: one row is there or not"
ASSUMPTIONS = (
    "Every person has at most one row; where a person has more, the promise to that person weakens by their number.",
    "Types, bounds, categories and hierarchies were declared without looking at the rows.",
    "Other releases of the same rows add to the loss; a ledger adds them up.",
)
SEEDED = "drawn from a seed: whoever knows the seed can undo the protection: for tests only, promises nothing"


def private_card(
    *,
    algorithm: str,
    model: str,
    parameters: dict[str, Any],
    released: Released,
    notes: Sequence[str],
    secure: bool,
) -> Card:
    """Return the card of a private table; `notes` join the assumptions."""
    return Card(
        version=__version__,
        door="table",
        algorithm=algorithm,
        guarantee=Guarantee(model=model, parameters=parameters, unit="row", neighbours=NEIGHBOURS),
        assumptions=[*ASSUMPTIONS, *notes],
        released=released,
        warnings=[] if secure else [SEEDED],
    )


def released_columns(columns: Sequence[PublicColumn]) -> list[ReleasedColumn]:
    """Return the released columns as they stand on a card."""
    attributes = [column.attribute for column in columns]
    return [ReleasedColumn(name=one.name, role=str(one.role), type=str(one.kind)) for one in attributes]
