"""Schema files: read back what was written, refuse what is not understood, and say where."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Attribute, Hierarchy, KAnonymity, Kind, Mondrian, Role, Schema, Table
from sfumato.errors import InputError, SchemaError

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LIMITS: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.INTEGER: st.integers(-(2**63), 2**63 - 1),
    Kind.NUMBER: st.floats(allow_nan=False),
    Kind.DATE: st.dates(),
}


@st.composite
def attributes(draw: st.DrawFn, name: str) -> Attribute:
    kind = draw(st.none() | st.sampled_from(Kind))
    bounds = categories = None
    if kind in LIMITS and draw(st.booleans()):
        bounds = tuple(sorted(draw(st.tuples(LIMITS[kind], LIMITS[kind]))))
    if kind in {Kind.ORDINAL, Kind.CATEGORY} and (kind is Kind.ORDINAL or draw(st.booleans())):
        categories = tuple(draw(st.lists(NAMES, unique=True, max_size=4)))
    return Attribute(
        name,
        draw(st.sampled_from(Role)),
        kind,
        bounds=bounds,
        categories=categories,
        missing=tuple(draw(st.lists(NAMES, max_size=3))),
        public=draw(st.booleans()),
    )


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(NAMES, unique=True, max_size=5))
    columns = {name: draw(attributes(name)) for name in names}
    persons = [None, *(name for name, attribute in columns.items() if attribute.role is Role.IDENTIFIER)]
    person = draw(st.sampled_from(persons))
    return Schema(columns, person, draw(st.sampled_from(["refuse", "keep", "drop"])))


@given(schema=schemas())
def test_toml_round_trip(tmp_path_factory: pytest.TempPathFactory, schema: Schema) -> None:
    file = tmp_path_factory.getbasetemp() / "schema.toml"
    file.write_text(schema.to_toml(), encoding="utf-8", newline="")
    assert Schema.from_toml(file) == schema


def from_text(folder: Path, text: str) -> Schema:
    (folder / "schema.toml").write_text(text, encoding="utf-8")
    return Schema.from_toml(folder / "schema.toml")


def test_everything_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "job.csv").write_text("cook,service,*\nnurse,care,*\n")
    schema = from_text(
        tmp_path,
        """\ufeff# comments are welcome
        person = "id"
        other = "drop"
        [columns.age]
        role = "quasi"          # they are
        type = "integer"
        bounds = [16, 94]
        [columns.born]
        role = "quasi"
        type = "date"
        bounds = [1900-01-01, "2026-12-31"]
        [columns."marital status"]
        role = "sensitive"
        type = "ordinal"
        categories = ["single", "married", 3]
        missing = ["", "?", -9]
        [columns.job]
        role = "quasi"
        hierarchy = "trees/job.csv"
        """,
    )
    assert schema.columns["born"].bounds == (dt.date(1900, 1, 1), dt.date(2026, 12, 31))
    assert schema.columns["marital status"].categories == ("single", "married", "3")
    assert schema.columns["marital status"].missing == ("", "?", "-9")
    assert schema.columns["job"].hierarchy == Hierarchy.from_rows([("cook", "service", "*"), ("nurse", "care", "*")])
    assert schema.columns["id"].role is Role.IDENTIFIER
    assert (schema.person, schema.other) == ("id", "drop")
    assert all(attribute.public for attribute in schema.columns.values())


def test_infinite_bounds_survive(tmp_path: Path) -> None:
    schema = Schema({"x": Attribute("x", Role.QUASI, Kind.NUMBER, bounds=(-math.inf, math.inf))})
    assert from_text(tmp_path, schema.to_toml()) == schema


AGE = '[columns.age]\nrole = "quasi"\n'


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("colunms = 3", "unknown key 'colunms'; did you mean 'columns'"),
        ("[column.age]\nrole = 'quasi'", "unknown key 'column'; did you mean 'columns'"),
        ("columns = 3", r"columns must be tables like \[columns.age\]"),
        ("[columns]\nage = 3", r"columns must be tables like \[columns.age\]"),
        ("other = 'maybe'", "other must be one of refuse, keep, drop; found 'maybe'"),
        ("person = 5", "person must be the name of a column; found 5"),
        ("person = ['id']", "person must be the name of a column"),
        ("person = 'age'\n" + AGE, "'age' names the person, so its role is identifier; found quasi"),
        ("[columns.age]", "column 'age' has no role; declare role = "),
        ("[columns.age]\nrole = 'quazi'", "column 'age': role must be .*; found 'quazi'"),
        ("[columns.age]\nrole = 5", "column 'age': role must be"),
        (AGE + "tpye = 'integer'", "column 'age': unknown key 'tpye'; did you mean 'type'"),
        (AGE + "type = 'int'", "column 'age': type must be .*; found 'int'"),
        (AGE + "bounds = [1, 2]", "column 'age': bounds need type integer, number, date or timestamp; found no type"),
        (
            AGE + "type = 'category'\nbounds = [1, 2]",
            "bounds need type integer, number, date or timestamp; found category",
        ),
        (AGE + "type = 'integer'\nbounds = [2, 1]", r"bounds must be \[low, high\]; found \[2, 1\]"),
        (AGE + "type = 'integer'\nbounds = [1, 2, 3]", r"bounds must be \[low, high\]"),
        (AGE + "type = 'integer'\nbounds = 7", r"bounds must be \[low, high\]; found 7"),
        (AGE + "type = 'integer'\nbounds = [true, 3]", r"bounds must be \[low, high\]"),
        (AGE + "type = 'number'\nbounds = [nan, 3]", r"bounds must be \[low, high\]"),
        (AGE + "type = 'integer'\nbounds = ['one', 3]", r"bounds must be \[low, high\]"),
        (AGE + "type = 'date'\nbounds = [1, 3]", "bounds .* do not fit type date"),
        (AGE + "type = 'integer'\nbounds = [2000-01-01, 2001-01-01]", "bounds .* do not fit type integer"),
        (AGE + "type = 'date'\nbounds = [2000-01-01, 3]", r"bounds must be \[low, high\]"),
        (AGE + "type = 'ordinal'", "type ordinal needs categories"),
        (AGE + "type = 'integer'\ncategories = ['1']", "categories need type category or ordinal; found integer"),
        (AGE + "categories = ['1', '1']", "a category stands twice"),
        (AGE + "categories = 'young'", "categories must be a list of texts"),
        (AGE + "categories = [{a = 1}]", "categories must be a list of texts"),
        (AGE + "missing = '?'", "missing must be a list of texts"),
        (AGE + "public = 'no'", "public must be true or false"),
        (AGE + "hierarchy = 3", "hierarchy must be a file name; found 3"),
        (AGE + "hierarchy = 'none.csv'", r"hierarchy '.*none\.csv' cannot be read"),
        (AGE + "hierarchy = 'tree.csv'\ncategories = ['1']", "categories and a hierarchy both list the values"),
        ("[columns.age]\n[columns.age]", "not valid TOML: .*line 2"),
        ("age: quasi", "not valid TOML"),
    ],
)
def test_bad_schemas_are_refused_in_one_line(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "tree.csv").write_text("1,*\n2,*\n")
    with pytest.raises(SchemaError, match=sentence) as caught:
        from_text(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_unreadable_schemas(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.from_toml(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.from_toml(tmp_path / "bytes.toml")


def test_bounds_of_two_kinds_are_refused_in_python_too() -> None:
    with pytest.raises(SchemaError, match="do not fit type"):
        Attribute("x", Role.QUASI, Kind.DATE, bounds=(dt.date(2000, 1, 1), 3))


def test_a_column_has_one_role() -> None:
    with pytest.raises(SchemaError, match="column 'a' has two roles, quasi and identifier"):
        Schema.from_roles(quasi=["a"], identifier=["a"])
    assert Schema.from_roles(quasi=["a", "b", "a"]).names(Role.QUASI) == ("a", "b")


def test_the_command_line_overrides_the_file_and_keeps_its_limits() -> None:
    file = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 9))}, other="keep")
    both = file.updated(Schema.from_roles(sensitive=["age"], quasi=["zip"], person="id"))
    assert both.columns["age"] == Attribute("age", Role.SENSITIVE, Kind.INTEGER, bounds=(0, 9))
    assert (both.person, both.other, both.names(Role.QUASI)) == ("id", "keep", ("zip",))


@pytest.mark.parametrize("other, names", [("keep", ("age", "job")), ("drop", ("age",))])
def test_columns_without_a_role_follow_the_policy(other: str, names: tuple[str, ...]) -> None:
    table = Table(pl.DataFrame({"age": [1], "job": ["x"]}))
    assert tuple(Schema.from_roles(quasi=["age"], other=other).settled(table).columns) == names


def test_settling_refuses_what_the_table_lacks_or_the_schema_forgot() -> None:
    table = Table(pl.DataFrame({"age": [1], "job": ["x"]}))
    with pytest.raises(SchemaError, match="column 'job' has no role"):
        Schema.from_roles(quasi=["age"]).settled(table)
    with pytest.raises(InputError, match="there is no column 'jobs'; did you mean 'job'"):
        Schema.from_roles(quasi=["age", "jobs"], other="drop").settled(table)


def test_inferred_limits_are_not_public_and_do_not_bind() -> None:
    guess = Schema.infer(Table(pl.DataFrame({"age": ["31", "47", "?"], "born": ["1950-01-01", "1969-12-31", ""]})))
    assert guess.columns["age"] == Attribute(
        "age", Role.QUASI, Kind.INTEGER, bounds=(31, 47), missing=("", "?"), public=False
    )
    assert guess.columns["born"].bounds == (dt.date(1950, 1, 1), dt.date(1969, 12, 31))
    later = Table(pl.DataFrame({"age": ["5", "99"], "born": ["1800-01-01", "2020-01-01"]}))
    assert Mondrian().anonymize(later, guess, [KAnonymity(2)]).card.released.rows == 2


def test_the_share_that_may_fail_is_read_written_and_kept() -> None:
    schema = Schema.from_text('failed = 0.25\n[columns.age]\nrole = "quasi"\n')
    assert schema.failed == 0.25
    assert Schema.from_text(schema.to_toml()) == schema
    assert schema.updated(Schema.from_roles(sensitive=["age"])).failed == 0.25
    assert Schema.from_roles(quasi=["age"]).updated(schema).failed == 0.25


@pytest.mark.parametrize("share", ["1.5", "-0.1", '"much"', "true", "nan"])
def test_a_share_that_is_none_is_refused(share: str) -> None:
    with pytest.raises(SchemaError, match="failed must be a share between 0 and 1"):
        Schema.from_text(f"failed = {share}\n")
