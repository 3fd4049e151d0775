"""The small test of a class, without persons and weighed counts: it says what the whole test and plain Python say."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.models.criteria import COUNTED, SHARE, SLACK, SPAN, Criterion, flatten
from sfumato.tabular.class_test import class_test
from sfumato.tabular.class_test_kernel import WEIGHT, Members, Ties, class_holds
from sfumato.tabular.problem import Problem

VALUES_IN_COLUMN = 4


def slow_holds(values: list[tuple[int, int]], criterion: Criterion, least: int) -> bool:
    """Whether rows with these (value, weight) pairs may be a class."""
    counts = Counter[int]()
    for value, weight in values:
        counts[value] += weight
    units = sum(counts.values())
    known = {value: count for value, count in counts.items() if value >= criterion.skip and count}
    if units < least:
        return False
    if criterion.kind == SPAN:
        numbers = sorted(criterion.weights[value - criterion.skip] for value in known)
        wide = bool(numbers) and numbers[-1] - numbers[0] >= criterion.first * (1 - SLACK)
        return wide and len(known) >= criterion.second
    if criterion.kind != SHARE:
        return len(known) >= criterion.first * (1 - SLACK)
    missing = counts[0] if criterion.skip else 0
    most = (criterion.first + SLACK) * np.array([sum(known.values()), units])
    return bool(max(known.values(), default=0) <= most[0] and missing <= most[1])


@pytest.mark.parametrize("kind", COUNTED)
@pytest.mark.parametrize("skip", [0, 1])
def test_the_small_test_agrees_with_the_whole_one_and_with_plain_python(kind: int, skip: int) -> None:
    rng = np.random.default_rng(10 * kind + skip)
    answers = Counter[bool]()
    for _ in range(300):
        size, least = int(rng.integers(1, 12)), int(rng.integers(1, 8))
        codes = rng.integers(0, VALUES_IN_COLUMN, size, dtype=np.int32)
        weights = rng.integers(1, 3, size)
        asked = Criterion(kind, float(rng.choice([0.4, 0.5, 0.75] if kind == SHARE else [1, 2, 3])), 0, skip=skip)
        if kind == SPAN:
            numbers, least_values = np.cumsum(rng.random(VALUES_IN_COLUMN - skip)), float(rng.integers(1, 4))
            bare = (np.zeros(len(numbers), dtype=np.int64),) * 2
            asked = asked._replace(second=least_values, first=asked.first / 4, cuts=bare, weights=numbers)
        criteria = flatten([(asked, 0)], [np.full(VALUES_IN_COLUMN, 1 / VALUES_IN_COLUMN)])
        tags = (weights << WEIGHT) + np.arange(size)
        members = Members(codes[None, :], np.zeros(VALUES_IN_COLUMN, dtype=np.int64))
        nothing = np.empty(0, dtype=np.int64)
        ties = Ties(nothing, nothing[None, :], np.zeros(1, dtype=np.int64), np.zeros(VALUES_IN_COLUMN + 1))
        start, end = sorted(rng.choice(size + 1, 2, replace=False).tolist())
        small = class_holds(tags, members, None, criteria, start, end, least)
        pairs = list(zip(codes[start:end].tolist(), weights[start:end].tolist(), strict=True))
        assert small == class_holds(tags, members, ties, criteria, start, end, least)
        assert small == slow_holds(pairs, asked, least)
        answers[bool(small)] += 1
    assert min(answers[False], answers[True]) > 10


FRAME = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6], "ill": ["a", "b", "c", "a", "b", "c"], "id": [1, 1, 2, 3, 4, 5]})


@pytest.mark.parametrize(
    "model, person, whole",
    [
        (sf.LDiversity(2, "ill"), None, False),
        (sf.AlphaK(0.9, 2, "ill"), None, False),
        (sf.LDiversity(1.5, "ill", kind="entropy"), None, True),
        (sf.TCloseness(0.9, "ill"), None, True),
        (sf.LDiversity(2, "ill"), "id", True),
    ],
)
def test_the_whole_test_is_compiled_only_where_a_model_asks_for_it(
    model: sf.models.Model, person: str | None, whole: bool
) -> None:
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"], person=person)
    problem = Problem.of(sf.Table(FRAME if person else FRAME.drop("id")), schema, [sf.KAnonymity(2), model])
    assert (class_test(problem, np.arange(6)).ties is not None) == whole
