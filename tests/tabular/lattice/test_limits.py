"""Levels that a steward limits, weighs or names: kept by every lattice search, or refused in a sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnsatisfiableError
from sfumato.schema import Attribute, Role, Schema
from sfumato.tabular import Anonymizer, Datafly, Incognito, LocalRecoding, Optimal
from sfumato.tabular.lattice.datafly import datafly
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.limits import read_node
from sfumato.tabular.lattice.search import minimal, satisfying_nodes
from sfumato.tabular.problem import Problem

NAMES = ("age", "zip", "sex")
TREE = sf.Hierarchy.from_rows([(code, f"{code[:2]}*", f"{code[0]}**", "*") for code in ("111", "112", "121", "211")])


def people(seed: int = 0, rows: int = 120) -> sf.Table:
    draw = np.random.default_rng(seed)
    return sf.Table.from_frame(
        pl.DataFrame(
            {
                "age": draw.integers(20, 60, rows),
                "zip": draw.choice(list(TREE.leaves), rows),
                "sex": draw.choice(["F", "M"], rows),
            }
        )
    )


def schema(**declared: dict[str, Any]) -> Schema:
    columns = {name: Attribute(name, Role.QUASI, **declared.get(name, {})) for name in NAMES}
    return Schema({**columns, "zip": replace(columns["zip"], hierarchy=TREE)})


def lattice_of(table: sf.Table, declared: Schema, k: int = 5) -> Lattice:
    return Lattice.of(Problem.of(table, declared, [sf.KAnonymity(k)]))


def shown_levels(release: sf.Release) -> Levels:
    """Return the chosen levels as the steward is told them."""
    note = next(note for note in release.notes if note.startswith("levels chosen"))
    return tuple(int(part.split(" (")[0].rsplit(" ", 1)[1]) for part in note.split("), "))


@pytest.mark.parametrize("algorithm", [Datafly(suppress=0.2), Incognito(), Optimal(suppress=0.2), Optimal()])
@pytest.mark.parametrize("seed", range(3))
def test_limits_are_kept_and_the_rest_is_as_good_as_it_can_be(algorithm: Anonymizer, seed: int) -> None:
    declared = schema(age={"min_level": 2, "max_level": 5}, zip={"max_level": 2}, sex={"min_level": 1})
    release = algorithm.anonymize(people(seed), declared, [sf.KAnonymity(5)])
    age, zipped, sex = shown_levels(release)
    assert 2 <= age <= 5
    assert zipped <= 2
    assert sex == 1
    assert release.card.released.settings["min_level"] == {"age": 2, "sex": 1}
    assert release.card.released.settings["max_level"] == {"age": 5, "zip": 2}


@pytest.mark.parametrize("seed", range(4))
def test_minimal_nodes_within_limits_are_those_that_no_allowed_node_lies_below(seed: int) -> None:
    draw = np.random.default_rng(seed)
    lattice = lattice_of(people(seed), schema())
    lows = tuple(int(draw.integers(0, top + 1)) for top in lattice.top)
    highs = tuple(int(draw.integers(low, top + 1)) for low, top in zip(lows, lattice.top, strict=True))
    lattice = replace(lattice, lows=lows, highs=highs)
    allowed = [
        node
        for node in np.ndindex(lattice.shape)
        if all(low <= level <= high for low, level, high in zip(lattice.lows, node, lattice.highs, strict=True))
        and lattice.tally(node).failing_rows == 0
    ]
    wanted = {
        node for node in allowed if not any(other != node and all(map(int.__le__, other, node)) for other in allowed)
    }
    assert set(minimal(satisfying_nodes(lattice))) == wanted


def slow_datafly(lattice: Lattice, limit: int) -> Levels | None:
    """Return Datafly's node as the paper climbs, each column's values counted by hand; None where it may not go on."""
    levels = list(lattice.lows)
    while lattice.tally(tuple(levels)).failing_rows > limit:
        counts: list[float] = []
        for place, ladder in enumerate(lattice.ladders):
            shown = {
                ladder.labels[levels[place]][ladder.nodes[levels[place]][code]] for code in lattice.codes[:, place]
            }
            counts.append(len(shown) / lattice.weights[place] if levels[place] < lattice.highs[place] else -1)
        if max(counts) < 0:
            return None
        levels[counts.index(max(counts))] += 1
    return tuple(levels)


@pytest.mark.parametrize("weights", [(1, 1, 1), (50, 1, 1), (1, 0.01, 3)])
@pytest.mark.parametrize("highs", [(7, 3, 1), (4, 3, 1), (2, 1, 0)])
def test_datafly_raises_a_heavy_column_late(weights: tuple[float, ...], highs: Levels) -> None:
    plain = lattice_of(people(), schema())
    lattice = replace(plain, weights=np.array(weights, dtype=float), highs=tuple(map(min, highs, plain.top)))
    wanted = slow_datafly(lattice, 3)
    if wanted is None:
        with pytest.raises(UnsatisfiableError, match="no generalisation within the limits"):
            datafly(lattice.problem, lattice, 3)
    else:
        assert datafly(lattice.problem, lattice, 3) == wanted


def test_a_heavy_column_keeps_more_of_its_detail() -> None:
    found = {}
    for weight in (0.01, 100):
        release = Optimal().anonymize(people(), schema(age={"weight": weight}), [sf.KAnonymity(5)])
        found[weight] = shown_levels(release)[0]
        assert release.card.released.settings["weight"] == {"age": weight}
    assert found[100] < found[0.01]
    light, heavy = (
        LocalRecoding(iterations=300, seconds=None).anonymize(
            people(), schema(age={"weight": each}), [sf.KAnonymity(5)]
        )
        for each in (0.01, 100)
    )
    assert heavy.frame["age"].n_unique() > light.frame["age"].n_unique()


@pytest.mark.parametrize("algorithm", [Datafly, Incognito, Optimal])
def test_a_node_that_is_named_is_released(algorithm: type[Datafly | Incognito | Optimal]) -> None:
    lattice = lattice_of(people(), schema())
    node = (lattice.top[0] - 1, 2, 1)
    assert lattice.tally(node).failing_rows == 0
    for text in (f"{node[0]},2,1", f"sex=1, age={node[0]},zip=2"):
        release = algorithm(node=text).anonymize(people(), schema(), [sf.KAnonymity(5)])
        assert shown_levels(release) == node
        assert release.card.released.settings["node"] == text
        assert release.card.released.measures["level of zip"] == 2
    with pytest.raises(
        UnsatisfiableError, match=r"leaves 120 of 120 rows .* 120 more than the 0 that may be suppressed"
    ):
        algorithm(node="0,0,0").anonymize(people(), schema(), [sf.KAnonymity(5)])


@pytest.mark.parametrize("failing_over", [0, 1])
def test_a_named_node_may_suppress_exactly_its_limit(failing_over: int) -> None:
    lattice = lattice_of(people(), schema())
    failing = lattice.tally((3, 2, 0)).failing_rows
    assert failing > 1
    search = Optimal(node="3,2,0", suppress=(failing - failing_over) / 120)
    if failing_over:
        with pytest.raises(
            UnsatisfiableError, match=rf"leaves {failing} of 120 rows .*, 1 more than the {failing - 1}"
        ):
            search.anonymize(people(), schema(), [sf.KAnonymity(5)])
    else:
        release = search.anonymize(people(), schema(), [sf.KAnonymity(5)])
        assert release.card.released.measures["rows_starred"] + release.steward["rows_suppressed"] == failing


def test_a_named_node_whose_rest_breaks_a_model_is_refused() -> None:
    shares = {"A": (100, 55), "B": (20, 9), "C": (10, 1)}  # rows, and how many of them have the flu
    parts = [("group", [name] * rows, ["flu"] * ill + ["gout"] * (rows - ill)) for name, (rows, ill) in shares.items()]
    frame = pl.DataFrame(
        {"group": [name for _, names, _ in parts for name in names], "ill": [ill for *_, ills in parts for ill in ills]}
    )
    declared = Schema.from_roles(quasi=["group"], sensitive=["ill"])
    models = [sf.KAnonymity(3), sf.TCloseness(0.08, "ill")]
    with pytest.raises(UnsatisfiableError, match="the other rows by themselves break a model"):
        Optimal(node="0", suppress=0.1).anonymize(sf.Table.from_frame(frame), declared, models)


@pytest.mark.parametrize(
    "text, said",
    [
        ("1,2", "node '1,2' has 2 levels; give one for each of age, zip, sex"),
        ("1,2,3", "column 'sex' has levels from 0 to 1; found 3"),
        ("-1,0,0", "column 'age' has levels from 0 to 6; found -1"),
        ("1.5,0,0", "found 1.5"),
        ("99999999999999999999,0,0", "found 99999999999999999999"),
        ("0000000000000099,0,0", "found 0000000000000099"),
        ("0" * 5000 + ",0,0", "column 'age' has levels from"),
        ("age=1,zip=1", "gives 'sex' no level"),
        ("age=1,zip=1,sex=0,age=2", "names 'age' twice"),
        ("age=1,zpi=1,sex=0", "there is no quasi-identifier 'zpi'; did you mean 'zip'?"),
        ("age=1,0,0", "there is no quasi-identifier ''"),
        (",,", "found"),
    ],
)
def test_a_node_that_is_none_is_refused(text: str, said: str) -> None:
    ladders = lattice_of(people(), schema()).ladders
    with pytest.raises(ParameterError) as refusal:
        read_node(text, ladders)
    assert said.replace("0 to 6", f"0 to {ladders[0].top}") in str(refusal.value)


@pytest.mark.parametrize(
    "declared, said",
    [
        ({"min_level": 3, "max_level": 2}, "min_level must not be above max_level; found 3 and 2"),
        ({"min_level": -1}, "min_level must be an integer of at least 0; found -1"),
        ({"max_level": True}, "max_level must be an integer of at least 0; found True"),
        ({"max_level": 1.0}, "max_level must be an integer of at least 0; found 1.0"),
        ({"weight": 0}, "weight must be a number from 0.001 to 1000; found 0"),
        ({"weight": float("nan")}, "weight must be a number from 0.001 to 1000; found nan"),
        ({"weight": "3"}, "weight must be a number from 0.001 to 1000; found '3'"),
    ],
)
def test_limits_that_contradict_themselves_are_refused(declared: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        Attribute("age", Role.QUASI, **declared)
    assert str(refusal.value) == f"column 'age': {said}"


def test_a_schema_file_declares_limits_and_weights() -> None:
    text = '[columns.age]\nrole = "quasi"\nmin_level = 1\nmax_level = 3\nweight = 2.5\n'
    read = Schema.from_text(text)
    assert Schema.from_text(read.to_toml()) == read
    assert (read.columns["age"].min_level, read.columns["age"].max_level, read.columns["age"].weight) == (1, 3, 2.5)
    moved = read.updated(Schema.from_roles(sensitive=["age"])).columns["age"]
    assert (moved.min_level, moved.max_level, moved.weight) == (None, None, None)


@pytest.mark.parametrize(
    "algorithm, key",
    [
        (sf.Mondrian(), "min_level"),
        (sf.Mondrian(), "weight"),
        (sf.MDAV(), "weight"),
        (LocalRecoding(iterations=1), "max_level"),
        (sf.SafePub(epsilon=1), "min_level"),
        (sf.PrivateMondrian(epsilon=1), "weight"),
        (sf.Anatomy(), "weight"),
    ],
)
def test_an_algorithm_that_would_not_keep_a_limit_refuses_it(algorithm: Anonymizer, key: str) -> None:
    limit: dict[str, Any] = {key: 1}
    declared = Schema({"age": Attribute("age", Role.QUASI, **limit)}, other="drop")
    models = [sf.LDiversity(2, "sex")] if isinstance(algorithm, sf.Anatomy) else [sf.KAnonymity(2)]
    with pytest.raises(SfumatoError, match=f"column 'age' declares {key}, which {algorithm.algorithm} does not keep"):
        algorithm.anonymize(people(), declared, models)


def test_weights_mean_nothing_to_discernibility() -> None:
    for search in (Optimal(metric="discernibility"), Incognito(metric="discernibility")):
        with pytest.raises(ParameterError, match="discernibility counts rows and no columns"):
            search.anonymize(people(), schema(age={"weight": 2}), [sf.KAnonymity(5)])


@pytest.mark.parametrize("local", [False, True])
def test_rows_that_are_recoded_further_keep_the_limits_too(local: bool) -> None:
    declared = schema(age={"max_level": 3}, zip={"max_level": 2}, sex={"max_level": 0})
    release = Optimal(suppress=0.5, local=local).anonymize(people(3), declared, [sf.KAnonymity(5)])
    lattice = lattice_of(people(3), declared)
    allowed = {label for level in range(4) for label in lattice.ladders[0].labels[level]}
    assert set(release.frame["age"]) <= allowed | {"*"}
    kept = release.frame.filter(pl.col("age") != "*")
    assert kept.height > 0
    assert set(kept["sex"]) == {"F", "M"}
    assert "*" not in set(kept["zip"])


@pytest.mark.parametrize(
    "search, declared, said",
    [
        (Optimal(node="1,0,0"), {}, "--node names levels"),
        (Datafly(node="1,0,0"), {}, "--node names levels"),
        (Incognito(), {"zip": {"max_level": 2}}, "column 'zip' has a max_level"),
        (Optimal(seconds=1), {}, "optimal that stops by the clock never does the same twice"),
    ],
)
def test_worlds_in_which_nothing_may_be_released_are_not_tried(
    search: Datafly | Incognito | Optimal, declared: dict[str, Any], said: str
) -> None:
    problem = Problem.of(people(), schema(**declared), [sf.KAnonymity(5)])
    with pytest.raises(ParameterError, match=said):
        search.partition_worlds(problem)
    free = Problem.of(people(), schema(age={"min_level": 1}), [sf.KAnonymity(5)])
    assert type(search)().partition_worlds(free)(free).count > 1
