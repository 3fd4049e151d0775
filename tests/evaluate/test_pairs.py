"""Ties of two columns: by hand, against a slow twin that lists all values, and at both ends of the scale."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.evaluate.pairs import PairDistance, pair_distances
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table

SCHEMA = Schema(
    {
        "x": Attribute("x", Role.QUASI, Kind.INTEGER, bounds=(0, 9)),
        "y": Attribute("y", Role.QUASI, Kind.CATEGORY, categories=("a", "b", "c")),
        "z": Attribute("z", Role.QUASI, Kind.INTEGER, bounds=(0, 9)),
    }
)
ROW = st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.integers(0, 9))
SETS = ["a", "b", "c", "{a, b}", "{a, c}", "{b, c}", "*"]
SHOWN = st.tuples(st.integers(0, 9), st.integers(0, 5), st.sampled_from(SETS), st.integers(0, 9))


def found(before: list[tuple[int, str, int]], after: list[tuple[str, str, str]]) -> dict[tuple[str, str], PairDistance]:
    tables = [Table(pl.DataFrame(rows, schema=["x", "y", "z"], orient="row")) for rows in (before, after)]
    return {(pair.first, pair.second): pair for pair in pair_distances(tables[0], SCHEMA, tables[1])}


def covered(label: str) -> list[str]:
    return list("abc") if label == "*" else [word for word in "abc" if word in label]


def listed(rows: list[tuple[list[float], list[float]]]) -> list[tuple[float, float, float]]:
    """Every pair of values that a row may stand for, and its weight."""
    return [
        (first, second, 1 / len(firsts) / len(seconds))
        for firsts, seconds in rows
        for first, second in itertools.product(firsts, seconds)
    ]


def slow_correlation(points: list[tuple[float, float, float]]) -> float:
    total = sum(weight for _, _, weight in points)
    means = [sum(point[axis] * point[2] for point in points) / total for axis in (0, 1)]
    apart = [((x - means[0]), (y - means[1]), weight) for x, y, weight in points]
    spreads = [sum(each[axis] ** 2 * each[2] for each in apart) for axis in (0, 1)]
    if min(spreads) < 1e-12:
        return 0.0
    return sum(x * y * weight for x, y, weight in apart) / math.sqrt(spreads[0] * spreads[1])


def slow_ties(points: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Cramér's V and mutual information, cell by cell."""
    total = sum(weight for _, _, weight in points)
    table: dict[tuple[float, float], float] = {}
    for x, y, weight in points:
        table[x, y] = table.get((x, y), 0.0) + weight / total
    rows, columns = ({key[axis] for key in table} for axis in (0, 1))
    sums = [
        {one: sum(share for key, share in table.items() if key[axis] == one) for one in every}
        for axis, every in ((0, rows), (1, columns))
    ]
    squares = information = 0.0
    for row, column in itertools.product(rows, columns):
        share, apart = table.get((row, column), 0.0), sums[0][row] * sums[1][column]
        squares += (share - apart) ** 2 / apart
        information += share * math.log2(share / apart) if share > 0 else 0.0
    least = min(len(rows), len(columns)) - 1
    return (math.sqrt(squares / least) if least else 0.0), information


@given(before=st.lists(ROW, min_size=2, max_size=12), after=st.lists(SHOWN, min_size=1, max_size=12))
def test_against_listing_all_values(before: list[tuple[int, str, int]], after: list[tuple[int, int, str, int]]) -> None:
    before = [*before, *((value, "abc"[value % 3], 9 - value) for value in range(10))]  # each number has its own bin
    shown = [(f"[{low}-{min(9, low + width)}]", label, str(third)) for low, width, label, third in after]
    pairs = found(before, shown)
    spans = [[float(each) for each in range(low, min(9, low + width) + 1)] for low, width, _, _ in after]
    words = [[float("abc".index(word)) for word in covered(label)] for _, _, label, _ in after]
    thirds = [[float(third)] for *_, third in after]
    numbers = pairs["x", "z"]
    assert numbers.correlation is not None
    assert numbers.correlation[0] == pytest.approx(slow_correlation([(x, z, 1.0) for x, _, z in before]), abs=1e-9)
    assert numbers.correlation[1] == pytest.approx(
        slow_correlation(listed(list(zip(spans, thirds, strict=True)))), abs=1e-7
    )
    mixed = pairs["x", "y"]
    assert mixed.correlation is None
    original = slow_ties([(x, "abc".index(word), 1.0) for x, word, _ in before])
    released = slow_ties(listed(list(zip(spans, words, strict=True))))
    assert (mixed.cramers_v[0], mixed.information[0]) == pytest.approx(original, abs=1e-9)
    assert (mixed.cramers_v[1], mixed.information[1]) == pytest.approx(released, abs=1e-6)


def test_a_lost_tie_comes_first() -> None:
    people = Table(pl.DataFrame({"a": list("xxyy") * 5, "b": list("uuvv") * 5, "c": list("pqpq") * 5}))
    schema = Schema.from_roles(quasi=["a", "b", "c"])
    pairs = pair_distances(people, schema, Table(people.frame.with_columns(b=pl.lit("*"))))
    assert (pairs[0].first, pairs[0].second) == ("a", "b")
    assert pairs[0].cramers_v == pytest.approx((1, 0))
    assert pairs[0].information == pytest.approx((1, 0))
    assert [pair.change for pair in pairs[1:]] == pytest.approx([0, 0])


def test_missing_values_are_a_word_and_left_out_of_correlations() -> None:
    people = Table(pl.DataFrame({"a": [1, 2, 3, None, None], "b": [2, 4, 6, 1, None]}))
    [pair] = pair_distances(people, Schema.from_roles(quasi=["a", "b"]), people)
    assert pair.correlation == pytest.approx((1, 1))
    assert pair.cramers_v[0] > 0.5


def test_the_order_of_rows_does_not_matter_and_the_original_has_not_changed() -> None:
    people = sf.Table.from_frame(sf.samples.patients(300))
    schema = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["disease", "cost"], other="drop")
    released = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)]).table
    shuffled = Table(released.frame.sample(fraction=1.0, shuffle=True, seed=1))
    one, other = (pair_distances(people, schema, table) for table in (released, shuffled))
    assert [(pair.first, pair.second) for pair in one] == [(pair.first, pair.second) for pair in other]
    assert [pair.change for pair in one] == pytest.approx([pair.change for pair in other])
    assert max(pair.change for pair in pair_distances(people, schema, people)) == pytest.approx(0, abs=1e-9)


def test_one_column_has_no_pair() -> None:
    people = Table(pl.DataFrame({"a": [1, 2]}))
    assert pair_distances(people, Schema.from_roles(quasi=["a"]), people) == []


def test_more_rows_than_a_block_are_added_up() -> None:
    draw = np.random.default_rng(3)
    x = draw.integers(0, 500, 40_000)
    people = Table(pl.DataFrame({"x": x, "y": x + draw.integers(0, 500, 40_000)}))
    [pair] = pair_distances(people, Schema.from_roles(quasi=["x", "y"]), people)
    wanted = np.corrcoef(people.frame["x"], people.frame["y"])[0, 1]
    assert pair.correlation == pytest.approx((wanted, wanted))
