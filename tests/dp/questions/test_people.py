"""Persons in place of rows: what each feature is, what bounds it, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import sfumato as sf
from sfumato.dp.budget_split import threshold_of, whole_share
from sfumato.dp.promised import question_promise
from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.questions.query import Query
from sfumato.dp.questions.sql import parse_sql
from sfumato.errors import InputError, ParameterError, SchemaError, SfumatoError
from sfumato.promise import CapPersons, Cost, Neighbours, ProtectPersons, ProtectRows, Unit

SCHEMA = sf.Schema.from_text(
    """
[columns.rider]
role = "identifier"
[columns.hour]
role = "other"
type = "integer"
bounds = [-2, 3]
[columns.minutes]
role = "other"
type = "number"
bounds = [0, 60]
[columns.start]
role = "other"
type = "timestamp"
[columns.zone]
role = "other"
type = "category"
categories = ["x", "y"]
[columns.free]
role = "other"
type = "number"
"""
)
PEOPLE = sf.per_person(
    rides=sf.count(),
    hours=sf.sum("hour"),
    total=sf.sum("minutes"),
    length=sf.mean("minutes"),
    zones=sf.count_distinct("zone"),
    timed=sf.count("minutes"),
    early=sf.min("hour"),
    zone_first=sf.first("zone", order="start"),
)
UNIT = ProtectPersons("rider", 3, 2)


def compiled(query: Query, unit: Unit = UNIT, neighbours: Neighbours = Neighbours.PRESENCE) -> Compiled:
    return compile_query(query, SCHEMA, unit, neighbours)


def test_bounds_of_features_follow_from_declared_ones() -> None:
    (stage,) = compiled(sf.mean("rides").of(PEOPLE)).stages
    made = {attribute.name: attribute for attribute in stage.makes}
    assert {name: attribute.bounds for name, attribute in made.items()} == {
        "rides": (1, 6),
        "hours": (-12, 18),
        "total": (0, 360),
        "length": (0, 60),
        "zones": (0, 6),
        "timed": (0, 6),
        "early": (-2, 3),
        "zone_first": None,
    }
    assert made["zone_first"].categories == ("x", "y")


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    "query", [sf.sum("rides"), sf.count().by("zone_first"), sf.mean("total").also(sf.max("early"))]
)
def test_noise_is_that_of_one_row_and_the_promise_keeps_the_price(query: Query, neighbours: Neighbours) -> None:
    asked = compiled(query.of(PEOPLE), neighbours=neighbours)
    assert (asked.norms.rows, asked.norms.groups) == (1, 1)
    for price in (Cost(epsilon="0.3"), Cost(rho="0.07")):
        promise = question_promise(asked, price)
        assert promise.cost == price
        assert promise.steps[-1] == CapPersons("rider", 1, 1)
        assert promise.metric.unit == UNIT  # the ledger's persons, whatever its bounds
        assert promise.cost_for(ProtectPersons("rider", 9, 9), neighbours) == price


def test_keys_are_found_for_one_person_in_one_group() -> None:
    asked = compiled(sf.count().also(sf.sum("rides")).by("name").of(sf.per_person(rides=sf.count(), name=MOST_OFTEN)))
    cost = Cost(epsilon=1, delta="1e-6")
    threshold = threshold_of(asked, cost, whole_share(asked, cost))
    assert (threshold.rows, threshold.groups) == (1, 1)


MOST_OFTEN = sf.last("rider", order="hour")  # any column without categories


def test_the_canonical_text_holds_all_that_bounds_a_feature() -> None:
    texts = {
        compiled(sf.sum("total").of(people)).text
        for people in (
            sf.per_person(total=sf.sum("minutes")),
            sf.per_person(total=sf.sum("minutes"), at_most=6),  # what the ledger says anyway
            sf.per_person(total=sf.sum("minutes"), at_most=5),
            sf.per_person(total=sf.sum("hour")),
            sf.per_person(total=sf.sum("minutes")).where("hour > 0"),
            sf.per_person(total=sf.mean("minutes")),
        )
    }
    assert len(texts) == 5
    assert compiled(sf.mean("rides").of(PEOPLE)).words.startswith("mean(rides) of persons with rides = count(*), ")


@pytest.mark.parametrize(
    "query, error, words",
    [
        (sf.mean("minutes").of(PEOPLE), SchemaError, "column 'minutes' is not in the schema"),
        (sf.count().where("hour > 0").of(PEOPLE), InputError, "hour"),
        (sf.count().of(sf.per_person(hour=sf.count())), InputError, "has the name of another column"),
        (sf.count().of(sf.per_person(total=sf.sum("free"))), SchemaError, "has no public bounds"),
        (sf.count().of(sf.per_person(total=sf.sum("zone"))), SchemaError, "has no public bounds"),
        (sf.count().of(sf.per_person(least=sf.min("zone"))), SchemaError, "no smallest or largest value"),
        (sf.count().of(sf.per_person(one=sf.first("zone", order="zone"))), SchemaError, "no order in time"),
        (sf.count().of(sf.per_person(n=sf.count(), at_most=10**7)), ParameterError, "at most"),
        (sf.count().of(sf.per_person(n=sf.count("zoen"))), SchemaError, "did you mean 'zone'"),
    ],
)
def test_what_is_refused(query: Query, error: type[SfumatoError], words: str) -> None:
    with pytest.raises(error, match=words):
        compiled(query)


def test_rows_have_no_persons() -> None:
    with pytest.raises(ParameterError, match="make a budget with --protect person:ID:ROWS:GROUPS"):
        compiled(sf.mean("rides").of(PEOPLE), ProtectRows())


def test_a_feature_is_one_aggregate() -> None:
    with pytest.raises(ParameterError, match="give one aggregate"):
        sf.per_person(n=sf.count().where("hour > 0"))
    with pytest.raises(ParameterError, match="at least one"):
        sf.per_person()
    with pytest.raises(ParameterError, match="at_most is 0"):
        sf.per_person(n=sf.count(), at_most=0)


SQL = {
    "SELECT AVG(n) FROM (SELECT rider, COUNT(*) AS n FROM rides GROUP BY rider) AS t": sf.mean("n").of(
        replace(sf.per_person(n=sf.count()), person="rider")
    ),
    "WITH t AS (SELECT Rider, SUM(minutes) AS total FROM rides WHERE hour > 0 GROUP BY 1) "
    "SELECT COUNT(*) FROM t WHERE total > 9 GROUP BY HISTOGRAM(total, 4)": replace(
        sf.histogram("total", 4), condition="total > 9"
    ).of(replace(sf.per_person(total=sf.sum("minutes")).where("hour > 0"), person="rider")),
    "SELECT zone, COUNT(*) FROM (SELECT ARG_MIN(zone, start) AS zone_first, COUNT(DISTINCT hour) AS hours FROM rides "
    "GROUP BY rider) AS t GROUP BY zone_first".replace("SELECT zone,", "SELECT zone_first,"): sf.count()
    .by("zone_first")
    .of(
        replace(
            sf.per_person(zone_first=sf.first("zone", order="start"), hours=sf.count_distinct("hour")), person="rider"
        )
    ),
}


@pytest.mark.parametrize("text", SQL)
def test_sql_asks_about_persons_by_an_inner_select(text: str) -> None:
    asked = parse_sql(text, "rides", SCHEMA.columns)
    assert compiled(asked).text == compiled(SQL[text]).text


def test_sql_bounds_a_count_by_least() -> None:
    """The ledger's bounds are those of rows; a count of persons may reckon with more."""
    inner = "SELECT rider, LEAST(COUNT(*), 50) AS n, LEAST(9, COUNT(DISTINCT zone)) AS z, SUM(hour) AS h FROM rides"
    asked = compiled(parse_sql(f"SELECT AVG(n) FROM ({inner} GROUP BY rider) AS t", "rides", SCHEMA.columns))  # noqa: S608
    (stage,) = asked.stages
    assert {made.name: made.bounds for made in stage.makes} == {"n": (1, 50), "z": (0, 9), "h": (-12, 18)}
    assert "n = count(*) of at most 50" in asked.text
    assert (asked.norms.rows, asked.norms.groups) == (1, 1)


