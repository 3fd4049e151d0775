"""Whether a released file is what its card says: its bytes, its shape, its classes and every model of the card.

A card is a set of claims about public data (Mitchell et al. 2019, "Model Cards for Model Reporting"); these can be
measured on the file alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sfumato.errors import ParameterError
from sfumato.evaluate.check import written_groups
from sfumato.models import Groups, Population, model_on_card
from sfumato.release.card import Card, MeasuredModel
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.schema.kinds import Weights
from sfumato.table import Table
from sfumato.tabular.perturbation.base import masking_class

ALIKE = 1e-6  # a card rounds what it measured
TABLE_DOOR = "table"
WRITTEN = "written"  # the setting of a card that tells how cells are written


class Agreement(msgspec.Struct, frozen=True):
    """What of a card was compared with its file, what of it is not so, and what cannot be told from the file.

    >>> Agreement(compared=["rows"], broken=[], untold=[]).holds
    True
    """

    compared: list[str]
    broken: list[str]
    untold: list[str]

    @property
    def holds(self) -> bool:
        """Whether everything that was compared is as the card says."""
        return not self.broken


def roles_on_card(card: Card) -> tuple[list[str], list[str]]:
    """Return the quasi-identifiers and the sensitive columns that a table's card names.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(50))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    >>> roles_on_card(sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)]).card)
    (['age'], ['disease'])
    """
    if card.door != TABLE_DOOR:
        raise ParameterError(f"the card is of the {card.door} door, which has no classes; use sfumato audit release")
    quasi, sensitive = (
        [column.name for column in card.released.columns if column.role == role]
        for role in (Role.QUASI, Role.SENSITIVE)
    )
    return quasi, sensitive


def kinds_on_card(card: Card) -> Schema:
    """Return a schema with the types of sensitive columns as the card tells them; it does not tell an order.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(50))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    >>> kinds_on_card(sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)]).card).columns["disease"].kind.value
    'category'
    """
    kinds = {kind.value: kind for kind in Kind if kind is not Kind.ORDINAL}
    return Schema(
        {
            column.name: Attribute(
                column.name, Role.SENSITIVE, kinds.get(column.type or ""), **missing_on_card(card, column.name)
            )
            for column in card.released.columns
            if column.role == Role.SENSITIVE
        }
    )


def missing_on_card(card: Card, name: str) -> dict[str, Any]:
    """Return what stands for a missing value in a column, and whether it counts as one, as a card tells it.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(50))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    >>> missing_on_card(sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)]).card, "disease")
    {'missing': ('',), 'missing_is_value': False}
    """
    written = card.released.settings.get(WRITTEN)
    told = written.get(name) if isinstance(written, Mapping) else None
    told = told if isinstance(told, Mapping) else {}
    marks = told.get("missing")
    missing = (*map(str, marks if isinstance(marks, list | tuple) else ()), "")
    return {"missing": missing, "missing_is_value": told.get("missing_is_value") is True}


def compare_with_card(
    card: Card, table: Table, digest: str, *, names: Sequence[str] | None = None, weights: Weights | None = None
) -> Agreement:
    """Return what of the card is so, on the released table and the hash of its file.

    Where rows were counted before, `weights` says how often each occurs and `names` which columns the file has.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(50))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    >>> release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)])
    >>> compare_with_card(release.card.for_file("out.csv", "abc"), release.table, "abc").compared
    ['hash', 'columns', 'rows', 'classes', 'k-anonymity']
    """
    compared, broken, untold = ["hash", "columns", "rows"], [], []
    released = card.released
    if released.sha256 is None:
        compared.remove("hash")
        untold.append("the card names no hash, so nothing ties it to a file")
    elif released.sha256 != digest:
        broken.append("the file's SHA-256 is not the card's; the file was changed, or belongs to another card")
    broken += _shape(card, table, table.names if names is None else names, weights)
    quasi, sensitive = roles_on_card(card)
    if released.companions:
        untold.append("the models concern two tables together; sfumato audit release measures them")
    elif all(name in table.names for name in (*quasi, *sensitive)) and quasi:
        groups = written_groups(table, quasi, sensitive, schema=kinds_on_card(card), weights=weights)
        _compare_number("classes", groups.count, released.classes, compared, broken)
        masked = masking_class(card.algorithm)
        for entry in [] if masked is not None else released.models:
            _compare_model(card, entry, groups, compared, broken, untold)
        for finding in [] if masked is None or weights is not None else masked.claims(card, table):
            compared.append(finding.claim)
            broken += [f"{finding.claim}: {finding.evidence.get('reason')}"] if finding.refuted else []
    return Agreement(compared, broken, untold)


def compare_population(agreement: Agreement, card: Card, population: Population) -> Agreement:
    """Return the agreement, broken where people of another list were counted than the one that the card names.

    >>> import polars as pl, sfumato as sf
    >>> voters, others = (sf.Population.of(sf.Table(pl.DataFrame({"age": [30] * n})), "voters") for n in (5, 6))
    >>> schema = sf.Schema.from_roles(quasi=["age"])
    >>> card = sf.Mondrian().anonymize(sf.Table(pl.DataFrame({"age": [30]})), schema, [sf.KMap(5, voters)]).card
    >>> compare_population(Agreement([], [], []), card, voters).compared
    ['population']
    >>> compare_population(Agreement([], [], []), card, others).holds
    False
    """
    stated = card.guarantee.parameters.get("population")
    if not isinstance(stated, str):
        return agreement
    if Population.named(stated).sha256 == population.sha256:
        return msgspec.structs.replace(agreement, compared=[*agreement.compared, "population"])
    told = f"population: found {population.words}; the card says {stated}"
    return msgspec.structs.replace(agreement, broken=[*agreement.broken, told])


def _shape(card: Card, table: Table, names: Sequence[str], weights: Weights | None) -> list[str]:
    """Return how the file's rows and columns are not those of the card."""
    stated = [column.name for column in card.released.columns]
    rows = table.rows if weights is None else int(weights.sum())
    wrong = [f"column '{name}' of the card is not in the file" for name in stated if name not in names]
    wrong += [f"column '{name}' of the file is not on the card" for name in names if name not in stated]
    if rows != card.released.rows:
        wrong.append(f"rows: found {rows}; the card says {card.released.rows}")
    return wrong


