"""The minimality attack: beside brute force through the public door, a textbook example, drawn worlds, refusals."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit.minimality import Attack
from sfumato.audit.minimality.posterior import Belief, most_even, suspicions
from sfumato.audit.minimality.worlds import Scene
from sfumato.core.progress import listening
from sfumato.errors import ParameterError, SchemaError, UnsatisfiableError
from sfumato.hierarchy import Hierarchy
from sfumato.models import Model
from sfumato.tabular.base import Partition, PartitionAnonymizer
from sfumato.tabular.problem import Problem

SCHEMA = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
TWO: list[Model] = [sf.KAnonymity(2), sf.LDiversity(2, "ill")]
AGES = [20, 20, 30, 30, 30, 30]
WONG = pl.DataFrame({"age": AGES, "ill": ["HIV", "HIV", "flu", "gout", "cold", "mumps"]})
Values = tuple[str, ...]


def decades() -> sf.Schema:
    """Return a schema in which ages 20 and 30 have one wider label."""
    tree = Hierarchy((("20", "adult"), ("30", "adult")))
    return sf.Schema(
        {
            "age": sf.Attribute("age", sf.Role.QUASI, hierarchy=tree),
            "ill": sf.Attribute("ill", sf.Role.SENSITIVE),
        }
    )


def released(anonymizer: PartitionAnonymizer, ages: Sequence[int], ill: Values, schema: sf.Schema) -> object:
    """Return all that an attacker sees who knows everybody's cells: these, and the values beside each of them."""
    table = sf.Table(pl.DataFrame({"age": ages, "ill": ill}))
    frame = anonymizer.anonymize(table, schema, TWO).table.frame
    cells = frame.drop("ill").rows()
    return tuple(cells), tuple(sorted(Counter(zip(cells, frame["ill"], strict=True)).items(), key=str))


def brute_force(
    anonymizer: PartitionAnonymizer, ages: Sequence[int], ill: Values, schema: sf.Schema = SCHEMA
) -> dict[tuple[int, str], float]:
    """Return each person's chance of each value: over all orders of all values, each anonymised anew."""
    seen = released(anonymizer, ages, ill, schema)
    worlds = [world for world in set(itertools.permutations(ill)) if released(anonymizer, ages, world, schema) == seen]
    held = Counter((row, value) for world in worlds for row, value in enumerate(world))
    return {pair: count / len(worlds) for pair, count in held.items()}


def believed(anonymizer: PartitionAnonymizer, ages: Sequence[int], ill: Values) -> dict[tuple[int, str], float]:
    problem = Problem.of(sf.Table(pl.DataFrame({"age": ages, "ill": ill})), SCHEMA, TWO)
    scene = Scene.whole(problem, anonymizer)
    belief = Belief.after(scene, scene.every_world(), complete=True)
    column, counts = problem.sensitive["ill"], belief.counts("ill")
    return {
        (int(row), column.text(int(code))): float(counts[row, code] / belief.agreeing)
        for row, code in zip(*np.nonzero(counts), strict=True)
    }


@pytest.mark.parametrize(
    "anonymizer",
    [
        sf.Mondrian(keep_order=True),
        sf.BlindMondrian(keep_order=True),
        sf.Optimal(keep_order=True),
        sf.MDAV(keep_order=True),
    ],
    ids=repr,
)
@pytest.mark.parametrize("seed", range(3))
def test_the_belief_is_that_of_brute_force(anonymizer: PartitionAnonymizer, seed: int) -> None:
    draw = np.random.default_rng(seed)
    ages = np.sort(draw.integers(20, 26, 6)).tolist()
    ill = tuple(draw.permutation(list("aabbcd")).tolist())
    assert believed(anonymizer, ages, ill) == pytest.approx(brute_force(anonymizer, ages, ill))


