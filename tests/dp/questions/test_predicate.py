from __future__ import annotations

import datetime as dt

import pytest
import sqlglot

from sfumato.dp.questions.expression import Arithmetic, ColumnReference, Domain, Literal
from sfumato.dp.questions.extent import extent
from sfumato.dp.questions.predicate import from_tree, parse_predicate
from sfumato.errors import InputError
from sfumato.schema import Attribute, Kind, Role, Schema

SCHEMA = Schema(
    {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 120)),
        "fare": Attribute("fare", Role.OTHER, Kind.NUMBER, bounds=(-50.0, 50.0)),
        "weight": Attribute("weight", Role.OTHER, Kind.NUMBER),
        "seen": Attribute("seen", Role.OTHER, Kind.NUMBER, bounds=(0.0, 9.0), public=False),
        "name": Attribute("name", Role.OTHER, Kind.TEXT),
        "born": Attribute("born", Role.QUASI, Kind.DATE, bounds=(dt.date(1900, 1, 1), dt.date(2026, 1, 1))),
        "grade": Attribute("grade", Role.QUASI, Kind.ORDINAL, categories=("low", "mid", "high")),
        "Home Town": Attribute("Home Town", Role.QUASI, Kind.CATEGORY),
    }
)


@pytest.mark.parametrize(
    "texts",
    [
        ("age = 1", "AGE=1.0", "1 = age", "age == 1e0", "(age) = (1)", "age IN (1)", "not age <> 1", "age = 3 - 2"),
        (
            "age BETWEEN 1 AND 2",
            "age >= 1 and age <= 2",
            "2 >= age AND 1 <= age",
            "age <= 2 AND (age >= 1 AND age >= 1)",
        ),
        ("age IN (3, 1, 2)", "age in (1,2,3,3)"),
        ("age NOT IN (1, 2)", "NOT age IN (2, 1)"),
        ("name IS NOT NULL", "NOT name IS NULL"),
        ("name NOT LIKE 'a%'", "NOT (name LIKE 'a%')"),
        ("age != 5", "age <> 5", "NOT (age = 5)"),
        ("born < '2000-01-01'", "born < DATE '2000-01-01'", "CAST('2000-01-01' AS DATE) > born"),
        ("age + fare > 3", "fare + age > 3", "3 < (age + fare)"),
        ("grade >= 'mid'", "grade IN ('mid', 'high')", "'mid' <= grade", "grade > 'low'"),
        ("grade < 'mid'", "grade = 'low'"),
        ("age = fare", "fare = age"),
        ("name = 'a' OR age = 1 OR age = 2", "(age = 2 OR name = 'a') OR age = 1"),
    ],
)
def test_equal_questions_have_equal_texts(texts: tuple[str, ...]) -> None:
    predicates = [parse_predicate(text, SCHEMA) for text in texts]
    assert len({predicate.text for predicate in predicates}) == 1
    assert len(set(predicates)) == 1
    assert parse_predicate(predicates[0].text, SCHEMA) == predicates[0]


@pytest.mark.parametrize(
    "one, other",
    [
        ("age = 1", "age = 2"),
        ("age < 1", "age <= 1"),
        ("age - fare > 1", "fare - age > 1"),
        ("age / 2 > 1", "2 / age > 1"),
        ("name = 'a b'", "name = 'a  b'"),
        ("name = 'A'", "name = 'a'"),
        ("age = 1 AND name = 'a' OR fare = 1", "age = 1 AND (name = 'a' OR fare = 1)"),
        ("NOT (age = 1 AND fare = 1)", "NOT (age = 1) AND NOT (fare = 1)"),
    ],
)
def test_different_questions_have_different_texts(one: str, other: str) -> None:
    assert parse_predicate(one, SCHEMA).text != parse_predicate(other, SCHEMA).text


