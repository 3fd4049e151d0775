"""Blind Mondrian: its cuts beside their definition, and its theorem on every small table; what cards say of choices."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mondrian_twin import Rows, by_width, nearest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.models import Model
from sfumato.models.groups import ClassCounts
from sfumato.models.parts import worst_part
from sfumato.random import SeededSource
from sfumato.release.statement import Statement
from sfumato.table.coding import code
from sfumato.tabular.anatomy import _deal_groups
from sfumato.tabular.base import PartitionAnonymizer
from sfumato.tabular.card import BLIND, MINIMALITY
from sfumato.tabular.problem import Problem

ONE = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
TWO = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["ill"])
AGES = sf.Hierarchy.from_rows(
    [("20", "y", "*"), ("21", "y", "*"), ("23", "y", "*"), ("24", "x", "*"), ("30", "x", "*")]
)
WOODED = sf.Schema({**TWO.columns, "age": sf.Attribute("age", sf.Role.QUASI, hierarchy=AGES)})
EVEN: list[Model] = [
    sf.LDiversity(2, "ill"),
    sf.LDiversity(1.7, "ill", kind="entropy"),
    sf.LDiversity(2, "ill", kind="recursive", c=2),
    sf.AlphaK(0.6, 2, "ill"),
]
EVENLY, UNEVENLY = (20, 20, 21, 23, 24, 24), (20, 20, 30, 30, 30, 30)
LIKELY: list[Model] = [sf.BetaLikeness(1, "ill", kind="basic"), sf.BetaLikeness(1.2, "ill")]
RANGED: list[Model] = [sf.KEAnonymity(1, 2, "ill"), sf.KEAnonymity(6, 2, "ill"), sf.KEAnonymity(2, 3, "ill")]
Key = tuple[bytes, tuple[tuple[int, ...], ...]]


def every_table(schema: sf.Schema, model: Model, ages: tuple[int, ...]) -> Iterator[Problem]:
    """Yield the problem of every table with these quasi-identifiers and three illnesses that satisfies the model."""
    rows = len(ages)
    frame = pl.DataFrame({"age": ages, "sex": ["F", "M", "F", "F", "M", "F"], "ill": list("abcabc")})
    told = sf.Table(frame.select(*schema.columns))
    first = Problem.of(told, schema, [sf.KAnonymity(2), model])
    column = first.sensitive["ill"]
    for values in itertools.product(range(3), repeat=rows):
        codes = np.array(values, dtype=np.int32)
        problem = replace(first, sensitive={"ill": replace(column, codes=codes)})
        if model in LIKELY and len(set(values)) < 3:  # problems list the values that occur, and no others
            continue
        if problem.admits(np.arange(rows)):
            yield problem


def releases(anonymizer: PartitionAnonymizer, problems: Iterator[Problem]) -> dict[Key, list[tuple[int, ...]]]:
    """Return all worlds behind each release: who shares a class, and how often each value occurs there."""
    found: dict[Key, list[tuple[int, ...]]] = defaultdict(list)
    for problem in problems:
        rows, values = anonymizer.partition(problem).rows, problem.sensitive["ill"].codes
        _, examples, places = np.unique(rows, return_index=True, return_inverse=True)
        shown = tuple(tuple(np.bincount(values[rows == rows[place]], minlength=3).tolist()) for place in examples)
        found[examples[places].tobytes(), shown].append(tuple(values.tolist()))
    return found


@pytest.mark.parametrize("schema", [ONE, TWO, WOODED], ids=["one column", "two columns", "a hierarchy"])
@pytest.mark.parametrize("ages", [EVENLY, UNEVENLY], ids=["even", "uneven"])
@pytest.mark.parametrize("model", [*EVEN, *LIKELY], ids=repr)
def test_on_every_small_table_a_person_has_a_value_as_often_as_the_class_shows(
    schema: sf.Schema, ages: tuple[int, ...], model: Model
) -> None:
    """The theorem, exhaustively: over all tables with one release, each value is held in the class's proportions."""
    sizes = set()
    for (classes, _), worlds in releases(sf.BlindMondrian(), every_table(schema, model, ages)).items():
        numbers = np.frombuffer(classes, dtype=np.int64)
        sizes.add(len(np.unique(numbers)))
        held = np.array(worlds)
        for number in np.unique(numbers):
            members = np.flatnonzero(numbers == number)
            shares = np.bincount(held[0][members], minlength=3) / len(members)
            for row in members:
                assert np.bincount(held[:, row], minlength=3) / len(held) == pytest.approx(shares)
    assert 1 in sizes or model is LIKELY[0]  # which lets any half have any values
    if model in (EVEN[0], LIKELY[0]) and ages is EVENLY:
        assert max(sizes) > 1  # it does cut


