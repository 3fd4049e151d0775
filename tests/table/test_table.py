"""Tables: one test body over every kind of dataframe, and the same kind comes out again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato import KAnonymity, Mondrian, Schema, Table
from sfumato.errors import InputError

Build = Callable[[Mapping[str, Sequence[object]]], Any]
KINDS: dict[str, tuple[Build, type]] = {
    "polars": (pl.DataFrame, pl.DataFrame),
    "lazy": (pl.LazyFrame, pl.LazyFrame),
    "pandas": (pd.DataFrame, pd.DataFrame),
    "pyarrow": (pa.table, pa.Table),
}
PEOPLE: dict[str, list[object]] = {
    "age": [31, 35, 70, 74],
    "sex": ["F", "M", None, "F"],
    "cost": [1.5, 2.0, 3.25, 1e300],
    "born": [dt.date(1969, 12, 31), dt.date(1900, 1, 1), dt.date(2000, 2, 29), dt.date(1970, 1, 1)],
}


def as_columns(frame: Any) -> dict[str, list[object]]:
    """The values of any of the four kinds."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    if isinstance(frame, pa.Table):
        columns: dict[str, list[object]] = frame.to_pydict()
        return columns
    return {name: [None if pd.isna(value) else value for value in frame[name]] for name in frame.columns}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> tuple[Build, type]:
    return KINDS[request.param]


def test_values_come_in_unchanged(kind: tuple[Build, type]) -> None:
    table = Table.from_frame(kind[0](PEOPLE))
    assert (table.rows, table.names) == (4, tuple(PEOPLE))
    assert {name: table.column(name).to_list() for name in table.names} == PEOPLE


def test_the_same_kind_goes_out(kind: tuple[Build, type]) -> None:
    build, wanted = kind
    out = Table.from_frame(build(PEOPLE)).restore(pl.DataFrame({"age": ["[30-39]", None], "n": [1, 2]}))
    assert isinstance(out, wanted)
    assert as_columns(out) == {"age": ["[30-39]", None], "n": [1, 2]}


@pytest.mark.parametrize("ranges", ["text", "columns"])
def test_a_release_is_the_same_table_whatever_kind_came_in(kind: tuple[Build, type], ranges: Any) -> None:
    schema = Schema.from_roles(quasi=["age", "sex", "born"], sensitive=["cost"])
    engine = Mondrian(ranges=ranges, keep_order=True)
    out = engine.anonymize(Table.from_frame(kind[0](PEOPLE)), schema, [KAnonymity(2)]).frame
    reference = engine.anonymize(Table(pl.DataFrame(PEOPLE)), schema, [KAnonymity(2)]).frame
    assert isinstance(out, kind[1])
    assert as_columns(out) == as_columns(reference)


def test_truth_values_and_missing_values_stay_what_they_are(kind: tuple[Build, type]) -> None:
    table = Table.from_frame(kind[0]({"smoker": [True, False], "note": [None, "x"]}))
    assert table.column("smoker").to_list() == [True, False]
    assert table.column("note").to_list() == [None, "x"]


def test_weird_names_pass(kind: tuple[Build, type]) -> None:
    names = ["a,b", "new\nline", 'quo"te', "ünïcode", " padded ", "age_min"]
    schema = Schema.from_roles(quasi=names)
    release = Mondrian().anonymize(Table.from_frame(kind[0]({name: [1, 2] for name in names})), schema, [KAnonymity(2)])
    assert as_columns(release.frame) == {name: ["[1-2]", "[1-2]"] for name in names}


@pytest.mark.parametrize("name", ["", "  "])
def test_a_column_without_a_name_is_refused(kind: tuple[Build, type], name: str) -> None:
    with pytest.raises(InputError, match="column 2 has no name"):
        Table.from_frame(kind[0]({"age": [1], name: [2]}))


def test_nested_values_are_refused_by_column(kind: tuple[Build, type]) -> None:
    with pytest.raises(InputError, match="column 'visits' holds List"):
        Table.from_frame(kind[0]({"age": [1], "visits": [[1, 2]]}))


def test_spans_of_time_are_refused_by_column(kind: tuple[Build, type]) -> None:
    with pytest.raises(InputError, match="column 'stay' holds Duration"):
        Table.from_frame(kind[0]({"stay": [dt.timedelta(days=2)]}))


@pytest.mark.parametrize(
    "frame",
    [
        pl.Series("sex", ["F", "M"], dtype=pl.Categorical).to_frame(),
        pl.Series("sex", ["F", "M"], dtype=pl.Enum(["M", "F"])).to_frame(),
        pd.DataFrame({"sex": pd.Categorical(["F", "M"])}),
        pa.table({"sex": pa.array(["F", "M"]).dictionary_encode()}),
    ],
)
def test_dictionary_columns_stay_dictionaries_and_are_generalised_as_words(frame: Any) -> None:
    table = Table.from_frame(frame)
    assert table.column("sex").to_list() == ["F", "M"]
    assert table.column("sex").dtype in (pl.Categorical, pl.Enum)
    released = Mondrian().anonymize(table, Schema.from_roles(quasi=["sex"]), [KAnonymity(2)])
    assert released.table.frame["sex"].to_list() == ["{F, M}"] * 2


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["age", "age"]),
        pd.DataFrame([[1, 2]], columns=["1", 1]),
        pa.table([[1], [2]], names=["age", "age"]),
    ],
)
def test_two_columns_of_one_name_are_refused(frame: Any) -> None:
    with pytest.raises(InputError, match="two columns of the same name"):
        Table.from_frame(frame)


@pytest.mark.parametrize("values", [[1, "x"], [1.5, "x", None], [1, b"x"], [{1: 2}, 3]])
def test_a_column_of_mixed_objects_is_refused_by_name(values: list[object]) -> None:
    with pytest.raises(InputError, match="column 'odd' mixes types") as caught:
        Table.from_frame(pd.DataFrame({"age": [1] * len(values), "odd": values}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("thing", [{"age": [1]}, None, 3, pl.Series([1]), pd.Series([1]), [[1]]])
def test_what_is_no_dataframe_is_refused_by_its_type(thing: object) -> None:
    with pytest.raises(InputError, match=rf"a {type(thing).__name__} is not a dataframe"):
        Table.from_frame(thing)


def test_pandas_columns_named_by_numbers_are_named_by_text() -> None:
    assert Table.from_frame(pd.DataFrame({0: [1], 1: [2]})).names == ("0", "1")


def test_a_wrong_name_hints_at_the_near_one() -> None:
    with pytest.raises(InputError, match="there is no column 'Diseas'; did you mean 'disease'"):
        Table(pl.DataFrame({"age": [1], "disease": ["flu"]})).column("Diseas")


def test_a_table_without_rows_is_refused(kind: tuple[Build, type]) -> None:
    schema = Schema.from_roles(quasi=["age"])
    with pytest.raises(InputError, match="no rows"):
        Mondrian().anonymize(Table.from_frame(kind[0]({"age": []})), schema, [KAnonymity(2)])
