"""Highest and average risk: equal to k, and by brute force over every set of classes that may be left out."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models import Groups, Model
from sfumato.tabular.lattice.cheapest import cheapest
from sfumato.tabular.lattice.lattice import Lattice
from sfumato.tabular.lattice.search import satisfying_nodes
from sfumato.tabular.problem import Problem

SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=8)


@given(SIZES, st.sampled_from([0.5, 1 / 3, 0.3, 0.2, 0.15, 0.1]))
def test_the_highest_risk_is_k(sizes: list[int], risk: float) -> None:
    groups = Groups.of(np.repeat(np.arange(len(sizes)), sizes))
    model = sf.HighestRisk(risk)
    assert model.failing(groups).tolist() == [1 / size > risk for size in sizes]
    assert model.failing(groups).tolist() == sf.KAnonymity(model.least_units).failing(groups).tolist()


@given(SIZES, st.lists(st.booleans(), min_size=8, max_size=8), st.sampled_from([0.5, 0.3, 0.2, 0.15]))
def test_as_few_rows_are_left_out_for_the_average_as_can_be(sizes: list[int], bad: list[bool], risk: float) -> None:
    groups = Groups.of(np.repeat(np.arange(len(sizes)), sizes))
    failing = np.array(bad[: len(sizes)])
    gone = sf.AverageRisk(risk).leaves_out(groups, failing)
    assert gone[failing].all()
    assert int(groups.sizes[gone].sum()) == fewest(sizes, failing.tolist(), risk)


def fewest(sizes: list[int], failing: list[bool], risk: float) -> int:
    """Return the fewest rows whose leaving brings the average down, by trying every set of classes."""
    good = [size for size, bad in zip(sizes, failing, strict=True) if not bad]
    kept = [
        sum(chosen)
        for length in range(len(good) + 1)
        for chosen in itertools.combinations(good, length)
        if length <= (risk + 1e-9) * sum(chosen)
    ]
    return sum(sizes) - max(kept)


def people(seed: int, rows: int = 30) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {"age": draw.integers(0, 9, rows), "zip": draw.integers(0, 9, rows), "ill": draw.choice(["a", "b"], rows)}
    )


def rows_to_lose(lattice: Lattice, levels: tuple[int, ...], k: int, risk: float) -> int:
    joined, count = lattice.owners(levels, lattice.finest)
    sizes = [int(size) for size in np.bincount(joined, lattice.cell_rows, count)]
    good = sorted(size for size in sizes if size >= k)
    while good and len(good) > (risk + 1e-9) * sum(good):
        good.pop(0)
    return sum(sizes) - sum(good)


@pytest.mark.parametrize("limit", [0, 3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_the_lattice_finds_what_trying_every_node_finds(seed: int, limit: int) -> None:
    models: list[Model] = [sf.KAnonymity(2), sf.AverageRisk(0.25)]
    schema = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["ill"])
    lattice = Lattice.of(Problem.of(sf.Table.from_frame(people(seed)), schema, models))
    every = {levels: rows_to_lose(lattice, levels, 2, 0.25) for levels in itertools.product(*map(range, lattice.shape))}
    found = satisfying_nodes(lattice, limit)
    assert {levels: bool(found[levels]) for levels in every} == {
        levels: lost <= limit for levels, lost in every.items()
    }
    best = cheapest(lattice, "height", limit)
    heights = [sum(levels) * (30 - lost) + sum(lattice.top) * lost for levels, lost in every.items() if lost <= limit]
    assert best.cost == pytest.approx(min(heights))


def test_the_average_of_persons_is_kept_although_merging_may_raise_it() -> None:
    person = np.array([*range(100), *range(100), 200])
    apart = Groups.of(np.repeat([0, 1, 2], [100, 100, 1]), person=person)
    together = Groups.of(np.repeat([0, 0, 1], [100, 100, 1]), person=person)
    model = sf.AverageRisk(0.5)
    assert model.measure(together) > model.measure(apart)
    schema = sf.Schema.from_roles(quasi=["age", "zip"], identifier=["id"], person="id", other="drop")
    frame = people(9, 60).with_columns(id=pl.int_range(60) // 2)
    for algorithm in (sf.Incognito(), sf.Optimal(suppress=0.1), sf.Datafly(suppress=0.1)):
        card = algorithm.anonymize(sf.Table.from_frame(frame), schema, [sf.AverageRisk(0.2)]).card
        assert card.released.models[0].measured <= 0.2


def test_an_impossible_average_is_refused() -> None:
    schema = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["ill"])
    with pytest.raises(sf.SfumatoError, match="asks for 100 rows in a class and the table has 30"):
        sf.Optimal().anonymize(sf.Table.from_frame(people(1)), schema, [sf.AverageRisk(0.01)])


def test_check_measures_what_is_required_of_risks() -> None:
    from sfumato.evaluate import Requirement, check

    table = sf.Table(pl.DataFrame({"zip": ["1", "1", "1", "2"]}))
    for text, kept in (("average_risk=0.5", True), ("average-risk=0.4", False), ("highest_risk=0.9", False)):
        wanted = Requirement.parse(text)
        assert (wanted.breach(check(table, ["zip"], models=wanted.models([]))) is None) == kept


@pytest.mark.parametrize(
    "given,wanted",
    [
        (
            {"k": 3, "population": "town.csv"},
            "--population says more about k-map, which nobody asked for; give --k-map",
        ),
        ({"k": 3, "likeness": "basic"}, "--likeness says more about beta-likeness"),
        ({"k": 3, "sampling": 0.1}, "--sampling says more about k-map"),
    ],
)
def test_an_option_of_a_model_that_nobody_asked_for_is_refused(given: dict[str, object], wanted: str) -> None:
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
    with pytest.raises(sf.SfumatoError, match=wanted):
        sf.models.models_from_options(given, schema)
