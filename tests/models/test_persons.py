"""Models of persons with several values: against all ways to pin a value on each, and all worlds an attacker sees."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models import Groups, Model
from sfumato.models.criteria import flatten
from sfumato.models.criteria_kernel import criterion_holds, pin
from sfumato.models.groups import ClassCounts
from sfumato.models.pinned import pinned
from sfumato.models.t_closeness import cuts, with_surplus
from sfumato.schema import Kind, Role
from sfumato.table.coding import code_sensitive

VALUES = "abcd"
Person = frozenset[str]
classes = st.lists(st.sets(st.sampled_from(VALUES), min_size=1).map(frozenset), min_size=1, max_size=5)
rows = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.sampled_from([*VALUES, None])), min_size=1, max_size=40
)
MODELS: list[Model] = [
    sf.LDiversity(2, "s"),
    sf.LDiversity(3, "s"),
    sf.LDiversity(1.7, "s", kind="entropy"),
    sf.LDiversity(2, "s", kind="recursive", c=1.0),
    sf.LDiversity(2, "s", kind="recursive", c=0.5),
    sf.LDiversity(3, "s", kind="recursive", c=3.0),
    sf.AlphaK(0.6, 2, "s"),
    sf.TCloseness(0.3, "s"),
    sf.TCloseness(0.3, "s", distance="ordered"),
]


def groups_of(found: Sequence[tuple[int, int, str | None]], *, missing_is_value: bool = False) -> Groups:
    labels = np.unique([group for group, _, _ in found], return_inverse=True)[1]
    attribute = sf.Attribute("s", Role.SENSITIVE, Kind.CATEGORY, missing_is_value=missing_is_value)
    column = code_sensitive(pl.Series("s", [value for _, _, value in found], dtype=pl.String), attribute)
    return Groups.of(labels, {"s": column}, np.array([person for _, person, _ in found]))


def single(values: list[str]) -> ClassCounts:
    """A class of persons with one value each."""
    counts = np.array(sorted(Counter(values).values()))
    return ClassCounts(len(values), len(values), counts)


def several(persons: list[Person]) -> ClassCounts:
    counts = np.array([sum(value in person for person in persons) for value in VALUES])
    return ClassCounts(sum(map(len, persons)), len(persons), counts, holders=len(persons))


KINDS = [
    sf.LDiversity(2, "s"),
    sf.LDiversity(2, "s", kind="entropy"),
    sf.LDiversity(2, "s", kind="recursive", c=1.0),
    sf.LDiversity(2, "s", kind="recursive", c=2.5),
]


def test_two_persons_with_the_same_two_values_have_no_diversity() -> None:
    both = [(0, person, value) for person in (0, 1) for value in ("flu", "gout")]
    found = groups_of(both)
    assert sf.LDiversity(2, "s").measure(found) == 1
    assert sf.LDiversity(2, "s", kind="entropy").measure(found) == pytest.approx(1)
    assert sf.LDiversity(2, "s", kind="recursive", c=2).measure(found) == 1
    assert sf.AlphaK(0.5, 2, "s").measure(found) == 1
    apart = groups_of([(0, 0, "flu"), (0, 1, "gout")])
    assert sf.LDiversity(2, "s").measure(apart) == 2


@pytest.mark.parametrize("model", KINDS, ids=lambda model: f"{model.kind} {model.c}")
@given(persons=classes)
def test_no_way_to_pin_one_value_on_each_person_is_worse(model: sf.LDiversity, persons: list[Person]) -> None:
    promised = model.class_value(several(persons))
    for choice in itertools.product(*(sorted(person) for person in persons)):
        assert promised <= model.class_value(single(list(choice))) + 1e-9


def worlds(counts: dict[str, int], persons: int) -> list[tuple[Person, ...]]:
    """Every way in which so many persons may have the values, each person at least one."""
    holders = [itertools.combinations(range(persons), count) for count in counts.values()]
    found = []
    for chosen in itertools.product(*holders):
        each = tuple(
            frozenset(value for value, who in zip(counts, chosen, strict=True) if person in who)
            for person in range(persons)
        )
        if all(each):
            found.append(each)
    return found


@given(persons=st.lists(st.sets(st.sampled_from("abc"), min_size=1).map(frozenset), min_size=1, max_size=4))
def test_whoever_rules_out_fewer_than_l_minus_1_values_is_certain_of_none(persons: list[Person]) -> None:
    counts = {value: sum(value in person for person in persons) for value in sorted(set().union(*persons))}
    l = len(pinned(counts.values(), len(persons)))
    possible = [world[0] for world in worlds(counts, len(persons))]
    for size in range(l - 1):
        for ruled_out in itertools.combinations(counts, size):
            left = [values for values in possible if not values & set(ruled_out)]
            for value in set(counts) - set(ruled_out):
                assert any(value not in values for values in left), (persons, ruled_out, value)


@given(persons=classes)
def test_counts_alone_allow_nothing_better(persons: list[Person]) -> None:
    """The bound is reached: as many persons with the same counts exist on whom values can be pinned as unevenly."""
    one = several(persons)
    assert sum(one.pinned) == len(persons)
    sizes = sorted((int(count) for count in one.counts if count), reverse=True)
    assert one.pinned[:-1] == sizes[: len(one.pinned) - 1]
    assert one.pinned[-1] <= sizes[len(one.pinned) - 1]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 30))
def test_the_kernel_pins_as_its_twin_does(counts: list[int], holders: int) -> None:
    least = max(counts)
    holders = min(max(least, holders), sum(counts))
    fast = np.array(counts)
    pin(fast, int(fast.sum()) - holders)
    assert sorted((int(count) for count in fast if count), reverse=True) == pinned(counts, holders)


@pytest.mark.parametrize("model", MODELS, ids=str)
@given(found=rows, missing_is_value=st.booleans())
def test_the_measure_and_the_kernel_are_those_of_the_classes(
    model: Model, found: list[tuple[int, int, str | None]], missing_is_value: bool
) -> None:
    groups = groups_of(found, missing_is_value=missing_is_value)
    each = list(groups.each("s"))
    worst = min if model.at_least else max
    assert model.measure(groups) == pytest.approx(worst(model.class_value(one) for one in each), abs=1e-9)
    histograms = groups.sensitive["s"]
    flat = flatten([(model.criterion_of_persons(histograms.column), 0)], [histograms.reference])  # type: ignore[list-item]
    for one in each:
        flow = np.zeros(len(one.counts) + 1)
        enough = one.units >= model.least_units
        fast = enough and criterion_holds(flat, 0, one.counts.copy(), one.units, one.known_units, flow)
        assert bool(fast) == model.satisfied(one)


@given(found=rows)
def test_persons_of_one_row_each_are_rows(found: list[tuple[int, int, str | None]]) -> None:
    alone = [(group, person, value) for person, (group, _, value) in enumerate(found)]
    persons, plain = groups_of(alone), groups_of(alone)
    plain = Groups.of(
        np.unique([group for group, _, _ in alone], return_inverse=True)[1], {"s": persons.sensitive["s"].column}
    )
    for model in MODELS:
        assert model.measure(persons) == pytest.approx(model.measure(plain), abs=1e-12)


def test_a_missing_value_is_no_diversity_unless_declared() -> None:
    half = [(0, 0, "flu"), (0, 1, None)]
    kinds: tuple[Literal["distinct", "entropy"], ...] = ("distinct", "entropy")
    for kind in kinds:
        model = sf.LDiversity(2, "s", kind=kind)
        assert model.measure(groups_of(half)) == 1
        assert model.measure(groups_of(half, missing_is_value=True)) == pytest.approx(2)
    assert sf.AlphaK(0.5, 2, "s").measure(groups_of(half)) == 1
    assert sf.AlphaK(0.5, 2, "s").measure(groups_of(half, missing_is_value=True)) == 0.5
    nothing = [(0, 0, None), (0, 1, None), (1, 2, "flu"), (1, 3, "gout")]
    assert sf.LDiversity(2, "s").measure(groups_of(nothing)) == 0
    assert sf.LDiversity(2, "s", kind="entropy").measure(groups_of(nothing)) == 0


def test_a_missing_row_beside_a_value_takes_nothing_away() -> None:
    found = [(0, 0, "flu"), (0, 0, None), (0, 1, "gout"), (0, 1, None)]
    assert groups_of(found).sensitive["s"].holders.tolist() == [2]
    assert sf.LDiversity(2, "s").measure(groups_of(found)) == 2


def test_texts_are_compared_composed_and_without_blanks() -> None:
    variants = ["flu", " flu", "caf\u00e9", "cafe\u0301", "caf\u00e9 "]
    column = code_sensitive(pl.Series("s", variants), sf.Attribute("s", Role.SENSITIVE))
    assert column.levels == ["caf\u00e9", "flu"]
    assert column.codes.tolist() == [1, 1, 0, 0, 0]
    listed = sf.Attribute("s", Role.SENSITIVE, categories=("cafe\u0301", "flu"), missing=(" ?",))
    column = code_sensitive(pl.Series("s", [*variants, "?"]), listed)
    assert column.levels == ["cafe\u0301", "flu"]
    assert column.codes.tolist() == [2, 2, 1, 1, 1, 0]


def test_t_sees_that_a_class_has_more_values_for_each_person_than_the_table() -> None:
    """Half of the table has flu and half gout; a class whose persons all have both tells of each person."""
    found = [(0, 0, "flu"), (0, 0, "gout"), (0, 1, "flu"), (0, 1, "gout")]
    found += [(1, person, "flu" if person % 2 else "gout") for person in range(2, 100)]
    t = sf.TCloseness(0.2, "s").measure(groups_of(found))
    assert t == pytest.approx(1 - 51 / 100 + 1 - 51 / 100, abs=1e-9)


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_a_value_out_of_nothing_lies_a_whole_step_away(distance: str) -> None:
    column = code_sensitive(pl.Series("s", list("abcde")), sf.Attribute("s", Role.SENSITIVE))
    (starts, ends), weights = with_surplus(cuts(column, distance), 5)
    for place in range(5):
        gaps = np.zeros(5)
        gaps[place] = 1
        mass = [abs(gaps[start:end].sum()) for start, end in zip(starts, ends, strict=True)]
        assert math.isclose(float(np.dot(weights, mass)), 1.0)
