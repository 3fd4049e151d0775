"""Rows counted before are as good as the rows: the same classes, the same card, the same measures."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.checks.anonymizers import MODEL_SETS
from sfumato.checks.tables import random_schema, random_table
from sfumato.errors import UnsatisfiableError
from sfumato.evaluate import Measures, check
from sfumato.schema.kinds import detect
from sfumato.tabular import PartitionAnonymizer
from sfumato.tabular.base import released_names
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Coarse

ROWS = "rows"
Counts = npt.NDArray[np.int64]
ALGORITHMS: list[PartitionAnonymizer] = [
    sf.Mondrian(),
    sf.Mondrian(ranges="columns"),
    sf.Datafly(suppress=0.1),
    sf.Incognito(metric="discernibility"),
    sf.Optimal(suppress=0.1, local=True),
]


def coarse_table(seed: int, rows: int) -> sf.Table:
    """Return made-up people many of whom agree, with texts that must be told from numbers."""
    frame = random_table(seed, rows).frame
    day = pl.date(1990, 1, 1)
    ages = pl.col("age") // 9 * 9
    return sf.Table(
        frame.with_columns(
            pl.when(pl.col("weight") > 90).then(pl.lit("")).otherwise(ages.cast(pl.String)).alias("age"),
            (pl.col("weight") // 20 * 20).alias("weight"),
            (day + pl.duration(days=(pl.col("born") - day).dt.total_days() // 900 * 900)).alias("born"),
        )
    )


def counted(table: sf.Table, names: list[str]) -> tuple[sf.Table, Counts]:
    frame = table.frame.group_by(names).len(ROWS).sample(fraction=1, shuffle=True, seed=1)
    empty = [pl.lit(None).alias(name) for name in table.names if name not in names]
    return sf.Table(frame.with_columns(empty).select(table.names)), frame[ROWS].to_numpy().astype(np.int64)


@given(
    st.integers(0, 10_000), st.integers(6, 120), st.sampled_from(ALGORITHMS), st.sampled_from(MODEL_SETS), st.booleans()
)
def test_counted_rows_give_the_release_of_all_rows(
    seed: int, rows: int, algorithm: PartitionAnonymizer, models: tuple[sf.models.Model, ...], person: bool
) -> None:
    table, schema = coarse_table(seed, rows), random_schema(person=person)
    keys = [*schema.names(sf.Role.QUASI), "disease", "income", *(["id"] if person else [])]
    few, weights = counted(table, keys)
    try:
        whole = Problem.of(table, schema, models)
    except UnsatisfiableError as error:
        with pytest.raises(UnsatisfiableError, match=re.escape(str(error))):
            Problem.of(few, schema, models, weights)
        return
    whole = replace(whole, unique={})  # who counts rows has looked for columns that single people out
    expected = algorithm.settle(whole, algorithm.partition(whole))
    problem = Problem.of(few, schema, models, weights)
    found = algorithm.settle(problem, algorithm.partition(problem))
    names = released_names(problem.schema, found.coarse)
    card = algorithm.card(expected, names, seeded=False)
    told = [warning for warning in card.warnings if "no identifier differs" not in warning]  # counts show none
    assert algorithm.card(found, names, seeded=False) == msgspec.structs.replace(card, warnings=told)
    assert found.partition.steward == expected.partition.steward
    assert found.groups.rows == expected.groups.rows
    assert shown(found.coarse, found.row_class, found.problem.weights) == shown(expected.coarse, expected.row_class)


def shown(coarse: Mapping[str, list[Coarse]], classes: Counts, weights: Counts | None = None) -> list[str]:
    """Return the released rows as a multiset."""
    every = pl.DataFrame([column.rows(classes) for columns in coarse.values() for column in columns])
    counts = np.ones(len(classes), dtype=np.int64) if weights is None else weights
    totals = every.with_columns(pl.Series(ROWS, counts)).group_by(every.columns).agg(pl.col(ROWS).sum())
    return sorted(map(str, totals.rows()))


@given(st.lists(st.tuples(st.sampled_from(["1", "2.5", "x", "", "2020-01-01", "007"]), st.integers(1, 5)), min_size=1))
def test_a_counted_column_has_the_kind_of_all_its_values(cells: list[tuple[str, int]]) -> None:
    values, weights = pl.Series([value for value, _ in cells]), np.array([weight for _, weight in cells])
    whole = pl.Series([value for value, weight in cells for _ in range(weight)])
    assert detect(values, weights=weights) is detect(whole)


@given(st.integers(0, 10_000), st.integers(1, 60))
def test_a_counted_table_measures_as_all_rows(seed: int, rows: int) -> None:
    table = coarse_table(seed, rows)
    few, weights = counted(table, ["age", "sex", "disease", "income"])
    whole = check(table, ["age", "sex"], ["disease", "income"])
    assert rounded(check(few, ["age", "sex"], ["disease", "income"], weights=weights)) == rounded(whole)


def rounded(found: Measures) -> object:
    """Return the measures without what the order of a sum changes."""
    return json.loads(json.dumps(found.as_json()), parse_float=lambda text: round(float(text), 9))
