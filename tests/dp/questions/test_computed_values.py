"""Expressions as data: one text for one meaning, bounds that follow, refusals that name what to write or declare."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from random_expressions import SCHEMA, random_predicate, random_value, seeded

import sfumato as sf
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.questions.computed import DerivedColumn
from sfumato.dp.questions.grids import key_of, line_of
from sfumato.dp.questions.predicate import parse_predicate, parse_value
from sfumato.dp.questions.query import Query
from sfumato.dp.questions.ranges import derived_attribute
from sfumato.dp.questions.relation import relate
from sfumato.dp.questions.request import Declared, Unknown
from sfumato.dp.session import Session
from sfumato.errors import InputError, SchemaError
from sfumato.promise.cost import Accountant, amount
from sfumato.schema import Schema

HUGE = 10**6  # an ε at which the noise is 0 with overwhelming probability: answers must then be exact


@pytest.mark.parametrize(
    "texts",
    [
        ("EXTRACT(HOUR FROM start)", "extract(hour from START)", "DATE_PART('hour', start)", "HOUR(start)"),
        ("DATE_TRUNC('month', born)", "date_trunc('MONTH', born)"),
        ("born + 7", "7 + born", "born + INTERVAL '7 days'", "born + INTERVAL '1 week'", "born - INTERVAL '-7' DAY"),
        ("born + INTERVAL '14 months'", "born + INTERVAL '1 year 2 months'"),
        ("start + INTERVAL '36 hours'", "start + INTERVAL '1 day 12 hours'"),
        ("stop - start", "EXTRACT(EPOCH FROM stop - start)"),
        ("ROUND(fare)", "ROUND(fare, 0)", "CAST(fare AS INTEGER)"),
        ("LEFT(name, 2)", "SUBSTR(name, 1, 2)", "SUBSTRING(name FROM 1 FOR 2)"),
        ("LEAST(age, 3)", "LEAST(3, age)", "LEAST(3, age, 3)"),
        ("CASE sex WHEN 'Male' THEN 1 END", "CASE WHEN sex = 'Male' THEN 1 ELSE NULL END", "IF(sex = 'Male', 1, NULL)"),
        ("MOD(age, 7)", "age % 7", "MOD(age, -7)"),
        ("LENGTH(name)", "CHAR_LENGTH(name)"),
        ("COALESCE(age, 0)", "IFNULL(age, 0)"),
        ("CAST(start AS DATE)", "start::date", "DATE(start)"),
        ("CONCAT(sex, 'x')", "COALESCE(sex, '') || 'x'"),
        ("DATE '2024-01-31' + INTERVAL '1 month'", "DATE '2024-02-29'"),
    ],
)
def test_equal_expressions_have_equal_texts(texts: tuple[str, ...]) -> None:
    assert len({parse_value(text, SCHEMA) for text in texts}) == 1
    assert len({parse_value(text, SCHEMA).text for text in texts}) == 1


def test_a_text_is_read_as_the_expression_that_it_is_the_text_of() -> None:
    for seed in range(150):
        value = random_value(seeded(seed))
        assert parse_value(value.text, SCHEMA) == value
        predicate = random_predicate(seeded(seed))
        assert parse_predicate(predicate.text, SCHEMA) == predicate


D = dt.date
T = dt.datetime


@pytest.mark.parametrize(
    "text, kind, bounds",
    [
        ("EXTRACT(HOUR FROM stop)", "integer", (0, 23)),
        ("EXTRACT(YEAR FROM start)", "integer", (1969, 1971)),
        ("EXTRACT(MONTH FROM start)", "integer", (1, 12)),
        ("EXTRACT(MONTH FROM COALESCE(DATE '2020-02-03', DATE '2020-05-01'))", "integer", (2, 2)),
        ("EXTRACT(DOW FROM joined)", "integer", (0, 6)),
        ("DATE_TRUNC('quarter', start)", "timestamp", (T(1969, 4, 1), T(1971, 4, 1))),
        ("DATE_TRUNC('year', born)", "date", (D(1960, 1, 1), D(2020, 1, 1))),
        ("born + INTERVAL '1 year'", "date", (D(1961, 2, 28), D(2021, 12, 30))),
        ("born + age", "date", (D(1960, 2, 29), D(2021, 4, 8))),
        ("CAST(start AS DATE) - born", "integer", (-18840, 4139)),
        ("FLOOR(age / 10) * 10", "integer", (0, 90)),
        ("CEIL(fare)", "integer", (-20, 81)),
        ("ABS(fare)", "number", (0.0, 80.25)),
        ("MOD(age, 7)", "integer", (0, 6)),
        ("LEAST(GREATEST(weight, 10), 20)", "number", (10.0, 20.0)),
        ("GREATEST(age, 5)", "integer", (5, 99)),
        ("COALESCE(age, 200)", "integer", (0, 200)),
        ("CASE WHEN weight > 3 THEN 1 WHEN sex = 'Male' THEN age END", "integer", (0, 99)),
        ("LENGTH(LEFT(name, 3))", "integer", (0, 3)),
    ],
)
def test_bounds_follow_from_declared_ones(text: str, kind: str, bounds: tuple[object, object]) -> None:
    found = derived_attribute("x", parse_value(text, SCHEMA), SCHEMA)
    assert found.kind == kind
    assert found.bounds == bounds


@pytest.mark.parametrize(
    "text, words",
    [
        ("LOWER(sex)", ("female", "male", "été %_'x")),
        ("LEFT(sex, 1)", ("F", "M", "É")),
        ("COALESCE(LEFT(sex, 0), 'none')", ("", "none")),
        ("CASE WHEN age < 18 THEN 'young' WHEN age < 65 THEN 'grown' ELSE 'old' END", ("young", "grown", "old")),
        ("LEFT(sex, 1) || '-' || RIGHT(sex, 1)", ("F-e", "F-x", "M-e", "M-x", "É-e", "É-x")),
        ("LEFT(name, 1)", None),
    ],
)
def test_words_follow_from_declared_categories(text: str, words: tuple[str, ...] | None) -> None:
    assert derived_attribute("x", parse_value(text, SCHEMA), SCHEMA).categories == words


@pytest.mark.parametrize(
    "text, named",
    [
        ("EXTRACT(HOUR FROM born)", "a date has no HOUR"),
        ("EXTRACT(CENTURY FROM born)", "YEAR, QUARTER"),
        ("EXTRACT(YEAR FROM sex)", "is a text"),
        ("DATE_TRUNC('hour', born)", "no HOUR to begin"),
        ("DATE_TRUNC('decade', start)", "MINUTE, HOUR"),
        ("born + fare", "whole number"),
        ("born + 5000000", "at most"),
        ("born + INTERVAL '200000 months'", "at most"),
        ("born + INTERVAL '1.5 days'", "INTERVAL '3 days'"),
        ("born + INTERVAL '3 fortnights'", "INTERVAL '3 days'"),
        ("start + 1", "INTERVAL '3 days'"),
        ("sex + INTERVAL '1 day'", "is a text"),
        ("born + joined", "add a whole number"),
        ("age - born", "not a date from a number"),
        ("DATE '9999-12-31' + 1", "years 1 to 9999"),
        ("MOD(fare, 2)", "whole numbers"),
        ("MOD(age, 0)", "divided by 0"),
        ("MOD(age, age)", "written out"),
        ("ROUND(fare, 16)", "from -15 to 15"),
        ("ROUND(fare, age)", "from -15 to 15"),
        ("COALESCE(age, 'x')", "number and text"),
        ("LEAST(sex, name)", "numbers, dates or timestamps"),
        ("CASE WHEN age = 1 THEN NULL END", "one of its results"),
        ("CASE WHEN age = 1 THEN 2 ELSE 'x' END", "number and text"),
        ("CASE WHEN sex = 'male' THEN 1 END", "did you mean 'Male'"),
        ("LOWER(age)", "is a number"),
        ("LEFT(name, -1)", "from 0"),
        ("SUBSTR(name, 0)", "from 1"),
        ("SUBSTR(name, age)", "from 1"),
        ("name || 'x'", 'LEFT("name", 20)'),
        ("LEFT(name, 9999) || LEFT(name, 9999)", "10000 characters"),
        ("TRIM(LEADING 'x' FROM name)", "TRIM"),
        ("SQRT(age)", "SQRT"),
        ("weight + 1", "'weight' (number) has none"),
        ("COALESCE(weight, 0) * 2", "'weight' (number) has none"),
        ("CAST(name AS INTEGER) + 1", "'name' (text) has none"),
        ("ROUND(" * 9 + "fare" + ", 2)" * 9, "too deep"),
        ("INTERVAL '1 day'", "INTERVAL"),
    ],
)
def test_what_is_not_covered_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(InputError) as error:
        parse_value(text, SCHEMA)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text, named",
    [
        ("EXTRACT(HOUR FROM stop) = 25", "between 0 and 23, so none equals 25"),
        ("EXTRACT(YEAR FROM start) IN (1970, 2015)", "between 1969 and 1971, so none equals 2015"),
        ("LOWER(sex) = 'F'", "'female', 'male'"),
        ("LOWER(sex) <> 'Male'", "did you mean 'male'"),
        ("LEFT(sex, 1) LIKE 'x%'", "fits the pattern"),
        ("LEFT(name, 2) = 'abc'", "at most 2 characters"),
        ("FLOOR(fare) = 30.5", "whole number"),
        ("born + 7 = '1950-01-01'", "between DATE '1960-03-07'"),
        ("DATE_TRUNC('month', start) = '1970-01-15'", "start of a MONTH"),
        ("CASE WHEN EXTRACT(DOW FROM born) = 7 THEN 1 END = 1", "between 0 and 6"),
        ("age > INTERVAL '1 day'", "difference of timestamps"),
        ("stop - start > INTERVAL '1 month'", "without months"),
    ],
)
def test_constants_that_no_value_can_equal_are_refused(text: str, named: str) -> None:
    with pytest.raises(InputError) as error:
        parse_predicate(text, SCHEMA)
    assert named in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "EXTRACT(HOUR FROM stop) = 23",
        "LOWER(sex) = 'male'",
        "DATE_TRUNC('month', start) = '1970-02-01'",
        "stop - start > INTERVAL '30 minutes'",
        "EXTRACT(YEAR FROM joined) = 1850",
        "EXTRACT(HOUR FROM stop) > 99",
    ],
)
def test_constants_that_may_occur_are_asked_for(text: str) -> None:
    assert parse_predicate(text, SCHEMA).columns


def derive(text: str) -> Schema:
    return relate([DerivedColumn("x", text)], SCHEMA).schema


@pytest.mark.parametrize(
    "text, named",
    [
        (
            "EXTRACT(YEAR FROM joined)",
            "since column 'joined' has none; declare type and bounds = [low, high] of 'joined'",
        ),
        ("DATE_TRUNC('month', stop)", "since column 'stop' has none"),
        ("COALESCE(stop - start, 0)", "since column 'stop' has none"),
        ("COALESCE(weight, EXTRACT(YEAR FROM joined))", "since columns 'weight' and 'joined' have none"),
        ("1 / age", "may be of any size"),
    ],
)
def test_a_value_without_bounds_says_which_column_to_declare(text: str, named: str) -> None:
    for ask in (line_of, key_of):
        with pytest.raises(SchemaError) as error:
            ask(derive(text), "x")
        assert named in str(error.value)


def test_periods_between_the_bounds_are_declared_keys() -> None:
    months = key_of(derive("DATE_TRUNC('month', start)"), "x")
    assert isinstance(months, Declared)
    assert len(months.cells) == 25
    assert months.cells[:2] == ("1969-06-01 00:00:00", "1969-07-01 00:00:00")
    years = key_of(derive("DATE_TRUNC('year', born)"), "x")
    assert isinstance(years, Declared)
    assert years.cells == tuple(f"{year}-01-01" for year in range(1960, 2021))
    with pytest.raises(SchemaError, match="more than 1000000 MINUTEs"):
        key_of(derive("DATE_TRUNC('minute', start)"), "x")
    assert key_of(derive("LEFT(name, 1)"), "x") == Unknown("x")


ROWS = pl.DataFrame(
    {
        "sex": ["Female", "Male", "Male", "Male", None],
        "age": ["31", "47", "200", "", "18"],
        "start": ["1970-01-31 08:30:00", "1970-02-01 23:59:59", "1960-01-01 08:00:00", "1971-06-30 08:00:00", ""],
    }
)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    ROWS.write_csv(tmp_path / "rows.csv")
    columns = {name: SCHEMA.columns[name] for name in ROWS.columns}
    budget = sf.Budget(epsilon=amount(10 * HUGE), delta=amount(0), accountant=Accountant.PURE)
    terms = Terms(deadline=0, least_share=Decimal(0))
    found = Session.create(
        tmp_path / "rows.ledger", tmp_path / "rows.csv", replace(SCHEMA, columns=columns), budget, terms=terms
    )
    found.deadline = 0
    return found


def asked(session: Session, query: Query, **derived: str) -> pl.DataFrame:
    columns = tuple(DerivedColumn(name, text) for name, text in derived.items())
    frame: pl.DataFrame = session.ask(replace(query, derived=columns), epsilon=HUGE).frame
    return frame


def test_answers_by_computed_keys_are_those_of_the_rows(session: Session) -> None:
    hours = asked(session, sf.count().by("hour"), hour="EXTRACT(HOUR FROM start)")
    assert {row[0]: row[1] for row in hours.iter_rows() if row[1]} == {7: 1, 8: 2, 23: 1}  # 1960 is clamped
    months = asked(session, sf.count().by("month"), month="DATE_TRUNC('month', start)")
    assert [row[:2] for row in months.iter_rows() if row[1]] == [
        ("1969-06-01 00:00:00", 1),
        ("1970-01-01 00:00:00", 1),
        ("1970-02-01 00:00:00", 1),
        ("1971-06-01 00:00:00", 1),
    ]
    words = asked(session, sf.count().by("word"), word="COALESCE(LOWER(sex), 'nobody')")
    assert [row[:2] for row in words.iter_rows()] == [("female", 1), ("male", 3), ("été %_'x", 0), ("nobody", 1)]
    total = asked(session, sf.sum("grown"), grown="CASE WHEN age >= 40 THEN age ELSE 0 END")
    assert total.item(0, 0) == 47 + 99
