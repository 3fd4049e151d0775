"""Expressions in Python: they build SQL, quote all that a caller gives, and are the same question as SQL."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.dp.questions.column import ColumnExpression, literal
from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.query import Query, key_labels
from sfumato.dp.questions.sql import parse_sql
from sfumato.errors import ParameterError
from sfumato.schema import Attribute, Kind, Role, Schema

AGE, START, CITY = sf.col("age"), sf.col("start"), sf.col("city")
WRITTEN = {
    "age * 2 + 1": AGE * 2 + 1,
    "2 * (1 + age)": 2 * (1 + AGE),
    "1 - age / 2": 1 - AGE / 2,
    "10 / age % 3": 10 / AGE % 3,
    "-age": -AGE,
    "ABS(age)": abs(AGE),
    "ROUND(age, 1)": AGE.round(1),
    "ROUND(age)": AGE.round(),
    "FLOOR(age)": AGE.floor(),
    "CEIL(age)": AGE.ceiling(),
    "CAST(age AS INTEGER)": AGE.whole(),
    "CAST(age AS DOUBLE PRECISION)": AGE.number(),
    "COALESCE(age, 0)": AGE.fill(0),
    "LEAST(GREATEST(age, 1), 9)": AGE.clip(1, 9),
    "LOWER(city)": CITY.lower(),
    "UPPER(city)": CITY.upper(),
    "TRIM(city)": CITY.trim(),
    "LENGTH(city)": CITY.length(),
    "LEFT(city, 2)": CITY.left(2),
    "RIGHT(city, 2)": CITY.right(2),
    "SUBSTRING(city, 2, 3)": CITY.substring(2, 3),
    "city || ', ' || country": CITY.concat(", ", sf.col("country")),
    "CAST(start AS DATE)": START.date(),
    "DATE_TRUNC('month', start)": START.truncate("month"),
    "EXTRACT(YEAR FROM start)": START.year(),
    "EXTRACT(QUARTER FROM start)": START.quarter(),
    "EXTRACT(MONTH FROM start)": START.month(),
    "EXTRACT(WEEK FROM start)": START.week(),
    "EXTRACT(DAY FROM start)": START.day(),
    "EXTRACT(ISODOW FROM start)": START.weekday(),
    "EXTRACT(HOUR FROM start)": START.hour(),
    "EXTRACT(MINUTE FROM start)": START.minute(),
    "start + INTERVAL '90 MINUTE'": START + dt.timedelta(minutes=90),
    "start - INTERVAL '2 DAY'": START - dt.timedelta(days=2),
    "CASE WHEN age < 18 THEN 'young' WHEN city = 'x' THEN 'x' ELSE 'old' END": (
        sf.when(AGE < 18).then("young").when(CITY == "x").then("x").otherwise("old")
    ),
    "CASE WHEN age IS NULL THEN 0 END": sf.when(AGE.is_missing()).then(0),
}
CONDITIONS: dict[str, Any] = {
    "age < 30 AND city = 'x'": (AGE < 30) & (CITY == "x"),
    "age <= 30 OR NOT city <> 'it''s'": (AGE <= 30) | ~(CITY != "it's"),
    "age > 1 AND age >= 2": (AGE > 1) & (AGE >= 2),
    "age BETWEEN 18 AND 65": AGE.between(18, 65),
    "city IN ('a', 'b')": CITY.is_in(["a", "b"]),
    "age IS NULL": AGE.is_missing(),
    "city LIKE 'x%'": CITY.like("x%"),
    "age = -1.5": Decimal("-1.5") == AGE,
    "age < 0.1": AGE < 0.1,
    "30 > age": np.int64(30) > AGE,
    "start >= TIMESTAMP '2026-01-31 14:30:00'": dt.datetime(2026, 1, 31, 14, 30) <= START,
    "start >= DATE '2026-01-31'": dt.date(2026, 1, 31) <= START,
    "start >= '2026-01-31 14:30:00+00:00'": dt.datetime(2026, 1, 31, 14, 30, tzinfo=dt.UTC) <= START,
}
SCHEMA = Schema(
    {
        "age": Attribute("age", Role.OTHER, Kind.NUMBER, bounds=(-9, 99)),
        "city": Attribute("city", Role.OTHER),
        "start": Attribute("start", Role.OTHER, Kind.TIMESTAMP, zone="Europe/Berlin"),
    }
)


@pytest.mark.parametrize("text", WRITTEN)
def test_an_expression_in_python_is_the_same_column_as_in_sql(text: str) -> None:
    asked = parse_sql(f"SELECT MAX({text}), COUNT(*) FROM rides GROUP BY {text}", "rides")  # noqa: S608
    assert sf.max(WRITTEN[text]).also(sf.count()).by(WRITTEN[text]) == asked


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_in_python_is_the_same_condition_as_in_sql(text: str) -> None:
    asked = sf.count().where(CONDITIONS[text])
    assert parse_predicate(str(asked.condition), SCHEMA) == parse_predicate(text, SCHEMA)


def test_names_are_for_the_answer_alone() -> None:
    hour = START.hour()
    asked = sf.mean((AGE * 2).named("double")).by(hour.named("h"))
    assert key_labels(asked) == ["h"]
    assert asked.aggregates[0].label == "mean_double"
    plain = sf.mean(AGE * 2).by(hour)
    assert (plain.keys, plain.derived, plain.aggregates[0].text) == (
        asked.keys,
        asked.derived,
        asked.aggregates[0].text,
    )
    assert key_labels(plain) == ["hour_from_start"]
    assert sf.mean(AGE) == sf.mean("age")
    assert sf.mean(AGE.named("years")).aggregates[0].label == "mean_years"
    assert sf.count().by(AGE.named("years")).presentation.names == (("age", "years"),)
    assert key_labels(sf.histogram((AGE * 2).named("bin"), 8)) == ["bin"]
    assert sf.count().also(sf.mean("age")).named("n", "m").aggregates[1].label == "m"


@given(name=st.text(min_size=1), value=st.text())
def test_no_text_of_a_caller_is_read_as_sql(name: str, value: str) -> None:
    tree = sqlglot.parse_one((sf.col(name) == value).sql, dialect="postgres").unnest()
    assert isinstance(tree, sqlglot.exp.EQ)
    assert isinstance(tree.this, sqlglot.exp.Column)
    assert (tree.this.name, tree.expression.this) == (name, value)
    assert tree.expression.is_string


HOSTILE = [
    'x" OR 1=1 --',
    "'; DROP TABLE rides; --",
    "a/*",
    "*/",
    "\\",
    "\\'",
    "$$",
    "'' || (SELECT 1) || ''",
    "é\u202e",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_values_stay_names_and_values(text: str) -> None:
    schema = Schema({text: Attribute(text, Role.OTHER)})
    asked = sf.count().where(sf.col(text).is_in([text, "b"])).by(sf.col(text))
    assert asked.keys == (text,)
    if text.isprintable():
        predicate = parse_predicate(str(asked.condition), schema)
        assert predicate.columns == (text,)
        assert {node.value for node in predicate.condition.literals} == {text, "b"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), Decimal("nan"), [1], object(), dt.timedelta(microseconds=1)]
)
def test_values_that_cannot_be_written_are_refused(value: object) -> None:
    with pytest.raises(ParameterError):
        literal(value)  # type: ignore[arg-type]


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(ParameterError, match="join conditions with"):
        bool(AGE > 1)
    with pytest.raises(ParameterError, match="give a list"):
        AGE.is_in([])
    with pytest.raises(ParameterError, match="cannot be compared"):
        _ = AGE == [1]
    for wrong in (3, None, Fraction(1, 2)):
        with pytest.raises(ParameterError, match="give its name, or an expression"):
            sf.count().by(wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="the condition is 3"):
        sf.count().where(3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="stands twice"):
        sf.count().by(AGE * 2, AGE * 2)
    with pytest.raises(TypeError):
        hash(AGE)


def test_an_expression_is_data() -> None:
    assert ColumnExpression.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert isinstance(sf.count().by(AGE * 2), Query)
