"""Cards: they fit their published schema, keep to their keys, and hold no value that was not released."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

import jsonschema
import msgspec
import polars as pl
import pytest

from sfumato import (
    AlphaK,
    Attribute,
    Card,
    KAnonymity,
    Kind,
    LDiversity,
    Mondrian,
    Release,
    Role,
    Schema,
    Table,
    TCloseness,
    __version__,
)
from sfumato.models.base import Model
from sfumato.random import SeededSource
from sfumato.release.card import json_schema
from sfumato.release.finding import NOT_REFUTED

TOP = ["tool", "version", "door", "algorithm", "guarantee", "assumptions", "released", "audits", "warnings"]
TOP += ["ledger", "checkpoint", "title", "dataset", "date", "signed_by", "changes"]
ROWS = 60
PEOPLE = pl.DataFrame(
    {
        "name": [f"SECRET-{number}" for number in range(ROWS)],
        "visit": [f"VISIT-{number % 30}" for number in range(ROWS)],
        "age": [7000 + number for number in range(ROWS)],
        "age_min": [f"LOW-{number}" for number in range(ROWS)],
        "weight": [None if number % 7 == 0 else 50.125 + number for number in range(ROWS)],
        "disease": [("flu", "gout", "mumps")[number % 3] for number in range(ROWS)],
        "note": [f"NOTE-{number}" for number in range(ROWS)],
        "dropped": [f"DROPPED-{number}" for number in range(ROWS)],
    }
)
MODELS: list[list[Model]] = [
    [KAnonymity(5)],
    [KAnonymity(5), LDiversity(2, "disease"), TCloseness(0.9, "disease")],
    [LDiversity(2, "disease", "entropy"), LDiversity(2, "disease", "recursive", 3.0)],
    [AlphaK(0.8, 3, "disease")],
]


def released(
    models: list[Model],
    *,
    ranges: Literal["text", "columns"] = "text",
    person: str | None = None,
    keep_order: bool = False,
) -> Release:
    schema = Schema(
        {
            "name": Attribute("name", Role.IDENTIFIER),
            "visit": Attribute("visit", Role.IDENTIFIER),
            "age": Attribute("age", Role.QUASI, Kind.INTEGER),
            "age_min": Attribute("age_min", Role.IDENTIFIER),
            "weight": Attribute("weight", Role.QUASI),
            "disease": Attribute("disease", Role.SENSITIVE),
            "note": Attribute("note", Role.OTHER, accept_unique=True),
        },
        person=person,
        other="drop",
    )
    engine = Mondrian(ranges=ranges, keep_order=keep_order)
    return engine.anonymize(Table(PEOPLE), schema, models)


def plain(card: Card) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(card.to_json())
    return found


@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("ranges", ["text", "columns"])
@pytest.mark.parametrize("person", [None, "visit"])
def test_real_cards_fit_the_published_schema(
    models: list[Model], ranges: Literal["text", "columns"], person: str | None
) -> None:
    card = plain(released(models, ranges=ranges, person=person).card)
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(card, schema, cls=jsonschema.Draft202012Validator)
    assert list(card) == TOP
    assert list(card["guarantee"]) == ["model", "parameters", "unit", "neighbours"]


@pytest.mark.parametrize("damage", ["guarantee", "version", "released"])
def test_the_schema_refuses_a_card_without_its_heart(damage: str) -> None:
    card = plain(released(MODELS[0]).card)
    del card[damage]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(card, json_schema())
    with pytest.raises(msgspec.ValidationError):
        Card.from_json(json.dumps(card))


@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("ranges", ["text", "columns"])
def test_the_card_holds_no_raw_value_that_was_not_released(
    models: list[Model], ranges: Literal["text", "columns"]
) -> None:
    text = released(models, ranges=ranges, person="visit").card.to_json()
    for name in ("name", "visit", "age", "age_min", "note", "dropped"):
        assert not [value for value in PEOPLE[name].cast(pl.String).to_list() if value in text]
    assert not [value for value in PEOPLE["weight"].drop_nulls().cast(pl.String).to_list() if value in text]
    assert "dropped" not in text.casefold().replace("'visit'", "")


@pytest.mark.parametrize("ranges", ["text", "columns"])
def test_columns_on_the_card_are_those_released_with_the_role_they_had(ranges: Literal["text", "columns"]) -> None:
    release = released(MODELS[1], ranges=ranges)
    columns = release.card.released.columns
    assert [column.name for column in columns] == list(release.table.names)
    roles = {column.name: (column.role, column.type) for column in columns}
    assert roles["disease"] == ("sensitive", "category")
    assert roles["note"] == ("other", None)
    quasi = {"text": ["age", "weight"], "columns": ["age_min", "age_max", "weight_min", "weight_max", "weight_missing"]}
    for name in quasi[ranges]:
        assert roles[name] == ("quasi", "integer" if name.startswith("age") else "number")


def test_what_the_card_says_is_what_the_table_has() -> None:
    release = released(MODELS[1])
    classes = release.table.frame.group_by("age", "weight").agg(pl.len(), pl.col("disease").n_unique().alias("l"))
    card = release.card
    assert (card.tool, card.version, card.door, card.algorithm) == ("sfumato", __version__, "table", "mondrian")
    assert (card.released.rows, card.released.classes) == (ROWS, classes.height)
    measured = {model.model: model.measured for model in card.released.models}
    assert measured["k-anonymity"] == classes["len"].min()
    assert measured["distinct l-diversity"] == classes["l"].min()
    assert {finding.verdict for finding in card.audits} == {NOT_REFUTED}
    assert card.guarantee.parameters == {"k": 5, "l": 2, "l_kind": "distinct", "t": 0.9, "t_distance": "auto"}


def test_risks_are_warned_of() -> None:
    def warnings(release: Release) -> str:
        return " ".join(release.card.warnings)

    assert "original order" in warnings(released(MODELS[0], keep_order=True))
    assert "original order" not in warnings(released(MODELS[0]))
    assert "no diversity model" in warnings(released(MODELS[0]))
    assert "protected by no model: note" in warnings(released(MODELS[0]))
    schema = Schema.from_roles(quasi=["age"], other="drop")
    seeded = Mondrian().anonymize(Table(PEOPLE), schema, [KAnonymity(5)], rng=SeededSource(1))
    assert "seed" in warnings(seeded)
    assert seeded.card.released.order == "shuffled"
    assert released(MODELS[0], keep_order=True).card.released.order == "kept"


def test_the_unit_is_the_person_where_one_is_named() -> None:
    assert released(MODELS[0]).card.guarantee.unit == "row"
    assert any("at most one row" in line for line in released(MODELS[0]).card.assumptions)
    person = released(MODELS[0], person="visit").card
    assert person.guarantee.unit.startswith("person")
    assert "'visit'" in person.guarantee.unit
    assert not any("at most one row" in line for line in person.assumptions)


def test_saving_names_the_file_and_its_hash(tmp_path: Path) -> None:
    release = released(MODELS[0])
    final = release.save(tmp_path / "out.csv", card=tmp_path / "card.json")
    assert final.released.file == "out.csv"
    assert final.released.sha256 == hashlib.sha256((tmp_path / "out.csv").read_bytes()).hexdigest()
    assert Card.from_json((tmp_path / "card.json").read_bytes()) == final
    assert release.card.released.sha256 is None
