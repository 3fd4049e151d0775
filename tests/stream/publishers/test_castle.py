"""CASTLE: each rule on a stream small enough to follow by hand, columns in and out, and what it refuses."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.hierarchy import Hierarchy
from sfumato.random import SeededSource
from sfumato.schema import Attribute, Coarsening, Kind, Role, Schema
from sfumato.stream.publishers.castle import CASTLE

JOBS = Hierarchy.from_rows([("cook", "food", "*"), ("baker", "food", "*"), ("nurse", "care", "*")])
AGE = Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 100))
JOB = Attribute("job", Role.QUASI, Kind.CATEGORY, hierarchy=JOBS)
SEX = Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("F", "M"))
GRADE = Attribute("grade", Role.QUASI, Kind.ORDINAL, categories=("low", "middle", "high"))
BORN = Attribute("born", Role.QUASI, Kind.DATE, bounds=(dt.date(1990, 1, 1), dt.date(2000, 1, 1)))
WEIGHT = Attribute("weight", Role.QUASI, Kind.NUMBER, bounds=(0.0, 200.0))
DISEASE = Attribute("disease", Role.SENSITIVE, Kind.CATEGORY, categories=("flu", "gout", "ulcer"))


def schema(*attributes: Attribute, person: str | None = None) -> Schema:
    return Schema({attribute.name: attribute for attribute in attributes}, person=person)


def ages(publisher: CASTLE, values: list[int]) -> list[list[str]]:
    """The texts that leave after each record, and at the end."""
    parts = [publisher.push({"age": value}) for value in values] + [publisher.flush()]
    return [list(map(str, publisher.columns(part, ["age"])["age"])) for part in parts]


def test_a_cluster_of_k_leaves_when_its_first_tuple_expires() -> None:
    publisher = CASTLE(schema(AGE), k=2, delay=2, beta=1, rng=SeededSource(1))
    assert ages(publisher, [30, 34, 90])[2] == ["[30-90]"] * 3


def test_a_cluster_of_2k_is_split_into_near_parts() -> None:
    publisher = CASTLE(schema(AGE), k=2, delay=3, beta=1, rng=SeededSource(1))
    assert ages(publisher, [30, 90, 34, 80])[3] == ["[30-34]", "[30-34]", "[80-90]", "[80-90]"]


def test_a_small_cluster_is_merged_with_the_nearest() -> None:
    publisher = CASTLE(schema(AGE), k=2, delay=2, beta=3, rng=SeededSource(1))
    assert ages(publisher, [30, 90, 40]) == [[], [], ["[30-40]", "[30-40]"], ["*"]]


def test_bounds_that_were_published_serve_again() -> None:
    publisher = CASTLE(schema(AGE), k=2, delay=2, beta=3, rng=SeededSource(1))
    left = ages(publisher, [30, 90, 40, 95, 35, 99, 98])
    assert left[2] == ["[30-40]", "[30-40]"]
    assert left[6] == ["[30-40]"]  # 35 is alone in its cluster


def test_a_tuple_is_suppressed_when_most_clusters_are_larger() -> None:
    publisher = CASTLE(schema(AGE), k=3, delay=5, beta=3, rng=SeededSource(1))
    assert ages(publisher, [5, 50, 50, 90, 90, 90])[5] == ["*"]


def test_a_stream_of_fewer_than_k_is_suppressed_whole() -> None:
    publisher = CASTLE(schema(AGE, DISEASE), k=3, delay=9, rng=SeededSource(1))
    publisher.push_many({"age": [30, 31], "disease": ["flu", "gout"]})
    out = publisher.flush()
    assert publisher.columns(out, ["age", "disease"]) == {"age": ["*", "*"], "disease": ["*", "*"]}


def test_k_counts_persons() -> None:
    rows = {"age": [30, 30, 30, 31], "id": ["ann", "ann", "ann", "bob"]}
    with_person = CASTLE(schema(AGE, Attribute("id", Role.IDENTIFIER), person="id"), k=2, delay=3, beta=1)
    assert with_person.columns(with_person.push_many(rows), ["age"])["age"] == ["[30-31]"] * 4
    alone = {"age": [30, 30, 30, 30], "id": ["ann"] * 4}
    lonely = CASTLE(schema(AGE, Attribute("id", Role.IDENTIFIER), person="id"), k=2, delay=3, beta=1)
    assert lonely.columns(lonely.push_many(alone), ["age"])["age"] == ["*"]


def test_l_values_stand_in_every_cluster() -> None:
    rows = {"age": [30, 31, 80, 81], "disease": ["flu", "flu", "flu", "gout"]}
    publisher = CASTLE(schema(AGE, DISEASE), k=2, delay=3, beta=1, l=2, rng=SeededSource(1))
    columns = publisher.columns(publisher.push_many(rows), ["age", "disease"])
    assert columns["age"] == ["[30-81]"] * 4
    assert sorted(columns["disease"]) == ["flu", "flu", "flu", "gout"]
    plain = CASTLE(schema(AGE, DISEASE), k=2, delay=3, beta=1, rng=SeededSource(1))
    assert plain.columns(plain.push_many(rows), ["age"])["age"] == ["[30-31]", "[30-31]", "[80-81]", "[80-81]"]


def test_every_kind_of_column_is_written_as_in_tables() -> None:
    publisher = CASTLE(schema(AGE, JOB, SEX, GRADE, BORN, WEIGHT), k=2, delay=2, beta=1, rng=SeededSource(1))
    rows = {
        "age": ["30", "40", "35"],
        "job": ["cook", "baker", "cook"],
        "sex": ["F", "M", "F"],
        "grade": ["low", "middle", "low"],
        "born": ["1991-01-01", dt.date(1992, 1, 1), "1991-05-05"],
        "weight": [60.5, 70, 65],
    }
    out = publisher.push_many(rows)
    assert {name: set(texts) for name, texts in publisher.columns(out, list(rows)).items()} == {
        "age": {"[30-40]"},
        "job": {"food"},
        "sex": {"*"},
        "grade": {"[low..middle]"},
        "born": {"[1991-01-01..1992-01-01]"},
        "weight": {"[60.5..70.0]"},
    }


def test_the_order_within_a_group_is_shuffled() -> None:
    firsts = set()
    for seed in range(20):
        publisher = CASTLE(schema(AGE, DISEASE), k=3, delay=3, beta=1, rng=SeededSource(seed))
        rows = {"age": [30, 30, 30, 30], "disease": ["flu", "gout", "ulcer", "ulcer"]}
        firsts.add(publisher.columns(publisher.push_many(rows), ["disease"])["disease"][0])
    assert firsts == {"flu", "gout", "ulcer"}


def test_reused_bounds_are_drawn_among_all_that_cover_the_tuple() -> None:
    """Always the narrowest would tell that a tuple under wider bounds lies outside the narrower ones."""
    chosen = set()
    for seed in range(40):
        publisher = CASTLE(schema(AGE), k=2, delay=2, beta=3, rng=SeededSource(seed))
        state = publisher._state
        state.kept[0], state.kept[1], state.counts[5] = [[30], [40]], [[35], [60]], 2
        chosen.add(ages(publisher, [37, 90, 0])[2][0])
    assert chosen == {"[30-40]", "[35-60]"}


def test_cells_that_do_not_fit_the_schema_are_nan_and_are_refused_with_their_column() -> None:
    publisher = CASTLE(schema(AGE, JOB), k=2, delay=5)
    rows = publisher.encode({"age": ["30", "x", "130"], "job": ["cook", "cook", "pilot"]})
    assert np.isnan(rows).tolist() == [[False, False], [True, False], [False, True]]
    assert publisher.valid(rows).tolist() == [True, False, False]
    with pytest.raises(InputError, match=r"record 1: column 'age' is missing or not what the schema declares"):
        publisher.push_many(rows)
    with pytest.raises(InputError, match=r"record 0: column 'job'"):
        publisher.push({"age": 30, "job": "pilot"})
    with pytest.raises(InputError, match=r"there is no column 'job'"):
        publisher.push_many({"age": [1]})
    with pytest.raises(InputError, match=r"record 0 has 3 values"):
        publisher.push([1.0, 1.0, 1.0])
    assert publisher.held == 0


def test_a_schema_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"column 'age' has no declared domain; declare bounds"):
        CASTLE(schema(Attribute("age", Role.QUASI, Kind.INTEGER)))
    with pytest.raises(SchemaError, match=r"column 'note': declare its type or its categories"):
        CASTLE(schema(AGE, Attribute("note", Role.SENSITIVE)))
    with pytest.raises(SchemaError, match=r"l=2 needs a sensitive column"):
        CASTLE(schema(AGE), l=2)
    with pytest.raises(ParameterError, match=r"k=20 persons never meet within a delay of 10"):
        CASTLE(schema(AGE), k=20, delay=10)


def test_the_card_names_the_promise_and_its_unit() -> None:
    card = CASTLE(schema(AGE, DISEASE, Attribute("id", Role.IDENTIFIER), person="id"), k=5, l=2).card("age", "disease")
    assert card.guarantee.parameters == {"k": 5, "l": 2}
    assert card.guarantee.unit == "person (all records with the same 'id')"
    assert [(column.name, column.role) for column in card.released.columns] == [
        ("age", "quasi"),
        ("disease", "sensitive"),
    ]
    assert any("when" in assumption for assumption in card.assumptions)
    assert "columns" not in card.released.settings


def test_a_declared_rule_makes_sensitive_numbers_coarser() -> None:
    columns = {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 100)),
        "cost": Attribute(
            "cost", Role.SENSITIVE, Kind.NUMBER, bounds=(0, 20_000), coarsen=Coarsening(round=500, top=4000)
        ),
    }
    publisher = CASTLE(Schema(columns), k=2, delay=3, rng=SeededSource(1))
    out = publisher.push_many({"age": [31, 60, 33, 62, 35], "cost": [1249.99, 1250.0, 19_999.0, 3.5, 700.0]})
    assert set(publisher.columns(out, ["age", "cost"])["cost"]) == {"1000.0", "1500.0", "4000.0", "0.0"}
    banded = replace(columns["cost"], coarsen=Coarsening(bands=(0, 500)))
    with pytest.raises(SchemaError, match="coarsening bands:0,500 is for tables; for a stream declare round"):
        CASTLE(Schema({**columns, "cost": banded}), k=2, delay=3)
