"""The public card of reports and of estimates: what a device was promised, and what was done to the counts.

Nothing on it comes from a true value; reports are already private when the card is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.local.base import LocalProtocol
from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato.local.estimate import Estimate

ASSUMPTIONS = (
    "The device runs the protocol as it is, with its operating system's generator; the collector need not be trusted.",
    "The promise is for one report. Fresh reports of the same device add up: k of them cost at most k times ε.",
    "That a device reports is not hidden: reports from women only reveal gender, unless gender is part of the domain.",
    "The domain and the parameters were declared before the first report, not learnt from the values.",
)
HONEST = "Every report comes from the protocol; devices that lie can move the counts by more than their own number."
POST_PROCESSING = {
    "norm-sub": "Counts were made consistent by Norm-Sub: none negative, adding up to the users; post-processing.",
    "norm": "Counts were shifted by one amount to add up to the users; post-processing.",
    "norm-mul": "Negative counts were set to 0 and the rest multiplied to add up to the users; post-processing.",
    "base-cut": "Counts within reach of noise alone were set to 0; post-processing.",
    "sparse": "Candidates were picked by sparse regression and their counts not negative. This is post-processing.",
    "rounded": "Counts were rounded to whole numbers and negative ones set to 0; post-processing.",
}
SEEDED = "reports were drawn from a seed; whoever knows the seed can undo them: for tests only"


def report_card(protocol: LocalProtocol, reports: int, *, seeded: bool = False) -> Card:
    """Return the card of a file of reports.

    >>> from sfumato.local import OptimizedUnary
    >>> card = report_card(OptimizedUnary(["a", "b"], 1), 10)
    >>> card.door, card.guarantee.parameters["epsilon"] <= 1
    ('local', True)
    """
    columns = [ReleasedColumn(name="report", role="report", type=protocol.name)]
    warnings = [SEEDED] if seeded else []
    return _card(protocol, reports, columns, notes=[], settings={}, warnings=warnings)


def estimate_card(estimate: Estimate) -> Card:
    """Return the card of estimated counts, which says how they were post-processed and how many reports were rejected.

    >>> from sfumato.local import OptimizedUnary
    >>> protocol = OptimizedUnary(["a", "b"], 1)
    >>> estimate_card(protocol.estimate(protocol.aggregate([]), consistent=False)).released.settings["consistency"]
    'none'
    """
    names = ("value", "count", "variance", "low", "high")
    columns = [ReleasedColumn(name=name, role="estimate") for name in names]
    notes = [HONEST] if estimate.method is None else [HONEST, POST_PROCESSING[estimate.method]]
    settings = {
        "consistency": estimate.method or "none",
        "reports": estimate.users,
        "rejected": estimate.rejected,
    }
    rejected = sum(estimate.rejected.values())
    warnings = [f"{rejected} reports were rejected and are in no count"] if rejected else []
    return _card(estimate.protocol, len(estimate.values), columns, notes=notes, settings=settings, warnings=warnings)


def _card(
    protocol: LocalProtocol,
    rows: int,
    columns: list[ReleasedColumn],
    *,
    notes: list[str],
    settings: dict[str, Any],
    warnings: list[str],
) -> Card:
    chances = {name: str(chance) for name, chance in protocol.chances.items()}
    asked = {name: value for name, value in protocol.parameters().items() if name != "epsilon"}
    return Card(
        version=__version__,
        door="local",
        algorithm=protocol.name,
        guarantee=Guarantee(
            model="local differential privacy",
            parameters={**protocol.promises(), **asked},
            unit="one report of one device",
            neighbours="any two values of the domain",
        ),
        assumptions=[*ASSUMPTIONS, *notes],
        released=Released(
            rows=rows,
            columns=columns,
            settings={
                "domain": len(protocol.domain),
                "domain_hash": protocol.domain_hash,
                "chances": chances,
                **settings,
            },
            order="kept",
        ),
        warnings=warnings,
    )
