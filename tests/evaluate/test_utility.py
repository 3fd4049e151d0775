"""Loss measures by hand, against slow twins, and at both ends of the scale."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError, ParameterError
from sfumato.evaluate.utility import MISSING, OTHER, histogram, utility
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table

TREE = Hierarchy.from_rows(
    [("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "gut", "*"), ("gout", "rest", "*")]
)


def one(kind: Kind, values: list[Any], labels: list[Any], **limits: Any) -> tuple[float, float]:
    """NCP and histogram distance of a table with a single column."""
    schema = Schema({"x": Attribute("x", Role.QUASI, kind, **limits)})
    loss = utility(Table(pl.DataFrame({"x": values})), schema, Table(pl.DataFrame({"x": labels}))).columns["x"]
    return loss.ncp, loss.histogram_distance


def test_ncp_of_ranges_over_public_bounds_or_the_observed_range() -> None:
    assert one(Kind.INTEGER, [0, 10], ["[0-5]", "10"])[0] == pytest.approx(0.25)
    assert one(Kind.INTEGER, [0, 10], ["[0-5]", "10"], bounds=(0, 50))[0] == pytest.approx(0.05)
    assert one(Kind.INTEGER, [0, 10], ["[0-5]", "10"], bounds=(0, 50), public=False)[0] == pytest.approx(0.25)
    assert one(Kind.ORDINAL, ["a", "c"], ["[a..b]", "c"], categories=("a", "b", "c"))[0] == pytest.approx(0.25)
    assert one(Kind.INTEGER, [3, 3], ["3", "*"])[0] == 0
    assert one(Kind.INTEGER, [3, 5], ["[3-9]", "[-5-5]"])[0] == 1


def test_ncp_of_sets_nodes_and_missing_values() -> None:
    assert one(Kind.CATEGORY, ["a", "b", "c", "d"], ["{a, b}", "{a, b}", "c", "*"])[0] == pytest.approx(0.5)
    nodes = ["lung", "lung", "ulcer", "*"]
    assert one(Kind.CATEGORY, list(TREE.leaves), nodes, hierarchy=TREE)[0] == pytest.approx(0.5)
    assert one(Kind.INTEGER, [0, 10, None, None], ["[0-0]?", "10", "[0-0]?", None])[0] == pytest.approx(0.5)
    assert one(Kind.CATEGORY, ["a", "b", None], ['{a, ""}', "b", '{a, ""}'])[0] == pytest.approx(2 / 3)
    assert one(Kind.INTEGER, [None, None], [None, None]) == (0, 0)


def test_histogram_distance_by_hand() -> None:
    assert one(Kind.INTEGER, [0, 1], ["[0-3]", "1"], bounds=(0, 3))[1] == pytest.approx((0.375 + 0.125 + 0.25) / 2)
    assert one(Kind.CATEGORY, ["a", "a", "b"], ["{a, b}"] * 3)[1] == pytest.approx(1 / 6)
    assert one(Kind.INTEGER, [1, 1, None], ["[1-1]?"] * 3)[1] == pytest.approx(1 / 6)
    assert one(Kind.NUMBER, [0.0, 100.0], ["[0.0..100.0]"] * 2)[1] == pytest.approx(0.98)


def test_rows_left_out_count_as_lost() -> None:
    people = Table(pl.DataFrame({"age": [1, 2, 3, 4]}))
    loss = utility(people, Schema.from_roles(quasi=["age"]), Table(pl.DataFrame({"age": ["1", "2", "2"]})))
    assert (loss.rows, loss.classes, loss.average_class) == (3, 2, 1.5)
    assert loss.gcp == pytest.approx(0.25)
    assert loss.discernibility == 1 + 4 + 4


def test_refusals() -> None:
    people, schema = Table(pl.DataFrame({"age": [1, 2]})), Schema.from_roles(quasi=["age"])
    with pytest.raises(InputError, match="no rows"):
        utility(people, schema, Table(pl.DataFrame({"age": []}, schema={"age": pl.String})))
    with pytest.raises(InputError, match="role quasi"):
        utility(people, Schema.from_roles(sensitive=["age"]), people)
    with pytest.raises(ParameterError, match="The 'bins' parameter of histogram must be an integer of at least 1"):
        histogram(people, schema, people, "age", bins=0)
    with pytest.raises(InputError, match="did you mean 'age'"):
        histogram(people, schema, people, "aeg")


def test_bins_are_whole_numbers_wide_on_integers_and_dates() -> None:
    people = Table(
        pl.DataFrame({"age": range(16, 95), "day": [dt.date(2026, 1, 1) + dt.timedelta(days=i) for i in range(79)]})
    )
    schema = Schema.from_roles(quasi=["age", "day"])
    shape = histogram(people, schema, people, "age")
    assert shape.edges is not None
    assert set(np.diff(shape.edges)) == {3}
    assert (shape.labels[0], shape.labels[-1], len(shape.labels)) == ("16-18", "94-96", 27)
    assert shape.before.tolist() == [3.0] * 26 + [1.0]
    assert shape.distance == 0
    assert histogram(people, schema, people, "day").labels[1] == "2026-01-04..2026-01-06"
    assert histogram(people, schema, people, "age", bins=79).labels[:2] == ("16", "17")


def test_missing_numbers_stand_beside_the_bins_and_missing_categories_among_the_bars() -> None:
    people = Table(pl.DataFrame({"age": [1, 2, None], "sex": ["F", "F", None]}))
    coarse = Table(pl.DataFrame({"age": ["[1-2]?", "[1-2]?", "[1-2]?"], "sex": ["F", '{F, ""}', '{F, ""}']}))
    schema = Schema.from_roles(quasi=["age", "sex"])
    ages, sexes = histogram(people, schema, coarse, "age"), histogram(people, schema, coarse, "sex")
    assert (ages.before.tolist(), ages.after.tolist(), ages.missing) == ([1, 1], [1, 1], (1, 1))
    assert (sexes.labels, sexes.before.tolist(), sexes.after.tolist()) == (("F", MISSING), [2, 1], [2, 1])


def test_many_categories_share_a_last_bar() -> None:
    words = [f"w{place:02d}" for place in range(25) for _ in range(place + 1)]
    people = Table(pl.DataFrame({"job": words}))
    shape = histogram(people, Schema.from_roles(quasi=["job"]), people, "job")
    assert (shape.labels[0], shape.labels[-1], len(shape.labels)) == ("w24", OTHER, 21)
    assert shape.before[-1] == 1 + 2 + 3 + 4 + 5
    assert shape.before.tolist() == pytest.approx(shape.after.tolist())


ROWS = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from("abcd"), st.sampled_from(TREE.leaves)), min_size=4, max_size=30
)
SCHEMA = Schema(
    {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER),
        "sex": Attribute("sex", Role.QUASI, Kind.CATEGORY),
        "ill": Attribute("ill", Role.QUASI, Kind.CATEGORY, hierarchy=TREE),
    }
)


def members(name: str, label: str) -> list[Any]:
    """The values under a label, the slow way."""
    if name == "age":
        low, _, high = label.strip("[]").partition("-")
        return list(range(int(low), int(high or low) + 1))
    if name == "sex":
        return label.strip("{}").split(", ")
    return [path[0] for path in TREE.paths if label in path]


@given(ROWS)
def test_losses_equal_a_slow_twin(rows: list[tuple[int, str, str]]) -> None:
    frame = pl.DataFrame(rows, schema=["age", "sex", "ill"], orient="row")
    released = sf.Mondrian(keep_order=True).anonymize(Table(frame), SCHEMA, [sf.KAnonymity(2)]).table
    loss = utility(Table(frame), SCHEMA, released)
    for name in frame.columns:
        values, cells = frame[name].to_list(), [members(name, label) for label in released.frame[name]]
        domain = len(TREE.leaves) if name == "ill" else len(set(values))
        if name == "age":
            span = max(values) - min(values)
            penalties = [(cell[-1] - cell[0]) / span if span else 0.0 for cell in cells]
        else:
            penalties = [len(cell) / domain if len(cell) > 1 else 0.0 for cell in cells]
        points = {point for cell in cells for point in cell}
        gaps = [abs(values.count(p) - sum((p in cell) / len(cell) for cell in cells)) for p in points]
        assert loss.columns[name].ncp == pytest.approx(np.mean(penalties))
        assert loss.columns[name].histogram_distance == pytest.approx(sum(gaps) / 2 / len(rows), abs=1e-9)
    assert loss.gcp == pytest.approx(np.mean([column.ncp for column in loss.columns.values()]))
    sizes = released.frame.group_by(released.names).len()["len"]
    assert (loss.classes, loss.discernibility) == (len(sizes), (sizes**2).sum())


@given(ROWS)
def test_nothing_is_lost_by_publishing_everything_and_everything_by_stars(rows: list[tuple[int, str, str]]) -> None:
    frame = pl.DataFrame(rows, schema=["age", "sex", "ill"], orient="row")
    table = Table(frame)
    kept = utility(table, SCHEMA, table)
    assert kept.gcp == 0
    assert all(loss.histogram_distance == pytest.approx(0, abs=1e-12) for loss in kept.columns.values())
    stars = Table(
        frame.with_columns(pl.all().cast(pl.String)).with_columns(pl.lit("*").alias(n) for n in frame.columns)
    )
    lost = utility(table, SCHEMA, stars)
    assert lost.classes == 1
    assert {name: loss.ncp for name, loss in lost.columns.items()} == {
        name: 1 if name == "ill" or frame[name].n_unique() > 1 else 0 for name in frame.columns
    }


@given(
    st.lists(st.tuples(st.none() | st.floats(-50, 50), st.none() | st.integers(-300, 300)), min_size=4, max_size=30),
    st.integers(1, 40),
)
def test_histograms_keep_every_row(rows: list[tuple[float | None, int | None]], bins: int) -> None:
    frame = pl.DataFrame(rows, schema={"cost": pl.Float64, "age": pl.Int64}, orient="row")
    schema = Schema.from_roles(quasi=["cost", "age"])
    released = sf.Mondrian().anonymize(Table(frame), schema, [sf.KAnonymity(2)]).table
    for name in frame.columns:
        shape = histogram(Table(frame), schema, released, name, bins)
        assert len(shape.labels) == len(shape.before) == len(shape.after)
        assert shape.before.sum() + shape.missing[0] == pytest.approx(len(rows))
        assert shape.after.sum() + shape.missing[1] == pytest.approx(len(rows))
        assert 0 <= shape.distance <= 1 + 1e-12


def test_loses_no_more_than_a_plain_strict_mondrian() -> None:
    draw, rows = np.random.default_rng(1), 50_000
    columns = {"age": (16, 94), "sex": (1, 2), "education": (1, 17), "birthplace": (1, 57)}
    frame = pl.DataFrame({name: draw.integers(*ends, rows, endpoint=True) for name, ends in columns.items()})
    schema = Schema.from_roles(quasi=list(columns))
    released = sf.Mondrian().anonymize(Table(frame), schema, [sf.KAnonymity(10)]).table
    loss = utility(Table(frame), schema, released)
    assert loss.gcp <= 0.0433
    assert loss.classes >= 3650


def test_values_under_a_hierarchy_stand_in_its_order_and_by_a_level_of_few_nodes() -> None:
    leaves = [f"{area}{street:02d}" for area in "312" for street in range(12)]
    tree = Hierarchy.from_rows([(leaf, f"{leaf[0]}**", "*") for leaf in leaves])
    people = Table(pl.DataFrame({"zip": leaves + ["202"] * 5}))
    schema = Schema({"zip": Attribute("zip", Role.QUASI, Kind.CATEGORY, hierarchy=tree)})
    coarse = Table(pl.DataFrame({"zip": ["3**"] * 12 + ["1**"] * 12 + ["*"] * 17}))
    shape = histogram(people, schema, coarse, "zip")
    assert (shape.labels, shape.level) == (("3**", "1**", "2**"), 1)
    assert shape.before.tolist() == [12, 12, 17]
    third = 17 / 3
    assert shape.after.tolist() == pytest.approx([12 + third, 12 + third, third])


def test_many_leaves_without_a_level_of_few_nodes_stay_in_the_order_of_the_hierarchy() -> None:
    leaves = [f"v{number:02d}" for number in range(24, -1, -1)]
    tree = Hierarchy.from_rows([(leaf, "*") for leaf in leaves])
    people = Table(pl.DataFrame({"word": [leaf for place, leaf in enumerate(leaves) for _ in range(1 + place % 3)]}))
    schema = Schema({"word": Attribute("word", Role.QUASI, Kind.CATEGORY, hierarchy=tree)})
    shape = histogram(people, schema, people, "word")
    assert shape.level == 0
    assert list(shape.labels[:-1]) == sorted(shape.labels[:-1], reverse=True)
    assert shape.labels[-1] == OTHER
    assert shape.before.sum() == people.rows
