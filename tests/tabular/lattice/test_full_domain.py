"""Datafly, Incognito and Optimal: what leaves by them, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.tabular import Anonymizer, Datafly, Incognito, Optimal
from sfumato.tabular.lattice import search
from sfumato.tabular.lattice.lattice import FrequencySets, Lattice
from sfumato.tabular.problem import Problem

EVERY: list[Anonymizer] = [Datafly(), Incognito(), Optimal()]
PEOPLE = sf.samples.patients(400)
SCHEMA = sf.Schema.from_roles(quasi=["age", "sex", "zip", "admission"], sensitive=["disease"], other="drop")


@pytest.mark.parametrize("algorithm", EVERY, ids=lambda one: one.algorithm)
def test_columns_without_a_hierarchy_get_a_plain_one(algorithm: Anonymizer) -> None:
    release = algorithm.anonymize(sf.Table.from_frame(PEOPLE), SCHEMA, [sf.KAnonymity(10)])
    assert release.card.algorithm == algorithm.algorithm
    assert release.frame.height == 400
    assert release.frame.group_by("age", "sex", "zip", "admission").len()["len"].min() >= 10


@pytest.mark.parametrize("algorithm", EVERY, ids=lambda one: one.algorithm)
def test_a_class_has_k_persons_not_k_rows(algorithm: Anonymizer) -> None:
    frame = pl.DataFrame({"age": [20] * 6 + [30] * 6, "id": ["a", "b", "c"] * 2 + ["x"] * 6})
    schema = sf.Schema.from_roles(quasi=["age"], person="id")
    release = algorithm.anonymize(sf.Table.from_frame(frame), schema, [sf.KAnonymity(3)])
    assert release.frame["age"].to_list() == ["*"] * 12


@pytest.mark.parametrize("algorithm", EVERY, ids=lambda one: one.algorithm)
def test_missing_values_keep_a_branch_of_their_own_below_the_top(algorithm: Anonymizer) -> None:
    tree = sf.Hierarchy.from_rows([("cook", "work", "*"), ("clerk", "work", "*")])
    schema = sf.Schema({"job": sf.Attribute("job", sf.Role.QUASI, hierarchy=tree, missing=("?",))})
    frame = pl.DataFrame({"job": ["cook", "clerk", "?", "?"]})
    release = algorithm.anonymize(sf.Table.from_frame(frame), schema, [sf.KAnonymity(2)])
    assert sorted(release.frame["job"]) == ["?", "?", "work", "work"]


def test_ranges_as_columns_give_the_limits_of_the_intervals() -> None:
    frame = pl.DataFrame({"age": [20, 21, 22, 23, 34, 35, 36, 37, 90]})
    release = Datafly(ranges="columns", keep_order=True, suppress=0.2).anonymize(
        sf.Table.from_frame(frame), sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)]
    )
    assert release.frame.columns == ["age_min", "age_max"]
    assert release.frame.rows()[0] == (20, 29)


def test_rows_that_cannot_make_a_class_leave_the_release_and_the_card_counts_them() -> None:
    frame = pl.DataFrame({"sex": ["F"] * 5 + ["M"], "ill": ["flu", "gout"] * 3})
    schema = sf.Schema.from_roles(quasi=["sex"], sensitive=["ill"])
    release = Optimal(suppress=0.2).anonymize(sf.Table.from_frame(frame), schema, [sf.KAnonymity(2)])
    assert release.frame["sex"].to_list() == ["F"] * 5
    assert release.card.released.rows == 5
    assert "rows that no class could hold were left out of the release" in release.card.warnings
    assert release.steward["rows_suppressed"] == 1
    assert release.card.released.measures["rows_starred"] == 0


def test_t_closeness_is_checked_against_the_rows_that_are_released() -> None:
    frame = pl.DataFrame({"zip": ["a"] * 8 + ["b"] * 8 + ["c"] * 2, "ill": ["flu", "gout"] * 8 + ["flu"] * 2})
    schema = sf.Schema.from_roles(quasi=["zip"], sensitive=["ill"])
    models = [sf.KAnonymity(3), sf.TCloseness(0.06, "ill")]
    for algorithm in (Datafly(suppress=0.2), Optimal(suppress=0.2)):
        release = algorithm.anonymize(sf.Table.from_frame(frame), schema, models)
        assert all(model.measured <= 0.06 for model in release.card.released.models if model.model == "t-closeness")


def test_a_suppressed_class_is_written_as_stars_when_it_satisfies_the_models() -> None:
    frame = pl.DataFrame({"zip": ["a"] * 6 + ["b", "c"], "sex": ["F"] * 8})
    release = Optimal(suppress=0.25).anonymize(
        sf.Table.from_frame(frame), sf.Schema.from_roles(quasi=["zip", "sex"]), [sf.KAnonymity(2)]
    )
    assert sorted(release.frame.rows()) == [("*", "*")] * 2 + [("a", "F")] * 6
    assert release.card.released.measures["rows_starred"] == 2


def test_local_recoding_saves_rows_from_suppression() -> None:
    frame = pl.DataFrame({"zip": ["a"] * 6 + ["b", "c"], "sex": ["F"] * 8})
    release = Optimal(suppress=0.25, local=True).anonymize(
        sf.Table.from_frame(frame), sf.Schema.from_roles(quasi=["zip", "sex"]), [sf.KAnonymity(2)]
    )
    assert sorted(release.frame.rows()) == [("*", "F")] * 2 + [("a", "F")] * 6
    assert release.card.released.measures["rows_starred"] == 0


def test_a_lattice_too_large_to_search_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_NODES", 5)
    with pytest.raises(ParameterError, match="nodes and at most 5 can be listed"):
        Incognito().anonymize(sf.Table.from_frame(PEOPLE), SCHEMA, [sf.KAnonymity(10)])


def test_keys_too_large_for_one_integer_are_numbered_all_the_same() -> None:
    draw = np.random.default_rng(3)
    names = [f"q{number}" for number in range(12)]
    frame = pl.DataFrame({name: [f"{name}{value}" for value in draw.permutation(60)] for name in names})
    schema = sf.Schema.from_roles(quasi=names)
    lattice = Lattice.of(Problem.of(sf.Table.from_frame(frame), schema, [sf.KAnonymity(2)]))
    assert math.prod(len(ladder.labels[0]) for ladder in lattice.ladders) > 2**62
    assert len(lattice.tally((0,) * 12).sizes) == 60
    assert len(lattice.tally((0, *(1,) * 11)).sizes) == 60


def test_the_answer_does_not_depend_on_what_is_kept_for_roll_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Incognito().minimal_nodes(sf.Table.from_frame(PEOPLE), SCHEMA, [sf.KAnonymity(10)])
    monkeypatch.setattr(FrequencySets.__init__, "__defaults__", (500,))
    problem = Problem.of(sf.Table.from_frame(PEOPLE), SCHEMA, [sf.KAnonymity(10)])
    lattice = Lattice.of(problem)
    found = search.minimal(search.satisfying_nodes(lattice))
    assert {tuple(node.levels.values()) for node in wanted} == set(found)
    assert lattice.kept.members <= 500 or len(lattice.kept) == 1


def test_a_column_of_nothing_but_missing_values_can_be_generalised() -> None:
    frame = pl.DataFrame({"a": [None, None, None], "b": ["x", "x", "y"]}, schema={"a": pl.String, "b": pl.String})
    release = Incognito().anonymize(
        sf.Table.from_frame(frame), sf.Schema.from_roles(quasi=["a", "b"]), [sf.KAnonymity(3)]
    )
    assert release.frame["b"].to_list() == ["*"] * 3


@pytest.mark.parametrize("metric", ["ncp", "discernibility", "height"])
def test_minimal_nodes_come_cheapest_first(metric: str) -> None:
    algorithm = Incognito(metric=metric)  # type: ignore[arg-type]  # a parametrized word
    nodes = algorithm.minimal_nodes(sf.Table.from_frame(PEOPLE), SCHEMA, [sf.KAnonymity(10)])
    costs = [getattr(node, metric) for node in nodes]
    assert len(nodes) > 1
    assert costs == sorted(costs)
