"""Candidates beside runs of their own: sharing changes nothing, refusals are rows, private ones meet no real row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.parameters import Validated
from sfumato.errors import InputError, ParameterError
from sfumato.evaluate import Candidate, check, front, utility
from sfumato.evaluate.candidates.made_up import made_up_table
from sfumato.evaluate.candidates.trial import TrialRows, try_out
from sfumato.evaluate.released_rows import rows_with_values
from sfumato.hierarchy import builders as build
from sfumato.random import SeededSource
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.problem import Problem
from sfumato.tabular.proposals import Proposal, propose
from sfumato.tabular.recode import recode

ROLES = sf.Schema.from_roles(quasi=["age", "sex", "zip", "schooling"], sensitive=["disease"], other="drop")
PUBLIC = sf.Schema(
    {
        "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(0, 99)),
        "sex": sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M")),
        "ill": sf.Attribute("ill", sf.Role.SENSITIVE, sf.Kind.CATEGORY, categories=("no", "yes")),
    }
)


def people(rows: int = 400) -> sf.Table:
    """Made-up patients, a few cells of them missing."""
    frame = sf.samples.patients(rows)
    return sf.Table(frame.with_columns(pl.when(pl.col("cost") < 300).then(None).otherwise(pl.col("age")).alias("age")))


def with_trees() -> sf.Schema:
    """Return the roles with hierarchies, declared bounds, and rules for the sensitive columns."""
    zips = sorted(set(people().column("zip").to_list()))
    return sf.Schema(
        {
            "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(16, 94)),
            "sex": sf.Attribute("sex", sf.Role.QUASI),
            "zip": sf.Attribute("zip", sf.Role.QUASI, hierarchy=build.prefixes(zips, [2])),
            "disease": sf.Attribute("disease", sf.Role.SENSITIVE),
            "cost": sf.Attribute("cost", sf.Role.SENSITIVE, sf.Kind.NUMBER, coarsen=sf.Coarsening(round=500)),
        },
        other="drop",
    )


GRIDS: list[tuple[list[str], dict[str, Any]]] = [
    (["mondrian"], {"k": [2, 3, 5, 10, 20, 50]}),
    (["mondrian", "optimal", "datafly"], {"k": [5, 10], "l": [2, 3], "suppress": [0, 0.05]}),
    (["incognito", "blind-mondrian"], {"k": [10], "l": [2]}),
    (["mondrian"], {"k": [5], "t": [0.3, 0.5], "relaxed": [False, True]}),
    (["local-recoding"], {"k": [5, 10], "iterations": [200]}),
    (["optimal"], {"k": [5], "suppress": [0.1], "local": [False, True]}),
]


@pytest.mark.parametrize("schema", [ROLES, with_trees()], ids=["plain", "trees"])
@pytest.mark.parametrize("algorithms, parameters", GRIDS)
def test_every_number_is_that_of_a_run_of_its_own(
    algorithms: list[str], parameters: dict[str, Any], schema: sf.Schema
) -> None:
    table, sensitive = people(), schema.names(sf.Role.SENSITIVE)
    comparison = sf.compare(table, schema, algorithms, **parameters)
    for proposal, candidate in zip(comparison.proposals, comparison, strict=True):
        fresh = proposal.anonymizer.anonymize(table, schema, proposal.models, rng=SeededSource(3))
        ours = candidate.release(rng=SeededSource(3))
        if proposal.anonymizer.algorithm != "local-recoding":  # whose default seconds may end it elsewhere
            assert ours.frame.equals(fresh.frame)
            assert ours.card == fresh.card
        measured = check(ours.table, schema.names(sf.Role.QUASI), sensitive, schema=schema.settled(table))
        assert candidate.loss == pytest.approx(utility(table, schema, ours.table).gcp, abs=1e-12)
        assert candidate.classes == measured.classes == ours.card.released.classes
        assert (candidate.highest_risk, candidate.mean_risk) == (
            measured.risk.prosecutor_max,
            measured.risk.prosecutor_mean,
        )
        assert candidate.guesses == {name: measured.sensitive[name].alpha for name in sensitive}
        assert candidate.rows is not None
        assert candidate.rows.released == ours.table.rows
        assert candidate.rows.withheld == table.rows - ours.table.rows
        assert candidate.rows.starred == ours.card.released.measures.get("rows_starred", 0)


def test_persons_are_counted_as_in_a_run_of_its_own() -> None:
    frame = sf.samples.patients(300).with_columns(pl.Series("id", np.arange(300) // 2))
    schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], person="id", other="drop")
    for candidate in sf.compare(sf.Table(frame), schema, ["mondrian"], k=[3, 5], l=2):
        assert candidate.highest_risk == 1 / candidate.release().card.released.measures["smallest_class"]


def test_centroids_are_weighed_by_the_ranges_around_their_groups() -> None:
    table = people()
    [candidate] = sf.compare(table, ROLES, ["mdav"], k=5)
    problem = Problem.of(table, ROLES, [sf.KAnonymity(5)])
    partition = sf.MDAV().partition(problem)
    shown = [
        recode(column, column.codes, partition.rows, partition.count, "text")[0].rows(partition.rows)
        for column in problem.quasi
    ]
    assert candidate.loss == pytest.approx(utility(table, ROLES, sf.Table(pl.DataFrame(shown))).gcp, abs=1e-12)
    assert 2 * utility(table, ROLES, candidate.release().table).gcp < (candidate.loss or 0)  # a mean is one value
    assert "centroids" in candidate.notes[0]


def test_limits_as_two_columns_lose_what_ranges_lose() -> None:
    rows = TrialRows(people(), with_trees(), {}, 10)
    found = [
        try_out(Proposal("m", Mondrian(ranges=ranges), [sf.KAnonymity(5)], {}), rows).loss
        for ranges in ("text", "columns")
    ]
    assert found[0] == pytest.approx(found[1])


def test_two_tables_are_measured_together() -> None:
    table = sf.Table(sf.samples.patients(300))
    [candidate] = sf.compare(table, ROLES, ["anatomy"], l=3)
    release = candidate.release()
    assert release is candidate.release()
    group = check(rows_with_values(release), ["group"], ["disease"])
    assert (candidate.loss, candidate.guesses["disease"]) == (0.0, group.sensitive["disease"].alpha)
    assert candidate.highest_risk == 1.0
    assert "published unchanged" in candidate.notes[0]


def test_asking_again_gives_what_a_new_problem_gives() -> None:
    schema = with_trees()
    asked: list[list[sf.models.Model]] = [
        [sf.KAnonymity(5)],
        [sf.KAnonymity(5), sf.LDiversity(2, "disease")],
        [sf.LDiversity(3, "cost"), sf.TCloseness(0.5, "disease")],
        [sf.KAnonymity(9)],
    ]
    first = Problem.of(people(), schema, asked[0])
    for models in asked:
        ours, fresh = first.asking(models), Problem.of(people(), schema, models)
        assert list(ours.sensitive) == list(fresh.sensitive)
        assert [column.codes.tolist() for column in (*ours.quasi, *ours.sensitive.values())] == [
            column.codes.tolist() for column in (*fresh.quasi, *fresh.sensitive.values())
        ]
        assert ours.points.ids.tolist() == fresh.points.ids.tolist()
        assert (ours.notes, ours.models, ours.unique) == (fresh.notes, fresh.models, fresh.unique)
        first = ours


def test_chosen_levels_are_those_that_the_release_shows() -> None:
    schema = with_trees()
    tree = schema.columns["zip"].hierarchy
    assert tree is not None
    for candidate in sf.compare(people(), schema, ["optimal", "datafly", "incognito"], k=[2, 20]):
        shown = set(candidate.release().table.column("zip").to_list())
        low, high, top = candidate.levels["zip"]
        assert (low, top) == (high, 2)
        assert shown <= {label for label, level, _, _ in tree.nodes() if level == low}


def test_what_cannot_be_made_is_a_row_that_says_why() -> None:
    found = list(sf.compare(people(50), ROLES, ["mondrian", "anatomy", "blind-mondrian"], k=[5, 60], t=0.9))
    assert [candidate.made for candidate in found] == [True, False, False, False, False, False]
    assert found[1].refusal.startswith("k-anonymity asks for 60 rows")
    assert "cannot promise" in found[2].refusal
    assert found[1].as_json() == {
        "name": "mondrian-k60-t0.9",
        "do_not_publish": True,
        "command": "sfumato anonymize --algorithm mondrian --k 60 --t 0.9",
        "refused": found[1].refusal,
    }
    with pytest.raises(ParameterError, match="could not be made"):
        found[1].release()


def test_a_table_of_which_nothing_can_be_made_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="has no rows"):
        sf.compare(sf.Table(pl.DataFrame({"age": []})), sf.Schema.from_roles(quasi=["age"]), ["mondrian"])


@pytest.mark.parametrize(
    "algorithms, parameters, words",
    [
        (["mondiran"], {}, "did you mean 'mondrian'"),
        ([], {}, "no algorithm was named"),
        (["mondrian"], {"k": [1]}, "must be an integer of at least 2"),
        (["mondrian"], {"suppress": [0.1]}, "--suppress is no option of mondrian"),
        (["mondrian"], {"k": []}, "--k has no values"),
        (["safepub"], {}, "needs --epsilon"),
        (["mondrian"], {"made_up_rows": 0}, "made_up_rows"),
        (["mondrian"], {"keep_order": True}, "no option"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused_in_a_sentence(
    algorithms: list[str], parameters: dict[str, Any], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        sf.compare(people(20), ROLES, algorithms, **parameters)


def test_names_tell_models_and_what_differs() -> None:
    given: dict[str, Any] = {
        "k": [5],
        "l": [2, 3],
        "l_kind": ["entropy"],
        "suppress": [0, 0.02],
        "local": [False, True],
    }
    names = [one.name for one in propose(["mondrian", "optimal"], given, ROLES)]
    assert names[:2] == ["mondrian-k5-l2-l-kind-entropy", "mondrian-k5-l3-l-kind-entropy"]
    assert names[2:4] == [
        "optimal-k5-l2-l-kind-entropy-suppress0",
        "optimal-k5-l2-l-kind-entropy-suppress0-local",
    ]
    assert len(set(names)) == len(names) == 10
    commands = [one.command for one in propose(["optimal"], {"k": [5], "suppress": [0.02]}, ROLES)]
    assert commands == ["sfumato anonymize --algorithm optimal --k 5 --suppress 0.02"]


def test_a_private_candidate_takes_the_models_that_it_promises() -> None:
    given = {"k": [5, 10], "l": [2], "epsilon": [1, 2]}
    names = [one.name for one in propose(["safepub", "private-mondrian"], given, ROLES)]
    assert names == [
        *(f"safepub-k{k}-epsilon{e}" for k in (5, 10) for e in (1, 2)),
        "private-mondrian-epsilon1",
        "private-mondrian-epsilon2",
    ]


class Untouchable(sf.Table):
    """A table that nobody may look at."""

    def __getattribute__(self, name: str) -> Any:
        if name in {"frame", "rows", "names", "column", "held", "counted", "select", "take"}:
            pytest.fail(f"somebody looked at the {name} of the real rows")
        return super().__getattribute__(name)


def test_no_real_row_reaches_a_private_candidate() -> None:
    untouchable = object.__new__(Untouchable)
    comparison = sf.compare(untouchable, PUBLIC, ["safepub", "private-mondrian"], k=5, epsilon=1, made_up_rows=2000)
    alone = {candidate.name: candidate.as_json() for candidate in comparison}
    assert list(alone) == ["safepub-k5", "private-mondrian"]
    for told in alone.values():
        assert told["simulated_on_made_up_rows"] == 2000
        assert "no real row was read and nothing was charged" in told["notes"][0]
        assert (told["highest_risk"], told["surest_guess"]) == (None, {})
    for age in (7, 93):  # beside other candidates, and whatever the rows are, the same comes out
        table = sf.Table(pl.DataFrame({"age": [age] * 30, "sex": ["F"] * 30, "ill": ["no"] * 30}))
        beside = sf.compare(
            table, PUBLIC, ["mondrian", "safepub", "private-mondrian"], k=5, epsilon=1, made_up_rows=2000
        )
        told = {candidate.name: candidate.as_json() for candidate in beside}
        for name, values in alone.items():
            assert {**told[name], "seconds": 0} == {**values, "seconds": 0}


def test_the_rows_that_a_private_algorithm_is_given_are_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    table = sf.Table(pl.DataFrame({"age": [7] * 30, "sex": ["F"] * 30, "ill": ["no"] * 30}))
    met: list[sf.Table] = []
    anonymize = sf.PrivateMondrian.anonymize

    def watched(self: sf.PrivateMondrian, rows: sf.Table, *others: Any, **named: Any) -> sf.Release:
        met.append(rows)
        return anonymize(self, rows, *others, **named)

    monkeypatch.setattr(sf.PrivateMondrian, "anonymize", watched)
    list(sf.compare(table, PUBLIC, ["private-mondrian", "mondrian"], k=5, epsilon=1, made_up_rows=500))
    [rows] = met
    assert rows.frame.equals(made_up_table(PUBLIC, 500, SeededSource(1)).frame)
    assert rows.column("age").n_unique() > 50


def test_a_private_candidate_is_released_by_a_ledger_alone() -> None:
    table = sf.Table(pl.DataFrame({"age": [7] * 30, "sex": ["F"] * 30, "ill": ["no"] * 30}))
    comparison = sf.compare(table, PUBLIC, ["private-mondrian"], epsilon=1, made_up_rows=100)
    with pytest.raises(ParameterError, match="ledger that pays"):
        comparison.release("private-mondrian")
    with pytest.raises(ParameterError, match="ledger that pays"):
        next(comparison).release()


def test_an_undeclared_domain_is_a_row_that_says_so() -> None:
    [candidate] = sf.compare(people(20), ROLES, ["private-mondrian"], epsilon=1)
    assert "has no public domain" in candidate.refusal


@pytest.mark.parametrize(
    "attribute, wanted",
    [
        (sf.Attribute("x", sf.Role.QUASI, sf.Kind.NUMBER, bounds=(0.5, 1.5)), (0.5, 1.5)),
        (sf.Attribute("x", sf.Role.QUASI, sf.Kind.CATEGORY, hierarchy=build.flat(["a", "b"])), ("a", "b")),
    ],
)
def test_made_up_cells_lie_in_their_domain(attribute: sf.Attribute, wanted: tuple[Any, Any]) -> None:
    cells = made_up_table(sf.Schema({"x": attribute}), 300, SeededSource(1)).column("x")
    assert all(wanted[0] <= cell <= wanted[1] for cell in cells)
    assert cells.n_unique() > 1


def test_further_measures_have_columns_of_their_own() -> None:
    def share_of_stars(original: sf.Table, schema: sf.Schema, released: sf.Table) -> float:
        assert (original.rows, schema.columns["zip"].role) == (released.rows, sf.Role.QUASI)
        return float((released.column("zip") == "*").mean())  # type: ignore[arg-type]

    def refuse(*_: object) -> float:
        raise InputError("too few rows to learn from")

    measures: dict[str, Any] = {"stars": share_of_stars, "classifier": refuse}
    [candidate] = sf.compare(people(), with_trees(), ["mondrian"], k=50, measures=measures)
    assert candidate.scores == {"stars": float((candidate.release().table.column("zip") == "*").mean())}  # type: ignore[arg-type]
    assert candidate.notes[-1] == "classifier: too few rows to learn from"


spots = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5]), st.sampled_from([0.0, 0.1, 0.2, 0.3])), max_size=12)


@given(spots)
def test_the_front_is_what_nobody_beats(places: list[tuple[float, float]]) -> None:
    some = [Candidate(f"c{number}", "", loss=loss, highest_risk=risk) for number, (risk, loss) in enumerate(places)]
    best = {candidate.name for candidate in front(some)}
    for candidate, (risk, loss) in zip(some, places, strict=True):
        beaten = any(other != (risk, loss) and other[0] <= risk and other[1] <= loss for other in places)
        assert (candidate.name in best) == (not beaten)


def test_candidates_come_one_by_one() -> None:
    comparison = sf.compare(people(), ROLES, ["mondrian"], k=[5, 10])
    assert isinstance(comparison, Iterator)
    assert (len(comparison), comparison.names) == (2, ["mondrian-k5", "mondrian-k10"])
    assert next(comparison).name == "mondrian-k5"
    assert [candidate.name for candidate in comparison] == ["mondrian-k10"]
    with pytest.raises(StopIteration):
        next(comparison)


def test_only_what_changes_a_release_is_varied() -> None:
    kinds: dict[str, type[Validated]] = {"mondrian": Mondrian}
    from sfumato.tabular.proposals import option_names

    assert option_names(kinds) == ["relaxed"]


def test_a_classifier_learns_less_from_wider_classes() -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    frame = sf.samples.patients(600).with_columns((pl.col("age") > 45).cast(pl.String).alias("old"))
    schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["old"], other="drop")
    comparison = sf.compare(sf.Table(frame), schema, ["mondrian"], k=[2, 300], target="old")
    fine, wide = comparison
    assert comparison.scores == ["learns old"]
    assert fine.scores["learns old"] > 0.95
    assert wide.scores["learns old"] < 0.8
    [remark] = comparison.remarks
    assert remark.startswith("learns old: balanced accuracy of gradient boosting")
    with pytest.raises(ParameterError, match="target 'oldd' has no role; did you mean 'old'"):
        sf.compare(sf.Table(frame), schema, ["mondrian"], target="oldd")
    named = sf.Schema.from_roles(quasi=["age"], identifier=["old"], other="drop")
    with pytest.raises(ParameterError, match="target 'old' is an identifier, which no release has"):
        sf.compare(sf.Table(frame), named, ["mondrian"], target="old")


@pytest.mark.parametrize("declared", [True, False])
def test_a_target_may_be_a_column_that_is_passed_on(declared: bool) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    frame = sf.samples.patients(600).with_columns((pl.col("age") > 45).cast(pl.String).alias("old"))
    frame = frame.select("age", "sex", "old")
    schema = sf.Schema.from_roles(quasi=["age", "sex"], other="keep")
    if declared:
        schema = sf.Schema({**schema.columns, "old": sf.Attribute("old", sf.Role.OTHER)}, other="drop")
    [candidate] = sf.compare(sf.Table(frame), schema, ["mondrian"], k=2, target="old")
    assert candidate.scores["learns old"] > 0.95