@pytest.mark.parametrize("schema", [SCHEMA, decades()], ids=["ranges", "a hierarchy"])
@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Datafly(), sf.Incognito(), sf.Optimal()], ids=repr)
def test_the_example_of_wong_et_al_falls(anonymizer: PartitionAnonymizer, schema: sf.Schema) -> None:
    """Both persons of 20 have HIV, so that they cannot be a class: and that they are not one tells it."""
    [finding] = sf.audit.minimality(sf.Table(WONG), schema, TWO, anonymizer)
    assert finding.refuted
    assert finding.evidence["complete"]
    assert finding.bound == 1
    assert finding.evidence["persons broken"] == 2
    first, second = finding.evidence["persons"]
    assert (first["row"], second["row"]) == (1, 2)
    assert (first["value"], first["share"], first["share in the class"]) == ("HIV", 1.0, pytest.approx(1 / 3))
    assert "row 1 (age 20) has HIV for certain, the class shows 33.3%" in finding.evidence["reason"]


def test_the_example_is_certain_by_brute_force() -> None:
    values = tuple(WONG["ill"].to_list()[:5])
    certain = brute_force(sf.Mondrian(keep_order=True), AGES[:5], values)
    assert [certain[row, "HIV"] for row in (0, 1)] == [1.0, 1.0]
    blind = brute_force(sf.BlindMondrian(keep_order=True), AGES[:5], values)
    assert [blind[row, "HIV"] for row in range(5)] == pytest.approx([2 / 5] * 5)


def test_blind_mondrian_stands_on_the_example() -> None:
    [finding] = sf.audit.minimality(sf.Table(WONG), SCHEMA, TWO, sf.BlindMondrian())
    assert not finding.refuted
    assert finding.evidence["worlds"] == finding.evidence["worlds that give this release"] == 360
    assert "nobody's value gains" in finding.evidence["reason"]


@pytest.mark.parametrize(
    "model, refuted",
    [
        (sf.LDiversity(2, "ill"), True),
        (sf.LDiversity(1.5, "ill", kind="entropy"), True),
        (sf.LDiversity(2, "ill", kind="recursive", c=3), True),
        (sf.AlphaK(0.5, 2, "ill"), True),
        (sf.AlphaK(1.0, 2, "ill"), False),
    ],
    ids=repr,
)
def test_a_model_is_asked_of_the_belief(model: Model, *, refuted: bool) -> None:
    [finding] = sf.audit.minimality(sf.Table(WONG), SCHEMA, [sf.KAnonymity(2), model])
    assert finding.refuted is refuted


def test_t_closeness_is_asked_of_the_belief() -> None:
    """Only two a's among the persons of 20 are too far from the table; so these two are certain."""
    frame = pl.DataFrame({"age": AGES, "ill": list("aabbbb")})
    [finding] = sf.audit.minimality(sf.Table(frame), SCHEMA, [sf.KAnonymity(2), sf.TCloseness(0.4, "ill")])
    assert finding.refuted
    assert finding.bound == pytest.approx(2 / 3)


def test_some_small_tables_fall_by_mondrian_and_none_by_blind_mondrian() -> None:
    fallen: dict[str, int] = defaultdict(int)
    draw = np.random.default_rng(7)
    for _ in range(60):
        frame = pl.DataFrame({"age": np.sort(draw.integers(20, 24, 7)), "ill": draw.choice(list("abc"), 7)})
        if frame["ill"].n_unique() < 2:
            continue
        for anonymizer in (sf.Mondrian(), sf.BlindMondrian()):
            [finding] = sf.audit.minimality(sf.Table(frame), SCHEMA, TWO, anonymizer)
            assert finding.evidence["complete"]
            fallen[anonymizer.algorithm] += finding.refuted
    assert fallen["mondrian"] > 0
    assert fallen["blind-mondrian"] == 0


def crowd(rows: int) -> pl.DataFrame:
    """Return Wong's example with a crowd of the second age, too many to try every world."""
    others = [f"illness {number}" for number in range(rows)]
    return pl.DataFrame({"age": [20, 20, *[30] * rows], "ill": ["HIV", "HIV", *others]})


