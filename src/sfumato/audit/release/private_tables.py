"""The promises about neighbours on a table's card: the exact δ of secret sampling worked out again, boxes by trials.

The loss of sampling and suppression is that of Li, Qardaji & Su (2012), "On Sampling, Anonymization, and Differential
Privacy"; here it is summed term by term. Trials run on made-up rows, never on the data behind the card.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec.structs import replace

from sfumato import plugins
from sfumato.audit.epsilon import epsilon
from sfumato.random import Source
from sfumato.release import Card
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, leave_unaudited
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table
from sfumato.tabular.base import Anonymizer

Reals = npt.NDArray[np.float64]
MOST_RUNS = 600  # of an algorithm that takes milliseconds
SIDE = 7
ROUNDING = 1 + 1e-6
MOST_SIZES = 2000  # of a class, all of which are tried
AROUND = 50
MOST_K, MOST_LOSS = 20_000, 100  # beyond, the sum of a card that anybody wrote would take minutes


def private_findings(card: Card, trials: int, rng: Source | None) -> list[Finding]:
    """Return what became of a promise about neighbouring tables, if the card has one: each class names its attack."""
    if card.guarantee.neighbours is None:
        return []
    known = plugins.every("anonymizers", Anonymizer).get(card.algorithm)
    if known is None or known.audit is None:
        claim = f"{card.guarantee.model} with {_words(card.guarantee.parameters)}"
        return [leave_unaudited(claim, f"no mechanism is known by the name '{card.algorithm}'")]
    findings: list[Finding] = plugins.load_object(known.audit)(card, trials, rng)
    return findings


def sampling_findings(card: Card, trials: int, rng: Source | None) -> list[Finding]:
    """Return what became of SafePub's promise: the exact δ of its sampling, worked out again without any trial."""
    del trials, rng
    return [_sampling_finding(card), *_scheme(card)]


def box_findings(card: Card, trials: int, rng: Source | None) -> list[Finding]:
    """Return what trials of PrivateMondrian with the card's parameters show on made-up rows."""
    return [_boxes(card, trials, rng)]


def _words(parameters: dict[str, Any]) -> str:
    signs = {"epsilon": "ε", "delta": "δ"}
    numbers = {name: value for name, value in parameters.items() if isinstance(value, int | float)}
    return ", ".join(f"{signs.get(name, name)}={value:g}" for name, value in numbers.items())


def _sampling_finding(card: Card) -> Finding:
    """Return whether sampling and suppression have a larger δ than the card says."""
    stated = card.guarantee.parameters
    loss = float(card.released.settings.get("epsilon_sampling", stated["epsilon"]))
    k, beta, delta = int(stated["k"]), float(stated["beta"]), float(stated["delta"])
    if not (0 < beta < 1 and 1 <= k <= MOST_K and 0 <= loss <= MOST_LOSS):
        claim = f"{card.guarantee.model} with {_words(stated)}"
        return leave_unaudited(claim, f"δ is summed for 0 < β < 1, k up to {MOST_K} and ε up to {MOST_LOSS}")
    found, rows = sampled_delta(k, beta, loss)
    evidence: dict[str, Any] = {"k": k, "beta": beta, "epsilon": loss, "stated": delta, "rows of the class": rows}
    if found > delta * ROUNDING:
        evidence["reason"] = f"a class of {rows} rows and one of {rows - 1} are told apart with δ={found:.3g}"
    return Finding(
        claim=f"sampling with β={beta:g} and leaving out classes below {k} costs ε={loss:g} with δ at most {delta:.3g}",
        verdict=REFUTED if found > delta * ROUNDING else NOT_REFUTED,
        bound=found,
        evidence=evidence,
    )


def sampled_delta(k: int, beta: float, loss: float) -> tuple[float, int]:
    """Return the largest δ between a class of n rows and one of n-1 after sampling and suppression, and that n.

    >>> delta, rows = sampled_delta(10, 0.1, 1.0)
    >>> f"{delta:.2g}", rows
    ('1e-08', 14)
    """
    factor = math.exp(loss)
    share = (factor - 1 + beta) / factor  # from a count of share·n on, one row more is too likely
    worst, rows = 0.0, 1
    for count in _tried_sizes(k, share):
        after, before = (_published_size_law(size, k, beta) for size in (count, count - 1))
        shorter = np.zeros_like(after)
        shorter[: len(before)] = before
        for one, other in ((after, shorter), (shorter, after)):
            delta = float(np.maximum(one - factor * other, 0.0).sum())
            worst, rows = max((worst, rows), (delta, count))
    return worst, rows


def _tried_sizes(k: int, share: float) -> Iterable[int]:
    """Return the sizes of a class to try: all that have a chance, or those beside k and k/share if they are many."""
    most = math.ceil(4 * k / share) + AROUND
    if most <= MOST_SIZES:
        return range(1, most + 1)
    peak = math.ceil(k / share)  # a class below k is never published, and tells nothing
    return [*range(k, k + AROUND), *range(max(k + AROUND, peak - AROUND), peak + AROUND)]


def _published_size_law(rows: int, k: int, beta: float) -> Reals:
    """Return the law of the published size of a class of `rows`: its sample, or 0 where that is below k.

    Sizes far above k are left out of a large class: what they add could only make the finding larger.
    """
    sizes = np.arange(1, min(rows, 4 * k + 200) + 1)
    steps = np.log((rows - sizes + 1) / sizes * (beta / (1 - beta)))
    law: Reals = np.exp(rows * math.log1p(-beta) + np.concatenate([[0.0], np.cumsum(steps)]))
    hidden = law[:k].sum()
    law[:k] = 0.0
    law[0] = hidden
    return law


def _scheme(card: Card) -> list[Finding]:
    picking = float(card.released.settings.get("epsilon_scheme", 0))
    if not picking:
        return []
    why = "its scores need the rows; the exponential mechanism itself: sfumato audit epsilon exponential"
    return [leave_unaudited(f"picking the scheme costs at most ε={picking:g}", why)]


def _boxes(card: Card, trials: int, rng: Source | None) -> Finding:
    """Return what trials of the algorithm, with the card's parameters, show on made-up rows."""
    from sfumato.tabular.private.mondrian import PrivateMondrian

    loss = float(card.guarantee.parameters["epsilon"])
    chosen = PrivateMondrian(epsilon=loss, depth=int(card.released.settings["depth"]))
    columns = {name: Attribute(name, Role.QUASI, Kind.INTEGER, bounds=(0, SIDE)) for name in ("x", "y")}

    def released(corner: int, rng: Source) -> list[int]:
        made_up = pl.DataFrame({name: [0] * corner + [SIDE] * (2 * SIDE) for name in columns})
        rows = chosen.anonymize(Table(made_up), Schema(columns), rng=rng, audit=False).table.frame
        near = sum(1 for text in rows["x"].to_list() if str(text).startswith(("0", "[0")))
        return [rows.height, near, rows.n_unique()]

    found = epsilon(released, 4, 5, claim=loss, trials=min(trials, MOST_RUNS), rng=rng)
    reason = f"at least ε={found.bound:.3g} by {found.evidence['trials']} runs on made-up rows"
    claim = f"{card.guarantee.model} with ε={loss:g}"
    return replace(found, claim=claim, evidence={**found.evidence, "input": "rows in one corner", "reason": reason})
