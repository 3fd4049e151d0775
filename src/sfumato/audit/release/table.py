"""Claims of an anonymous table's card, measured again on the released file: classes, models, order of the rows.

Rows belong to one class when what an attacker may know of them is written alike (Samarati & Sweeney 1998).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.audit.release.private_tables import private_findings
from sfumato.errors import InputError
from sfumato.evaluate.check import Measures, check
from sfumato.random import Source
from sfumato.release.card import Card, Companion, MeasuredModel
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, compare_stated, leave_unaudited
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table, read
from sfumato.table.distinct import distinct

SLACK = 1e-9
ALIKE = 1e-6  # a card rounds what it measured
HARDLY_EVER = 1e-9
GROUP, COUNT = "group", "count"
SHORT = {
    "k-anonymity": "k",
    "distinct l-diversity": "l_distinct",
    "entropy l-diversity": "l_entropy",
    "recursive (c, l)-diversity": "l_recursive",
    "t-closeness": "t",
    "(α, k)-anonymity": "alpha",
}


def table_findings(card: Card, table: Table, path: Path, trials: int, rng: Source | None) -> list[Finding]:
    """Return what became of the claims about a table."""
    if table.rows == 0:
        return [leave_unaudited("the models of the card", "the release has no rows")]
    classes = class_columns(card, table)
    if not classes:
        return [leave_unaudited("the models of the card", "the card names no quasi-identifier")]
    sensitive = [column.name for column in card.released.columns if column.role == Role.SENSITIVE]
    measured, joined = table, [name for name in sensitive if name in table.names and name not in classes]
    if card.released.companions:
        measured, joined = _dealt(card, path)
        classes = [GROUP]
    found = check(measured, classes, joined, schema=_schema(card), c=_c(card))
    findings = [_kept(card, entry, found) for entry in card.released.models]
    findings.append(_as_stated(card, table, classes, found))
    if card.released.order == "shuffled":
        findings.append(_shuffled(table, classes))
    return [*findings, *private_findings(card, trials, rng)]


def class_columns(card: Card, table: Table) -> list[str]:
    """Return the columns that make classes: the quasi-identifiers, or all where the card promises by neighbours."""
    every = card.guarantee.neighbours is not None
    return [
        column.name
        for column in card.released.columns
        if (every or column.role == Role.QUASI) and column.name in table.names
    ]


def _schema(card: Card) -> Schema:
    """Return the types of sensitive columns as the card declares them, which tell the distances of t-closeness."""
    kinds = {kind.value: kind for kind in Kind if kind is not Kind.ORDINAL}  # the card does not tell an order
    columns = [*card.released.columns, *(column for entry in card.released.companions for column in entry.columns)]
    return Schema(
        {
            column.name: Attribute(column.name, Role.SENSITIVE, kinds.get(column.type or ""))
            for column in columns
            if column.role == Role.SENSITIVE
        }
    )


def _parameter(card: Card, name: str, column: str | None) -> Any:
    value = card.guarantee.parameters.get(name)
    return value.get(str(column)) if isinstance(value, dict) else value


def _c(card: Card) -> float:
    value = card.guarantee.parameters.get("c", 2.0)
    return float(min(value.values()) if isinstance(value, dict) else value)


def _kept(card: Card, entry: MeasuredModel, found: Measures) -> Finding:
    """Return whether the file has what a model asks for."""
    at_least = entry.model.startswith(("k", "distinct", "entropy", "recursive"))
    column = "" if entry.column is None else f" on '{entry.column}'"
    claim = f"{entry.model}{column}: {'at least' if at_least else 'at most'} {entry.asked:g} in every class"
    value = _value(card, entry, found)
    if value is None:
        return leave_unaudited(claim, "the card does not tell the order or the hierarchy behind its distance")
    holds = value >= entry.asked * (1 - SLACK) if at_least else value <= entry.asked + SLACK
    evidence: dict[str, Any] = {"measured": value, "asked": entry.asked, "classes": found.classes}
    if card.guarantee.unit != "row" and entry.model == "k-anonymity":
        evidence["note"] = "rows were counted; the persons behind them cannot be told apart in a release"
    if not holds:
        evidence["reason"] = f"the released file has {value:.6g}"
    return Finding(claim=claim, verdict=NOT_REFUTED if holds else REFUTED, bound=value, evidence=evidence)


def _value(card: Card, entry: MeasuredModel, found: Measures) -> float | None:
    name = SHORT.get(entry.model)
    if name == "k":
        return float(found.k)
    if name is None or entry.column not in found.sensitive:
        return None
    column = found.sensitive[entry.column]
    if name == "t":
        distance = _parameter(card, "t_distance", entry.column)
        kinds = {part.name: part.type for part in card.released.columns}
        known = {"equal": column.t_equal, "ordered": column.t_ordered, "auto": column.t}
        return None if kinds.get(entry.column) == Kind.ORDINAL else known.get(str(distance))
    if name == "alpha" and found.k < float(_parameter(card, "k", entry.column) or 0):
        return 1.0
    return float(getattr(column, name))


def _as_stated(card: Card, table: Table, classes: Sequence[str], found: Measures) -> Finding:
    """Return whether the measures on the card are those of the file."""
    sizes = table.frame.group_by(classes).len()["len"] if all(name in table.names for name in classes) else None
    pairs: dict[str, tuple[float | None, float | None]] = {"classes": (found.classes, card.released.classes)}
    if card.guarantee.unit == "row":
        pairs |= {
            f"{entry.model}{'' if entry.column is None else f' on {entry.column}'}": (
                _value(card, entry, found),
                entry.measured,
            )
            for entry in card.released.models
        }
        if sizes is not None:
            stated = card.released.measures
            pairs["smallest class"] = (float(sizes.min() or 0), stated.get("smallest_class"))  # type: ignore[arg-type]
            pairs["largest class"] = (float(sizes.max() or 0), stated.get("largest_class"))  # type: ignore[arg-type]
    wrong = {
        name: (f"{value:.6g}", f"{said:.6g}")
        for name, (value, said) in pairs.items()
        if value is not None and said is not None and not math.isclose(value, said, rel_tol=ALIKE, abs_tol=ALIKE)
    }
    evidence = {name: value for name, (value, _) in pairs.items() if value is not None}
    return compare_stated("the measures on the card are those of the file", wrong, evidence)


def _shuffled(table: Table, classes: Sequence[str]) -> Finding:
    """Return whether rows of a class stand side by side more often than a shuffle leaves them.

    In a random order two neighbours are of one class Σ n(n-1)/N times on average; the number is nearly Poisson
    (Barbour, Holst & Janson 1992), whose tail is bounded as by Chernoff.
    """
    codes = [
        table.frame[name].cast(pl.String).fill_null("").rank("dense").to_numpy().astype(np.int64) for name in classes
    ]
    numbering = distinct(codes, [int(column.max()) + 1 for column in codes])
    beside = int((numbering.ids[1:] == numbering.ids[:-1]).sum())
    sizes = numbering.counts.astype(np.float64)
    expected = float((sizes * (sizes - 1)).sum() / table.rows)
    log_chance = 0.0
    if beside > expected > 0:
        log_chance = beside - expected - beside * math.log(beside / expected)
    evidence: dict[str, Any] = {
        "neighbours of one class": beside,
        "expected": expected,
        "log of the chance": log_chance,
    }
    refuted = log_chance < math.log(HARDLY_EVER)
    if refuted:
        evidence["reason"] = f"{beside} neighbours are of one class, {expected:.4g} would be in a random order"
    verdict = REFUTED if refuted else NOT_REFUTED
    return Finding(claim="the order of the rows tells nothing about their classes", verdict=verdict, evidence=evidence)


def _dealt(card: Card, path: Path) -> tuple[Table, list[str]]:
    """Return the sensitive values of a second table, dealt to its groups one row each, and the name of their column."""
    companion: Companion = card.released.companions[0]
    if companion.file is None:
        raise InputError("the card names no file for its second table; save the release with its card again")
    values = read(path.with_name(companion.file)).frame
    names = [column.name for column in companion.columns if column.role == Role.SENSITIVE]
    dealt = values.select(pl.col([GROUP, *names]).repeat_by(COUNT)).explode([GROUP, *names])
    return Table(dealt), names
