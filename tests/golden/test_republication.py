"""Tables 4 and 5 of Pereira 2014, chapter 2: André has asthma (by difference), Mário has cancer (by intersection)."""

from __future__ import annotations

import polars as pl

from sfumato.audit import series
from sfumato.hierarchy import Hierarchy
from sfumato.release import Finding
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table
from sfumato.table.axis import CellAxis

COLUMNS = ["idade", "sexo", "código-postal", "doença"]
YOUNG = ("[20-25]", "M-F", "[4700-4800]")
MIDDLE = ("[25-30]", "M", "4600")
TABLE_4 = [
    (*YOUNG, "Pneumonia"),
    (*YOUNG, "Cancro"),
    (*MIDDLE, "Gripe"),
    (*MIDDLE, "HIV"),
    ("[30-40]", "M-F", "[4800-4900]", "Gripe"),
    ("[30-40]", "M-F", "[4800-4900]", "Tuberculose"),
    ("[30-40]", "M-F", "[4800-4900]", "Cancro"),
]
TABLE_5 = [
    (*YOUNG, "Pneumonia"),
    (*YOUNG, "Cancro"),
    (*YOUNG, "Asma"),
    (*MIDDLE, "Gripe"),
    (*MIDDLE, "HIV"),
    ("[30-35]", "M-F", "[4800-4900]", "Gripe"),
    ("[30-35]", "M-F", "[4800-4900]", "Tuberculose"),
    ("[35-40]", "M-F", "[4800-4900]", "Cancro"),
    ("[35-40]", "M-F", "[4800-4900]", "Pneumonia"),
]
SEX = Attribute("sexo", Role.QUASI, Kind.CATEGORY, hierarchy=Hierarchy.from_rows([("M", "M-F"), ("F", "M-F")]))
SCHEMA = Schema.from_roles(quasi=COLUMNS[:3], sensitive=COLUMNS[3:])


def findings(schema: Schema = SCHEMA) -> list[Finding]:
    tables = [Table(pl.DataFrame(rows, schema=COLUMNS, orient="row")) for rows in (TABLE_4, TABLE_5)]
    return series(tables, schema)


def lies_in(finding: Finding, point: dict[str, str]) -> bool:
    """Return whether a person with these quasi-identifiers lies in the box that a finding names."""
    for name, value in point.items():
        axis = CellAxis([finding.evidence["box"][name], value], SEX if name == "sexo" else None)
        if not axis[value] & axis[finding.evidence["box"][name]]:
            return False
    return True


def test_andre_has_asthma_by_difference() -> None:
    found = [finding for finding in findings() if lies_in(finding, {"idade": "22", "código-postal": "4750"})]
    assert [(finding.evidence["attack"], finding.evidence["values"]) for finding in found] == [("difference", ["Asma"])]
    assert (found[0].evidence["present"], found[0].evidence["absent"]) == ([2], [1])


def test_mario_has_cancer_by_intersection() -> None:
    found = [finding for finding in findings() if finding.evidence["attack"] == "intersection"]
    assert [finding.evidence["values"] for finding in found] == [["Cancro"]]
    assert lies_in(found[0], {"idade": "37", "código-postal": "4850"})
    assert not lies_in(found[0], {"idade": "33", "código-postal": "4850"})


def test_the_other_newcomer_has_pneumonia() -> None:
    boxes = {tuple(finding.evidence["values"]): finding.evidence["box"]["idade"] for finding in findings()}
    assert boxes == {("Asma",): "[20-25]", ("Cancro",): "[36-40]", ("Pneumonia",): "[35-40]"}


def test_a_hierarchy_label_is_read_through_its_tree() -> None:
    declared = Schema({**SCHEMA.columns, "sexo": SEX})
    assert {tuple(finding.evidence["values"]) for finding in findings(declared)} == {
        ("Asma",),
        ("Cancro",),
        ("Pneumonia",),
    }
    assert all(lies_in(finding, {"sexo": "F"}) for finding in findings(declared))
