"""The exact attack on a series of releases: who is exposed to whom, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.audit import series
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.random import SeededSource
from sfumato.series.attackers import Attacker
from sfumato.series.certificate_checker import holds
from sfumato.tabular import republish

SCHEMA = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"], person="id")


def release(*rows: tuple[str, str]) -> sf.Table:
    return sf.Table(pl.DataFrame(rows, schema=["age", "ill"], orient="row"))


def people(*rows: tuple[str, int]) -> sf.Table:
    return sf.Table(pl.DataFrame(rows, schema=["id", "age"], orient="row"))


MOVER = (
    [
        release(*(("[37-55]", ill) for ill in "aab"), *(("[24-34]", ill) for ill in "abc")),
        release(*(("[34-55]", ill) for ill in "aabc"), *(("[24-33]", ill) for ill in "ab")),
    ],
    [people(*((name, age) for name, age in zip("pqrstu", (37, 40, 55, 34, 24, 33), strict=True)))] * 2,
)
SWAP = (
    [release(*(("[20-30]", ill) for ill in "aabc")), release(*(("[20-30]", ill) for ill in "aabd"))],
    [people(("p", 20), ("q", 25), ("r", 30), ("s", 22)), people(("p", 20), ("q", 25), ("r", 30), ("t", 23))],
)


def exposed(tables: list[sf.Table], known: list[sf.Table], attacker: Attacker | None = None) -> dict[str, list[str]]:
    [finding] = series(tables, SCHEMA, people=known, attacker=attacker)
    for one in finding.evidence.get("exposed", []):
        assert one["certificates"]
        assert all(holds(certificate) for certificate in one["certificates"])
    return {name: one["values"] for one in finding.evidence.get("exposed", []) for name in one["persons"]}


def test_subtracting_histograms_gives_the_movers_value() -> None:
    assert exposed(*MOVER) == {"s": ["c"]}
    assert not any(finding.refuted for finding in series(MOVER[0], SCHEMA))  # the files alone tell nothing


def test_a_swap_inside_one_box_gives_both_values() -> None:
    assert exposed(*SWAP) == {"s": ["c"], "t": ["d"]}


def test_what_is_found_depends_on_whom_the_attacker_knows() -> None:
    assert exposed(*SWAP, "one-person") == {}
    assert exposed(*SWAP, "nobody") == {}
    assert exposed(*MOVER, "nobody") == {"s": ["c"]}  # six people, six rows: everybody is there
    narrow = [release(*(("[20-30]", ill) for ill in "abc")), release(("25", "c"), ("25", "d"))]
    known = [people(("p", 20), ("q", 30), ("r", 25)), people(("r", 25), ("s", 25))]
    assert exposed(narrow, known, "one-person") == {"r": ["c"]}
    assert exposed(narrow, known, "nobody") == {}


def test_records_are_counted_over_the_series() -> None:
    """Two classes of ten share two rows: nobody's value is certain, but a person in both is one of two records."""
    first = release(*(("[20-40]", ill) for ill in "abcdefghij"))
    second = release(*(("[30-50]", ill) for ill in "abklmnopqr"))
    known = [people(*((f"p{n}", 20 + 2 * n) for n in range(9)), ("x", 35)),
             people(("x", 35), *((f"q{n}", 41 + n) for n in range(9)))]  # fmt: skip
    values, records = series([first, second], SCHEMA, people=known, k=10)
    assert not values.refuted
    assert (records.verdict, records.bound) == ("REFUTED", 2)
    assert records.evidence["persons_below_k"] == 1
    [linked] = [one for one in records.evidence["exposed"] if one["persons"] == ["x"]]
    assert (linked["records"], linked["values"]) == (2, ["a", "b"])


def test_rows_withheld_or_added_leave_the_attacker_less() -> None:
    tables, known = SWAP
    fewer = [tables[0], release(*(("[20-30]", ill) for ill in "aab"))]
    [finding] = series(fewer, SCHEMA, people=known)
    assert finding.evidence["presence_not_certain_in"] == [2]
    more = [tables[0], release(*(("[20-30]", ill) for ill in "aabde"))]
    [finding] = series(more, SCHEMA, people=known)
    assert finding.evidence["rows_of_nobody"]
    assert not finding.refuted


def test_a_changed_value_is_a_condition_that_is_said() -> None:
    tables, known = SWAP
    [finding] = series(tables, SCHEMA, people=[known[0]] * 2, l=5)
    assert finding.evidence["values_changed"] == 1
    assert "if no more than 1 value changed" in finding.evidence["reason"]
    [mild] = series(tables, SCHEMA, people=[known[0]] * 2)
    assert not mild.refuted


def test_several_rows_of_a_person_are_not_linked() -> None:
    tables = [release(("[20-30]", "a"), ("[20-30]", "b"), ("[20-30]", "c")), release(("[20-30]", "a"))]
    known = [people(("p", 20), ("p", 21), ("q", 22)), people(("q", 22))]
    [finding] = series(tables, SCHEMA, people=known)
    assert finding.evidence["persons_with_several_rows"] == 1
    assert finding.evidence["persons_certain"] == 1