@pytest.mark.parametrize("model", [*EVEN, LIKELY[0]], ids=repr)
def test_mondrian_breaks_the_theorem_on_some_small_table(model: Model) -> None:
    fallen = 0
    found = [releases(sf.Mondrian(), every_table(ONE, model, ages)) for ages in (EVENLY, UNEVENLY)]
    for (classes, _), worlds in itertools.chain.from_iterable(shown.items() for shown in found):
        numbers, held = np.frombuffer(classes, dtype=np.int64), np.array(worlds)
        for row in range(6):
            members = np.flatnonzero(numbers == numbers[row])
            shares = np.bincount(held[0][members], minlength=3) / len(members)
            fallen += not np.allclose(np.bincount(held[:, row], minlength=3) / len(held), shares)
    assert fallen > 0


def defined_cuts(problem: Problem, rows: Rows, holds: Callable[[Rows, tuple[int, ...]], bool]) -> list[Rows]:
    """Return the classes by definition: cut where both sides hold in every order of the class's own values."""
    values = tuple(int(problem.sensitive["ill"].codes[row]) for row in rows)
    if len(rows) >= 2 * problem.least_units:
        for column in by_width(problem, rows):
            value = nearest(problem, rows, column, len(rows) / 2)
            if value is None:
                continue
            codes = problem.quasi[column].codes
            sides = [[r for r in rows if codes[r] <= value], [r for r in rows if codes[r] > value]]
            places = [[rows.index(row) for row in side] for side in sides]
            worlds = set(itertools.permutations(values))
            if all(holds(place, world) for world in worlds for place in places):
                return [part for side in sides for part in defined_cuts(problem, side, holds)]
    return [rows]


@given(
    st.lists(st.tuples(st.integers(20, 26), st.sampled_from("FM"), st.sampled_from("aabcd")), min_size=4, max_size=7),
    st.sampled_from([*EVEN, *LIKELY, *RANGED]),
)
@settings(max_examples=120, deadline=None)
def test_cuts_equal_their_definition(people: list[tuple[int, str, str]], model: Model) -> None:
    frame = pl.DataFrame(people, schema=["age", "sex", "ill"], orient="row")
    if model in RANGED:
        numbers = pl.col("ill").replace_strict({"a": 1, "b": 2, "c": 7, "d": None}, return_dtype=pl.Int64)
        frame = frame.with_columns(numbers)
    models = [sf.KAnonymity(2), model]
    try:
        problem = Problem.of(sf.Table(frame), TWO, models)
    except sf.errors.UnsatisfiableError:
        return
    column = problem.sensitive["ill"]

    def holds(places: Rows, world: tuple[int, ...]) -> bool:
        counts = np.bincount([world[place] for place in places], minlength=column.size)
        return model.satisfied(ClassCounts(len(places), len(places), counts, problem.shares["ill"], column))

    labels = sf.BlindMondrian().partition(problem).rows
    found = {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}
    assert found == {frozenset(rows) for rows in defined_cuts(problem, list(range(len(people))), holds)}


@given(st.lists(st.integers(0, 4), min_size=2, max_size=4), st.integers(1, 8), st.sampled_from(EVEN))
@settings(deadline=None)
def test_no_part_is_worse_than_the_worst_part(counts: list[int], size: int, model: Model) -> None:
    if sum(counts) < size:
        return
    column = code(pl.Series("ill", list("abcd")[: len(counts)]), sf.Attribute("ill", sf.Role.SENSITIVE))
    reference = np.full(len(counts), 1 / len(counts))

    def measured(part: tuple[int, ...]) -> float:
        return model.class_value(ClassCounts(max(2, size), max(2, size), np.array(part), reference, column))

    parts = [part for part in itertools.product(*(range(count + 1) for count in counts)) if sum(part) == size]
    worst = tuple(worst_part(np.array(counts), size).tolist())
    assert worst in parts
    side = 1 if model.at_least else -1
    assert side * measured(worst) <= min(side * measured(part) for part in parts) + 1e-9


def test_it_cuts_as_mondrian_where_no_model_reads_values() -> None:
    people = sf.Table.from_frame(sf.samples.patients(300))
    schema = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["disease"], other="drop")
    problem = Problem.of(people, schema, [sf.KAnonymity(5)])
    ours, theirs = (one.partition(problem).rows for one in (sf.BlindMondrian(), sf.Mondrian()))
    assert len(set(zip(ours.tolist(), theirs.tolist(), strict=True))) == len(set(ours.tolist())) > 20
    assert len(set(theirs.tolist())) == len(set(ours.tolist()))


