"""What the base class does for every method, and that the conformance suite catches methods that do not conform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jsonschema
import msgspec
import polars as pl
import pytest

import sfumato as sf
from sfumato.audit.gate import gate_release
from sfumato.checks import ConformanceError, anonymizer_checks
from sfumato.release.card import Guarantee, json_schema
from sfumato.release.statement import Statement
from sfumato.tabular.perturbation.base import Masked
from sfumato.tabular.perturbation.draft import MaskingDraft
from sfumato.tabular.perturbation.given import amounts_in, names_in


@dataclass(frozen=True)
class Faulty(sf.tabular.MaskingAnonymizer):
    """A method with one defect, to be caught."""

    defect: str = "none"

    RULES: ClassVar = {"defect": sf.RankSwapping.RULES["columns"]}
    algorithm: ClassVar = "faulty"

    def mask(self, draft: MaskingDraft) -> Masked:
        income, age = draft.table.column("income"), draft.table.column("age")
        if self.defect == "bounds":
            return Masked({"age": age.fill_null(0) + 200}, ["age: moved."])
        if self.defect == "lies":
            object.__setattr__(draft, "table", draft.table.with_columns([income + 1]))
            return Masked({"age": age}, ["age: kept."])
        if self.defect == "promises":
            promise = Guarantee(model="k-anonymity", parameters={"k": 5}, unit="row")
            return Masked({"income": income}, ["income: kept."], guarantee=promise)
        if self.defect == "silent":
            return Masked({"income": income}, [], assumptions=())
        return Masked({"income": income.reverse()}, ["income: reversed."])


def failing(method: Faulty) -> set[str]:
    names = set()
    for check in anonymizer_checks(method):
        try:
            check.run()
        except ConformanceError:
            names.add(check.name.partition(" (")[0])
    return names


@pytest.mark.parametrize(
    "defect, caught",
    [
        ("none", None),
        ("bounds", "declared limits are kept"),
        ("lies", "what is said to be unchanged is"),
        ("promises", "nothing unproven is promised"),
        ("silent", "nothing unproven is promised"),
    ],
)
def test_the_suite_catches_a_defect(defect: str, caught: str | None) -> None:
    found = failing(Faulty(defect)) - {"defect refuses ''", "a seed reproduces the release"}
    assert (caught in found) if caught else not found


def people() -> tuple[sf.Table, sf.Schema]:
    table = sf.Table.from_frame(sf.samples.patients(400))
    return table, sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["disease"], other="drop")


def test_the_gate_complains_about_a_method_that_hides_little() -> None:
    table, schema = people()
    release = sf.TopBottomCoding(top="age=85").anonymize(table, schema)
    found = gate_release(release, table, schema)
    assert {finding.evidence.get("attack") for finding in found if finding.refuted} >= {"linkability", "inference"}


def test_the_statement_tells_what_is_proven_of_cells_and_no_more() -> None:
    table, _ = people()
    sex = sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M"))
    release = sf.PRAM(keep=0.75).anonymize(table, sf.Schema({"sex": sex}, other="drop"))
    text = " ".join(Statement.of(release.card).text().split())
    assert "Nothing is promised." in text
    assert "nothing is promised" in repr(release)
    assert "every cell of sex (ε = 1.099) was drawn anew" in text
    assert "at most 75.0 %" in text
    assert "All other columns" not in text
    table, schema = people()
    wider = sf.Schema({**schema.columns, "sex": sex}, other="drop")
    text = " ".join(Statement.of(sf.PRAM("sex", keep=0.75).anonymize(table, wider).card).text().split())
    assert "All other columns of the row may give the same values away." in text


def test_the_published_schema_knows_promises_of_cells() -> None:
    definitions = json_schema()["$defs"]
    assert set(definitions["CellPromise"]["required"]) == {"columns", "epsilon"}
    assert "cells" not in definitions["Guarantee"]["required"]
    table, schema = people()
    sex = sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M"))
    card = sf.PRAM("sex", keep=0.8).anonymize(table, sf.Schema({**schema.columns, "sex": sex}, other="drop")).card
    jsonschema.validate(msgspec.json.decode(card.to_json()), json_schema())
    assert sf.Card.from_json(card.to_json()) == card
    plain = msgspec.json.decode(sf.Mondrian().anonymize(table, schema, [sf.KAnonymity(2)]).card.to_json())
    assert list(plain["guarantee"]) == ["model", "parameters", "unit", "neighbours"]  # as ever


def test_unique_columns_are_refused_unless_they_are_changed() -> None:
    frame = pl.DataFrame({"age": [30, 31] * 30, "note": [f"n{number}" for number in range(60)]})
    schema = sf.Schema.from_roles(quasi=["age"], other="keep")
    with pytest.raises(sf.SfumatoError, match="column 'note' would be released as it is"):
        sf.Rounding("age=5").anonymize(sf.Table(frame), schema)


def test_an_empty_table_and_one_without_quasi_identifiers_are_refused() -> None:
    method = sf.Rounding("age=5")
    with pytest.raises(sf.SfumatoError, match="the table has no rows"):
        method.anonymize(sf.Table(pl.DataFrame({"age": []})), sf.Schema.from_roles(quasi=["age"]))
    with pytest.raises(sf.SfumatoError, match="no column has the role quasi"):
        method.anonymize(sf.Table(pl.DataFrame({"age": [1]})), sf.Schema(other="keep"))


def test_lists_are_read_as_people_write_them() -> None:
    assert names_in(" age ,sex,") == ("age", "sex")
    assert amounts_in("a=b=3") == {"a=b": 3}
    with pytest.raises(sf.SfumatoError, match="'age' is not of the form income=100"):
        amounts_in("age")
    with pytest.raises(sf.SfumatoError, match="age=x is not a number"):
        amounts_in({"age": "x"})
    with pytest.raises(sf.SfumatoError, match="age=True is not a number"):
        amounts_in({"age": True})
    with pytest.raises(sf.SfumatoError, match="age=nan is not a number from"):
        amounts_in("age=nan")
    with pytest.raises(sf.SfumatoError, match="age=1e400 is not a number from"):
        amounts_in("age=1e400")
