"""The card of an anonymous table: promise, assumptions, measured models, warnings; from released data alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.models.base import Model
from sfumato.models.groups import Groups
from sfumato.models.measures import l_distinct
from sfumato.models.words import promise_words
from sfumato.release.card import Card, Guarantee, MeasuredModel, Released, ReleasedColumn
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.schema import Role
from sfumato.tabular.coarsen import rules_on_card
from sfumato.tabular.problem import Problem
from sfumato.tabular.uniqueness import unique_warnings
from sfumato.version import __version__

ONLY_RELEASE = "This is the only release of these persons; further releases of the same data can undo the promise."
ASSUMPTIONS = (
    "An attacker knows quasi-identifiers and may know that a person is in the table, but nothing else about the rows.",
    "Columns that are not declared as quasi-identifiers cannot be linked to a person from outside.",
    ONLY_RELEASE,
    "The promise is syntactic, about the shape of the table; it is not differential privacy.",
)
ONE_ROW = "Every person has at most one row; with more, declare the column that names the person."


def make_card(
    problem: Problem,
    groups: Groups,
    names: Sequence[str],
    *,
    algorithm: str,
    settings: dict[str, Any],
    seeded: bool,
    notes: Sequence[str] = (),
) -> Card:
    """Return the card of a table whose released values form `groups`; `notes` join its assumptions."""
    units = "rows" if problem.schema.person is None else "persons"
    promises = promise_words(problem.models, problem.schema.names(Role.QUASI), units)
    measured = [
        MeasuredModel(
            model=model.name,
            column=model.sensitive,
            asked=model.asked,
            measured=float(f"{model.measure(groups):.12g}"),
            words=words,
        )
        for model, words in zip(problem.models, promises, strict=True)
    ]
    released = Released(
        rows=groups.rows,
        columns=[_column(problem, name) for name in names],
        classes=groups.count,
        models=measured,
        measures=_measures(groups),
        settings=settings | rules_on_card(problem.schema.columns.values()),
        order="kept" if settings.get("keep_order") else "shuffled",
    )
    person = problem.schema.person
    return Card(
        version=__version__,
        door="table",
        algorithm=algorithm,
        guarantee=Guarantee(
            model=" and ".join(dict.fromkeys(model.name for model in problem.models)),
            parameters=_parameters(problem.models),
            unit="row" if person is None else f"person (all rows with the same '{person}')",
        ),
        assumptions=[*ASSUMPTIONS, *([ONE_ROW] if person is None else []), *notes],
        released=released,
        audits=[_finding(model, entry.measured) for model, entry in zip(problem.models, measured, strict=True)],
        warnings=_warnings(problem, groups, settings, seeded=seeded),
    )


def _column(problem: Problem, name: str) -> ReleasedColumn:
    columns = {column: entry for column, entry in problem.schema.columns.items() if entry.role is not Role.IDENTIFIER}
    owner = name if name in columns else name.rpartition("_")[0]
    kind = columns[owner].kind
    return ReleasedColumn(name=name, role=str(columns[owner].role), type=None if kind is None else str(kind))


def _measures(groups: Groups) -> dict[str, float]:
    return {
        "smallest_class": int(groups.units.min()),
        "largest_class": int(groups.units.max()),
        "average_class": round(groups.rows / groups.count, 4),
        "discernibility": int(np.dot(groups.sizes, groups.sizes)),
    }


def _parameters(models: Sequence[Model]) -> dict[str, Any]:
    """Return the models' parameters side by side; by column where two models differ on one."""
    merged: dict[str, Any] = {}
    for model in models:
        for name, value in model.parameters().items():
            if merged.setdefault(name, value) != value:
                merged[name] = {
                    str(other.sensitive): other.parameters()[name] for other in models if name in other.parameters()
                }
    return merged


def _finding(model: Model, measured: float) -> Finding:
    column = "" if model.sensitive is None else f" on '{model.sensitive}'"
    return Finding(
        claim=f"{model.name}{column}: {'at least' if model.at_least else 'at most'} {model.asked:g} in every class",
        verdict=NOT_REFUTED if model.holds(measured) else REFUTED,
        bound=measured,
        evidence={"method": "classes counted again from the released values"},
    )


def repeated_identifiers(problem: Problem) -> list[str]:
    """Return the identifiers, if all of them repeat and no column names the person: one row each is assumed then.

    Rows that were counted before show no identifiers.
    """
    names = [name for name in problem.schema.names(Role.IDENTIFIER) if name in problem.table.names]
    if problem.schema.person is not None or problem.weights is not None:
        return []
    rows = problem.table.rows
    return names if all(problem.table.column(name).n_unique() < rows for name in names) else []


def _warnings(problem: Problem, groups: Groups, settings: dict[str, Any], *, seeded: bool) -> list[str]:
    warnings = unique_warnings(problem.unique, problem.schema, problem.table)
    warnings += [] if problem.table.intake is None else problem.table.intake.warnings
    columns = problem.schema.columns
    others = [name for name, attribute in columns.items() if attribute.role is Role.OTHER]
    if others:
        warnings.append(f"released unchanged and protected by no model: {', '.join(others)}")
    unmodelled = [name for name in problem.schema.names(Role.SENSITIVE) if name not in problem.sensitive]
    if unmodelled:
        warnings.append(
            f"sensitive values may be the same within a class (no diversity model): {', '.join(unmodelled)}"
        )
    single = [name for name, histograms in groups.sensitive.items() if l_distinct(histograms) < 2]
    if single:
        warnings.append(f"some classes have one sensitive value only: {', '.join(single)}")
    if len(problem.schema.names(Role.SENSITIVE)) > 1:
        warnings.append("each sensitive column is protected on its own; one of them known may give away another")
    if repeated := repeated_identifiers(problem):
        warnings.append(
            f"no identifier differs in every row ({', '.join(repeated)}): if one names a person, somebody has several "
            "rows, and the promise counts rows; declare it as the person"
        )
    if settings.get("keep_order"):
        warnings.append("rows keep their original order, which can link them to other files of the same order")
    if seeded:
        warnings.append("rows were shuffled from a seed; whoever knows the seed can undo the shuffle: for tests only")
    return warnings
