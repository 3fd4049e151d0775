"""A model without a compiled test is enforced by every search, measured, and conforms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from stranger import Repeated, Together

import sfumato as sf
from sfumato.checks import Check, anonymizer_checks, model_checks
from sfumato.checks.anonymizers import SlowDiversity
from sfumato.checks.tables import random_schema, random_table
from sfumato.evaluate import check
from sfumato.evaluate.check import written_groups
from sfumato.models import Model
from sfumato.tabular import Anonymizer, republish
from sfumato.tabular.problem import Problem

QUASI = ("age", "weight", "born", "sex", "job", "grade")
SEARCHES: list[Anonymizer] = [
    sf.Mondrian(),
    sf.Mondrian(relaxed=True),
    sf.Datafly(),
    sf.Datafly(suppress=0.2, local=True),
    sf.Incognito(),
    sf.Optimal(suppress=0.1),
    sf.MDAV(),
    sf.KAnonyMeans(rounds=3),
]


@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("anonymizer", SEARCHES, ids=str)
def test_every_search_keeps_a_model_without_a_kernel(anonymizer: Anonymizer, person: bool) -> None:
    table, schema, model = random_table(3, 120), random_schema(person=person), Repeated(2, "disease")
    release = anonymizer.anonymize(table, schema, [sf.KAnonymity(3), model])
    assert release.card.released.models[1].measured >= 2
    if not person:
        groups = written_groups(release.table, QUASI, ["disease"], schema=schema)
        assert not model.failing(groups).any()
        assert release.card.guarantee.parameters == {"k": 3, "repeats": 2}


def test_the_search_would_have_broken_it_without_being_asked() -> None:
    release = sf.Mondrian().anonymize(random_table(3, 120), random_schema(), [sf.KAnonymity(3)])
    groups = written_groups(release.table, QUASI, ["disease"], schema=random_schema())
    assert Repeated(2, "disease").failing(groups).any()


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_cuts_in_python_are_those_of_the_kernel(seed: int, person: bool, relaxed: bool) -> None:
    table, schema = random_table(seed, 90), random_schema(person=person)
    found = []
    for model in (sf.LDiversity(2, "disease"), SlowDiversity(2, "disease")):
        problem = Problem.of(table, schema, [sf.KAnonymity(3), model])
        found.append(sf.Mondrian(relaxed=relaxed).partition(problem).rows)
    pairs = len(set(zip(found[0].tolist(), found[1].tolist(), strict=True)))
    assert pairs == found[0].max() + 1 == found[1].max() + 1


@pytest.mark.parametrize("anonymizer", [sf.Incognito(), sf.Datafly(suppress=0.1), sf.Optimal(suppress=0.1), sf.MDAV()])
@pytest.mark.parametrize("person", [False, True])
def test_a_model_gives_the_same_classes_with_its_kernel_and_without(anonymizer: Anonymizer, person: bool) -> None:
    table, schema = random_table(5, 80), random_schema(person=person)
    pair = [
        anonymizer.anonymize(table, schema, [sf.KAnonymity(2), model]).card.released
        for model in (sf.LDiversity(2, "disease"), SlowDiversity(2, "disease"))
    ]
    assert pair[0].classes == pair[1].classes
    assert pair[0].measures == pair[1].measures


@pytest.mark.parametrize("layer", ["bpg", "m-invariance"])
def test_a_series_keeps_it(tmp_path: Path, layer: str) -> None:
    people = sf.samples.patients(400).with_columns(pl.int_range(pl.len()).cast(pl.String).alias("name"))
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], person="name", other="drop")
    models: list[Model] = [sf.LDiversity(2, "disease"), Repeated(2, "disease")]
    for rows in (250, 400):
        release = republish(sf.Table(people.head(rows)), schema, models, tmp_path / "h", layer=layer)  # type: ignore[arg-type]
        assert release.card.released.models[1].measured >= 2


def test_anatomy_says_that_it_cannot() -> None:
    with pytest.raises(sf.SfumatoError, match="cannot promise repetition"):
        sf.Anatomy().anonymize(random_table(1, 60), random_schema(), [Repeated(2, "disease")])


def test_what_no_table_can_have_is_refused() -> None:
    with pytest.raises(sf.SfumatoError, match="repetition with 99 cannot be reached: column 'disease'"):
        sf.Mondrian().anonymize(random_table(1, 60), random_schema(), [Repeated(99, "disease")])


def test_check_measures_it() -> None:
    table = sf.Table(pl.DataFrame({"age": ["1", "1", "1", "2"], "disease": ["flu", "flu", "gout", "flu"]}))
    found = check(table, ["age"], ["disease"], models=[Repeated(2, "disease")])
    assert found.value("repeats") == 1
    assert found.as_json()["models"] == {"repeats": 1}


@pytest.mark.parametrize("one", [pytest.param(c, id=c.name) for m in Repeated.sample() for c in model_checks(m)])
def test_the_model_conforms(one: Check) -> None:
    one.run()


@pytest.mark.parametrize("one", [pytest.param(c, id=c.name) for a in Together.sample() for c in anonymizer_checks(a)])
def test_the_anonymizer_conforms(one: Check) -> None:
    one.run()


def test_the_slow_criterion_of_one_class() -> None:
    problem = Problem.of(random_table(3, 120), random_schema(), [Repeated(2, "disease")])
    rows = np.flatnonzero(problem.sensitive["disease"].codes == 0)
    assert problem.admits(rows[:2])
    assert not problem.admits(rows[:1])
