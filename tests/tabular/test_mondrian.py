"""Mondrian against its slow twin, and the corners of its contract."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from mondrian_twin import Rows, entropy, twin

import sfumato as sf
from sfumato.checks.tables import random_schema, random_table
from sfumato.errors import ParameterError, SchemaError, UnsatisfiableError
from sfumato.evaluate import check
from sfumato.evaluate.utility import utility
from sfumato.models import Model
from sfumato.random import SeededSource
from sfumato.table.distinct import Numbering
from sfumato.tabular.mondrian.python_cuts import PythonCuts
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import recode

Find = Callable[[str], Path]


def classes_of(problem: Problem, *, relaxed: bool = False) -> set[frozenset[int]]:
    labels = sf.Mondrian(relaxed=relaxed).partition(problem).rows
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in range(int(labels.max()) + 1)}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("k", [2, 3, 7])
def test_strict_cuts_equal_the_twin(seed: int, k: int) -> None:
    problem = Problem.of(random_table(seed, 20 + 15 * seed), random_schema(), [sf.KAnonymity(k)])
    expected = {frozenset(rows) for rows in twin(problem, lambda _: True, plain=True)}
    assert classes_of(problem) == expected


@pytest.mark.parametrize("seed", range(8))
def test_cuts_under_distinct_values_equal_the_twin(seed: int) -> None:
    problem = Problem.of(random_table(seed, 60), random_schema(), [sf.KAnonymity(2), sf.LDiversity(3, "disease")])
    codes = problem.sensitive["disease"].codes
    found = {frozenset(rows) for rows in twin(problem, lambda rows: len(set(codes[rows])) >= 3, plain=False)}
    assert classes_of(problem) == found
    assert len(found) > 1


@pytest.mark.parametrize("seed", range(8))
def test_cuts_under_diversity_equal_the_twin(seed: int) -> None:
    models: list[Model] = [sf.KAnonymity(2), sf.LDiversity(2.5, "disease", kind="entropy")]
    problem = Problem.of(random_table(seed, 60), random_schema(), models)
    codes = problem.sensitive["disease"].codes

    def holds(rows: Rows) -> bool:
        return len(rows) >= 2 and entropy(Counter(int(codes[r]) for r in rows)) >= math.log(2.5 * (1 - 1e-9))

    assert classes_of(problem) == {frozenset(rows) for rows in twin(problem, holds, plain=False)}


@pytest.mark.parametrize("seed", range(8))
def test_cuts_by_persons_equal_the_twin(seed: int) -> None:
    problem = Problem.of(random_table(seed, 90), random_schema(person=True), [sf.KAnonymity(3)])
    persons = problem.person
    assert persons is not None

    def holds(rows: Rows) -> bool:
        return len({int(persons[r]) for r in rows}) >= 3

    assert classes_of(problem) == {frozenset(rows) for rows in twin(problem, holds, plain=False)}


def wooded(seed: int, rows: int) -> tuple[sf.Table, sf.Schema]:
    """People with three columns under trees of three, two and one level, one of them with missing values, and a number.

    Values of one tree are much more frequent at its left end, and neighbours in the second tell of the first.
    """
    draw = np.random.default_rng(seed)
    deep = [(f"z{i:02}", f"y{i // 2}", f"x{i // 6}", "*") for i in range(24)]
    trees = {
        "deep": sf.Hierarchy.from_rows(deep),
        "flat": sf.Hierarchy.from_rows([(letter, "vowel" if letter in "aei" else "other") for letter in "abcdefghi"]),
        "bare": sf.Hierarchy.from_rows([("u", "*"), ("v", "*"), ("w", "*")]),
    }
    places = np.minimum(23, draw.geometric(0.15, rows) - 1)
    letters = np.array(list("aeibcdfgh"))[(places + draw.integers(0, 3, rows)) % 9]
    frame = pl.DataFrame(
        {
            "deep": [f"z{place:02}" for place in places],
            "flat": pl.Series(letters).set(pl.Series(draw.random(rows) < 0.05), None),
            "bare": draw.choice(["u", "v", "w"], rows, p=[0.9, 0.05, 0.05]),
            "age": draw.integers(20, 60, rows),
            "ill": draw.choice(["flu", "gout", "cold"], rows, p=[0.5, 0.3, 0.2]),
        }
    )
    columns = {
        name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.CATEGORY, hierarchy=tree) for name, tree in trees.items()
    }
    columns["age"] = sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER)
    columns["ill"] = sf.Attribute("ill", sf.Role.SENSITIVE, sf.Kind.CATEGORY)
    return sf.Table.from_frame(frame), sf.Schema(columns)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("k", [2, 5])
def test_cuts_along_hierarchies_equal_the_twin(seed: int, k: int) -> None:
    problem = Problem.of(*wooded(seed, 20 + 25 * seed), [sf.KAnonymity(k)])
    assert classes_of(problem) == {frozenset(rows) for rows in twin(problem, lambda _: True, plain=True)}


@pytest.mark.parametrize("seed", range(6))
def test_cuts_along_hierarchies_under_diversity_equal_the_twin_and_those_in_python(seed: int) -> None:
    problem = Problem.of(*wooded(seed, 120), [sf.KAnonymity(2), sf.LDiversity(3, "ill")])
    codes = problem.sensitive["ill"].codes
    found = {frozenset(rows) for rows in twin(problem, lambda rows: len(set(codes[rows])) >= 3, plain=False)}
    assert classes_of(problem) == found
    labels, count = PythonCuts(problem, problem.points, relaxed=False).labels()
    rows = labels[problem.points.ids]
    assert {frozenset(np.flatnonzero(rows == label).tolist()) for label in range(count)} == found
    assert len(found) > 3


@pytest.mark.parametrize("seed", range(12))
def test_relaxed_cuts_in_python_are_those_of_the_kernel(seed: int) -> None:
    """A cut that was tried in vain leaves the rows in another order, on which the next relaxed cut depends."""
    problem = Problem.of(random_table(seed, 90), random_schema(), [sf.KAnonymity(3), sf.LDiversity(3, "disease")])
    points = Numbering(np.arange(90), np.ones(90, dtype=np.int64))
    labels, count = PythonCuts(problem, points, relaxed=True).labels()
    found = {frozenset(np.flatnonzero(labels == label).tolist()) for label in range(count)}
    assert found == classes_of(problem, relaxed=True)


def test_relaxed_cuts_halve_every_class() -> None:
    table = sf.Table.from_frame(pl.DataFrame({"age": [30] * 50 + [31] * 14}))
    problem = Problem.of(table, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(8)])
    sizes = sorted(len(rows) for rows in classes_of(problem, relaxed=True))
    assert sizes == [8, 8, 16, 32]
    assert len(classes_of(problem)) == 2


def test_sparse_values_take_the_sorting_path() -> None:
    draw = np.random.default_rng(5)
    values = draw.choice(10**9, 300, replace=False)
    table = sf.Table.from_frame(pl.DataFrame({"x": values, "y": draw.normal(size=300)}))
    problem = Problem.of(table, sf.Schema.from_roles(quasi=["x", "y"]), [sf.KAnonymity(4)])
    assert classes_of(problem) == {frozenset(rows) for rows in twin(problem, lambda _: True, plain=True)}


def test_ranges_are_tight_and_cover_their_rows() -> None:
    table = random_table(9, 80)
    release = sf.Mondrian(keep_order=True, ranges="columns").anonymize(table, random_schema(), [sf.KAnonymity(5)])
    joined = pl.concat([table.frame.select("age", "weight", "born"), release.table.frame], how="horizontal")
    inside = joined.filter(pl.col("weight").is_between("weight_min", "weight_max"))
    assert inside.height == 80
    keys = [name for name in release.table.names if name not in {"disease", "income"}]
    tight = joined.group_by(keys).agg(
        low=pl.col("weight").min() == pl.col("weight_min").first(),
        high=pl.col("born").max() == pl.col("born_max").first(),
    )
    assert tight["low"].all()
    assert tight["high"].all()


def test_missing_values_are_kept_and_shown() -> None:
    table = sf.Table.from_frame(
        pl.DataFrame({"age": [30, None, 31, None, None, None], "sex": ["F", "?", "F", "?", "M", "M"]})
    )
    schema = sf.Schema(
        {
            "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER),
            "sex": sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, missing=("?",)),
        }
    )
    frame = sf.Mondrian(keep_order=True).anonymize(table, schema, [sf.KAnonymity(2)]).frame
    assert frame["age"].to_list() == ["[30-31]", None, "[30-31]", None, None, None]
    joined = sf.Mondrian(keep_order=True).anonymize(table, schema, [sf.KAnonymity(6)]).frame
    assert joined.row(0) == ("[30-31]?", "{?, F, M}")


def test_a_hierarchy_gives_the_lowest_common_node() -> None:
    tree = sf.Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])
    attribute = sf.Attribute("h", sf.Role.QUASI, sf.Kind.CATEGORY, hierarchy=tree)
    table = sf.Table.from_frame(pl.DataFrame({"h": ["a", "b", "c", "d"]}))
    schema = sf.Schema({"h": attribute})
    assert sf.Mondrian(keep_order=True).anonymize(table, schema, [sf.KAnonymity(2)]).frame["h"].to_list() == [
        "x",
        "x",
        "y",
        "y",
    ]
    assert sf.Mondrian(keep_order=True).anonymize(table, schema, [sf.KAnonymity(3)]).frame["h"].to_list() == ["*"] * 4


def test_text_is_shown_whole_or_not_at_all() -> None:
    attribute = sf.Attribute("note", sf.Role.QUASI, sf.Kind.TEXT)
    table = sf.Table.from_frame(pl.DataFrame({"note": ["tall", "tall", "short", "bald"]}))
    frame = sf.Mondrian(keep_order=True).anonymize(table, sf.Schema({"note": attribute}), [sf.KAnonymity(2)]).frame
    assert sorted(frame["note"].to_list()) == ["*", "*", "tall", "tall"]


def test_odd_members_of_a_set_are_quoted() -> None:
    table = sf.Table.from_frame(pl.DataFrame({"job": ["a, b", 'the "x"', "c"]}))
    frame = sf.Mondrian(keep_order=True).anonymize(table, sf.Schema.from_roles(quasi=["job"]), [sf.KAnonymity(3)]).frame
    assert frame["job"][0] == '{"a, b", c, "the ""x"""}'


