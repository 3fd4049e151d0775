"""Claims of the card of a masked table: what its method says of every released cell, and that no promise is made.

Hundepool et al., "Statistical Disclosure Control" (2012, chapter 3), measure such methods by attacks
beside the original.
"""

from __future__ import annotations

from sfumato.release.card import Card
from sfumato.release.finding import Finding, leave_unaudited
from sfumato.table import Table
from sfumato.tabular.perturbation.base import MaskingAnonymizer

WHOLE = "a promise about the whole release"
NONE = "the card makes none; give the original rows to measure what attacks find"


def masking_findings(kind: type[MaskingAnonymizer], card: Card, table: Table) -> list[Finding]:
    """Return what became of the claims of a masking method, measured on the released table."""
    unpromised = [leave_unaudited(WHOLE, NONE)] if not card.guarantee.parameters else []
    return [*kind.claims(card, table), *unpromised]
