"""Local and global sensitivity: the lecture's numbers, the bounds on any rows, and why the local one is not enough."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.dp import sensitivity
from sfumato.errors import InputError, ParameterError
from sfumato.promise.unit import Neighbours

HOUSES = [4, 2, 7, 1]  # the lecture's table: four people and the houses they declare
LOW, HIGH = -3, 5
values = st.lists(st.integers(LOW, HIGH), min_size=1, max_size=6)


def test_the_lectures_example() -> None:
    assert sum(HOUSES) == 14
    assert [14 - house for house in HOUSES] == [10, 12, 7, 13]
    assert sensitivity.local(HOUSES, "sum") == 7
    assert sensitivity.local(HOUSES, "count") == 1
    assert sensitivity.local(HOUSES, "mean") == pytest.approx(3.5 - 7 / 3)


def slow_local(rows: list[int], query: str, neighbours: Neighbours) -> float:
    """Every neighbour with integer values, one by one."""
    answer = sensitivity.QUERIES[query]
    least = [rows[:place] + rows[place + 1 :] for place in range(len(rows))]
    span = range(LOW, HIGH + 1)
    others = [[*rest, value] for rest, value in itertools.product(least, span)]
    if neighbours is Neighbours.PRESENCE:
        others = [*least, *([*rows, value] for value in span)]
    kept = [other for other in others if other or query in {"count", "sum"}]
    return max(abs(answer(other) - answer(rows)) for other in kept)


@given(values, st.sampled_from(list(sensitivity.QUERIES)), st.sampled_from(list(Neighbours)))
def test_local_sensitivity_equals_its_slow_twin_and_stays_below_the_global_one(
    rows: list[int], query: str, neighbours: Neighbours
) -> None:
    found = sensitivity.local(rows, query, neighbours=neighbours, bounds=(LOW, HIGH))
    assert found == pytest.approx(slow_local(rows, query, neighbours))
    rows_of_both = len(rows) if neighbours is Neighbours.VALUE else max(len(rows) - 1, 1)
    assert found <= sensitivity.global_(query, (LOW, HIGH), neighbours, rows=rows_of_both) + 1e-12


@pytest.mark.parametrize("query", list(sensitivity.QUERIES))
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_global_sensitivity_is_reached(query: str, neighbours: Neighbours) -> None:
    worst = max(
        sensitivity.local(list(rows), query, neighbours=neighbours, bounds=(LOW, HIGH))
        for size in range(2, 5)
        for rows in itertools.product((LOW, HIGH), repeat=size)
    )
    least = 2 if neighbours is Neighbours.VALUE else 1
    assert worst == pytest.approx(sensitivity.global_(query, (LOW, HIGH), neighbours, rows=least))


def test_noise_scaled_to_local_sensitivity_breaks_its_promise() -> None:
    epsilon = 0.5
    for outlier in (10, 1000, 10**6):
        rows = [1, 2, 3]
        ratio = sensitivity.ratio_under_local_noise(rows, [*rows, outlier], "max", epsilon)
        assert ratio > math.exp(epsilon)
    assert ratio > 10**5  # and there is no bound
    assert sensitivity.ratio_under_local_noise([5, 5], [5, 5, 5], "max", epsilon) == 1


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ParameterError, match="the query 'summ' is not known; did you mean 'sum'"):
        sensitivity.local(HOUSES, "summ")
    with pytest.raises(InputError, match="there are no values"):
        sensitivity.local([], "sum")
    with pytest.raises(ParameterError, match="changed values need bounds"):
        sensitivity.local(HOUSES, "sum", neighbours=Neighbours.VALUE)
    for bounds in ((3, 1), (0, math.inf)):
        with pytest.raises(ParameterError, match="not usable"):
            sensitivity.global_("sum", bounds)
