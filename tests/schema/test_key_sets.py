"""How sets of columns tell rows apart, against counting pairs of rows one by one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.schema import key_sets
from sfumato.schema.key_sets import KeySet, KeySets
from sfumato.table import Table

ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 3), st.booleans()), min_size=2, max_size=30
)


def slow_measures(rows: list[tuple[object, ...]]) -> tuple[int, float, float]:
    """Return the distinct rows, the share of rows that no other equals, and the share of pairs that differ."""
    pairs = list(combinations(rows, 2))
    alone = sum(count == 1 for count in Counter(rows).values())
    return len(set(rows)), alone / len(rows), sum(one != other for one, other in pairs) / len(pairs)


@given(ROWS)
@settings(deadline=None)
def test_every_told_set_is_measured_as_pairs_of_rows_are_counted(rows: list[tuple[object, ...]]) -> None:
    frame = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.Int64, "z": pl.Boolean}, orient="row")
    found = KeySets.of(Table(frame))
    assert [one.columns for one in found.single] == [("x",), ("y",), ("z",)]
    for one in (*found.single, *found.joined):
        distinct, alone, separation = slow_measures(frame.select(one.columns).rows())
        assert one.distinct == distinct
        assert one.alone == pytest.approx(alone)
        assert one.separation == pytest.approx(separation)
        assert one.distinctness == pytest.approx(distinct / len(rows))
    able = [name for name in frame.columns if name not in found.apart]
    assert len(found.joined) == sum(len(list(combinations(able, size))) for size in (2, 3))


def test_the_best_sets_are_told_first_and_columns_that_say_all_or_nothing_are_in_none() -> None:
    draw = np.random.default_rng(1)
    frame = {f"c{place}": draw.integers(0, place + 2, 200) for place in range(7)}
    frame |= {"id": np.arange(200), "same": np.zeros(200, dtype=np.int64)}
    table = Table(pl.DataFrame(frame))
    found = KeySets.of(table)
    assert list(found.apart) == ["id", "same"]
    for size in (2, 3):
        shares = [
            slow_measures(list(zip(*(frame[name].tolist() for name in names), strict=True)))[1]
            for names in combinations([f"c{place}" for place in range(7)], size)
        ]
        told = [one.alone for one in found.joined if len(one.columns) == size]
        assert told == pytest.approx(sorted(shares, reverse=True)[: key_sets.SHOWN])
    assert any(
        "not in sets, since they say nearly all or nothing by themselves: id, same" in one for one in found.lines()
    )


def test_a_sample_of_many_rows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_sets, "MOST_ROWS", 50)
    found = KeySets.of(Table(pl.DataFrame({"x": list(range(120)), "y": [1, 2] * 60})))
    assert (found.rows, found.measured) == (120, 40)
    assert found.lines()[0].startswith("120 rows, on 40 of them")
    assert "more rows are alone" in found.lines()[-1]


@pytest.mark.parametrize(
    "alone, separation, said",
    [
        (0.95, 0.99, "nearly every row: drop it"),
        (0.5, 0.99, "finds many rows"),
        (0.05, 0.9, "a quasi-identifier if outsiders can know it"),
        (0, 0.1, "most rows share one value"),
        (0, 0.9, "hardly anybody by itself"),
    ],
)
def test_the_reading_says_what_the_numbers_mean(alone: float, separation: float, said: str) -> None:
    assert said in KeySet(("x",), 100, 50, alone, separation).words


def test_many_columns_join_the_best_pairs_by_a_third() -> None:
    draw = np.random.default_rng(2)
    names = [f"c{place}" for place in range(25)]
    table = Table(pl.DataFrame({name: draw.integers(0, 4, 300) for name in names}))
    found = KeySets.of(table)
    assert len(found.apart) == 5
    best = max(one.alone for one in found.joined if len(one.columns) == 3)
    pair = next(one for one in found.joined if len(one.columns) == 2)
    assert best >= pair.alone
    assert any("of those that were tried" in line for line in found.lines())