def test_rows_that_were_counted_before_are_cut_alike() -> None:
    people = sf.samples.patients(400).select((pl.col("age") // 20 * 20), "sex", ill="disease")
    counted = people.group_by(people.columns).len("rows").sort(people.columns)
    models: list[Model] = [sf.KAnonymity(5), sf.LDiversity(2, "ill")]
    each = Problem.of(sf.Table(people), TWO, models)
    few = Problem.of(sf.Table(counted.drop("rows")), TWO, models, counted["rows"].to_numpy().astype(np.int64))
    shown = [
        problem.table.frame.with_columns(pl.Series("class", sf.BlindMondrian().partition(problem).rows)).unique()
        for problem in (each, few)
    ]
    pairs = (
        shown[0].join(shown[1], on=people.columns, how="full", coalesce=True).select("class", "class_right").unique()
    )
    assert pairs.null_count().sum_horizontal().item() == 0
    assert pairs.height == shown[0]["class"].n_unique() == shown[1]["class"].n_unique() > 2


def test_it_refuses_what_it_cannot_promise() -> None:
    frame = pl.DataFrame({"age": [20, 21, 22, 23], "ill": list("abab"), "who": list("ppqr")})
    for model in (sf.TCloseness(0.9, "ill"), sf.DeltaDisclosure(1, "ill")):
        with pytest.raises(ParameterError, match="would forbid almost every such cut; ask for l-diversity"):
            sf.BlindMondrian().anonymize(sf.Table(frame.drop("who")), ONE, [model])
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"], identifier=["who"], person="who")
    with pytest.raises(SchemaError, match="one row for each person"):
        sf.BlindMondrian().anonymize(sf.Table(frame), schema, [sf.LDiversity(2, "ill")])
    sf.BlindMondrian().anonymize(sf.Table(frame), schema, [sf.KAnonymity(2)])


def test_a_missing_value_is_taken_for_the_worst() -> None:
    """Of six rows three have no value: a side of three may have none, whichever value is most frequent."""
    frame = pl.DataFrame({"age": [20, 20, 20, 30, 30, 30], "ill": ["a", "b", "c", None, None, None]})
    found = sf.BlindMondrian().anonymize(sf.Table(frame), ONE, [sf.KAnonymity(2), sf.LDiversity(2, "ill")])
    assert found.card.released.classes == 1


PATIENTS = sf.Table.from_frame(sf.samples.patients(200))
ROLES = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["disease"], other="drop")
DIVERSE: list[Model] = [sf.KAnonymity(3), sf.LDiversity(2, "disease")]
LOOKED, DID_NOT = (words.format(columns="disease") for words in (MINIMALITY, BLIND))


@pytest.mark.parametrize(
    "anonymizer",
    [sf.Mondrian(), sf.Datafly(), sf.Incognito(), sf.Optimal(suppress=0.1), sf.MDAV(), sf.KAnonyMeans()],
    ids=repr,
)
def test_a_card_says_that_choices_depend_on_sensitive_values(anonymizer: PartitionAnonymizer) -> None:
    diverse = anonymizer.anonymize(PATIENTS, ROLES, DIVERSE).card
    assert diverse.assumptions.count(LOOKED) == 1
    assert any(LOOKED in part.sentences for part in Statement.of(diverse).parts)
    plain = anonymizer.anonymize(PATIENTS, ROLES, [sf.KAnonymity(3)]).card
    assert not any("algorithm" in text for text in plain.assumptions)


@pytest.mark.parametrize("anonymizer", [sf.BlindMondrian(), sf.Anatomy()], ids=repr)
def test_a_card_says_that_choices_tell_nothing(anonymizer: PartitionAnonymizer) -> None:
    card = anonymizer.anonymize(PATIENTS, ROLES, DIVERSE[1:]).card
    assert DID_NOT in card.assumptions
    assert LOOKED not in card.assumptions


def test_a_layer_that_repairs_blind_classes_is_not_blind(tmp_path: Path) -> None:
    release = sf.republish(PATIENTS, ROLES, DIVERSE, tmp_path / "series", sf.BlindMondrian())
    assert DID_NOT not in release.card.assumptions
    assert LOOKED in release.card.assumptions


def test_anatomy_deals_a_value_to_each_group_alike() -> None:
    """Groups are drawn without quasi-identifiers: over many draws each person meets each other one equally often."""
    frame = pl.DataFrame({"age": [20, 20, 30, 30], "ill": ["a", "a", "b", "c"]})
    problem = Problem.of(sf.Table(frame), ONE, [sf.LDiversity(2, "ill")])
    met: Counter[int] = Counter()
    for seed in range(600):
        rows = _deal_groups(problem, SeededSource(seed)).rows
        met[int(np.flatnonzero(rows == rows[0])[1])] += 1
    assert set(met) == {2, 3}
    assert abs(met[2] - met[3]) < 150  # six standard deviations
