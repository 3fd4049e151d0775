"""Released labels read back: every form, every refusal, and no true value outside its region."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError
from sfumato.evaluate.regions import Regions, code_original, domain, exact_regions, read_regions
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table
from sfumato.table.coding import Column, code

TREE = Hierarchy.from_rows(
    [
        ("flu", "lung", "*"),
        ("asthma", "lung", "*"),
        ("ulcer", "gut", "*"),
        ("gut", "other", "*"),
        ("gout", "other", "*"),
    ]
)
WORDS = ("F", "M", "a, b", 'say "x"', " lead", "{F, M}", "*", "?", "[1-2]", "two\nlines", "x?")
GRADES = ("low", "mid..dle", "high", "who?")


def column(kind: Kind, values: list[Any], **limits: Any) -> Column:
    return code(pl.Series("x", values), Attribute("x", Role.QUASI, kind, **limits))


def shown(regions: Regions) -> list[tuple[list[tuple[float, float]], bool]]:
    """Each row's runs, and whether it may be missing."""
    result = []
    for region in regions.index:
        start, end = regions.starts[region : region + 2]
        runs = list(zip(regions.low[start:end].tolist(), regions.high[start:end].tolist(), strict=True))
        result.append((runs, bool(regions.missing[region])))
    return result


def read(original: Column, labels: list[Any]) -> list[tuple[list[tuple[float, float]], bool]]:
    return shown(read_regions(original, Table(pl.DataFrame({"x": labels}))))


def test_integer_labels() -> None:
    original = column(Kind.INTEGER, [-9, 0, 12, None])
    labels = ["[-5--2]", "[-5-2]", "[3-7]?", "-4", "12", "*", None, ""]
    runs: list[list[tuple[float, float]]] = [
        [(-5, -2)],
        [(-5, 2)],
        [(3, 7)],
        [(-4, -4)],
        [(12, 12)],
        [(-9, 12)],
        [],
        [],
    ]
    missing = [False, False, True, False, False, True, True, True]
    assert read(original, labels) == list(zip(runs, missing, strict=True))


def test_star_is_the_declared_domain_and_never_missing_where_nothing_is() -> None:
    assert read(column(Kind.INTEGER, [5, 6], bounds=(0, 9)), ["*"]) == [([(0, 9)], False)]
    assert read(column(Kind.INTEGER, [5, 6], bounds=(0, 9), public=False), ["*"]) == [([(5, 6)], False)]


def test_decimal_date_and_ordinal_labels() -> None:
    assert read(column(Kind.NUMBER, [0.5, 2e16]), ["[-1e-05..2e+16]", "2.5"]) == [
        ([(-1e-05, 2e16)], False),
        ([(2.5, 2.5)], False),
    ]
    days = column(Kind.DATE, [dt.date(1970, 1, 2), dt.date(1970, 3, 1)])
    assert read(days, ["[1970-01-02..1970-01-05]?", "1969-12-31"]) == [([(1, 4)], True), ([(-1, -1)], False)]
    grades = column(Kind.ORDINAL, ["low"], categories=GRADES)
    assert read(grades, ["[low..mid..dle]", "[mid..dle..high]", "who?", "[high..who?]?"]) == [
        ([(0, 1)], False),
        ([(1, 2)], False),
        ([(3, 3)], False),
        ([(2, 3)], True),
    ]


def test_sets_with_quotes() -> None:
    original = column(Kind.CATEGORY, ["F", "M", "a, b", 'say "x"', None], missing=("?",))
    assert read(original, ["{F, M}", '{F, "a, b"}', '{"say ""x""", ?}', "M", "?", None, "*", "{F,M}"]) == [
        ([(0, 1)], False),
        ([(0, 0), (2, 2)], False),
        ([(3, 3)], True),
        ([(1, 1)], False),
        ([], True),
        ([], True),
        ([(0, 3)], True),
        ([(0, 1)], False),
    ]


def test_hierarchy_labels_and_a_node_named_like_a_leaf() -> None:
    original = column(Kind.CATEGORY, ["flu", "gout"], hierarchy=TREE)
    assert read(original, ["lung", "ulcer", "*", "gut"]) == [
        ([(0, 1)], False),
        ([(2, 2)], False),
        ([(0, 4)], False),
        ([(2, 3)], False),
    ]


def test_limits_in_columns_typed_and_as_text() -> None:
    original = column(Kind.INTEGER, [1, 9, None])
    frame = pl.DataFrame({"x_min": [1, None, 2], "x_max": [9, None, 2], "x_missing": [True, True, False]})
    expected: list[tuple[list[tuple[float, float]], bool]] = [([(1, 9)], True), ([], True), ([(2, 2)], False)]
    assert shown(read_regions(original, Table(frame))) == expected
    assert shown(read_regions(original, Table(frame.cast(pl.String)))) == expected
    with pytest.raises(InputError, match=r"column 'x_min' row 2: 5 lies above 4 in 'x_max'"):
        read_regions(original, Table(pl.DataFrame({"x_min": [1, 5], "x_max": [1, 4]})))
    with pytest.raises(InputError, match=r"there is no column 'x_max'"):
        read_regions(original, Table(pl.DataFrame({"x_min": [1]})))


