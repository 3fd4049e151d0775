"""The layers over an anonymizer: what is refused, what stands on the card, and what the history holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.audit import series
from sfumato.errors import InputError, ParameterError, SchemaError, UnsatisfiableError
from sfumato.tabular import Anatomy, Anonymizer, Datafly, Incognito, Optimal, republish
from sfumato.tabular.republication.history import History
from sfumato.tabular.republication.m_invariance import invariant_groups

MODELS = [sf.KAnonymity(3), sf.LDiversity(2, "disease")]
SCHEMA = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["disease"], person="name", other="drop")
PEOPLE = sf.samples.patients(400)


def test_the_attack_works_without_the_layer_and_not_with_it(tmp_path: Path) -> None:
    halves = [sf.Table(PEOPLE.head(300)), sf.Table(PEOPLE)]
    plain = [sf.Mondrian().anonymize(half, SCHEMA, MODELS).table for half in halves]
    assert sum(finding.refuted for finding in series(plain, SCHEMA)) > 10
    for layer in ("exact", "bpg"):
        safe = [republish(half, SCHEMA, MODELS, tmp_path / layer, layer=layer) for half in halves]
        assert [finding.verdict for finding in series([release.table for release in safe], SCHEMA)] == ["NOT_REFUTED"]
        assert safe[1].table.rows > 0.9 * PEOPLE.height
        assert safe[1].card.released.classes is not None
        assert safe[1].card.released.classes > 20


def test_m_invariance_withholds_nobody_and_says_whom_it_withstands(tmp_path: Path) -> None:
    for rows in (300, 400):
        table = sf.Table(PEOPLE.head(rows))
        release = republish(table, SCHEMA, MODELS[1:], tmp_path / "series", layer="m-invariance")
        assert release.table.rows == rows + release.card.released.measures["counterfeit_rows"]
        assert release.steward["rows_suppressed"] == 0
    card = release.card
    assert card.guarantee.model == "distinct l-diversity, in series by m-invariance"
    assert card.guarantee.parameters["releases"] == 2
    assert "knows everybody's quasi-identifiers and in which releases everybody is" in card.assumptions[-1]
    assert card.audits[-1].bound == 2
    assert "theorem" in str(card.audits[-1].evidence["checked"])


def test_the_first_release_of_a_series_is_the_anonymizers_own(tmp_path: Path) -> None:
    table = sf.Table(PEOPLE)
    release = republish(table, SCHEMA, MODELS, tmp_path / "series", sf.Mondrian(keep_order=True))
    assert release.table.frame.equals(sf.Mondrian(keep_order=True).anonymize(table, SCHEMA, MODELS).table.frame)


def test_limits_in_two_columns_are_compared_too(tmp_path: Path) -> None:
    columns = sf.Mondrian(ranges="columns")
    for rows in (300, 400):
        release = republish(sf.Table(PEOPLE.head(rows)), SCHEMA, MODELS, tmp_path / "series", columns)
    assert "age_min" in release.table.names


def test_the_card_says_against_whom_and_what_was_checked(tmp_path: Path) -> None:
    for rows in (300, 400):
        card = republish(sf.Table(PEOPLE.head(rows)), SCHEMA, MODELS, tmp_path / "series").card
    assert card.guarantee.model == "k-anonymity and distinct l-diversity, in series by exact audit"
    assert (card.guarantee.parameters["series"], card.guarantee.parameters["releases"]) == ("exact", 2)
    assert any("adds up all published counts" in assumption for assumption in card.assumptions)
    assert [audit.claim for audit in card.audits[-2:]] == [
        "the releases together leave every person at least 2 values of 'disease'",
        "the releases together leave every person at least 3 records by 'disease'",
    ]
    assert "in which class" in card.audits[-1].evidence["attacker"]


def test_the_exact_layer_keeps_l_and_k_where_people_come_and_go(tmp_path: Path) -> None:
    tables = [sf.Table(PEOPLE[start : start + 250]) for start in (0, 15, 30, 150)]
    releases = [republish(table, SCHEMA, MODELS, tmp_path / "exact") for table in tables]
    safe = [release.table for release in releases]
    few = [any("keeps more detail" in note for note in release.notes) for release in releases]
    assert few == [False, False, True, False]  # of 64 classes 64, 22, 7 and 25 are left
    assert not any("keeps more detail" in text for release in releases for text in release.card.warnings)
    values, records = series(safe, SCHEMA, people=tables, k=3)
    assert (values.verdict, records.verdict) == ("NOT_REFUTED", "NOT_REFUTED")
    smaller = [republish(table, SCHEMA, MODELS, tmp_path / "bpg", layer="bpg").table for table in tables]
    assert all(finding.refuted for finding in series(smaller, SCHEMA, people=tables, k=3))


def test_a_changed_value_begins_another_unit(tmp_path: Path) -> None:
    changed = PEOPLE.with_columns(disease=pl.when(pl.arange(0, pl.len()) < 9).then(pl.lit("flu")).otherwise("disease"))
    republish(sf.Table(PEOPLE.head(300)), SCHEMA, MODELS, tmp_path / "series")
    release = republish(sf.Table(changed.head(300)), SCHEMA, MODELS, tmp_path / "series", changed="warn")
    assert any("sensitive values of some persons have changed" in warning for warning in release.card.warnings)


def test_a_series_does_not_go_back_on_its_records_and_says_what_was_short(tmp_path: Path) -> None:
    table, folder = sf.Table(PEOPLE), tmp_path / "series"
    republish(table, SCHEMA, MODELS, folder)
    with pytest.raises(InputError, match="promised everybody at least 3 records; found 2; ask for k=3 or more"):
        republish(table, SCHEMA, [sf.KAnonymity(2), *MODELS[1:]], folder)
    more = republish(table, SCHEMA, [sf.KAnonymity(8), *MODELS[1:]], folder)
    assert any("earlier releases left some persons fewer" in warning for warning in more.card.warnings)


def test_the_card_of_bpg_claims_less(tmp_path: Path) -> None:
    for rows in (300, 400):
        card = republish(sf.Table(PEOPLE.head(rows)), SCHEMA, MODELS, tmp_path / "series", layer="bpg").card
    assert card.guarantee.model == "k-anonymity and distinct l-diversity, in series by BPG"
    assert any("adds up counts may learn more" in assumption for assumption in card.assumptions)
    assert card.guarantee.parameters["releases"] == 2
    assert not any("only release" in assumption for assumption in card.assumptions)
    assert any("all releases of this series" in assumption for assumption in card.assumptions)
    assert card.audits[-1].claim == "the releases together leave every person at least 2 values of 'disease'"
    assert card.audits[-1].evidence["complete"] is True


def test_counterfeit_rows_stand_on_the_card_and_look_like_the_others(tmp_path: Path) -> None:
    first = pl.DataFrame({"id": range(6), "age": [20, 21, 22, 60, 61, 62], "ill": ["a", "b", "c", "a", "b", "c"]})
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"], person="id")
    models = [sf.LDiversity(3, "ill")]
    republish(sf.Table(first), schema, models, tmp_path / "series", layer="m-invariance")
    release = republish(sf.Table(first.filter(pl.col("id") != 1)), schema, models, tmp_path / "series",
                        layer="m-invariance")  # fmt: skip
    assert release.card.released.measures["counterfeit_rows"] == 1
    assert release.table.frame["ill"].sort().to_list() == ["a", "a", "b", "b", "c", "c"]
    assert release.table.names == ("age", "ill")


def test_groups_keep_signatures_and_newcomers_fill_gaps() -> None:
    past = {"p": ("a", "b"), "q": ("a", "b")}
    found = invariant_groups([(0, "p", "a"), (1, "x", "b"), (2, "y", "c"), (3, "z", "d")], np.zeros((4, 1)), past, 2)
    shown = sorted(sorted(value for _, value in group) for group in found.groups)
    assert (shown, found.counterfeits) == ([["a", "b"], ["c", "d"]], 0)
    alone = invariant_groups([(0, "x", "c")], np.zeros((1, 1)), past, 2)
    assert (sorted(value for _, value in alone.groups[0]), alone.counterfeits) == (["a", "c"], 1)


def test_a_value_that_changed_is_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["p", "q"], "age": [20, 21], "ill": ["a", "b"]})
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"], person="id")
    republish(sf.Table(frame), schema, [sf.LDiversity(2, "ill")], tmp_path / "series", layer="m-invariance")
    changed = frame.with_columns(pl.Series("ill", ["c", "b"]))
    with pytest.raises(InputError, match="1 of 2 persons published before has other values of ill now"):
        republish(sf.Table(changed), schema, [sf.LDiversity(2, "ill")], tmp_path / "series", layer="m-invariance")
    with pytest.raises(InputError, match="person 'p' now has 'c', which is not among the values published before"):
        republish(
            sf.Table(changed),
            schema,
            [sf.LDiversity(2, "ill")],
            tmp_path / "series",
            layer="m-invariance",
            changed="warn",
        )


def test_what_a_series_cannot_promise_is_refused(tmp_path: Path) -> None:
    table, folder = sf.Table(PEOPLE), tmp_path / "series"
    with pytest.raises(ParameterError, match="t-closeness does not survive leaving out rows"):
        republish(table, SCHEMA, [sf.TCloseness(0.3, "disease")], folder)
    with pytest.raises(ParameterError, match="anatomy has no boxes"):
        republish(table, SCHEMA, MODELS[1:], folder, Anatomy())
    with pytest.raises(ParameterError, match="must be one of 'exact', 'bpg', 'm-invariance'"):
        republish(table, SCHEMA, MODELS, folder, layer="bgp")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="m-invariant groups have m=2 rows, k-anonymity asks for 3"):
        republish(table, SCHEMA, MODELS, folder, layer="m-invariance")
    nameless = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["disease"], other="drop")
    with pytest.raises(SchemaError, match="the exact layer follows persons from release to release"):
        bare = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
        republish(table, bare, MODELS, folder, layer="exact")
    with pytest.raises(SchemaError, match="declare the column that names them"):
        republish(table, nameless, MODELS[1:], folder, layer="m-invariance")
    with pytest.raises(SchemaError, match="one sensitive column and no others"):
        kept = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], person="name", other="keep")
        kept = kept.accepting(["admission", "cost"])
        republish(table, kept, MODELS[1:], folder, layer="m-invariance")
    with pytest.raises(SchemaError, match="declare a sensitive column"):
        republish(table, sf.Schema.from_roles(quasi=["age"], other="drop"), MODELS[:1], folder)
    with pytest.raises(UnsatisfiableError):
        republish(table, SCHEMA, [sf.LDiversity(50, "disease")], folder)


def test_a_history_refuses_another_series(tmp_path: Path) -> None:
    table, folder = sf.Table(PEOPLE), tmp_path / "series"
    republish(table, SCHEMA, MODELS, folder)
    other = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], person="name", other="drop")
    with pytest.raises(SchemaError, match="has the quasi columns age, zip; found age"):
        republish(table, other, MODELS, folder)
    with pytest.raises(InputError, match="was begun with layer exact"):
        republish(table, SCHEMA, MODELS[1:], folder, layer="m-invariance")


def test_a_release_that_fails_leaves_the_history_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "series"
    republish(sf.Table(PEOPLE), SCHEMA, MODELS, folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(UnsatisfiableError):
        republish(sf.Table(PEOPLE.head(3).with_columns(disease=pl.lit("flu"))), SCHEMA, MODELS, folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_the_history_is_the_owners_and_says_what_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "series"
    republish(sf.Table(PEOPLE), SCHEMA, MODELS[1:], folder, layer="m-invariance")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert {"release-0001.csv", "release-0001.card.json", "signatures-0001.json", "index.json"} <= {
        file.name for file in folder.iterdir()
    }
    with History.open(folder), pytest.raises(InputError, match="in use by another process"), History.open(folder):
        pass
    (folder / "release-0001.csv").write_text("age,zip,disease\n")
    with pytest.raises(InputError, match=r"'release-0001\.csv' is not what was recorded"):
        republish(sf.Table(PEOPLE), SCHEMA, MODELS[1:], folder, layer="m-invariance")
    (folder / "index.json").write_text("{")
    with pytest.raises(InputError, match=r"index\.json is damaged"):
        republish(sf.Table(PEOPLE), SCHEMA, MODELS, folder)
    (tmp_path / "notes.txt").write_text("not a history")
    with pytest.raises(InputError, match=r"is not a history: it has 'notes\.txt'"):
        republish(sf.Table(PEOPLE), SCHEMA, MODELS, tmp_path)


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(relaxed=True), Datafly(), Incognito(), Optimal()])
def test_any_anonymizer_can_be_under_the_layer(tmp_path: Path, anonymizer: Anonymizer) -> None:
    schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], person="name", other="drop")
    tables = [
        republish(sf.Table(PEOPLE.head(rows)), schema, MODELS, tmp_path / "series", anonymizer).table
        for rows in (350, 400)
    ]
    assert [finding.verdict for finding in series(tables, schema)] == ["NOT_REFUTED"]
