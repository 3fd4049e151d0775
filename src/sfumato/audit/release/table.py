"""Claims of an anonymous table's card, measured again on the released file: classes, models, order of the rows.

Rows belong to one class when what an attacker may know of them is written alike (Samarati & Sweeney 1998).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.audit.release.masking import masking_findings
from sfumato.audit.release.private_tables import private_findings
from sfumato.audit.release.second_table import GROUP, dealt_values
from sfumato.audit.release.types import type_finding, typed_columns, without_contradictions
from sfumato.evaluate.agreement import missing_on_card
from sfumato.evaluate.check import written_groups
from sfumato.models import Groups, Model, model_on_card
from sfumato.random import Source
from sfumato.release.card import Card, MeasuredModel, ReleasedColumn
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, compare_stated, leave_unaudited
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table
from sfumato.table.distinct import distinct
from sfumato.tabular.coarsen import ranges_in_order
from sfumato.tabular.perturbation.base import masking_class

ALIKE = 1e-6  # a card rounds what it measured
HARDLY_EVER = 1e-9
UNCOUNTED = "the second table does not count the released rows"
UNKNOWN = "no model that is installed here is called so with these parameters"
UNSEEN = "the release does not tell which rows are of one person, and any value is possible"
BEST_FOR_PERSONS = "the best value that the rows allow; the persons behind them cannot be told apart in a release"


def table_findings(card: Card, table: Table, path: Path, trials: int, rng: Source | None) -> list[Finding]:
    """Return what became of the claims about a table."""
    if table.rows == 0:
        return [leave_unaudited("the models of the card", "the release has no rows")]
    classes = class_columns(card, table)
    if not classes:
        return [leave_unaudited("the models of the card", "the card names no quasi-identifier")]
    sensitive = [column.name for column in card.released.columns if column.role == Role.SENSITIVE]
    measured, joined = table, [name for name in sensitive if name in table.names and name not in classes]
    second: list[Finding] = []
    if card.released.companions:
        dealt_out = dealt_values(card, path, table.rows)
        if dealt_out.table is None:
            return [*dealt_out.findings, leave_unaudited("the models of the card", UNCOUNTED)]
        measured, joined, second = dealt_out.table, dealt_out.names, dealt_out.findings
        classes = [GROUP]
    typed, dealt = typed_columns(card, table), typed_columns(card, measured)
    written = without_contradictions(measured, dealt)
    groups = written_groups(written, classes, joined, schema=_schema(card, written, dealt))
    masked = masking_class(card.algorithm)
    entries = [] if masked is not None else card.released.models  # a masking method measures its claims itself
    again = [MeasuredAgain.of(card, entry, groups) for entry in entries]
    findings = [*second, *([type_finding([(table, typed), (measured, dealt)])] if {**typed, **dealt} else [])]
    findings += [entry.finding(card, groups) for entry in again]
    findings += [] if masked is None else masking_findings(masked, card, table)
    findings.append(_as_stated(card, table, classes, groups.count, again))
    if card.released.order == "shuffled":
        findings.append(_shuffle_finding(table, classes))
    return [*findings, *private_findings(card, trials, rng)]


def class_columns(card: Card, table: Table) -> list[str]:
    """Return the columns that make classes: the quasi-identifiers, or all where the card promises by neighbours."""
    every = card.guarantee.neighbours is not None
    return [
        column.name
        for column in card.released.columns
        if (every or column.role == Role.QUASI) and column.name in table.names
    ]


def _schema(card: Card, table: Table, typed: Mapping[str, Attribute]) -> Schema:
    """Return the types of sensitive columns as the card declares them, which tell the distances of t-closeness."""
    columns = [*card.released.columns, *(column for entry in card.released.companions for column in entry.columns)]
    sensitive = [column for column in columns if column.role == Role.SENSITIVE]
    return Schema({column.name: typed.get(column.name) or _attribute(card, column, table) for column in sensitive})


def _attribute(card: Card, column: ReleasedColumn, table: Table) -> Attribute:
    """Return a sensitive column as declared; the card tells no order, but ranges that a column was coarsened to do."""
    kinds = {kind.value: kind for kind in Kind if kind is not Kind.ORDINAL}
    plain = Attribute(column.name, Role.SENSITIVE, kinds.get(column.type or ""), **missing_on_card(card, column.name))
    if column.type != Kind.ORDINAL or column.name not in table.names:
        return plain
    order = ranges_in_order(table.column(column.name))
    return plain if order is None else replace(plain, kind=Kind.ORDINAL, categories=order)


@dataclass(frozen=True)
class MeasuredAgain:
    """A model of a card, rebuilt by its class, and its value on the released file; None where that cannot be told."""

    entry: MeasuredModel
    model: Model | None
    value: float | None

    @classmethod
    def of(cls, card: Card, entry: MeasuredModel, groups: Groups) -> MeasuredAgain:
        """Return an entry of a card measured on the classes of its file."""
        model = model_on_card(entry, card.guarantee.parameters)
        if model is None or (model.sensitive is not None and model.sensitive not in groups.sensitive):
            return cls(entry, model, None)
        kinds = {part.name: part.type for part in card.released.columns}
        found = groups.sensitive.get(str(entry.column))
        told = found is not None and found.column.kind is Kind.ORDINAL  # the released ranges tell their order
        if card.guarantee.unit == "row":
            value = model.measure_again(groups, None if told else kinds.get(str(entry.column)))
        else:
            value = model.measure_unseen_persons(groups)
        return cls(entry, model, None if value is None else float(value))

    def finding(self, card: Card, groups: Groups) -> Finding:
        """Return whether the file has what the model asks for."""
        entry, value = self.entry, self.value
        column = "" if entry.column is None else f" on '{entry.column}'"
        if self.model is None:
            return leave_unaudited(f"{entry.model}{column}: {entry.asked:g} in every class", UNKNOWN)
        side = "at least" if self.model.at_least else "at most"
        claim = f"{entry.model}{column}: {side} {entry.asked:g} in every class"
        persons = card.guarantee.unit != "row"
        if value is None:
            return leave_unaudited(claim, UNSEEN if persons else self.model.untold)
        evidence: dict[str, Any] = {"measured": value, "asked": entry.asked, "classes": groups.count}
        if persons:
            evidence["note"] = BEST_FOR_PERSONS
        holds = self.model.holds(value)
        if not holds:
            evidence["reason"] = f"the released file has {value:.6g}"
        return Finding(claim=claim, verdict=NOT_REFUTED if holds else REFUTED, bound=value, evidence=evidence)


def _as_stated(card: Card, table: Table, classes: Sequence[str], count: int, again: Sequence[MeasuredAgain]) -> Finding:
    """Return whether the measures on the card are those of the file."""
    sizes = table.frame.group_by(classes).len()["len"] if all(name in table.names for name in classes) else None
    pairs: dict[str, tuple[float | None, float | None]] = {"classes": (count, card.released.classes)}
    if card.guarantee.unit == "row":
        for one in again:
            column = "" if one.entry.column is None else f" on {one.entry.column}"
            pairs[f"{one.entry.model}{column}"] = (one.value, one.entry.measured)
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


def _shuffle_finding(table: Table, classes: Sequence[str]) -> Finding:
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