def _compare_number(name: str, found: float, stated: float | None, compared: list[str], broken: list[str]) -> None:
    if stated is None:
        return
    compared.append(name)
    if not math.isclose(found, stated, rel_tol=ALIKE, abs_tol=ALIKE):
        broken.append(f"{name}: found {found:g}; the card says {stated:g}")


def _compare_model(
    card: Card, entry: MeasuredModel, groups: Groups, compared: list[str], broken: list[str], untold: list[str]
) -> None:
    """Measure one model of the card again: it must hold, and have the value that the card states."""
    name = entry.model if entry.column is None else f"{entry.model} of {entry.column}"
    model = model_on_card(entry, card.guarantee.parameters)
    kinds = {part.name: part.type for part in card.released.columns}
    known = model is not None and (model.sensitive is None or model.sensitive in groups.sensitive)
    value = None
    if model is not None and known and card.guarantee.unit == "row":
        value = model.measure_again(groups, kinds.get(str(entry.column)))
    elif model is not None and known:
        value = model.measure_unseen_persons(groups)
    if model is None or value is None:
        told = model is not None and card.guarantee.unit == "row"
        untold.append(
            f"{name}: {model.untold if told and model else 'the card does not tell enough to measure it again'}"
        )
        return
    if not model.holds(value):
        compared.append(name)
        broken.append(f"{name}: found {value:g}; the card asks for {entry.asked:g}")
    elif card.guarantee.unit == "row":
        _compare_number(name, float(value), entry.measured, compared, broken)
    else:
        compared.append(name)  # persons were counted, whom a release does not tell apart: a row is at least one
