"""Persons with several rows, through every anonymizer: nothing safe is withheld, and the promise is to persons."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import UnsatisfiableError
from sfumato.tabular import Anonymizer, Datafly, Incognito, KAnonyMeans, KAnonyMeansStar, Optimal

ROWS = 40
EVERY: list[Anonymizer] = [
    sf.Mondrian(keep_order=True),
    sf.Mondrian(keep_order=True, relaxed=True),
    sf.MDAV(keep_order=True),
    KAnonyMeans(keep_order=True),
    KAnonyMeansStar(keep_order=True, seconds=0.05),
    Datafly(keep_order=True),
    Incognito(keep_order=True),
    Optimal(keep_order=True),
]
MODELS: list[sf.models.Model] = [
    sf.LDiversity(2, "ill"),
    sf.LDiversity(1.8, "ill", kind="entropy"),
    sf.LDiversity(2, "ill", kind="recursive", c=3),
    sf.AlphaK(0.7, 3, "ill"),
]


def people(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draw.integers(20, 26, ROWS),
            "job": draw.choice(list("xy"), ROWS),
            "ill": draw.choice([*"abcde", None], ROWS, p=[0.19] * 5 + [0.05]),
            "id": draw.integers(0, 22, ROWS),
        }
    )


def slow_value(model: sf.models.Model, values: dict[int, set[str]]) -> float:
    """The value of a class, from the values of each of its persons: the definition of docs/algorithms/models.md."""
    holders = [held for held in values.values() if held]
    counts = sorted((sum(value in held for held in holders) for value in set().union(*holders)), reverse=True)
    if isinstance(model, sf.AlphaK):
        return counts[0] / len(holders) if counts else 0.0
    pins, left = [], len(holders)
    for count in counts:
        pins.append(min(count, left))
        left -= pins[-1]
    pins = [pin for pin in pins if pin]
    assert isinstance(model, sf.LDiversity)
    if model.kind == "distinct":
        return len(pins)
    if model.kind == "entropy":
        return math.exp(-sum(pin / sum(pins) * math.log(pin / sum(pins)) for pin in pins)) if pins else 0.0
    return max((l for l in range(1, len(pins) + 1) if pins[0] < model.c * sum(pins[l - 1 :])), default=0)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("algorithm", EVERY, ids=lambda one: f"{one.algorithm} {getattr(one, 'relaxed', '')}")
@pytest.mark.parametrize("seed", range(8))
def test_every_class_keeps_its_promise_to_persons(algorithm: Anonymizer, model: sf.models.Model, seed: int) -> None:
    table = people(seed)
    schema = sf.Schema.from_roles(quasi=["age", "job"], sensitive=["ill"], person="id")
    try:
        release = algorithm.anonymize(sf.Table(table), schema, [sf.KAnonymity(2), model])
    except UnsatisfiableError:
        whole = {person: set(rows["ill"].drop_nulls()) for (person,), rows in table.group_by("id")}
        assert not model.holds(slow_value(model, whole))
        return
    classes: dict[tuple[object, ...], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    shown = release.frame.select("age", "job").rows()
    for label, ill, person in zip(shown, table["ill"], table["id"], strict=True):
        classes[label][person].update([] if ill is None else [ill])
    for values in classes.values():
        assert len(values) >= 2
        assert model.holds(slow_value(model, values))


def test_the_card_says_what_is_promised_to_persons() -> None:
    schema = sf.Schema.from_roles(quasi=["age", "job"], sensitive=["ill"], person="id")
    card = sf.Mondrian().anonymize(sf.Table(people(1)), schema, [sf.KAnonymity(2), sf.LDiversity(2, "ill")]).card
    assert any(text.startswith("Each class is judged by itself") for text in card.assumptions)
    assert any(text.startswith("Where a person has several sensitive values") for text in card.assumptions)
