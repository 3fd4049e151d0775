"""Attacks on a series of releases: what the property tests do not reach."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.audit import series
from sfumato.errors import InputError, SchemaError
from sfumato.schema import Schema
from sfumato.table import Table

SCHEMA = Schema.from_roles(quasi=["age"], sensitive=["ill"])


def release(*rows: tuple[str, str]) -> Table:
    return Table(pl.DataFrame(rows, schema=["age", "ill"], orient="row"))


def test_three_releases_expose_what_no_two_do() -> None:
    tables = [
        release(*(("[20-30]", ill) for ill in "abc")),
        release(*(("[20-30]", ill) for ill in "bcd")),
        release(*(("[20-30]", ill) for ill in "cda")),
    ]
    found = [finding for finding in series(tables, SCHEMA) if finding.evidence["attack"] == "intersection"]
    assert [(finding.evidence["present"], finding.evidence["values"]) for finding in found] == [([1, 2, 3], ["c"])]


def test_overlapping_classes_hide_their_people() -> None:
    both = release(("[20-30]", "a"), ("[20-30]", "b"), ("[20-31]", "a"), ("[20-31]", "c"))
    later = release(("25", "b"), ("25", "c"))
    assert not any(finding.evidence["attack"] == "intersection" for finding in series([both, later], SCHEMA))
    apart = release(("[20-30]", "a"), ("[20-30]", "b"), ("[26-31]", "a"), ("[26-31]", "c"))
    assert {
        tuple(finding.evidence["values"])
        for finding in series([apart, later], SCHEMA)
        if finding.evidence["attack"] == "intersection"
    } == {("b",)}


def test_leavers_are_exposed_by_what_is_gone() -> None:
    tables = [release(*(("[20-30]", ill) for ill in "abc")), release(*(("[20-30]", ill) for ill in "ab"))]
    [finding] = series(tables, SCHEMA)
    assert (finding.evidence["present"], finding.evidence["absent"], finding.evidence["values"]) == ([1], [2], ["c"])


def test_l_asks_for_more_than_one_value() -> None:
    tables = [release(*(("[20-30]", ill) for ill in "abcd")), release(*(("[20-30]", ill) for ill in "cdef"))]
    assert not series(tables, SCHEMA)[0].refuted
    assert [finding.evidence["values"] for finding in series(tables, SCHEMA, l=3)] == [["c", "d"]]


def test_pseudonyms_link_rows_and_shrink_boxes() -> None:
    schema = Schema.from_roles(quasi=["age"], sensitive=["ill"], person="id")
    columns = ["id", "age", "ill"]
    first = [("p", "[20-30]", "a"), ("q", "[20-30]", "b"), ("r", "[31-40]", "a"), ("s", "[31-40]", "b")]
    second = [("p", "[20-24]", "a"), ("x", "[20-24]", "b"), ("q", "[25-40]", "b"), ("r", "[25-40]", "a"),
              ("s", "[25-40]", "b")]  # fmt: skip
    tables = [Table(pl.DataFrame(rows, schema=columns, orient="row")) for rows in (first, second)]
    linked = {
        tuple(finding.evidence["persons"]): (finding.evidence["box"]["age"], finding.evidence["values"])
        for finding in series(tables, schema)
        if finding.evidence["attack"] == "linking"
    }
    assert linked == {("p",): ("[20-24]", ["a"]), ("q",): ("[25-30]", ["b"]), ("x",): ("[20-24]", ["b"])}


def test_limits_in_two_columns_are_ranges() -> None:
    limits = pl.DataFrame({"age_min": [35, 35], "age_max": [40, 40], "ill": ["a", "d"]})
    [finding] = [
        finding
        for finding in series([release(*(("[30-40]", ill) for ill in "abc")), Table(limits)], SCHEMA)
        if finding.evidence["attack"] == "intersection"
    ]
    assert finding.evidence["box"] == {"age": "[35-40]"}


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(InputError, match="at least two releases; found 1"):
        series([release(("1", "a"))], SCHEMA)
    with pytest.raises(SchemaError, match="a sensitive column"):
        series([release(("1", "a"))] * 2, Schema.from_roles(quasi=["age"]))
    with pytest.raises(InputError, match="no column 'aeg'; did you mean 'age'"):
        series([release(("1", "a"))] * 2, Schema.from_roles(quasi=["aeg"], sensitive=["ill"]))


def test_a_range_written_backwards_is_that_range() -> None:
    rows = [("[30-20]", ill) for ill in "ab"], [("[20-30]", ill) for ill in "bc"]
    straight = [("[20-30]", ill) for ill in "ab"], [("[20-30]", ill) for ill in "bc"]
    found, wanted = (series([release(*table) for table in tables], SCHEMA) for tables in (rows, straight))
    assert [finding.verdict for finding in found] == [finding.verdict for finding in wanted]
    assert any(finding.refuted for finding in found)