@pytest.mark.parametrize(
    "text, named",
    [
        ("md5(name) = 'x'", "MD5(name)"),
        ("age IN (SELECT 1)", "SELECT 1"),
        ("EXISTS (SELECT 1)", "EXISTS"),
        ("CASE WHEN age = 1 THEN TRUE END = 1", "TRUE"),
        ("age = ?", "?"),
        ("age = $1", "$1"),
        ("other.age = 1", "other.age"),
        ("fare % 2 = 0", "%"),
        ("name ILIKE 'x'", "ILIKE"),
        ("name ~ 'x'", "~"),
        ("name LIKE 'x' ESCAPE '!'", "ESCAPE"),
        ("name || 'x' = 'y'", "||"),
        ("age IS TRUE", "IS TRUE"),
        ("age IS DISTINCT FROM 1", "IS DISTINCT FROM"),
        ("age BETWEEN SYMMETRIC 2 AND 1", "SYMMETRIC"),
        ("age = NULL", "IS NULL"),
        ("COUNT(*) > 1", "COUNT(*)"),
        ("SUM(age) OVER () > 1", "OVER"),
        ("age = CURRENT_DATE", "CURRENT_DATE"),
        ("name COLLATE \"C\" = 'x'", "COLLATE"),
        ("(age, fare) = (1, 2)", "(age, fare)"),
        ("SELECT 1", "SELECT 1"),
        ("age = 1 UNION SELECT 1", "UNION"),
        ("age", "age"),
        ("age + 1", "age + 1"),
        ("NOT age", "age"),
        ("age = 1; DROP TABLE x", "found 2"),
        ("", "found 0"),
        ("age = 1 AND", "not SQL"),
        ("age = 'x'", "compares number with text"),
        ("name = 1", "compares text with number"),
        ("age IN (1, 'x')", "compares number with text"),
        ("born > 5", "'2026-01-31'"),
        ("born > '2020-02-30'", "'2020-02-30'"),
        ("agee = 1", "did you mean 'age'"),
        ('"AGE" = 1', "no column 'AGE'"),
        ("grade < 'hihg'", "did you mean 'high'"),
        ("grade < name", "'grade' is ordinal"),
        ("weight + 1 > 2", "'weight' (number) has none"),
        ("seen + 1 > 2", "'seen' (number) has none"),
        ("name + 1 > 2", "is a text"),
        ("born + 1 > 2", "is a date"),
        ("age / 0 > 1", "divided by 0"),
        ("age / (1 - 1) > 1", "divided by 0"),
        ("age = 1e16", "1e16"),
        ("age = 1e-16", "1e-16"),
        ("CAST(age AS TEXT) = '1'", "CAST"),
        ("CAST(name AS DECIMAL(3, 1)) = 1", "CAST"),
        ("TRY_CAST(name AS INT) = 1", "CAST"),
        (f"name LIKE '{'a' * 101}'", "100 characters"),
        ("name LIKE 'a\\_'", "no backslash"),
        ("name = 'a\0b'", "not SQL|printed"),
    ],
)
def test_what_is_not_covered_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(InputError) as error:
        parse_predicate(text, SCHEMA)
    assert any(part in str(error.value) for part in named.split("|"))
    assert "\n" not in str(error.value)


def test_size_and_depth_are_limited() -> None:
    with pytest.raises(InputError, match="characters; give at most"):
        parse_predicate("age = 1 OR " * 2000 + "age = 1", SCHEMA)
    with pytest.raises(InputError, match="deep"):
        parse_predicate("age > 1 AND " * 120 + "age = 1", SCHEMA)
    with pytest.raises(InputError, match="at most 500"):
        parse_predicate(f"age IN ({', '.join(map(str, range(600)))})", SCHEMA)


def test_arithmetic_that_could_leave_the_doubles_is_refused() -> None:
    parse_predicate("age * fare * age * fare > 1", SCHEMA)
    with pytest.raises(InputError, match="too large or too small"):
        parse_predicate(" * ".join(["age"] * 17) + " > 1", SCHEMA)


def test_extent_bounds_every_result() -> None:
    column = ColumnReference("x", Domain.NUMBER, (-2.0, 8.0))
    least, most = extent(Arithmetic("/", Literal(3, Domain.NUMBER), Arithmetic("-", column, column)))
    for x in (-2.0, -1e-15, 1e-15, 0.1, 0.30000000000000004, 8.0):
        for y in (-2.0, 1e-15, 0.3, 7.999999999999999):
            assert x == y or least <= abs(3 / (x - y)) <= most


def test_a_tree_may_be_qualified_by_its_own_table() -> None:
    tree = sqlglot.parse_one("SELECT COUNT(*) FROM rides WHERE Rides.age > 3").args["where"].this
    assert from_tree(tree, SCHEMA, "rides").text == '"age" > 3'
    with pytest.raises(InputError, match="one table"):
        from_tree(tree, SCHEMA)


def test_columns_are_those_looked_at() -> None:
    predicate = parse_predicate("\"Home Town\" = 'x' AND (age + fare > 1 OR name IS NULL)", SCHEMA)
    assert predicate.columns == ("Home Town", "age", "fare", "name")
