"""Hierarchies by rule, from files, and suggested: what they hold and what they refuse."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import cells
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.hierarchy import builders as build
from sfumato.hierarchy.file import read_hierarchy
from sfumato.schema.propose import suggest
from sfumato.table.coding import code


def _file(folder: Path, text: str, name: str = "tree.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_decimals_are_labelled_by_the_edges_around_them_never_by_their_own_values() -> None:
    tree = build.intervals([0.5, 1.0, 4.9, 5.0, 7.5], [5.0, 10.0])
    assert [path[1] for path in tree.paths] == ["[0..5]"] * 3 + ["[5..10]"] * 2
    assert {path[2] for path in tree.paths} == {"[0..10]"}


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20), st.sampled_from([0.1, 0.3, 0.7, 5, 1e-3, 1e6]))
def test_edges_of_decimals_hold_their_values(values: list[float], width: float) -> None:
    tree = build.intervals(values, [width, 3 * width])
    for value, *labels, _ in tree.paths:
        for label in labels:
            low, high = cells.read(label).ends or (value, value)
            assert Decimal(low) <= Decimal(value) <= Decimal(high)


def test_intervals_hold_negative_numbers() -> None:
    assert build.intervals([-7, -1, 0, 4], [5]).paths[0] == ("-7", "[-10--6]", "*")


@pytest.mark.parametrize("widths", [[0], [-5, 10], [10, 5], [5, 5], [5, 12]])
def test_widths_that_do_not_nest_are_refused(widths: list[int]) -> None:
    with pytest.raises(ParameterError, match="the interval width"):
        build.intervals([1, 2], widths)


def test_a_value_before_the_first_edge_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="the value 3 lies before the first edge 5"):
        build.custom_intervals([3, 9], [[5, 8]])


def test_codes_of_unequal_length_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="the code '1011' has 4 characters"):
        build.prefixes(["10115", "1011"], [3])


def test_calendar_steps_can_be_chosen_but_not_turned_round() -> None:
    days = [dt.date(1999, 12, 31), dt.date(2000, 1, 1)]
    assert build.dates(days, ["year"]).paths == (("1999-12-31", "1999", "*"), ("2000-01-01", "2000", "*"))
    with pytest.raises(ParameterError, match="in this order"):
        build.dates(days, ["year", "month"])


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", "has no rows"),
        ("[north]\ncoast = ['A']\n[south]\nhills = ['A']", "value 'A' stands twice"),
        ("[north]\nother = ['A']\n[south]\nother = ['B']", "'other' lies under 'south' and"),
        ("islands = ['E']\n[north]\ncoast = ['A']", "the value 'E' lies 1 deep and 'A' 2"),
        ("north = []", "'north' holds \\[\\]; wanted"),
        ("north = [['A']]", "'north' holds \\['A'\\], which is not a value"),
        ("north = 3", "'north' holds 3; wanted"),
        ("builder = 'interval'", "did you mean 'intervals'"),
        ("builder = 'intervals'\nlow = 1\nhigh = 9\nwidth = [2]", "did you mean 'widths'"),
        ("builder = 'intervals'\nlow = 1\nhigh = 9", "needs the key 'widths'"),
        ("builder = 'intervals'\nlow = 1\nhigh = 9\nwidths = [2, 3]", "the interval width 3"),
        ("builder = 'intervals'\nlow = 1\nhigh = 9\nwidths = 2", "wrong kind"),
        ("builder = 'dates'\nfirst = 'yesterday'\nlast = 2025-01-01", "wrong kind"),
        ("north = ", "is not valid TOML"),
    ],
)
def test_incomplete_and_inconsistent_files_are_refused_with_the_offending_value(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(SchemaError, match=sentence) as caught:
        read_hierarchy(_file(tmp_path, text))
    assert "tree.toml" in str(caught.value)


def test_an_empty_label_in_a_csv_is_refused_with_its_value(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="row 2: level 1 of 'M' is empty"):
        read_hierarchy(_file(tmp_path, "level0,level1,level2\nF,f,*\nM,,*\n", "sex.csv"))


def test_a_schema_file_names_a_toml_hierarchy(tmp_path: Path) -> None:
    _file(tmp_path, 'builder = "dates"\nfirst = 2024-01-01\nlast = 2024-12-31\nsteps = ["month"]\n', "day.toml")
    schema = _file(tmp_path, '[columns.day]\nrole = "quasi"\ntype = "date"\nhierarchy = "day.toml"\n', "schema.toml")
    tree = sf.Schema.from_toml(schema).columns["day"].hierarchy
    assert tree is not None
    assert tree.paths[31] == ("2024-02-01", "2024-02", "*")


def test_days_with_hours_and_whole_numbers_as_floats_find_their_leaf() -> None:
    days = build.dates([dt.date(2024, 1, 1), dt.date(2024, 1, 2)])
    moments = pl.Series("day", [dt.datetime(2024, 1, 2, 15), None])  # a column without zone
    found = code(moments, sf.Attribute("day", sf.Role.QUASI, sf.Kind.DATE, hierarchy=days))
    assert found.codes.tolist() == [2, 0]
    ages = code(pl.Series("age", [31.0, None]), sf.Attribute("age", sf.Role.QUASI, hierarchy=build.flat(["30", "31"])))
    assert ages.codes.tolist() == [2, 0]


def test_a_missing_mark_that_the_hierarchy_lists_is_a_value() -> None:
    tree = sf.Hierarchy.from_rows([("cook", "work", "*"), ("?", "unknown", "*")])
    column = code(pl.Series("job", ["?", "cook"]), sf.Attribute("job", sf.Role.QUASI, hierarchy=tree, missing=("?",)))
    assert (column.codes.tolist(), column.has_missing) == ([1, 0], False)


def test_suggestions_follow_the_values() -> None:
    assert 'builder = "dates"' in suggest(pl.Series("born", [dt.date(1990, 5, 1), dt.date(1991, 5, 1)])).text
    assert 'builder = "intervals"' in suggest(pl.Series("height", ["1.62", "1.85"])).text
    assert 'builder = "prefixes"' in suggest(pl.Series("PLZ", [10115, 10117, 80331])).text
    words = suggest(pl.Series("school", ["b", "a"]), categories=["primary", "secondary", "bachelor"])
    assert words.hierarchy.paths[0] == ("primary", "[primary..secondary]", "*")
    assert suggest(pl.Series("job", ["cook", "?"]), missing=("?",)).text.endswith('"*" = ["cook"]\n')
    with pytest.raises(InputError, match="no values"):
        suggest(pl.Series("job", ["?", "?"]), missing=("?",))
