"""What is declared for a whole file holds for every column that says nothing else itself."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from sfumato import Attribute, Kind, Reading, Role, Schema, Table

TEXT = """\
[reading]
delimiter = ";"
decimal = ","
date_format = "%d.%m.%Y"
missing = ["NA", "999"]

[columns.cost]
role = "sensitive"
type = "number"

[columns.born]
role = "quasi"
type = "date"

[columns.sex]
role = "quasi"
type = "category"
missing = ["?"]

[columns.weight]
role = "other"
type = "number"
decimal = "."
"""


def test_a_column_has_the_marks_of_its_file_unless_it_says_otherwise() -> None:
    columns = Schema.from_text(TEXT).columns
    assert (columns["cost"].decimal, columns["cost"].format, columns["cost"].missing) == (",", None, ("NA", "999", ""))
    assert (columns["born"].decimal, columns["born"].format) == (None, "%d.%m.%Y")
    assert (columns["sex"].decimal, columns["sex"].missing) == (None, ("?",))
    assert columns["weight"].decimal == "."


def test_the_file_is_written_back_as_it_was() -> None:
    schema = Schema.from_text(TEXT)
    assert schema.to_toml() == TEXT
    assert Schema.from_text(schema.to_toml()) == schema


def test_the_command_line_goes_before_the_file_and_a_column_before_both() -> None:
    columns = Schema.from_text(TEXT).read_as(Reading(decimal=".", missing=("-",))).columns
    assert (columns["cost"].decimal, columns["weight"].decimal) == (".", ".")
    assert (columns["cost"].missing, columns["sex"].missing) == (("-", ""), ("?",))
    assert columns["born"].format == "%d.%m.%Y"


def test_columns_that_come_later_have_the_marks_too() -> None:
    schema = replace(Schema(other="keep"), reading=Reading(missing=("NA",)))
    table = Table(pl.DataFrame({"age": ["31", "NA"]}))
    assert schema.settled(table).columns["age"].missing == ("NA", "")
    role = Schema.from_roles(quasi=["age"]).read_as(Reading(missing=("NA",), decimal=","))
    assert role.settled(table).columns["age"].kind is Kind.INTEGER
    words = role.settled(Table(pl.DataFrame({"age": ["old", "NA"]}))).columns["age"]
    assert (words.kind, words.decimal) == (Kind.CATEGORY, None)


def test_undeclared_types_are_found_with_the_marks_of_the_file() -> None:
    table = Table(
        pl.DataFrame({"cost": ["1.234,5", "7"], "born": ["1.2.1990", "31.12.2000"], "zip": ["02139", "10115"]})
    )
    reading = Reading(decimal=",", thousands=".", date_format="%d.%m.%Y")
    found = Schema.from_roles(quasi=list(table.names)).read_as(reading).settled(table).columns
    assert [column.kind for column in found.values()] == [Kind.NUMBER, Kind.DATE, Kind.CATEGORY]
    assert (found["cost"].format, found["born"].decimal, found["zip"].decimal) == (None, None, None)


def test_a_schema_without_a_reading_is_as_it_was() -> None:
    attribute = Attribute("age", Role.QUASI, Kind.INTEGER)
    assert Schema({"age": attribute}).columns == {"age": attribute}