def test_drawn_worlds_find_a_share_that_is_too_large() -> None:
    """Whoever is 20 has HIV, the one illness of two rows; the class shows it in 2 of 14."""
    frame = crowd(12)
    models: list[Model] = [sf.AlphaK(0.5, 2, "ill")]
    [drawn] = sf.audit.minimality(sf.Table(frame), SCHEMA, models, worlds=3000)
    assert drawn.refuted
    assert drawn.evidence["scope"] == "each class by itself"
    assert not drawn.evidence["complete"]
    assert (drawn.evidence["worlds"], drawn.bound) == (3000, None)
    person = drawn.evidence["persons"][0]
    assert person["quasi"] == {"age": "20"}
    assert 0.5 < person["between"][0] < person["share"] <= person["between"][1]
    [again] = sf.audit.minimality(sf.Table(frame), SCHEMA, models, worlds=3000)
    assert again == drawn


def test_drawn_worlds_do_not_refute_what_they_cannot_exclude() -> None:
    """A value that no drawn world has may still be possible: two values remain."""
    [finding] = sf.audit.minimality(sf.Table(crowd(12)), SCHEMA, TWO, worlds=2000)
    assert not finding.refuted
    assert finding.evidence["persons"][0]["share"] > 0.9


@pytest.mark.parametrize("anonymizer", [sf.BlindMondrian(), sf.Optimal()], ids=repr)
def test_limits_of_drawn_worlds_hold_the_exact_share(anonymizer: PartitionAnonymizer) -> None:
    frame = pl.DataFrame({"age": [20, 20, 30, 30, 40, 40], "ill": list("aabbcd")})
    problem = Problem.of(sf.Table(frame), SCHEMA, TWO)
    scene = Scene.whole(problem, anonymizer)
    exact = Belief.after(scene, scene.every_world(), complete=True)
    drawn = Belief.after(scene, scene.drawn_worlds(600, np.random.default_rng(3)), complete=False)
    shares = exact.counts("ill") / exact.agreeing
    for one in suspicions(drawn, TWO[1], 1e-5):
        assert one.low <= shares[one.row, one.code] <= one.high


def test_classes_by_themselves_exclude_what_the_whole_table_excludes() -> None:
    """Two far apart copies of the example: each is a class that its values kept whole, small enough for all worlds."""
    ages = [*AGES, *(age + 100 for age in AGES)]
    ill = [*WONG["ill"], *WONG["ill"]]
    table = sf.Table(pl.DataFrame({"age": ages, "ill": ill}))
    [finding] = sf.audit.minimality(table, SCHEMA, TWO, worlds=2000)
    assert finding.refuted
    assert finding.evidence["scope"] == "each class by itself"
    assert finding.evidence["classes kept whole by values"] == 2
    assert [person["row"] for person in finding.evidence["persons"]] == [1, 2, 7, 8]