def test_rows_are_shuffled_unless_order_is_kept() -> None:
    table = sf.Table.from_frame(pl.DataFrame({"age": [30] * 200, "n": range(200)}))
    schema = sf.Schema.from_roles(quasi=["age"], other="keep", accept_unique=["n"])
    secure = sf.Mondrian().anonymize(table, schema, [sf.KAnonymity(2)])
    assert secure.frame["n"].to_list() != list(range(200))
    assert sorted(secure.frame["n"].to_list()) == list(range(200))
    assert not any("seed" in warning for warning in secure.card.warnings)
    kept = sf.Mondrian(keep_order=True).anonymize(table, schema, [sf.KAnonymity(2)], rng=SeededSource(1))
    assert kept.frame["n"].to_list() == list(range(200))
    assert any("original order" in warning for warning in kept.card.warnings)


@pytest.mark.parametrize(
    "models, sentence",
    [
        ([sf.KAnonymity(9)], "k-anonymity asks for 9 rows in a class and the table has 8; at most k=8 is possible"),
        (
            [sf.LDiversity(4, "d")],
            "distinct l-diversity with 4 cannot be reached: column 'd' over the whole table has 3",
        ),
        ([sf.LDiversity(3, "d", kind="entropy")], "at most 2.8284 is possible"),
        ([sf.AlphaK(0.25, 2, "d")], "at least 0.5 is possible"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(models: list[Model], sentence: str) -> None:
    frame = pl.DataFrame({"age": range(8), "d": ["flu"] * 4 + ["gout"] * 2 + ["ulcer"] * 2})
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["d"])
    with pytest.raises(UnsatisfiableError) as error:
        sf.Mondrian().anonymize(sf.Table.from_frame(frame), schema, models)
    assert sentence in str(error.value)


def test_what_the_error_calls_possible_is_possible() -> None:
    frame = pl.DataFrame({"age": range(8), "d": ["flu"] * 4 + ["gout"] * 2 + ["ulcer"] * 2})
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["d"])
    for model in (sf.KAnonymity(8), sf.LDiversity(2.8284, "d", kind="entropy"), sf.AlphaK(0.5, 2, "d")):
        assert sf.Mondrian().anonymize(sf.Table.from_frame(frame), schema, [model]).card.released.rows == 8


def test_models_need_their_columns() -> None:
    table = sf.Table.from_frame(pl.DataFrame({"age": [1, 2], "d": ["x", "y"]}))
    schema = sf.Schema.from_roles(quasi=["age"], other="keep")
    with pytest.raises(SchemaError, match="column 'd' has a diversity model but not the role sensitive"):
        sf.Mondrian().anonymize(table, schema, [sf.LDiversity(2, "d")])
    with pytest.raises(ParameterError, match="no model was asked for"):
        sf.Mondrian().anonymize(table, schema, [])
    with pytest.raises(SchemaError, match="no column has the role quasi"):
        sf.Mondrian().anonymize(table, sf.Schema(other="keep"), [sf.KAnonymity(2)])


@pytest.mark.parametrize("k", [2, 5, 25])
@pytest.mark.parametrize("relaxed", [False, True])
def test_adult_keeps_its_promise(data: Find, k: int, relaxed: bool) -> None:
    table = sf.read(data("adult_train.csv.gz"))
    quasi = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
    schema = sf.Schema.from_roles(quasi=quasi, sensitive=["occupation"], other="drop")
    release = sf.Mondrian(relaxed=relaxed).anonymize(table, schema, [sf.KAnonymity(k), sf.LDiversity(2, "occupation")])
    found = check(release.table, quasi, ["occupation"])
    assert found.rows == 32561
    assert found.k >= k
    assert found.sensitive["occupation"].l_distinct >= 2
    assert found.k == release.card.released.models[0].measured


def test_adult_with_hierarchies_keeps_every_model(data: Find) -> None:
    table = sf.read(data("adult_train.csv.gz"))
    trees = {
        name: sf.Hierarchy.from_csv(data(f"adult_hierarchies/{name}.csv"))
        for name in ("age", "education", "marital-status", "sex")
    }
    columns = {
        name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.CATEGORY, hierarchy=tree) for name, tree in trees.items()
    }
    columns["occupation"] = sf.Attribute("occupation", sf.Role.SENSITIVE, sf.Kind.CATEGORY)
    models: list[Model] = [
        sf.KAnonymity(10),
        sf.TCloseness(0.25, "occupation"),
        sf.LDiversity(3, "occupation", kind="recursive"),
    ]
    release = sf.Mondrian().anonymize(table, sf.Schema(columns, other="drop"), models)
    found = check(release.table, list(trees), ["occupation"])
    assert found.k >= 10
    assert found.sensitive["occupation"].t_equal <= 0.25 + 1e-9
    assert found.sensitive["occupation"].l_recursive >= 3
    allowed = {label for label, *_ in trees["age"].nodes()} | {"*"}
    assert set(release.table.column("age").to_list()) <= allowed


