"""Random range queries: how they are drawn, what each way of counting promises, and the kernel's slow twin."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError, ParameterError
from sfumato.evaluate.regions import Regions, read_regions
from sfumato.evaluate.workload import WAYS, Boxes, Counting, Queries, Workload
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table

TREE = Hierarchy.from_rows(
    [("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "gut", "*"), ("gout", "rest", "*")]
)
SCHEMA = Schema(
    {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER),
        "cost": Attribute("cost", Role.QUASI, Kind.NUMBER),
        "sex": Attribute("sex", Role.QUASI, Kind.CATEGORY),
        "ill": Attribute("ill", Role.QUASI, Kind.CATEGORY, hierarchy=TREE),
        "pay": Attribute("pay", Role.SENSITIVE, Kind.INTEGER),
    }
)
TYPES = {"age": pl.Int64, "cost": pl.Float64, "sex": pl.String, "ill": pl.String, "pay": pl.Int64}
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-5, 12),
        st.none() | st.floats(-3, 3).map(lambda cost: round(cost, 2)),
        st.none() | st.sampled_from("abcde"),
        st.none() | st.sampled_from(TREE.leaves),
        st.integers(0, 6),
    ),
    min_size=4,
    max_size=30,
).filter(lambda rows: all(any(row[place] is not None for row in rows) for place in range(4)))
RATIOS = st.sampled_from([0.2, 0.6, 0.8, 1.0])


def table(rows: list[tuple[Any, ...]]) -> Table:
    return Table(pl.DataFrame(rows, schema=TYPES, orient="row"))


def slow_share(regions: Regions, region: int, low: float, high: float, how: Counting) -> float:
    """The share of one region inside [low, high], point by point on a grid."""
    start, end = regions.starts[region : region + 2]
    runs = list(zip(regions.low[start:end], regions.high[start:end], strict=True))
    missing = bool(regions.missing[region])
    inside = bool(runs) and not missing and all(low <= a and b <= high for a, b in runs)
    meets = any(a <= high and low <= b for a, b in runs)
    if how == "inclusion":
        return float(inside)
    if how == "overlap" or not meets:
        return float(meets)
    if regions.grain:
        points = [point for a, b in runs for point in np.arange(a, b + 1)]
        return float(sum(low <= point <= high for point in points) / (len(points) + missing))
    (bottom, top), *_ = runs
    return 1.0 if bottom == top else float((min(top, high) - max(bottom, low)) / (top - bottom))


def slow_answers(regions: list[Regions], queries: Queries, how: Counting) -> list[float]:
    """Every query on every row."""
    answers = []
    for low, high in zip(queries.low, queries.high, strict=True):
        total = 0.0
        for row in range(len(regions[0].index)):
            part = 1.0
            for column, each in enumerate(regions):
                part *= slow_share(each, int(each.index[row]), low[column], high[column], how)
            total += part
        answers.append(total)
    return answers


@given(ROWS, RATIOS)
def test_kernel_equals_its_twin(rows: list[tuple[Any, ...]], ratio: float) -> None:
    original = table(rows)
    released = sf.Mondrian().anonymize(original, SCHEMA, [sf.KAnonymity(2)]).table
    workload = Workload.draw(original, SCHEMA, count=8, range_ratio=ratio, seed=3)
    regions = [read_regions(column, released) for column in workload.columns]
    for how in WAYS:
        assert workload.answers(released, how).tolist() == pytest.approx(slow_answers(regions, workload.queries, how))


@given(ROWS, RATIOS, st.sampled_from([sf.Mondrian(), sf.Mondrian(relaxed=True)]))
def test_inclusion_and_overlap_enclose_the_truth_and_the_expectation(
    rows: list[tuple[Any, ...]], ratio: float, algorithm: sf.Mondrian
) -> None:
    original = table(rows)
    released = algorithm.anonymize(original, SCHEMA, [sf.KAnonymity(3)]).table
    workload = Workload.draw(original, SCHEMA, count=60, range_ratio=ratio, seed=5)
    least, most, middle = (workload.answers(released, how) for how in WAYS)
    assert (least <= workload.truth).all()
    assert (workload.truth <= most).all()
    assert (least <= middle + 1e-9).all()
    assert (middle <= most + 1e-9).all()


@given(ROWS, RATIOS)
def test_all_three_are_exact_on_ungeneralised_rows(rows: list[tuple[Any, ...]], ratio: float) -> None:
    original = table(rows)
    workload = Workload.draw(original, SCHEMA, count=60, range_ratio=ratio, seed=7)
    for how in WAYS:
        assert workload.answers(original, how).tolist() == workload.truth.tolist()
    assert workload.mean_error(workload.truth) == 0 or not workload.truth.any()


@given(ROWS)
def test_truth_equals_filtering_the_rows(rows: list[tuple[Any, ...]]) -> None:
    original = table(rows)
    workload = Workload.draw(original, SCHEMA, count=20, seed=2)
    places = {"sex": sorted({row[2] for row in rows} - {None}), "ill": list(TREE.leaves)}
    for low, high, truth in zip(workload.queries.low, workload.queries.high, workload.truth, strict=True):
        frame = original.frame
        for column, bottom, top in zip(workload.columns, low, high, strict=True):
            if column.name in places:
                words = places[column.name][int(bottom) : int(top) + 1]
                frame = frame.filter(pl.col(column.name).is_in(words))
            else:
                frame = frame.filter(pl.col(column.name).is_between(bottom, top))
        assert frame.height == truth


def test_intervals_cover_the_ratio_and_lie_anywhere_in_the_domain() -> None:
    original = Table(pl.DataFrame({"age": [20, 69], "cost": [0.0, 10.0], "sex": ["F", "M"], "born": ["a", "e"]}))
    schema = Schema(
        {
            "age": Attribute("age", Role.QUASI, Kind.INTEGER),
            "cost": Attribute("cost", Role.QUASI, Kind.NUMBER, bounds=(0, 20)),
            "sex": Attribute("sex", Role.QUASI, Kind.CATEGORY),
            "born": Attribute("born", Role.QUASI, Kind.ORDINAL, categories=tuple("abcde")),
        }
    )
    queries = Workload.draw(original, schema, count=2000, range_ratio=0.6, seed=1).queries
    width = queries.high - queries.low
    assert (width[:, [0, 2, 3]] == [29, 0, 2]).all()
    assert width[:, 1] == pytest.approx(12)
    assert [sorted(set(queries.low[:, place])) for place in (0, 2, 3)] == [list(range(20, 41)), [0, 1], [0, 1, 2]]
    assert queries.low[:, 1].min() < 0.1
    assert queries.low[:, 1].max() > 7.9
    starts = np.bincount(queries.low[:, 0].astype(int) - 20)
    assert ((starts - 2000 / 21) ** 2 / (2000 / 21)).sum() < 45.3  # chi-square, 20 degrees of freedom, p = 0.001


def test_a_tiny_ratio_still_asks_for_one_point_and_a_seed_repeats_a_workload() -> None:
    original, schema = Table(pl.DataFrame({"age": [20, 69]})), Schema.from_roles(quasi=["age"])
    one, same, other = (Workload.draw(original, schema, count=50, range_ratio=0.001, seed=s).queries for s in (1, 1, 2))
    assert (one.high == one.low).all()
    assert one.low.tolist() == same.low.tolist() != other.low.tolist()


def test_queries_with_no_true_row_are_skipped() -> None:
    original, schema = Table(pl.DataFrame({"age": [0, 9]})), Schema.from_roles(quasi=["age"])
    workload = Workload.draw(original, schema, count=100, range_ratio=0.1, seed=1)
    asked = workload.truth > 0
    assert 0 < asked.sum() < 100
    assert workload.relative_errors(np.full(100, 3.0)).tolist() == [2.0] * int(asked.sum())
    assert workload.mean_error(np.full(100, 0.25)) == 0.75


def test_boxes_take_any_weights() -> None:
    original, schema = Table(pl.DataFrame({"age": [0, 9]})), Schema.from_roles(quasi=["age"])
    (column,) = Workload.draw(original, schema, count=1).columns
    regions = read_regions(column, Table(pl.DataFrame({"age": ["[0-4]", "[5-9]"]})))
    noisy = Boxes([regions], np.array([[0], [1]]), np.array([10.5, -2.0]))
    assert noisy.answers(Queries(np.array([[4.0]]), np.array([[9.0]])), "expected").tolist() == pytest.approx([0.1])


def test_columns_can_be_chosen_and_bad_requests_are_refused() -> None:
    original = Table(pl.DataFrame({"age": [1, 2], "sex": ["F", "M"], "name": ["x", "y"]}))
    schema = Schema.from_roles(quasi=["age", "sex"], identifier=["name"])
    assert [column.name for column in Workload.draw(original, schema, ["sex"]).columns] == ["sex"]
    with pytest.raises(InputError, match="column 'name' is neither a quasi-identifier nor sensitive"):
        Workload.draw(original, schema, ["name"])
    with pytest.raises(InputError, match="no quasi-identifier or sensitive column"):
        Workload.draw(original, schema, [])
    with pytest.raises(ParameterError, match="The 'how' parameter of answers must be one of 'inclusion'"):
        Workload.draw(original, schema).answers(original, "sideways")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", Workload.RULES)
def test_parameters_outside_their_rules_are_refused(name: str) -> None:
    original, schema = Table(pl.DataFrame({"age": [1, 2]})), Schema.from_roles(quasi=["age"])
    for value in Workload.RULES[name].bad_values():
        with pytest.raises(ParameterError, match=f"The '{name}' parameter of Workload must be"):
            Workload.draw(original, schema, **cast("dict[str, Any]", {name: value}))


def test_expected_is_unbiased_where_values_are_uniform_in_the_box() -> None:
    rows = list(itertools.product(range(6), range(4)))
    original = Table(pl.DataFrame(rows, schema=["age", "sex"], orient="row"))
    schema = Schema.from_roles(quasi=["age", "sex"])
    coarse = Table(pl.DataFrame({"age": ["[0-5]"] * 24, "sex": ["[0-3]"] * 24}))
    workload = Workload.draw(original, schema, count=50, range_ratio=0.5, seed=4)
    assert workload.answers(coarse, "expected").tolist() == pytest.approx(workload.truth.tolist())