def test_a_class_by_itself_is_cut_as_it_was() -> None:
    frame = pl.DataFrame({"age": np.arange(80) // 2, "ill": np.random.default_rng(1).choice(list("aaabc"), 80)})
    whole = Scene.whole(Problem.of(sf.Table(frame), SCHEMA, TWO), sf.Mondrian())
    assert len(whole.members) > 5
    assert all(len(whole.of_rows(rows).members) == 1 for rows in whole.members)


def test_rows_left_out_may_have_had_any_value() -> None:
    """A 90-year-old is left out with one of three values: each world has every value for that row."""
    frame = pl.DataFrame({"age": [20, 20, 21, 21, 90], "ill": list("abaca")})
    problem = Problem.of(sf.Table(frame), SCHEMA, TWO)
    scene = Scene.whole(problem, sf.Optimal(suppress=0.2))
    assert scene.left_out.tolist() == [4]
    worlds = [tuple(world.tolist()) for world in scene.every_world()]
    assert len(worlds) == len(set(worlds)) == 2 * 2 * 3
    assert scene.has_at_most(12)
    assert not scene.has_at_most(11)
    [finding] = sf.audit.minimality(sf.Table(frame), SCHEMA, TWO, sf.Optimal(suppress=0.2))
    assert finding.evidence["worlds"] == 12
    assert finding.evidence["classes"] == 2


def test_two_sensitive_columns_are_judged_apart() -> None:
    frame = WONG.with_columns(cost=pl.Series([1, 2, 1, 2, 1, 2]))
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill", "cost"])
    found = sf.audit.minimality(sf.Table(frame), schema, [*TWO, sf.AlphaK(1.0, 2, "cost")])
    assert [finding.refuted for finding in found] == [True, False]
    assert "'cost'" in found[1].claim


def test_the_seed_of_a_search_does_not_matter_to_its_worlds() -> None:
    """Groups of near rows are found once; merging them is what reads sensitive values."""
    found = [sf.audit.minimality(sf.Table(WONG), SCHEMA, TWO, sf.KAnonyMeans(seed=seed)) for seed in (0, 1)]
    assert all(one[0].evidence["worlds that give this release"] >= 1 for one in found)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.lists(st.floats(0, 1), min_size=6, max_size=6))
@settings(max_examples=60)
def test_the_most_even_shares_lie_within_their_limits(low: list[float], room: list[float]) -> None:
    floor = np.array(low) / max(1.0, sum(low))
    ceiling = np.minimum(1.0, floor + np.array(room[: len(low)]))
    if ceiling.sum() < 1:
        return
    found = most_even(floor, ceiling)
    assert (found >= floor - 1e-9).all()
    assert (found <= ceiling + 1e-9).all()
    assert found.sum() == pytest.approx(1, abs=1e-6)
    mixed = floor + (ceiling - floor) * (1 - floor.sum()) / max(1e-12, (ceiling - floor).sum())
    sums = [np.cumsum(np.sort(shares)[::-1]) for shares in (found, mixed)]
    assert (sums[0] <= sums[1] + 1e-6).all()


def test_nothing_is_read_where_no_model_reads_values() -> None:
    [finding] = sf.audit.minimality(sf.Table(WONG), SCHEMA, [sf.KAnonymity(2)])
    assert "no model reads a sensitive column" in finding.evidence["not audited"]


def test_anatomy_draws_its_groups() -> None:
    [finding] = sf.audit.minimality(sf.Table(WONG), SCHEMA, [sf.LDiversity(2, "ill")], sf.Anatomy())
    assert "drawn at random" in finding.evidence["not audited"]


def test_refusals_say_why() -> None:
    with pytest.raises(ParameterError, match="differential privacy"):
        sf.audit.minimality(sf.Table(WONG), SCHEMA, TWO, sf.SafePub(epsilon=1))
    with pytest.raises(ParameterError, match="wanted at least 1"):
        sf.audit.minimality(sf.Table(WONG), SCHEMA, TWO, worlds=0)
    frame = WONG.with_columns(who=pl.Series(["a", "a", "b", "c", "d", "e"]))
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"], identifier=["who"], person="who")
    with pytest.raises(SchemaError, match="one row for each person"):
        sf.audit.minimality(sf.Table(frame), schema, TWO)


class LeavesOut(sf.Mondrian):
    def partition(self, problem: Problem) -> Partition:
        return replace(super().partition(problem), classes=np.full(problem.points.count, -1))


def test_a_release_without_rows_is_no_release() -> None:
    with pytest.raises(UnsatisfiableError, match="leaves every row out"):
        sf.audit.minimality(sf.Table(WONG), SCHEMA, TWO, LeavesOut())


def test_progress_is_told() -> None:
    heard: list[tuple[float, str]] = []
    with listening(lambda share, note: heard.append((share, note))):
        sf.audit.minimality(sf.Table(WONG), SCHEMA, TWO)
    assert any("give this release" in note for _, note in heard)
    assert all(0 <= share <= 1 for share, _ in heard)


def test_an_attack_without_open_classes_says_so() -> None:
    frame = pl.DataFrame({"age": range(40), "ill": ["a", "b"] * 20})
    whole = Scene.whole(Problem.of(sf.Table(frame), SCHEMA, TWO), sf.Mondrian())
    attack = Attack.on(whole, sf.Mondrian(), 100, np.random.default_rng(0))
    finding = attack.finding(TWO[1])
    assert (finding.refuted, attack.open_classes) == (False, 0)
    assert finding.evidence["reason"] == "no class was kept whole by its values"