@pytest.mark.parametrize(
    "inner, words",
    [
        ("SELECT rider, hour, COUNT(*) AS n FROM rides GROUP BY rider, hour", "group by the person alone"),
        ("SELECT hour, COUNT(*) AS n FROM rides GROUP BY hour", "rows are brought together by 'hour'; the budget's"),
        ("SELECT rider, hour, COUNT(*) AS n FROM rides GROUP BY rider", "'hour' is selected beside the person"),
        ("SELECT rider, COUNT(*) AS n FROM rides GROUP BY rider HAVING COUNT(*) > 1", "HAVING"),
        ("SELECT rider, COUNT(*) FROM rides GROUP BY rider", "write AS count"),
        ("SELECT rider, VAR_POP(hour) AS n FROM rides GROUP BY rider", "not made of a person's rows"),
        ("SELECT rider, LEAST(SUM(hour), 9) AS n FROM rides GROUP BY rider", "write LEAST(COUNT(*), 20)"),
        ("SELECT rider, LEAST(COUNT(*), 0) AS n FROM rides GROUP BY rider", "write LEAST(COUNT(*), 20)"),
        ("SELECT rider, LEAST(COUNT(*), 2.5) AS n FROM rides GROUP BY rider", "write LEAST(COUNT(*), 20)"),
        ("SELECT rider, LEAST(LEAST(COUNT(*), 2), 3) AS n FROM rides GROUP BY rider", "write LEAST(COUNT(*), 20)"),
        ("SELECT rider, LEAST(COUNT(*), 9999999) AS n FROM rides GROUP BY rider", "of 1 to 1000000 rows"),
        ("SELECT n FROM (SELECT rider, COUNT(*) AS m FROM rides GROUP BY rider) AS u", "has no column 'n'"),
        (
            "SELECT MIN(m) AS n FROM (SELECT rider, COUNT(*) AS m FROM rides GROUP BY rider) AS u GROUP BY rider",
            "grouped already",
        ),
    ],
)
def test_what_an_inner_select_of_persons_cannot_do(inner: str, words: str) -> None:
    with pytest.raises(SfumatoError, match=re.escape(words)):
        compiled(parse_sql(f"SELECT AVG(n) FROM ({inner}) AS t", "rides", SCHEMA.columns))  # noqa: S608
