"""Claims of the local door's cards: the ε that the protocol's parameters give, and counts that fit the noise.

A card of reports sends us to the reports themselves; cards of counts and means tell the chances they were made with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.audit.local import local
from sfumato.audit.local.header import NOT_DERIVED, RATIOS
from sfumato.audit.release.types import no_numbers
from sfumato.errors import InputError, ParameterError
from sfumato.local import LocalProtocol, MeanProtocol
from sfumato.local.probabilities import log_above
from sfumato.local.protocol_choice import mean_class, protocol_class
from sfumato.local.reports.files import read_header
from sfumato.random import Source
from sfumato.release import Card
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, compare_stated, leave_unaudited
from sfumato.table import Table, read

NUMBERS = ("count", "variance", "low", "high")
ALIKE = 1e-6
MOST_VALUES = 20_000  # of a domain that only a card tells of
DIFFERENT = "the chances on the card are not those of its ε"


def local_findings(card: Card, path: Path | None, trials: int, rng: Source | None) -> list[Finding]:
    """Return what became of the claims about reports, counts or a mean."""
    if any(column.role == "report" for column in card.released.columns):
        if path is None:
            raise ParameterError(f"the card is of a file of reports ({card.released.file}); name the file too")
        return [_same_protocol(card, read_header(path)), *local(path, trials=trials, rng=rng)]
    try:
        protocol = _protocol_of(card)
    except (InputError, ParameterError, KeyError, TypeError, ValueError) as error:
        return [leave_unaudited(f"one report costs at most ε={card.guarantee.parameters.get('epsilon')}", str(error))]
    findings = [_stated_epsilon(card, protocol)]
    if path is not None and isinstance(protocol, LocalProtocol) and protocol.pure:
        findings.append(_plausible_counts(card, protocol, read(path)))
    if isinstance(protocol, LocalProtocol):
        findings += local(protocol, trials=trials, rng=rng)
    return findings


def _protocol_of(card: Card) -> LocalProtocol | MeanProtocol:
    """Return a protocol with the card's parameters, over made-up values as many as the card says."""
    parameters: dict[str, Any] = dict(card.guarantee.parameters)
    asked = float(parameters.pop("epsilon_asked"))
    for name in ("epsilon", "epsilon_once", "device_budget"):
        parameters.pop(name, None)
    if "bounds" in card.released.settings:
        low, high = card.released.settings["bounds"]
        return mean_class(card.algorithm)(low, high, asked)
    size = int(card.released.settings["domain"])
    if size > MOST_VALUES:
        raise InputError(f"the card tells of {size} values; a protocol is tried over at most {MOST_VALUES}")
    return protocol_class(card.algorithm)(tuple(range(size)), asked, **parameters)


def _stated_epsilon(card: Card, protocol: LocalProtocol | MeanProtocol) -> Finding:
    """Return whether a report costs more than the card says, by the chances on the card."""
    stated = _of_a_report(card)
    thresholds = {name: int(number) for name, number in card.released.settings["chances"].items()}
    evidence: dict[str, Any] = {"chances": {name: str(number) for name, number in thresholds.items()}, "stated": stated}
    bound = protocol.spent
    if protocol.name in RATIOS and isinstance(protocol, LocalProtocol):
        bound = log_above(RATIOS[protocol.name](thresholds, len(protocol.domain)))
    elif isinstance(protocol, LocalProtocol):
        evidence["not audited"] = NOT_DERIVED.format(protocol.name)
    reasons = [DIFFERENT] * (thresholds != protocol.thresholds) + [f"they give ε={bound:.6g}"] * (bound > stated)
    if reasons:
        evidence["reason"] = " and ".join(reasons)
    return Finding(
        claim=f"one report costs at most ε={stated:.6g}",
        verdict=REFUTED if reasons else NOT_REFUTED,
        bound=bound,
        evidence=evidence,
    )


def _of_a_report(card: Card) -> float:
    """The ε of one report on a card; a device with a memory is promised another one for all of them."""
    stated = card.guarantee.parameters
    return float(stated.get("epsilon_value", stated["epsilon"]))


def _same_protocol(card: Card, protocol: LocalProtocol) -> Finding:
    """Return whether card and reports speak of one protocol, one domain and one ε."""
    settings: Mapping[str, Any] = card.released.settings
    pairs = {
        "protocol": (protocol.name, card.algorithm),
        "domain": (protocol.domain_hash, str(settings.get("domain_hash"))),
        "ε": (f"{float(protocol.promise.cost.epsilon):.9g}", f"{_of_a_report(card):.9g}"),
    }
    wrong = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    return compare_stated("the card and the header of the reports say the same", wrong, {"protocol": protocol.name})


def _plausible_counts(card: Card, protocol: LocalProtocol, table: Table) -> Finding:
    """Return whether the variances are smaller than the protocol's, and counts lie in their intervals and add up."""
    users = int(card.released.settings["reports"])
    claim = f"the counts and their variances are those of {users} reports by {protocol.name}"
    contradicted = _no_counts(table)
    if contradicted:
        return compare_stated(claim, contradicted, {})
    count, variance, low, high = (table.column(name).cast(pl.Float64).to_numpy() for name in NUMBERS)
    least = min(protocol.variance(users, 0), protocol.variance(users, users))
    wrong: dict[str, tuple[str, str]] = {}
    if (variance < least * (1 - ALIKE)).any():
        wrong["variance"] = (f"{variance.min():.6g}", f"at least {least:.6g}")
    astray = (count < low - ALIKE * users) | (count > high + ALIKE * users)
    if astray.any():
        wrong["counts outside their intervals"] = (str(int(astray.sum())), "")
    if card.released.settings.get("consistency") == "norm-sub" and users:
        total = float(np.sum(count))
        if not math.isclose(total, users, rel_tol=ALIKE):
            wrong["sum of the counts"] = (f"{total:.6g}", str(users))
    return compare_stated(claim, wrong, {"least variance": least})


def _no_counts(table: Table) -> dict[str, tuple[str, str]]:
    """Return the columns of counts that are not there, or hold cells that are no numbers or empty."""
    gone = [name for name in NUMBERS if name not in table.names]
    if gone:
        return {"missing columns": (", ".join(gone), "")}
    empty = [name for name in NUMBERS if table.column(name).null_count()]
    return no_numbers(table, NUMBERS) or {f"column '{name}'": ("empty cells", "number") for name in empty}
