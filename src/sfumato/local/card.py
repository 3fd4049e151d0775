"""The public cards of reports, counts and means: what a device was promised, and what was done to the estimates.

Nothing on it comes from a true value; reports are already private when the card is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from sfumato.local.base import LocalProtocol
from sfumato.local.promise import person_promise, report_promise
from sfumato.release.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato.local.collector.estimate import Estimate
    from sfumato.local.means.base import MeanProtocol
    from sfumato.local.means.tally import MeanEstimate, MeanTally

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
DEVICE = "device"
MEMORY = (
    "A device that still has the same value sends what it drew for it before: the rounds do not add up.",
    "A device whose value changes draws a new report and pays ε again: n different values cost at most n times ε.",
    "That a value changed, or came back to an earlier one, can be seen when the report does.",
    "A device writes what it spends to its ledger before a report leaves, and draws nothing beyond its budget.",
)
CLAMPED = "The mean and its interval were kept within the bounds. This is post-processing."
SILENT = (
    "A row whose value is missing, cannot be read, or lies outside the declared domain or bounds has no report: the "
    "number of reports shows how many others there are, and no promise covers that."
)
DRAWN = "Every report was drawn at random from what its device holds, before it left the device."
SEEDED = "reports were drawn from a seed; whoever knows the seed can undo them: for tests only"


def report_card(protocol: LocalProtocol, reports: int, *, seeded: bool = False) -> Card:
    """Return the card of a file of reports.

    >>> from sfumato.local import OptimizedUnary
    >>> card = report_card(OptimizedUnary(["a", "b"], 1), 10)
    >>> card.door, card.guarantee.parameters["epsilon"] <= 1
    ('local', True)
    """
    columns = [ReleasedColumn(name="report", role="report", type=protocol.name)]
    return _domain_card(protocol, reports, columns, {}, notes=[], warnings=[SEEDED] if seeded else [])


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
    left_out = [f"{rejected:,} of {rejected + estimate.users:,} reports were rejected: they are in no count."]
    card = _domain_card(estimate.protocol, len(estimate.values), columns, settings, notes=notes, warnings=warnings)
    processed = [] if estimate.method is None else [POST_PROCESSING[estimate.method]]
    return msgspec.structs.replace(card, changes=[DRAWN, *(left_out if rejected else []), *processed])


def with_memory(card: Card, budget: float) -> Card:
    """Return the card of reports from devices with a memory and a budget (Erlingsson et al. 2014, section 3).

    ε is that of all reports of one device, about as many values as its budget pays for; `epsilon_value` is that of all
    its reports about one value.

    >>> from sfumato.local import OptimizedUnary
    >>> card = with_memory(OptimizedUnary(["a", "b"], 1).card(10), budget=4)
    >>> card.guarantee.unit, card.guarantee.parameters["epsilon"], card.guarantee.parameters["epsilon_value"]
    ('person (device): all reports of one', 4.0, 1.0)
    """
    stated = {name: value for name, value in card.guarantee.parameters.items() if name != "epsilon"}
    once = report_promise(Decimal(repr(card.guarantee.parameters["epsilon"])))
    answers = max(1, int(Decimal(str(budget)) / once.cost.epsilon))  # as many different ones as the budget pays for
    further = {"epsilon_value": card.guarantee.parameters["epsilon"], "device_budget": budget}
    guarantee = _local(Guarantee.of(person_promise(once, DEVICE, answers), **stated, **further))
    others = [sentence for sentence in card.assumptions if "Fresh reports of the same device add up" not in sentence]
    return msgspec.structs.replace(card, guarantee=guarantee, assumptions=[*MEMORY, *others])


def for_silent_rows(card: Card) -> Card:
    """Return the card of reports that were made from the rows of a table, some of which may have none.

    The sentence is on every such card, whether there are silent rows or not.

    >>> from sfumato.local import OptimizedUnary
    >>> for_silent_rows(OptimizedUnary(["a", "b"], 1).card(10)).assumptions[-1][:40]
    'A row whose value is missing, cannot be '
    """
    return msgspec.structs.replace(card, assumptions=[*card.assumptions, SILENT])


def mean_card(
    protocol: MeanProtocol, tally: MeanTally, estimate: MeanEstimate, *, column: str, consistent: bool = True
) -> Card:
    """Return the card of a mean estimated from the reports in a tally.

    >>> from sfumato.local.means.protocols import Duchi
    >>> protocol = Duchi(0, 10, 1)
    >>> tally = protocol.aggregate([1, -1, 1, 5])
    >>> card = mean_card(protocol, tally, protocol.estimate(tally), column="age")
    >>> card.algorithm, card.released.measures["reports"], card.warnings
    ('duchi', 3.0, ['1 reports were rejected and are in no sum'])
    """
    released = Released(
        rows=1,
        columns=[ReleasedColumn(name=column, role="estimate", type="mean")],
        measures={
            "mean": estimate.mean,
            "variance": estimate.variance,
            "low": estimate.low,
            "high": estimate.high,
            "reports": float(estimate.users),
        },
        settings={"bounds": [protocol.low, protocol.high], "chances": _texts(protocol.thresholds)},
        order="kept",
    )
    guarantee = _local(Guarantee.of(protocol.promise, epsilon_asked=protocol.epsilon))
    notes = [HONEST, CLAMPED] if consistent else [HONEST]
    warnings = [f"{tally.rejected} reports were rejected and are in no sum"] if tally.rejected else []
    left_out = [f"{tally.rejected:,} of {tally.rejected + estimate.users:,} reports were rejected: they are in no sum."]
    changes = [DRAWN, *(left_out if tally.rejected else []), *([CLAMPED] if consistent else [])]
    card = _card(protocol.name, guarantee, released, notes=notes, warnings=warnings)
    return msgspec.structs.replace(card, changes=changes)


def _domain_card(
    protocol: LocalProtocol,
    rows: int,
    columns: list[ReleasedColumn],
    settings: Mapping[str, Any],
    *,
    notes: Sequence[str],
    warnings: list[str],
) -> Card:
    """The card of reports or counts over a domain."""
    agreed = {
        "domain": len(protocol.domain),
        "domain_hash": protocol.domain_hash,
        "chances": _texts(protocol.thresholds),
    }
    asked = {name: value for name, value in protocol.parameters().items() if name != "epsilon"}
    further = {name: value for name, value in protocol.promises().items() if name != "epsilon"}
    guarantee = _local(Guarantee.of(protocol.promise, **further, **asked))
    released = Released(rows=rows, columns=columns, settings={**agreed, **settings}, order="kept")
    return _card(protocol.name, guarantee, released, notes=notes, warnings=warnings)


def _local(guarantee: Guarantee) -> Guarantee:
    """The same promise, made to a device that trusts nobody."""
    return msgspec.structs.replace(guarantee, model=f"local {guarantee.model}")


def _card(name: str, guarantee: Guarantee, released: Released, *, notes: Sequence[str], warnings: list[str]) -> Card:
    return Card(
        version=__version__,
        door="local",
        algorithm=name,
        guarantee=guarantee,
        assumptions=[*ASSUMPTIONS, *notes],
        released=released,
        warnings=warnings,
        changes=[DRAWN],
    )


def _texts(thresholds: Mapping[str, int]) -> dict[str, str]:
    """Thresholds as texts, since readers of JSON round large numbers."""
    return {name: str(number) for name, number in thresholds.items()}
