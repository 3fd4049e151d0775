"""Anatomy: the two tables, what is refused, and how counts are estimated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, ParameterError, SchemaError, UnsatisfiableError
from sfumato.evaluate.check import written_groups
from sfumato.random import SeededSource
from sfumato.release import Release
from sfumato.tabular.anatomy import Anatomy, estimate_count

ILL = ["flu", "flu", "gout", "gout", "cold", "cold", "ulcer"]
PEOPLE = sf.Table(pl.DataFrame({"age": [20, 25, 30, 35, 40, 45, 50], "ill": ILL}))
SCHEMA = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])


def test_the_example_of_the_paper() -> None:
    """The hospital of Xiao & Tao 2006: two of the first group qualify, half of it has pneumonia; the truth is 1."""
    rows = [
        (23, "M", 11000, 1),
        (27, "M", 13000, 1),
        (35, "M", 59000, 1),
        (59, "M", 12000, 1),
        (61, "F", 54000, 2),
        (65, "F", 25000, 2),
        (65, "F", 25000, 2),
        (70, "F", 30000, 2),
    ]
    second = [(1, "dyspepsia", 2), (1, "pneumonia", 2), (2, "bronchitis", 1), (2, "flu", 2), (2, "gastritis", 1)]
    card = Anatomy().anonymize(PEOPLE, SCHEMA, [sf.LDiversity(2, "ill")]).card
    release = Release(
        sf.Table(pl.DataFrame(rows, schema=["age", "sex", "zip", "group"], orient="row")),
        card,
        {"sensitive": sf.Table(pl.DataFrame(second, schema=["group", "disease", "count"], orient="row"))},
    )
    young = (pl.col("age") <= 30) & pl.col("zip").is_between(10001, 20000)
    assert estimate_count(release, young, pl.col("disease") == "pneumonia") == 1
    assert estimate_count(release, young, pl.col("disease") == "flu") == 0


def test_an_ineligible_table_is_refused_with_what_is_possible() -> None:
    with pytest.raises(UnsatisfiableError, match=r"has 2 of 7 rows, more than one in 4; at most l=3 is possible"):
        Anatomy().anonymize(PEOPLE, SCHEMA, [sf.LDiversity(4, "ill")])
    assert Anatomy().anonymize(PEOPLE, SCHEMA, [sf.LDiversity(3, "ill")]).card.released.models[0].measured >= 3


def test_what_anatomy_cannot_promise_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot promise k-anonymity"):
        Anatomy().anonymize(PEOPLE, SCHEMA, [sf.KAnonymity(2), sf.LDiversity(2, "ill")])
    two = sf.Schema.from_roles(quasi=["age"], sensitive=["ill", "group"])
    grouped = sf.Table(PEOPLE.frame.with_columns(pl.lit(1).alias("group")))
    with pytest.raises(SchemaError, match="hides one sensitive column; found ill, group"):
        Anatomy().anonymize(grouped, two, [sf.LDiversity(2, "ill")])
    with pytest.raises(SchemaError, match="column 'group' has a name that anatomy's tables use"):
        Anatomy().anonymize(grouped, sf.Schema.from_roles(quasi=["age", "group"], sensitive=["ill"]),
                            [sf.LDiversity(2, "ill")])  # fmt: skip


def measured_again(release: Release, model: sf.LDiversity, schema: sf.Schema) -> float:
    """The model on the groups that the second table shows, a row a unit."""
    second = release.companions["sensitive"].frame
    dealt = second.select(pl.exclude("count").repeat_by("count")).explode("group", "ill")
    found = written_groups(sf.Table(dealt), ["group"], ["ill"], schema=schema)
    return model.measure(found)


@pytest.mark.parametrize("c", [0.3, 0.5, 0.9, 1.0, 2.0])
@pytest.mark.parametrize("l", [2, 3])
def test_recursive_diversity_holds_for_every_c(c: float, l: int) -> None:
    """Groups of l different values break it for c up to 1; larger ones do not, so nothing is withheld."""
    people = sf.Table(pl.DataFrame({"age": range(120), "ill": [f"illness {number % 12}" for number in range(120)]}))
    model = sf.LDiversity(l, "ill", kind="recursive", c=c)
    release = Anatomy().anonymize(people, SCHEMA, [model], rng=SeededSource(1))
    assert measured_again(release, model, SCHEMA) >= l
    assert release.frame["group"].n_unique() > 1


def test_a_frequent_value_is_no_obstacle_where_the_model_allows_it() -> None:
    """Four tenths have flu: more than one in three, and still recursively (2, 3)-diverse."""
    ill = ["flu"] * 24 + ["gout", "cold", "ulcer"] * 12
    model = sf.LDiversity(3, "ill", kind="recursive", c=2)
    people = sf.Table(pl.DataFrame({"age": range(60), "ill": ill}))
    release = Anatomy().anonymize(people, SCHEMA, [model], rng=SeededSource(1))
    assert measured_again(release, model, SCHEMA) >= 3
    assert release.frame["group"].n_unique() > 1


@pytest.mark.parametrize("seed", range(5))
def test_all_rows_of_a_person_are_in_one_group_whose_persons_are_diverse(seed: int) -> None:
    draw = np.random.default_rng(seed)
    people = pl.DataFrame(
        {"age": draw.integers(20, 70, 200), "ill": draw.choice(list("abcdefgh"), 200), "id": draw.integers(0, 90, 200)}
    ).with_columns(age=pl.col("id"))
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"], person="id")
    release = Anatomy(keep_order=True).anonymize(
        sf.Table(people), schema, [sf.LDiversity(2, "ill")], rng=SeededSource(seed)
    )
    joined = people.with_columns(release.frame["group"])
    assert joined.group_by("id").agg(pl.col("group").n_unique())["group"].max() == 1
    for _, group in joined.group_by("group"):
        persons = group["id"].n_unique()
        most = group.group_by("ill").agg(pl.col("id").n_unique())["id"].max()
        assert 2 * most <= persons  # type: ignore[operator]
    assert release.card.guarantee.unit.startswith("person")
    assert release.frame["group"].n_unique() > 5


def test_a_value_that_most_persons_have_is_refused() -> None:
    ill = ["flu", "gout", "flu", "gout", "gout"]
    visits = sf.Table(pl.DataFrame({"age": [1, 1, 2, 2, 3], "ill": ill, "id": [1, 1, 2, 2, 3]}))
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"], person="id")
    with pytest.raises(UnsatisfiableError, match="distinct l-diversity with 2 cannot be reached"):
        Anatomy().anonymize(visits, schema, [sf.LDiversity(2, "ill")])


def test_missing_values_make_groups_larger_and_are_told() -> None:
    people = sf.Table(pl.DataFrame({"age": range(30), "ill": ["flu", "gout", "cold", None, None] * 6}))
    release = Anatomy().anonymize(people, SCHEMA, [sf.LDiversity(3, "ill")], rng=SeededSource(2))
    assert measured_again(release, sf.LDiversity(3, "ill"), SCHEMA) >= 3
    assert "12 missing values count as no value" in release.notes[0]


def test_both_tables_are_saved_and_named_on_the_card(tmp_path: Path) -> None:
    release = Anatomy().anonymize(PEOPLE, SCHEMA, [sf.LDiversity(2, "ill")])
    card = release.save(tmp_path / "out.csv")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "out.csv",
        "out.csv.card.json",
        "out.csv.statement.html",
        "out.csv.statement.txt",
        "out.sensitive.csv",
    ]
    [companion] = card.released.companions
    assert (companion.name, companion.file, len(companion.sha256 or "")) == ("sensitive", "out.sensitive.csv", 64)
    assert [column.name for column in companion.columns] == ["group", "ill", "count"]
    assert [column.name for column in card.released.columns] == list(release.table.names) == ["age", "group"]
    with pytest.raises(InputError, match="exists"):
        release.save(tmp_path / "out.csv")


def test_a_release_of_one_table_has_no_estimate() -> None:
    release = sf.Mondrian().anonymize(PEOPLE, SCHEMA, [sf.KAnonymity(2)])
    with pytest.raises(SchemaError, match="this release has one"):
        estimate_count(release, pl.col("age") > 1, pl.col("ill") == "flu")


def test_a_seed_is_named_on_the_card_and_repeats_the_release() -> None:
    first, second = (
        Anatomy().anonymize(PEOPLE, SCHEMA, [sf.LDiversity(2, "ill")], rng=SeededSource(5)) for _ in range(2)
    )
    assert first.table.frame.equals(second.table.frame)
    assert any("seed" in warning for warning in first.card.warnings)
