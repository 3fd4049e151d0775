"""Every kind of cell as features: the mean over the values it covers, against a slow twin that lists them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.evaluate.features import ColumnFeatures
from sfumato.evaluate.sides import Sides, read_sides
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table

TREE = Hierarchy.from_rows(
    [("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "gut", "*"), ("gout", "rest", "*")]
)
CODES = ("02138", "02139", "94110")


def sides(kind: Kind, values: list[Any], labels: list[Any], **declared: Any) -> Sides:
    """One quasi-identifier before and after."""
    schema = Schema({"x": Attribute("x", Role.QUASI, kind, **declared)})
    return read_sides(Table(pl.DataFrame({"x": values})), schema, Table(pl.DataFrame({"x": labels})))["x"]


def shares(kind: Kind, values: list[Any], label: Any, **declared: Any) -> list[float]:
    """The shares of one released cell."""
    found = sides(kind, values, [label, *values], **declared)
    cells = ColumnFeatures(found.column).shares(found.released)
    return [float(share) for share in cells[found.released.index[0]].round(6)]


@pytest.mark.parametrize(
    "label, covered",
    [
        ("flu", ["flu"]),
        ("lung", ["flu", "asthma"]),
        ("{flu, gut}", ["flu", "ulcer"]),
        ("*", ["flu", "asthma", "ulcer", "gout"]),
        ("rest", ["gout"]),
    ],
)
def test_hierarchy_nodes_and_sets_are_shared_by_their_leaves(label: str, covered: list[str]) -> None:
    found = shares(Kind.CATEGORY, list(TREE.leaves), label, hierarchy=TREE)
    assert found == [*((leaf in covered) / len(covered) for leaf in TREE.leaves), 0.0]


@pytest.mark.parametrize(
    "label, wanted",
    [
        ("02139", [0, 1, 0, 0]),
        ("0213*", [0.5, 0.5, 0, 0]),
        ("{0213*, 94110}", [1 / 3, 1 / 3, 1 / 3, 0]),
        ('{"", 02138}', [0.5, 0, 0, 0.5]),
        (None, [0, 0, 0, 1]),
        ("*", [0.25, 0.25, 0.25, 0.25]),
    ],
)
def test_codes_masks_sets_and_missing_ones(label: str | None, wanted: list[float]) -> None:
    assert shares(Kind.CATEGORY, [*CODES, None], label) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    "kind, values, label, middle",
    [
        (Kind.INTEGER, [20, 21, 22, 30], "[20-22]", 0.1),
        (Kind.INTEGER, [20, 21, 22, 30], "30", 1.0),
        (Kind.INTEGER, [20, 30, None], "[20-30]?", 0.5),
        (Kind.NUMBER, [0.0, 1.0, 4.0], "[1.0..3.0]", 0.5),
        (Kind.DATE, [dt.date(2026, 1, 1), dt.date(2026, 1, 31)], "[2026-01-01..2026-01-16]", 0.25),
        (Kind.DATE, [dt.date(2026, 1, 1), dt.date(2026, 1, 31)], "2026-01", 0.5),
        (
            Kind.TIMESTAMP,
            ["2026-01-01 00:00:00", "2026-01-01 04:00:00"],
            "[2026-01-01 01:00:00..2026-01-01 03:00:00]",
            0.5,
        ),
        (Kind.ORDINAL, ["low", "mid", "high"], "[low..mid]", 0.25),
    ],
)
def test_ranges_lie_at_their_middle(kind: Kind, values: list[Any], label: str, middle: float) -> None:
    declared = {"categories": ("low", "mid", "high")} if kind is Kind.ORDINAL else {}
    found = sides(kind, values, [label, *map(str, filter(None, values))], **declared)
    features = ColumnFeatures(found.column)
    assert features.moments(found.released)[found.released.index[0], 0] == pytest.approx(middle)


def test_columns_of_limits_and_means_are_read_too() -> None:
    people = Table(pl.DataFrame({"x": [0, 10]}))
    schema = Schema({"x": Attribute("x", Role.QUASI, Kind.INTEGER)})
    limits = Table(pl.DataFrame({"x_min": [0, 0], "x_max": [10, 4]}))
    found = read_sides(people, schema, limits)["x"]
    assert ColumnFeatures(found.column).moments(found.released)[found.released.index, 0].tolist() == [0.5, 0.2]
    means = read_sides(people, schema, Table(pl.DataFrame({"x": [4.0, 6.0]})))["x"]
    assert ColumnFeatures(means.column).moments(means.released)[means.released.index, 0].tolist() == [0.4, 0.6]


def test_a_cell_that_covers_everything_is_silent_however_it_is_written() -> None:
    found = sides(Kind.INTEGER, [0, 10], ["*", "[0-10]", "[0-9]", "10"])
    assert ColumnFeatures(found.column).silent(found.released)[found.released.index].tolist() == [
        True,
        True,
        False,
        False,
    ]
    words = sides(Kind.CATEGORY, ["a", "b"], ["*", "{a, b}", "a", "b"])
    assert ColumnFeatures(words.column).silent(words.released)[words.released.index].tolist() == [
        True,
        True,
        False,
        False,
    ]
    alone = sides(Kind.CATEGORY, ["a", "a"], ["a", "a"])
    assert not ColumnFeatures(alone.column).silent(alone.released).any()


def test_rare_words_are_one_group() -> None:
    found = sides(Kind.CATEGORY, ["a"] * 3 + ["b"] * 2 + ["c", "d"], ["a"] * 7)
    features = ColumnFeatures(found.column, most=3)
    assert features.shares(found.original)[found.original.index].sum(axis=0).tolist() == [3, 2, 2, 0]


def test_numbers_under_a_hierarchy_keep_their_order_where_they_are_declared_numbers() -> None:
    tree = Hierarchy.from_rows([("1", "few", "*"), ("2", "few", "*"), ("9", "many", "*")])
    found = sides(Kind.INTEGER, ["1", "2", "9"], ["few", "few", "many"], hierarchy=tree)
    assert ColumnFeatures(found.column).moments(found.released)[:, 0].tolist() == [0.0625, 1.0]
    words = sides(Kind.CATEGORY, ["1", "2", "9"], ["few", "few", "many"], hierarchy=tree)
    assert not ColumnFeatures(words.column).ordered


@given(
    values=st.lists(st.integers(-5, 30), min_size=1, max_size=30),
    ends=st.lists(st.tuples(st.integers(-5, 30), st.integers(0, 20)), min_size=1, max_size=10),
)
def test_shares_and_moments_of_ranges_against_listing_their_values(
    values: list[int], ends: list[tuple[int, int]]
) -> None:
    labels = [f"[{low}-{low + width}]" for low, width in ends]
    found = sides(Kind.INTEGER, values, labels)
    features = ColumnFeatures(found.column, bins=4)
    singles = sides(Kind.INTEGER, values, list(range(-5, 51)))
    exact, places = features.shares(singles.released), features.moments(singles.released)
    for row, (low, width) in enumerate(ends):
        covered = singles.released.index[np.arange(low + 5, low + width + 6)]
        region = found.released.index[row]
        assert features.shares(found.released)[region] == pytest.approx(exact[covered].mean(axis=0), abs=1e-9)
        assert features.moments(found.released)[region] == pytest.approx(
            places[covered].mean(axis=0), rel=1e-9, abs=1e-9
        )


@given(st.lists(st.integers(0, 1000), min_size=30, max_size=200))
def test_bins_hold_about_as_many_rows_each(values: list[int]) -> None:
    found = sides(Kind.INTEGER, values, values)
    features = ColumnFeatures(found.column, bins=4)
    rows = features.shares(found.original)[found.original.index].sum(axis=0)[:-1]
    heaviest = max(values.count(value) for value in set(values))
    assert (rows > 0).all()
    assert max(rows) <= len(values) / 4 + 2 * heaviest


def test_identifiers_and_empty_columns_are_refused_by_name() -> None:
    people = Table(pl.DataFrame({"id": ["a"], "x": [None], "y": [1]}, schema_overrides={"x": pl.String}))
    schema = Schema.from_roles(quasi=["x", "y"], identifier=["id"])
    with pytest.raises(InputError, match="column 'id' is an identifier"):
        read_sides(people, schema, people, ["id"])
    with pytest.raises(InputError, match="column 'x' holds no value at all"):
        read_sides(people, schema, people, ["x"])
    assert [*read_sides(people, schema, people)] == ["y"]
