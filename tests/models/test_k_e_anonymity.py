"""(k, e)-anonymity against brute force: one number picked for each person, in every possible way."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models import Groups
from sfumato.models.criteria import flatten
from sfumato.schema import Kind, Role
from sfumato.table.coding import Column, code_sensitive, only_observed

FIELDS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([None, 1, 2, 5, 9])), min_size=1, max_size=20)
HELD = st.lists(st.sets(st.sampled_from([1, 2, 5, 9]), min_size=1, max_size=3), min_size=1, max_size=4)


def column(values: list[int | None]) -> Column:
    return only_observed(code_sensitive(pl.Series("s", values), sf.Attribute("s", Role.SENSITIVE, Kind.INTEGER)))


@given(FIELDS, st.integers(2, 3))
def test_the_measure_is_the_least_reach_of_classes_with_enough_numbers(
    rows: list[tuple[int, int | None]], k: int
) -> None:
    classes = np.unique([row[0] for row in rows], return_inverse=True)[1]
    found = Groups.of(classes, {"s": column([row[1] for row in rows])})
    by_class = [{v for group, v in rows if group == g and v is not None} for g in sorted({row[0] for row in rows})]
    wanted = min(max(one) - min(one) if len(one) >= k else 0 for one in by_class)
    model = sf.KEAnonymity(1, k, "s")
    assert model.measure(found) == wanted
    assert min(model.class_value(one) for one in found.each("s")) == wanted


@given(HELD, st.integers(2, 3), st.sampled_from([1, 3, 4, 8]))
@settings(max_examples=200)
def test_persons_with_several_numbers_reach_no_farther_than_the_worst_choice(
    held: list[set[int]], k: int, e: int
) -> None:
    """What the counts promise holds for every way to pick one number for each person."""
    from sfumato.models.criteria_kernel import criterion_holds

    pairs = [(person, number) for person, numbers in enumerate(held) for number in sorted(numbers)]
    known = column([number for _, number in pairs])
    person = np.array([person for person, _ in pairs])
    found = Groups.of(np.zeros(len(pairs), dtype=np.int64), {"s": known}, person)
    model = sf.KEAnonymity(e, k, "s")
    (one,) = found.each("s")
    assert model.measure(found) == model.class_value(one)
    flat = flatten([(model.criterion(known), 0)], [one.reference])
    fast = criterion_holds(flat, 0, one.counts.copy(), one.units, one.known_units, np.zeros(known.size + 1))
    assert bool(fast) == model.holds(model.class_value(one))
    if fast:
        for chosen in itertools.product(*held):
            assert len(set(chosen)) >= k
            assert max(chosen) - min(chosen) >= e


@given(FIELDS, FIELDS)
def test_rows_that_join_never_make_it_worse(
    rows: list[tuple[int, int | None]], more: list[tuple[int, int | None]]
) -> None:
    values = [value for _, value in [*rows, *more]]
    known = column(values)
    classes = np.array([0] * len(rows) + [1] * len(more))
    apart, together = (Groups.of(groups, {"s": known}) for groups in (classes, np.zeros_like(classes)))
    first = sf.KEAnonymity(1, 2, "s").class_value(next(apart.each("s")))
    assert sf.KEAnonymity(1, 2, "s").measure(together) >= first


def test_the_paper_s_two_classes() -> None:
    """Salaries of one class lie within 1000 of each other and tell it nearly exactly, although all differ."""
    salaries = [54_000, 54_500, 55_000, 20_000, 56_000, 81_000]
    found = Groups.of(np.array([0, 0, 0, 1, 1, 1]), {"s": column(list(salaries))})
    assert sf.LDiversity(3, "s").measure(found) == 3
    assert sf.KEAnonymity(10_000, 3, "s").failing(found).tolist() == [True, False]


def test_words_are_refused() -> None:
    table = sf.Table.from_frame(sf.samples.patients(60))
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    with pytest.raises(sf.SfumatoError, match="column 'disease' has none; ask for another model of it"):
        sf.Mondrian().anonymize(table, schema, [sf.KEAnonymity(10, 2, "disease")])


def test_options_ask_it_of_columns_of_numbers_alone() -> None:
    income = sf.Attribute("income", Role.SENSITIVE, Kind.INTEGER)
    disease = sf.Attribute("disease", Role.SENSITIVE, Kind.CATEGORY)
    asked = sf.models.models_from_options({"k": 3, "e": 100}, sf.Schema({"income": income, "disease": disease}))
    assert [model.sensitive for model in asked] == [None, "income"]
    with pytest.raises(sf.SfumatoError, match="--e suits no sensitive column; found 'disease'"):
        sf.models.models_from_options({"k": 3, "e": 100}, sf.Schema({"disease": disease}))