@pytest.mark.parametrize("k", [5, 10, 50])
def test_adult_loses_less_along_its_hierarchies_than_with_a_plain_age(data: Find, k: int) -> None:
    """Classes of both are shown by the same nodes, so that they are measured alike."""
    names = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    table = sf.read(data("adult_train.csv.gz"))
    wooded = {
        name: sf.Attribute(
            name, sf.Role.QUASI, hierarchy=sf.Hierarchy.from_csv(data(f"adult_hierarchies/{name}.csv")), missing=("?",)
        )
        for name in names
    }
    schema = sf.Schema(wooded, other="drop")
    plain = sf.Schema({**wooded, "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER)}, other="drop")
    shown_by = Problem.of(table, schema, [sf.KAnonymity(k)]).quasi
    losses = []
    for roles in (schema, plain):
        labels = sf.Mondrian().partition(Problem.of(table, roles, [sf.KAnonymity(k)])).rows
        count = int(labels.max()) + 1
        shown = [recode(column, column.codes, labels, count, "text")[0].rows(labels) for column in shown_by]
        losses.append(utility(table, schema, sf.Table(pl.DataFrame(shown))).gcp)
    assert losses[0] < 0.9 * losses[1]


def test_ipums_keeps_its_promise(data: Find) -> None:
    table = sf.read(data("ipums_1980_extract.csv"))
    quasi = ["age", "sex", "race", "marstat", "educrec"]
    schema = sf.Schema.from_roles(quasi=quasi, sensitive=["inctot"], other="drop")
    release = sf.Mondrian().anonymize(table, schema, [sf.KAnonymity(10), sf.TCloseness(0.3, "inctot")])
    found = check(release.table, quasi, ["inctot"])
    assert (found.rows, found.k >= 10) == (53461, True)
    assert found.sensitive["inctot"].t_ordered <= 0.3 + 1e-9