@pytest.mark.parametrize(
    "kind, label",
    [
        (Kind.INTEGER, "[3-"),
        (Kind.INTEGER, "[7-3]"),
        (Kind.NUMBER, "[1..nan]"),
        (Kind.DATE, "[2020-01-01..2020-02-31]"),
        (Kind.CATEGORY, "{F, Z}"),
        (Kind.CATEGORY, '{F, "M}'),
    ],
)
def test_unreadable_labels_name_column_row_and_value(kind: Kind, label: str) -> None:
    known: dict[Kind, list[Any]] = {Kind.CATEGORY: ["F", "M"], Kind.DATE: [dt.date(2020, 1, 1)] * 2}
    values = known.get(kind, [1, 2])
    first = str(values[0])
    with pytest.raises(InputError) as caught:
        read_regions(column(kind, values), Table(pl.DataFrame({"x": [first, label, label]})))
    assert str(caught.value).startswith(f"column 'x' row 2: '{label}' cannot be read; wanted ")


def test_a_column_without_values_has_no_domain() -> None:
    with pytest.raises(InputError, match="column 'x' holds no value at all"):
        domain(column(Kind.INTEGER, [None, None]))


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "age": optional(st.integers(-6, 9)),
            "cost": optional(st.sampled_from([-1.5, 0.0, 1e-7, 2.25, 1e17])),
            "born": optional(st.dates(dt.date(1969, 12, 25), dt.date(1970, 1, 8))),
            "word": optional(st.sampled_from(WORDS)),
            "grade": optional(st.sampled_from(GRADES)),
            "ill": optional(st.sampled_from(TREE.leaves)),
            "note": optional(st.sampled_from(WORDS)),
        }
    ),
    min_size=4,
    max_size=25,
)
TYPES = {
    "age": pl.Int64,
    "cost": pl.Float64,
    "born": pl.Date,
    "word": pl.String,
    "grade": pl.String,
    "ill": pl.String,
    "note": pl.String,
}
SCHEMA = Schema(
    {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(-8, 12)),
        "cost": Attribute("cost", Role.QUASI, Kind.NUMBER),
        "born": Attribute("born", Role.QUASI, Kind.DATE),
        "word": Attribute("word", Role.QUASI, Kind.CATEGORY, missing=("N/A",)),
        "grade": Attribute("grade", Role.QUASI, Kind.ORDINAL, categories=GRADES),
        "ill": Attribute("ill", Role.QUASI, Kind.CATEGORY, hierarchy=TREE),
        "note": Attribute("note", Role.QUASI, Kind.TEXT),
    }
)


@pytest.mark.parametrize("dtype", [pl.String, None])
@given(ROWS, st.sampled_from(["text", "columns"]))
def test_every_original_value_lies_in_its_region(
    dtype: type[pl.String] | None, rows: list[dict[str, Any]], ranges: Literal["text", "columns"]
) -> None:
    original = Table(pl.DataFrame(rows, schema=TYPES))
    release = sf.Mondrian(ranges=ranges, keep_order=True).anonymize(original, SCHEMA, [sf.KAnonymity(2)])
    released = release.table if dtype is None else Table(release.table.frame.cast(dtype))
    for name in TYPES:
        before = code_original(original, SCHEMA.settled(original), name)
        truth, found = exact_regions(before), shown(read_regions(before, released))
        for (points, gone), (runs, missing) in zip(shown(truth), found, strict=True):
            if gone:
                assert missing, name
            else:
                assert any(low <= points[0][0] <= high for low, high in runs), name


@given(ROWS)
def test_sizes_count_points_lengths_and_the_missing_value(rows: list[dict[str, Any]]) -> None:
    original = Table(pl.DataFrame(rows, schema=TYPES))
    release = sf.Mondrian().anonymize(original, SCHEMA, [sf.KAnonymity(2)])
    for name in TYPES:
        regions = read_regions(code_original(original, SCHEMA.settled(original), name), release.table)
        sizes = [
            sum(high - low for low, high in runs)
            if name == "cost"
            else missing + sum(len(np.arange(low, high + 1)) for low, high in runs)
            for runs, missing in shown(regions)
        ]
        assert regions.sizes[regions.index].tolist() == pytest.approx(sizes)


def test_centroids_and_calendar_labels_are_read() -> None:
    assert read(column(Kind.INTEGER, [1, 9, None]), ["3.5", "4.6?"]) == [([(4, 4)], False), ([(5, 5)], True)]
    day = dt.date(2025, 1, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
    dates = column(Kind.DATE, ["2025-01-05", "2025-02-01"])
    assert read(dates, ["2025-01", "2025-Q1"]) == [([(day, day + 30)], False), ([(day, day + 89)], False)]
