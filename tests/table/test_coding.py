"""Codes: every value of every kind has one, goes back to itself, and what was not declared is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Attribute, Hierarchy, Kind, Role
from sfumato.errors import InputError
from sfumato.hierarchy.builders import intervals, times
from sfumato.table.axis import CellAxis
from sfumato.table.coding import Column, code, only_observed

WORDS = tuple("edcba")
TREE = Hierarchy.from_rows([(word, f"under {word < 'c'}", "*") for word in WORDS])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-40, 40)
CASES: dict[str, tuple[Attribute, st.SearchStrategy[object]]] = {
    "integer": (Attribute("c", Role.QUASI, Kind.INTEGER), INTEGERS),
    "number": (Attribute("c", Role.QUASI, Kind.NUMBER), st.floats(allow_nan=False, allow_infinity=False)),
    "date": (Attribute("c", Role.QUASI, Kind.DATE), st.dates()),
    "timestamp": (Attribute("c", Role.QUASI, Kind.TIMESTAMP), st.datetimes()),
    "category": (Attribute("c", Role.QUASI, Kind.CATEGORY), TEXTS),
    "text": (Attribute("c", Role.QUASI, Kind.TEXT), TEXTS),
    "declared": (Attribute("c", Role.QUASI, Kind.CATEGORY, categories=WORDS), st.sampled_from(WORDS)),
    "ordinal": (Attribute("c", Role.QUASI, Kind.ORDINAL, categories=WORDS), st.sampled_from(WORDS)),
    "hierarchy": (Attribute("c", Role.QUASI, Kind.CATEGORY, hierarchy=TREE), st.sampled_from(WORDS)),
}


def values(column: Column) -> list[object]:
    return [column.value(int(number)) for number in column.codes]


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
def test_codes_go_back_to_values(case: str, data: st.DataObject) -> None:
    attribute, cells = CASES[case]
    rows = data.draw(st.lists(cells | st.none(), min_size=1, max_size=25))
    column = code(pl.Series("c", rows, dtype=None if any(row is not None for row in rows) else pl.String), attribute)
    assert values(column) == rows
    assert column.has_missing == (None in rows)
    assert column.codes.dtype == np.int32
    assert 0 <= column.codes.min() <= column.codes.max() < column.size
    assert len(column.positions) == len(column.shared) == column.size
    assert np.isfinite(column.positions).all()


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
def test_observed_codes_are_all_used_and_mean_the_same(case: str, data: st.DataObject) -> None:
    attribute, cells = CASES[case]
    rows = data.draw(st.lists(cells | st.none(), min_size=1, max_size=25))
    column = code(pl.Series("c", rows, dtype=None if any(row is not None for row in rows) else pl.String), attribute)
    small = only_observed(column)
    assert values(small) == rows
    assert sorted(set(small.codes.tolist())) == list(range(small.size))
    assert len(small.positions) == len(small.shared) == small.size


@pytest.mark.parametrize("case", ["integer", "number", "date", "ordinal"])
@given(data=st.data())
def test_codes_follow_the_order_of_values(case: str, data: st.DataObject) -> None:
    attribute, cells = CASES[case]
    rows: list[object] = data.draw(st.lists(cells, min_size=2, max_size=25))
    rank: Callable[[object], object] = WORDS.index if case == "ordinal" else lambda value: value
    column = code(pl.Series("c", rows), attribute)
    order = np.argsort(column.codes, kind="stable")
    ranks = [rank(rows[index]) for index in order]
    assert ranks == sorted(ranks)  # type: ignore[type-var]  # all of one kind
    assert (np.diff(column.positions) >= 0).all()


@given(rows=st.lists(st.none() | st.integers(-99, 99), min_size=1, max_size=25))
def test_a_file_of_texts_and_a_file_of_numbers_code_alike(rows: list[int | None]) -> None:
    attribute = Attribute("c", Role.QUASI, Kind.INTEGER, missing=("?",))
    as_numbers = code(pl.Series("c", rows, dtype=pl.Int64), attribute)
    as_texts = code(pl.Series("c", ["?" if row is None else str(row) for row in rows], dtype=pl.String), attribute)
    assert as_numbers.codes.tolist() == as_texts.codes.tolist()
    assert values(as_numbers) == values(as_texts)


def test_the_largest_integers_stay_integers() -> None:
    rows = [2**63 - 1, 2**63 - 3, -(2**63)]
    for part in (rows[:2], rows[2:], rows):
        column = code(pl.Series("c", part), Attribute("c", Role.QUASI, Kind.INTEGER))
        assert [column.text(int(number)) for number in column.codes] == [str(value) for value in part]


def test_the_largest_numbers_keep_their_distances() -> None:
    column = code(pl.Series("c", [-1.7e308, 0.0, 1.7e308]), Attribute("c", Role.QUASI, Kind.NUMBER))
    assert column.positions.tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.NUMBER, Kind.DATE, Kind.CATEGORY, Kind.TEXT])
def test_a_column_with_nothing_in_it(kind: Kind) -> None:
    column = code(pl.Series("c", [None, "", None], dtype=pl.String), Attribute("c", Role.QUASI, kind))
    assert (column.codes.tolist(), column.size, column.positions.tolist()) == ([0, 0, 0], 1, [-1.0])
    assert (column.value(0), column.text(0)) == (None, "")


def test_a_hierarchy_over_integers_with_marks() -> None:
    tree = Hierarchy.from_rows([("1", "low", "*"), ("2", "low", "*"), ("10", "high", "*")])
    attribute = Attribute("c", Role.QUASI, Kind.INTEGER, hierarchy=tree, missing=("", "-9"))
    for rows in ([10, -9, 1, None], ["10", "-9", "1", ""]):
        column = code(pl.Series("c", rows), attribute)
        assert values(column) == ["10", None, "1", None]
        assert column.missing_mark == ""


def test_pruning_a_hierarchy_to_what_occurs() -> None:
    attribute = Attribute("c", Role.SENSITIVE, Kind.CATEGORY, hierarchy=TREE)
    pruned = only_observed(code(pl.Series("c", ["a", "e"]), attribute))
    assert pruned.attribute.hierarchy == Hierarchy((("e", "under False", "*"), ("a", "under True", "*")))
    nothing = only_observed(code(pl.Series("c", [None], dtype=pl.String), attribute))
    assert nothing.attribute.hierarchy == Hierarchy(())
    assert nothing.size == 1


@pytest.mark.parametrize(
    "attribute, rows, sentence",
    [
        (Attribute("c", Role.QUASI, Kind.INTEGER, bounds=(0, 9)), ["1", "10"], r"row 2: 10 lies outside .*\[0, 9\]"),
        (Attribute("c", Role.QUASI, Kind.INTEGER, bounds=(0, 9)), [None, 3, -1], r"row 3: -1 lies outside"),
        (Attribute("c", Role.QUASI, Kind.NUMBER, bounds=(0, 1)), ["", "1e300"], r"row 2: 1e300 lies outside"),
        (
            Attribute("c", Role.QUASI, Kind.DATE, bounds=(dt.date(1900, 1, 1), dt.date(2000, 1, 1))),
            ["1900-01-01", "1899-12-31"],
            r"row 2: 1899-12-31 lies outside the declared bounds \[1900-01-01, 2000-01-01\]",
        ),
        (CASES["declared"][0], ["a", "", "A"], "row 3: 'A' is not among the declared categories; did you mean 'a'"),
        (CASES["ordinal"][0], ["zz"], "row 1: 'zz' is not among the declared categories; there are 'e'"),
        (CASES["hierarchy"][0], ["a", "under True"], "row 2: 'under True' is not in the hierarchy"),
    ],
)
def test_what_was_not_declared_is_refused_with_its_row(attribute: Attribute, rows: list[object], sentence: str) -> None:
    with pytest.raises(InputError, match=f"column 'c' {sentence}"):
        code(pl.Series("c", rows), attribute)


def test_values_on_the_bounds_and_missing_ones_are_inside() -> None:
    attribute = Attribute("c", Role.QUASI, Kind.INTEGER, bounds=(5, 7), missing=("", "0"))
    assert values(code(pl.Series("c", ["5", "7", "", "0"]), attribute)) == [5, 7, None, None]


def test_the_widest_bounds_of_64_bits_still_bind() -> None:
    attribute = Attribute("c", Role.QUASI, Kind.INTEGER, bounds=(1, 2**63 - 1))
    assert values(code(pl.Series("c", [1, 2**63 - 1]), attribute)) == [1, 2**63 - 1]
    with pytest.raises(InputError, match="row 1: 0 lies outside"):
        code(pl.Series("c", [0]), attribute)


def test_published_times_meet_on_one_line() -> None:
    cells = [
        "[2015-09-21 06:00:00..2015-09-21 08:00:00]",
        "2015-09-21 07h",
        "2015-09-22",
        "2015-W39",
        "2015-09-21 08:00:00",
    ]
    axis = CellAxis(cells, Attribute("start", Role.QUASI, Kind.TIMESTAMP))
    assert axis[cells[1]] & axis[cells[0]] == axis[cells[1]]
    assert not axis[cells[2]] & axis[cells[0]]
    assert axis[cells[2]] & axis[cells[3]] == axis[cells[2]]
    assert axis.text(axis[cells[4]]) == "2015-09-21 08:00:00"
    assert axis.text(axis[cells[1]]) == "[2015-09-21 07:00:00..2015-09-21 07:59:59.999999]"
    assert CellAxis(cells).text(axis[cells[2]]) == "[2015-09-22 00:00:00..2015-09-22 23:59:59.999999]"


def test_times_are_coded_by_the_leaves_of_their_hierarchy() -> None:
    tree = times([dt.datetime(2015, 9, 21, hour) for hour in range(24)], ["hour", "day"])
    start = Attribute("start", Role.QUASI, Kind.TIMESTAMP, hierarchy=tree, zone="Europe/Berlin")
    column = code(pl.Series("start", ["2015-09-21 14:53:16", "2015-09-21T12:53:16Z"]), start)
    assert column.codes.tolist() == [14, 14]
    with pytest.raises(InputError, match="row 1: 'noon' is not in the hierarchy"):
        code(pl.Series("start", ["noon"]), start)


def test_marks_do_not_hide_numbers_from_a_hierarchy() -> None:
    wage = Attribute(
        "wage", Role.QUASI, Kind.NUMBER, hierarchy=intervals(["1234.5", "2.5"], [1000]), decimal=",", thousands="."
    )
    assert code(pl.Series("wage", ["1.234,5", "2,5"]), wage).codes.tolist() == [1, 0]
