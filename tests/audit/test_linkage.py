"""The linkage attack: every join beside a slow twin, the dissertation's João, and what attackers know besides."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit.linkage.matching import Join
from sfumato.core.cells import MASKED, read
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Role

EXAMPLES = Path(__file__).parents[2] / "examples"
ON = ["age", "sex", "zip"]
VOTERS = pl.DataFrame(
    {
        "nome": ["João", "Maria", "Joana", "António", "Tiago"],
        "idade": [21, 31, 27, 35, 40],
        "sexo": ["M", "F", "F", "M", "M"],
        "código": [4700, 1017, 4475, 4815, 8200],
    }
)
RAW = pl.DataFrame(
    {
        "idade": ["21", "21", "22", "22", "23", "24"],
        "sexo": ["M", "F", "M", "M", "F", "M"],
        "código": ["4700", "4740", "4810", "4730", "4700", "4700"],
        "doença": ["Pneumonia", "Cancro", "Gripe", "HIV", "Gripe", "Tuberculose"],
    }
)
ANONYMOUS = pl.DataFrame(
    {
        "idade": ["21", "21", "22", "22", "[23-24]", "[23-24]"],
        "sexo": ["M-F", "M-F", "M", "M", "M-F", "M-F"],
        "código": ["[4700-4800]", "[4700-4800]", "[4700-4900]", "[4700-4900]", "4700", "4700"],
        "doença": ["Pneumonia", "Cancro", "Gripe", "HIV", "Gripe", "Tuberculose"],
    }
)
SEXES = Hierarchy.from_rows([("M", "M-F"), ("F", "M-F")])
COLUMNS = ["idade", "sexo", "código"]

ages = st.integers(20, 26)
released_age = st.one_of(
    ages.map(str),
    st.tuples(ages, ages).map(lambda ends: f"[{min(ends)}-{max(ends)}]"),
    st.sampled_from(["*", "", "[21-22]?"]),
)
released_sex = st.sampled_from(["F", "M", "{F, M}", "*", '{"F", "a, b"}', "?"])
released_zip = st.sampled_from(["4711", "4712", "8000", "47**", "4***", "{4711, 8000}", "*"])
released = st.lists(
    st.tuples(released_age, released_sex, released_zip, st.sampled_from(["flu", "gout", "asthma"])),
    min_size=1,
    max_size=12,
)
listed = st.lists(
    st.tuples(
        st.one_of(ages.map(str), st.just("")),
        st.sampled_from(["F", "M", "a, b"]),
        st.sampled_from(["4711", "4799", "8000"]),
    ),
    min_size=1,
    max_size=8,
)


def slow_fits(text: str, value: str) -> bool:
    """Whether a published text may stand for a value, spelled out."""
    cell, known = read(text), read(value)
    if cell.everything or cell.missing or known.missing:
        return True
    if cell.limits is not None and known.limits is not None:
        return cell.limits[0] <= known.limits[0] <= cell.limits[1]
    for word in (*cell.words, *cell.masks):
        masked = MASKED.fullmatch(word)
        if word == value or (masked and len(word) == len(value) and value.startswith(masked["prefix"])):
            return True
    return False


def schema(name: str, tree: Hierarchy) -> sf.Schema:
    return sf.Schema({name: sf.Attribute(name, Role.QUASI, hierarchy=tree)})


@given(released, listed, st.sampled_from([(), ("flu",), ("flu", "gout")]))
@settings(max_examples=150, deadline=None)
def test_candidates_are_those_of_the_slow_twin(
    rows: list[tuple[str, ...]], people: list[tuple[str, ...]], without: tuple[str, ...]
) -> None:
    release = sf.Table(pl.DataFrame(rows, schema=[*ON, "ill"], orient="row"))
    join = Join(release, sf.Table(pl.DataFrame(people, schema=ON, orient="row")), ON)
    found = join.candidates("ill", without)
    classes = {tuple(row[:3]) for row in rows}
    for person, known in enumerate(people):
        fitting = [row for row in rows if all(map(slow_fits, row[:3], known))]
        left = [row[3] for row in fitting if row[3] not in without]
        point = join.persons[person]
        times = sorted((left.count(value) for value in set(left)), reverse=True)
        assert found.rows[point] == len(left)
        assert found.values[point] == len(set(left))
        assert found.first[point] == (times[0] if times else 0)
        assert found.second[point] == (times[1] if len(times) > 1 else 0)
        assert found.classes[point] == len({tuple(row[:3]) for row in fitting}) == len(join.classes_of(point))
        assert join.facts_at(point) == dict(zip(ON, known, strict=True))
    for number in range(len(classes)):
        box = tuple(join.box(number).values())
        assert box in classes
        assert found.persons[number] == sum(all(map(slow_fits, box, known)) for known in people)


def test_joao_has_pneumonia() -> None:
    rows, values = sf.audit.linkage(sf.Table(RAW), sf.Table(VOTERS), COLUMNS, ["doença"])
    assert (rows.verdict, rows.bound) == ("REFUTED", 1)
    assert rows.evidence["nobody else fits the row"] == 1
    (example,) = values.evidence["examples"]
    assert (example["row of the list"], example["left"]) == (1, ["Pneumonia"])
    assert example["known"] == {"idade": "21", "sexo": "M", "código": "4700"}


def test_joao_is_one_of_two_in_the_anonymous_table() -> None:
    known = schema("sexo", SEXES)
    rows, values = sf.audit.linkage(sf.Table(ANONYMOUS), sf.Table(VOTERS), COLUMNS, ["doença"], schema=known)
    assert [(finding.verdict, finding.bound) for finding in (rows, values)] == [("NOT_REFUTED", 2)] * 2
    assert rows.evidence["fitting"] == 1
    *_, informed = sf.audit.linkage(
        sf.Table(ANONYMOUS), sf.Table(VOTERS), COLUMNS, ["doença"], schema=known, knows=["not Cancro"]
    )
    assert informed.refuted
    assert informed.evidence["examples"][0]["left"] == ["Pneumonia"]
    assert informed.claim.endswith("by whoever knows that it is not Cancro")


def test_whoever_can_rule_out_one_value_needs_a_third() -> None:
    voters = sf.Table(pl.DataFrame({"age": [30, 50]}))
    two = {"age": ["[20-39]"] * 5 + ["[40-60]"] * 5, "ill": ["a", "a", "b", "a", "c", *"abcde"]}
    release = sf.Table(pl.DataFrame(two))
    *_, finding = sf.audit.linkage(release, voters, ["age"], ["ill"], l=3, knows=["any"])
    assert (finding.verdict, finding.bound) == ("REFUTED", 2)
    (example,) = finding.evidence["examples"]
    assert example["values"] == {"a": 3, "b": 1, "c": 1}
    assert "a" in example["left"]
    assert finding.evidence["most likely value"] == 0.75  # three of the four rows left without b
    *_, finding = sf.audit.linkage(release, voters, ["age"], ["ill"], l=2, knows=["any"])
    assert (finding.verdict, finding.bound) == ("NOT_REFUTED", 2)


def test_a_homogeneous_class_falls_although_it_is_anonymous() -> None:
    release = sf.Table(pl.DataFrame({"age": ["[20-29]"] * 4 + ["[30-39]"] * 4, "ill": ["flu"] * 4 + list("abcd")}))
    rows, values = sf.audit.linkage(release, sf.Table(pl.DataFrame({"age": [25, 26, 33]})), ["age"], ["ill"], k=4)
    assert not rows.refuted
    assert (values.refuted, values.evidence["exposed"], values.bound) == (True, 2, 1)


@pytest.mark.parametrize("algorithm", [sf.Mondrian(), sf.Mondrian(ranges="columns"), sf.Datafly()])
def test_an_anonymous_table_stands_against_the_people_it_came_from(algorithm: sf.Mondrian | sf.Datafly) -> None:
    people = sf.Table(sf.samples.patients(600))
    known = sf.Schema.from_toml(EXAMPLES / "patients.toml")
    release = algorithm.anonymize(people, known, [sf.KAnonymity(5)])
    quasi = list(known.names(Role.QUASI))
    (finding,) = sf.audit.linkage(release.table, people, quasi, k=5, schema=known)
    assert finding.evidence["fitting"] == 600
    assert (finding.verdict, finding.bound is not None and finding.bound >= 5) == ("NOT_REFUTED", True)
    (careless,) = sf.audit.linkage(people, people, quasi, k=5, schema=known)
    assert careless.evidence["tied to one row"] == 600


def test_evidence_can_be_counted_again() -> None:
    people = sf.samples.patients(300)
    finding, *_ = sf.audit.linkage(sf.Table(people), sf.Table(people), ON, k=3)
    kept = json.loads(msgspec.json.encode(finding))
    assert kept["evidence"]["examples"]
    for example in kept["evidence"]["examples"]:
        known = example["known"]
        texts = people.select(pl.col(ON).cast(pl.String))
        fitting = texts.filter(pl.all_horizontal(pl.col(name) == known[name] for name in ON))
        assert fitting.height == example["rows"] < 3
        assert dict(texts.row(example["row of the list"] - 1, named=True)) == known


@pytest.mark.parametrize(
    "text, value, attribute, fits",
    [
        ("2025-Q1", "2025-02-03", None, True),
        ("2025-Q1", "2025-04-01", None, False),
        ("[2025-01-01..2025-01-31]", "2025-01-31", None, True),
        ("2025", "2025-04-01", sf.Attribute("x", Role.QUASI, sf.Kind.DATE), True),
        ("[1.5..2.5]", "2", None, True),
        ("[-5--2]", "-3", None, True),
        ("[low..mid]", "mid", sf.Attribute("x", Role.QUASI, sf.Kind.ORDINAL, categories=("low", "mid", "high")), True),
        (
            "[low..mid]",
            "high",
            sf.Attribute("x", Role.QUASI, sf.Kind.ORDINAL, categories=("low", "mid", "high")),
            False,
        ),
        ("1", "11", sf.Attribute("x", Role.QUASI, hierarchy=Hierarchy.from_rows([("10", "1"), ("11", "1")])), True),
        ("1", "1", sf.Attribute("x", Role.QUASI, hierarchy=Hierarchy.from_rows([("10", "1"), ("11", "1")])), False),
        ("[20-29]", "abc", None, False),
        ("n/a", "31", sf.Attribute("x", Role.QUASI, missing=("n/a",)), True),
        ("31", "n/a", sf.Attribute("x", Role.QUASI, missing=("n/a",)), True),
        ("1*", "12", sf.Attribute("x", Role.QUASI, sf.Kind.CATEGORY, categories=("12", "21")), True),
        ("{[20-29], x}", "[20-29]", None, True),
    ],
)
def test_what_a_cell_may_stand_for(text: str, value: str, attribute: sf.Attribute | None, fits: bool) -> None:
    known = None if attribute is None else sf.Schema({"x": attribute})
    release, voters = (sf.Table(pl.DataFrame({"x": [cell]}, schema={"x": pl.String})) for cell in (text, value))
    (finding,) = sf.audit.linkage(release, voters, ["x"], schema=known)
    assert finding.evidence["fitting"] == int(fits)


def test_nobody_fits() -> None:
    release, voters = (sf.Table(pl.DataFrame({"x": [value], "ill": "flu"})) for value in (1, 2))
    findings = sf.audit.linkage(release, voters, ["x"], ["ill"], knows=["not flu"])
    assert [(finding.verdict, finding.bound) for finding in findings] == [("NOT_REFUTED", None)] * 3


def test_what_is_refused() -> None:
    table = sf.Table(pl.DataFrame({"age": ["[20-29]"], "ill": ["flu"], "grade": ["[a..b]"]}))
    voters = sf.Table(pl.DataFrame({"age": [21], "grade": ["a"]}))
    with pytest.raises(ParameterError, match=r"'k' parameter of linkage must be an integer of at least 2\. Got 1"):
        sf.audit.linkage(table, voters, ["age"], k=1)
    with pytest.raises(ParameterError, match="no column was named to link by"):
        sf.audit.linkage(table, voters, [])
    with pytest.raises(InputError, match="no column 'aeg'"):
        sf.audit.linkage(table, voters, ["aeg"])
    with pytest.raises(InputError, match="column 'ill' of the release has no value 'fluu'; did you mean 'flu'"):
        sf.audit.linkage(table, voters, ["age"], ["ill"], knows=["not fluu"])
    with pytest.raises(ParameterError, match='background knowledge is "not VALUE" or "any"'):
        sf.audit.linkage(table, voters, ["age"], ["ill"], knows=["not "])
    with pytest.raises(SchemaError, match=r"the range '\[a\.\.b\]' has no known order"):
        sf.audit.linkage(table, voters, ["grade"])
    with pytest.raises(SchemaError, match="'y' is not in the hierarchy"):
        sf.audit.linkage(
            sf.Table(pl.DataFrame({"sexo": ["y"]})), sf.Table(VOTERS), ["sexo"], schema=schema("sexo", SEXES)
        )
    with pytest.raises(InputError, match="there is nobody to link"):
        sf.audit.linkage(table, sf.Table(pl.DataFrame({"age": []})), ["age"])
