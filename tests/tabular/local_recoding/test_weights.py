"""Weights by a target: what the plain formula says, and nothing for columns that tell nothing."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, SchemaError
from sfumato.tabular.local_recoding.weights import LEAST, mutual_information, target_weights


def slow_information(one: list[int], two: list[int]) -> float:
    """Return the mutual information by its definition, less Miller's correction."""
    rows, ones, twos, both = len(one), Counter(one), Counter(two), Counter(zip(one, two, strict=True))
    told = sum(count / rows * math.log(count * rows / ones[a] / twos[b]) for (a, b), count in both.items())
    return max(0.0, told - (len(ones) - 1) * (len(twos) - 1) / (2 * rows))


def test_information_is_what_the_plain_formula_says() -> None:
    rng = np.random.default_rng(1)
    found = []
    for _ in range(50):
        one = rng.integers(0, 6, 80)
        two = np.where(rng.random(80) < rng.random(), one % 3, rng.integers(0, 3, 80))
        found.append(mutual_information(one, two))
        assert found[-1] == pytest.approx(slow_information(one.tolist(), two.tolist()), abs=1e-12)
    assert max(found) > 0.3
    assert min(found) == 0


def people(rows: int = 2000) -> sf.Table:
    """Return rows in which income depends on work a lot, on age a little, and not on sex."""
    rng = np.random.default_rng(2)
    work, age = rng.integers(0, 4, rows), rng.integers(20, 60, rows)
    pay = 100 * work + age + rng.normal(0, 40, rows)
    return sf.Table.from_frame(
        pl.DataFrame(
            {
                "sex": rng.choice(["F", "M"], rows).tolist(),
                "age": age,
                "work": [f"w{each}" for each in work],
                "pay": pay,
                "rich": np.where(pay > 200, "yes", "no").tolist(),
            }
        )
    )


SCHEMA = sf.Schema.from_roles(quasi=["sex", "age", "work"], other="keep")


@pytest.mark.parametrize("target", ["rich", "pay"])
def test_columns_weigh_by_what_they_tell(target: str) -> None:
    weights = target_weights(people(), SCHEMA, target)
    assert list(weights) == ["sex", "age", "work"]
    assert weights["work"] > 2
    assert weights["sex"] == LEAST


def test_weights_are_the_plain_formula_over_its_mean() -> None:
    table = people(300)
    rich = table.column("rich").to_list()
    told = {
        name: slow_information(table.column(name).to_list(), rich)
        for name in SCHEMA.settled(table).names(sf.Role.QUASI)
    }
    mean = sum(told.values()) / len(told)
    expected = {name: max(LEAST, each / mean) for name, each in told.items()}
    assert target_weights(table, SCHEMA, "rich") == pytest.approx(expected, abs=1e-9)
    assert max(expected.values()) > 2


def test_where_nothing_tells_anything_all_weigh_the_same() -> None:
    table = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "F"], "work": ["a", "a"], "rich": ["yes", "no"]}))
    schema = sf.Schema.from_roles(quasi=["sex", "work"], other="keep")
    assert target_weights(table, schema, "rich") == {"sex": 1.0, "work": 1.0}


def test_a_missing_number_of_the_target_is_a_part_of_its_own() -> None:
    rows = 200
    pay = [None if row % 2 else float(row) for row in range(rows)]
    table = sf.Table.from_frame(pl.DataFrame({"told": ["no" if each is None else "yes" for each in pay], "pay": pay}))
    weights = target_weights(table, sf.Schema.from_roles(quasi=["told"], other="keep"), "pay")
    assert weights == {"told": 1.0}
    assert mutual_information(np.arange(rows) % 2, np.arange(rows) % 2) == pytest.approx(math.log(2) - 1 / (2 * rows))


@pytest.mark.parametrize(
    "role, values, why",
    [
        ({"other": "keep"}, ["yes"] * 4, "the target 'rich' has one value in all rows; name a column whose values"),
        ({"other": "keep"}, [7.5] * 4, "the target 'rich' has one value in all rows"),
        ({"identifier": ["rich"]}, ["a", "b", "c", "d"], "the target 'rich' is left out of the release; name a"),
        ({"other": "drop"}, ["yes", "no"] * 2, "the target 'rich' is left out of the release"),
    ],
)
def test_a_target_that_says_nothing_or_is_left_out_is_refused(
    role: dict[str, Any], values: list[Any], why: str
) -> None:
    table = sf.Table.from_frame(pl.DataFrame({"age": [20, 20, 30, 30], "rich": values}))
    with pytest.raises(SchemaError, match=why):
        target_weights(table, sf.Schema.from_roles(quasi=["age"], **role), "rich")


def test_a_target_that_is_not_there_or_is_generalised_is_refused() -> None:
    with pytest.raises(InputError, match="there is no column 'rihc'; did you mean 'rich'"):
        target_weights(people(10), SCHEMA, "rihc")
    with pytest.raises(SchemaError, match="the target 'age' is a quasi-identifier"):
        target_weights(people(10), SCHEMA, "age")
