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
from sfumato.release.plain_words import listed
from sfumato.schema import Attribute, Role, Schema
from sfumato.tabular.coarsen import rules_on_card
from sfumato.tabular.level_rules import level_rules
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
PASSED_ON = (Role.SENSITIVE, Role.OTHER)
ONE_CLASS = "Each class is judged by itself: what the rows of one person in several classes tell together is not."
ONE_VALUE = (
    "Where a person has several sensitive values, the models hold however the values of a class are spread over its "
    "persons, as far as their counts tell."
)
ONE_ROW = "Every person has at most one row; with more, declare the column that names the person."

MINIMALITY = (
    "An attacker does not reason from what the algorithm chose: it looked at {columns} to decide which rows share a "
    "class, so that whoever knows it and everybody's quasi-identifiers can learn values from what it did not cut or "
    "show in more detail; `sfumato audit minimality` measures this."
)
BLIND = (
    "The attacker may know the algorithm: which rows share a class does not depend on who among them holds which value "
    "of {columns}, so that what it cut and what it did not cut tells nothing beyond the released table."
)


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
        settings=settings
        | rules_on_card(problem.schema.columns.values())
        | level_rules(problem.schema.columns.values())
        | _written(problem.schema),
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
        assumptions=[*ASSUMPTIONS, *_about_persons(problem), *_about_models(problem.models), *notes],
        released=released,
        audits=[_finding(model, entry.measured) for model, entry in zip(problem.models, measured, strict=True)],
        warnings=_warnings(problem, groups, settings, seeded=seeded),
    )


def choice_words(models: Sequence[Model], *, blind: bool) -> list[str]:
    """Return what a card says to whoever knows the algorithm: nothing where no model reads sensitive values.

    >>> from sfumato.models import KAnonymity, LDiversity
    >>> choice_words([KAnonymity(2)], blind=False)
    []
    >>> choice_words([LDiversity(2, "disease")], blind=False)[0][:80]
    'An attacker does not reason from what the algorithm chose: it looked at disease '
    """
    columns = listed(sorted({model.sensitive for model in models if model.sensitive is not None}))
    return [(BLIND if blind else MINIMALITY).format(columns=columns)] if columns else []


def _about_persons(problem: Problem) -> list[str]:
    """Return what is assumed of each person's rows, or how persons with several rows are protected."""
    if problem.schema.person is None:
        return [ONE_ROW]
    return [ONE_CLASS, *([ONE_VALUE] if problem.sensitive else [])]


def _about_models(models: Sequence[Model]) -> list[str]:
    return list(dict.fromkeys(text for model in models for text in model.assumptions))


def _column(problem: Problem, name: str) -> ReleasedColumn:
    columns = {column: entry for column, entry in problem.schema.columns.items() if entry.role is not Role.IDENTIFIER}
    owner = name if name in columns else name.rpartition("_")[0]
    kind = columns[owner].kind
    return ReleasedColumn(name=name, role=str(columns[owner].role), type=None if kind is None else str(kind))


def _written(schema: Schema) -> dict[str, Any]:
    """Return how cells that are passed on are written, where that is not plain, so that anyone can read them."""
    passed = [entry for entry in schema.columns.values() if entry.role in PASSED_ON and entry.kind is not None]
    told = {entry.name: _marks(entry) for entry in passed}
    special = {name: marks for name, marks in told.items() if marks}
    return {"written": special} if special else {}


def _marks(attribute: Attribute) -> dict[str, Any]:
    numeric = attribute.kind is not None and attribute.kind.numeric
    if not numeric and attribute.role is not Role.SENSITIVE:
        return {}
    marks = {name: getattr(attribute, name) for name in ("decimal", "thousands", "format", "zone") if numeric}
    missing = {"missing": [mark for mark in attribute.missing if mark], "missing_is_value": attribute.missing_is_value}
    return {name: value for name, value in (marks | missing).items() if value}


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

    Rows that were counted before show no identifiers; who counted them looks itself.
    """
    names = [name for name in problem.schema.names(Role.IDENTIFIER) if name in problem.table.names]
    if problem.schema.person is not None or problem.weights is not None:
        return []
    rows = problem.table.rows
    return names if all(problem.table.column(name).n_unique() < rows for name in names) else []


def repeated_warning(names: Sequence[str]) -> str:
    """Return what a card says of identifiers that repeat where no column names persons.

    >>> repeated_warning(["id"])[:40]
    'no identifier differs in every row (id):'
    """
    return (
        f"no identifier differs in every row ({', '.join(names)}): if one names a person, somebody has several rows, "
        "and the promise counts rows; declare it as the person"
    )


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
        warnings.append(repeated_warning(repeated))
    if groups.population is not None and (groups.population < groups.units).any():
        more = int((groups.population < groups.units).sum())
        warnings.append(
            f"{more} of {groups.count} classes have more rows than the population has people who fit them: the table's "
            "people are not all in the population, and models that count it promise less"
        )
    if settings.get("keep_order"):
        warnings.append("rows keep their original order, which can link them to other files of the same order")
    if seeded:
        warnings.append("rows were shuffled from a seed; whoever knows the seed can undo the shuffle: for tests only")
    return warnings