def test_the_guides_own_tables_are_refuted(tmp_path: Path) -> None:
    """600 patients become 800: BPG's attacks find nobody, an attacker who adds up finds many."""
    schema = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["disease"], person="name", other="drop")
    tables = [sf.Table(sf.samples.patients(1000).head(rows)) for rows in (600, 800)]
    models = [sf.KAnonymity(5), sf.LDiversity(3, "disease")]
    safe = [republish(table, schema, models, tmp_path / "series", layer="bpg").table for table in tables]
    assert not any(finding.refuted for finding in series(safe, schema, l=3))
    values, records = series(safe, schema, l=3, k=5, people=tables)
    assert values.refuted
    assert values.evidence["complete"]
    assert values.evidence["persons_certain"] > 10
    assert values.evidence["persons_below_l"] > 50
    assert records.refuted
    shown = [one for one in values.evidence["exposed"] for one in one["certificates"]]
    assert shown
    assert all(holds(certificate) for certificate in shown)


def invariant(folder: Path, rows: int, releases: int) -> tuple[list[sf.Table], list[sf.Table], list[int]]:
    """Return m-invariant releases of patients who come and go, their originals, and the rows of nobody in each."""
    everybody = sf.samples.patients(rows + 20 * releases)
    tables = [sf.Table(everybody[20 * number : 20 * number + rows]) for number in range(releases)]
    models = [sf.LDiversity(3, "disease")]
    history, rng = folder / "series", SeededSource(1)
    out = [republish(table, PATIENTS, models, history, layer="m-invariance", rng=rng) for table in tables]
    nobody = [int(one.card.released.measures["counterfeit_rows"]) for one in out]
    return [one.table for one in out], tables, nobody


PATIENTS = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["disease"], person="name", other="drop")


def test_rows_of_nobody_that_cards_tell_leave_everybody_there(tmp_path: Path) -> None:
    """The attacker knows how many rows are counterfeit, so everybody is in a class; m values stay possible for all."""
    released, tables, nobody = invariant(tmp_path, 150, 3)
    assert sum(nobody) > 0
    values, records = series(released, PATIENTS, l=3, k=3, people=tables, counterfeits=nobody)
    assert not values.refuted
    assert not records.refuted
    for finding in (values, records):
        assert finding.evidence["complete"]
        assert finding.evidence["rows_of_nobody"] == nobody
        assert "presence_not_certain_in" not in finding.evidence
        assert finding.bound == 3


def test_what_cards_tell_is_used_against_the_people_too() -> None:
    """One of three rows is nobody's: two people in a class of two values, then one of them alone with b and nobody."""
    tables = [release(("[20-30]", "a"), ("[20-30]", "b")), release(("25", "b"), ("25", "c"))]
    known = [people(("p", 20), ("q", 25)), people(("q", 25))]
    [untold] = series(tables, SCHEMA, people=known)
    assert not untold.refuted
    [told] = series(tables, SCHEMA, people=known, counterfeits=[0, 1])
    assert told.evidence["persons_certain"] == 2
    assert all(holds(one) for cell in told.evidence["exposed"] for one in cell["certificates"])


def test_rows_of_nobody_explain_a_difference() -> None:
    """Somebody left: one row less of c. If a row that stayed may be nobody's, the leaver may have had its value."""
    tables = [release(*(("[20-30]", ill) for ill in "abc")), release(*(("[20-30]", ill) for ill in "ab"))]
    assert [finding.evidence["values"] for finding in series(tables, SCHEMA)] == [["c"]]
    assert not any(finding.refuted for finding in series(tables, SCHEMA, counterfeits=[0, 1]))
    assert any(finding.refuted for finding in series(tables, SCHEMA, counterfeits=[1, 0]))


def test_counterfeit_rows_are_told_for_each_release() -> None:
    tables, _ = SWAP
    with pytest.raises(ParameterError, match="found 1 numbers for 2 releases"):
        series(tables, SCHEMA, counterfeits=[0])
    with pytest.raises(ParameterError, match="release 2 has 4 rows; 5 of them cannot belong to nobody"):
        series(tables, SCHEMA, counterfeits=[0, 5])


def test_what_is_not_settled_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.series.possible.LARGEST", 0)
    monkeypatch.setattr("sfumato.series.signatures.LARGEST", 0)
    released, tables, nobody = invariant(tmp_path, 60, 2)
    [finding] = series(released, PATIENTS, l=3, people=tables, counterfeits=nobody)
    assert not finding.refuted
    assert not finding.evidence["complete"]
    assert "it was not settled whether 3 values are left" in finding.evidence["reason"]


def test_what_an_exact_attack_needs() -> None:
    tables, known = SWAP
    with pytest.raises(ParameterError, match="needs the original table of each release"):
        series(tables, SCHEMA, attacker="everyone")
    with pytest.raises(ParameterError, match="how many records a person may be needs the original table"):
        series(tables, SCHEMA, k=5)
    with pytest.raises(ParameterError, match="found k=1"):
        series(tables, SCHEMA, k=1, people=known)
    with pytest.raises(InputError, match="found 1 for 2 releases"):
        series(tables, SCHEMA, people=known[:1])
    with pytest.raises(SchemaError, match="declare the column that names them"):
        series(tables, sf.Schema.from_roles(quasi=["age"], sensitive=["ill"]), people=known)
    with pytest.raises(InputError, match="no column 'id'"):
        series(tables, SCHEMA, people=tables)
