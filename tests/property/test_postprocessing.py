"""Post-processed values lie inside their intervals, and the intervals cover the truth as often as they say."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.dp.mechanisms.additive import AdditiveNoise, Gaussian, Laplace
from sfumato.dp.postprocessing import STEPS, norm_sub, postprocess
from sfumato.dp.questions.estimators import count_column
from sfumato.dp.stored_answer import AnswerColumn, StoredAnswer
from sfumato.random import SeededNoise

ORDERS = [order for length in range(len(STEPS) + 1) for order in itertools.permutations(STEPS, length)]
TRUE = [0, 0, 0, 1, 3, 8, 20, 50, 200, 1000]  # some groups are empty, so that Norm-Sub takes from the others
DRAWS = 2000
NUMBERS = st.one_of(st.integers(-(10**30), 10**30), st.floats(-1e12, 1e12))


def answer_of(columns: list[AnswerColumn]) -> StoredAnswer:
    cells: list[list[int | float | str]] = [[place] for place in range(len(columns[0].values))]
    return StoredAnswer(question="q", keys=["k"], cells=cells, columns=columns, epsilon="1")


@st.composite
def columns(draw: st.DrawFn) -> AnswerColumn:
    ends = [sorted(draw(st.tuples(NUMBERS, NUMBERS, NUMBERS))) for _ in range(draw(st.integers(1, 8)))]
    low, values, high = (list(numbers) for numbers in zip(*ends, strict=True))
    return AnswerColumn(
        name="n", mechanism="", values=values, low=low, high=high, scale=[1.0], counts=draw(st.booleans())
    )


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
@given(column=columns())
def test_a_value_lies_inside_its_interval_whatever_the_steps_and_their_order(
    order: tuple[str, ...], column: AnswerColumn
) -> None:
    made = postprocess(answer_of([column]), order).columns[0]
    for low, value, high in zip(made.low, made.values, made.high, strict=True):
        assert low <= value <= high  # type: ignore[operator]


@pytest.mark.parametrize("mechanism", [Laplace(Fraction(10)), Gaussian(Fraction(150))], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("order", [order for order in ORDERS if order], ids="-".join)
def test_no_step_makes_an_interval_cover_the_truth_less_often(order: tuple[str, ...], mechanism: AdditiveNoise) -> None:
    covered, before = 0, 0
    noise = SeededNoise(20250301)
    for _ in range(DRAWS):
        column = count_column("n", mechanism.release(TRUE, noise), mechanism)
        made = postprocess(answer_of([column]), order).columns[0]
        inside = [_covers(made, place) for place in range(len(TRUE))]
        plain = [_covers(column, place) for place in range(len(TRUE))]
        assert all(now or not was for now, was in zip(inside, plain, strict=True))
        covered, before = covered + sum(inside), before + sum(plain)
    assert covered >= before >= 0.95 * DRAWS * len(TRUE)


def test_an_interval_that_moved_with_its_value_would_cover_too_little() -> None:
    """Why intervals are stretched and not moved: Norm-Sub takes the noise of empty groups from all others."""
    covered, mechanism, noise = 0, Laplace(Fraction(10)), SeededNoise(7)
    true = [100] * 5 + [0] * 95
    half = mechanism.half_width(0.95)
    for _ in range(DRAWS // 10):
        made = norm_sub(mechanism.release(true, noise))
        covered += sum(abs(value - truth) <= half for value, truth in zip(made[:5], true[:5], strict=True))
    assert covered < 0.9 * 5 * (DRAWS // 10)


def _covers(column: AnswerColumn, place: int) -> bool:
    return column.low[place] <= TRUE[place] <= column.high[place]  # type: ignore[operator]
