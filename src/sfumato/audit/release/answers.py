"""Claims of an answer's card: intervals as wide as the noise asks, and noise as large as the price asks.

A count changes by one when a row comes or goes, so Laplace noise of scale b costs at least 1/b (Dwork, McSherry, Nissim
& Smith 2006) and Gaussian noise of deviation σ at least ρ = 1/(2σ²) (Bun & Steinke 2016); the noise is tried, too.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import polars as pl

from sfumato.audit.epsilon import epsilon
from sfumato.audit.release.types import no_numbers
from sfumato.dp.mechanisms import AdditiveNoise, Gaussian, Laplace
from sfumato.random import Source, noise_from
from sfumato.release import Card
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, compare_stated, leave_unaudited
from sfumato.table import Table

LAPLACE, GAUSSIAN = "discrete Laplace", "discrete Gaussian"
AGGREGATE = re.compile(r"(\w+)\((?:[^()]|\([^()]*\))*\)")
COARSE = 0.001  # the grid of a column of decimals, against the reach of its noise
TAIL = 1e-6
ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Noisy:
    """One aggregate of an answer as the card tells it: its name, what it asks, mechanism and noise scale."""

    name: str
    asked: str
    mechanism: str
    scale: float | None


def answers_findings(card: Card, table: Table, path: Path, trials: int, rng: Source | None) -> list[Finding]:
    """Return what became of the claims about an answer."""
    del path
    columns = _noisy(card)
    findings = [*_numbers(columns, table), *(_interval(card, column, table) for column in columns)]
    counts = [column for column in columns if column.asked == "count" and column.mechanism in {LAPLACE, GAUSSIAN}]
    if counts and str(card.guarantee.neighbours).startswith("presence"):
        findings.append(_price(card, counts))
    seen: set[tuple[str, float]] = set()
    for column in columns:
        key = column.mechanism, column.scale or 0.0
        if column.scale and key not in seen and column.mechanism in {LAPLACE, GAUSSIAN}:
            findings.append(_try_noise(column, trials, rng))
        seen.add(key)
    return findings


def _noisy(card: Card) -> list[Noisy]:
    """Return the aggregates, each with the word of the question that asks for it."""
    answers = [column for column in card.released.columns if column.role == "answer"]
    settings = card.released.settings
    words = AGGREGATE.findall(re.split(r" where | by ", str(settings.get("question", "")))[0])
    asked = words if len(words) == len(answers) else [""] * len(answers)
    scales = settings.get("noise_scale", {})
    return [
        Noisy(column.name, word, column.type or "", scales.get(column.name))
        for column, word in zip(answers, asked, strict=True)
    ]


def _numbers(columns: list[Noisy], table: Table) -> list[Finding]:
    """Return whether noisy numbers and their intervals are numbers; what has no scale may be a date."""
    scaled = [column.name for column in columns if column.scale is not None]
    names = [name for column in scaled for name in (column, f"{column}_low", f"{column}_high") if name in table.names]
    claim = "every cell of a noisy number is a number"
    return [compare_stated(claim, no_numbers(table, names), {"columns": names})] if names else []


def _reach(column: Noisy) -> float | None:
    """Return half the width of a 95 % interval of the noise, as on a continuous scale."""
    if column.scale is None or column.mechanism not in {LAPLACE, GAUSSIAN}:
        return None
    return column.scale * (math.log(20) if column.mechanism == LAPLACE else NormalDist().inv_cdf(0.975))


def _interval(card: Card, column: Noisy, table: Table) -> Finding:
    """Return whether intervals are those of the noise, to a step of the grid; ends cut off at 0 are let be."""
    claim = f"the 95 % intervals of '{column.name}' are those of {column.mechanism} noise"
    reach, names = _reach(column), [column.name, f"{column.name}_low", f"{column.name}_high"]
    if reach is None:
        return leave_unaudited(claim, "several noisy numbers go into them, or the mechanism has no scale")
    numbers = [table.frame[name].cast(pl.Float64, strict=False) for name in names if name in table.names]
    if len(numbers) < len(names) or any(series.null_count() for series in numbers):
        return leave_unaudited(claim, "the file does not hold numbers with low and high")
    claim += f" of scale {column.scale:g}"
    done = set(card.released.settings.get("postprocessing", []))
    if "consistent" in done:
        return leave_unaudited(
            claim, "the values were made consistent afterwards, which moves them within their intervals"
        )
    value, low, high = numbers
    slack = 1.5 * max(1.0, COARSE * reach) + ("integer" in done)
    sides = (value - low).filter(low > 0 if "nonnegative" in done else low.is_not_null()).to_list()
    sides += (high - value).filter(value > 0 if "nonnegative" in done else high.is_not_null()).to_list()
    off = [side for side in sides if abs(side - reach) > slack]
    wrong = {"half an interval": (f"{off[0]:.6g}", f"{reach:.6g}")} if off else {}
    return compare_stated(claim, wrong, {"half an interval": reach, "wrong": len(off), "of": len(sides)})


def _price(card: Card, counts: list[Noisy]) -> Finding:
    """Return whether the counts alone cost more than the whole question was charged."""
    parameters = card.guarantee.parameters
    name = "rho" if "rho" in parameters else "epsilon"
    sign = {"rho": "ρ", "epsilon": "ε"}[name]
    stated, scales = float(parameters[name]), [float(column.scale or math.inf) for column in counts]
    cost = sum((1 / scale if name == "epsilon" else 1 / (2 * scale**2)) for scale in scales)
    evidence: dict[str, Any] = {"stated": stated, "scales": dict(zip([c.name for c in counts], scales, strict=True))}
    refuted = cost > stated * ROUNDING
    if refuted:
        evidence["reason"] = f"the noise on the counts is so small that one row costs {sign}={cost:.6g}"
    return Finding(
        claim=f"the counts of one row more or less cost at most {sign}={stated:g}",
        verdict=REFUTED if refuted else NOT_REFUTED,
        bound=cost,
        evidence=evidence,
    )


def _try_noise(column: Noisy, trials: int, rng: Source | None) -> Finding:
    """Return what trials of the named noise show, on two made-up numbers that differ by about its scale."""
    from msgspec.structs import replace

    scale = float(column.scale or 1)
    change = max(1, round(scale))  # so far apart trials see them best
    mechanism: AdditiveNoise
    if column.mechanism == LAPLACE:
        mechanism, claim, delta = Laplace(Fraction(scale)), change / scale, 0.0
    else:
        mechanism, delta = Gaussian(Fraction(scale) ** 2), TAIL
        rho = 0.5 * (change / scale) ** 2
        claim = rho + 2 * math.sqrt(rho * math.log(1 / delta))

    def noisy(value: int, count: int, rng: Source) -> list[int]:
        return mechanism.release([value] * count, noise_from(rng))

    found = epsilon(noisy, 0, change, claim=claim, delta=delta, trials=trials, rng=rng)
    words = f"{column.mechanism} noise of scale {scale:g} hides a change of {change} within ε={claim:.4g}"
    reason = f"told apart with ε at least {found.bound:.3g} by {found.evidence['trials']} trials on made-up numbers"
    ending = f" and δ={delta:g}" if delta else ""
    return replace(found, claim=words + ending, evidence={**found.evidence, "reason": reason})
