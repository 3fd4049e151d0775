"""Whatever is written, a question is read or refused in one sentence: never an error of Python's own."""

# ruff: noqa: S608  # questions are made of parts

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.dp.questions.compiled import compile_query
from sfumato.dp.questions.sql import parse_sql
from sfumato.errors import SfumatoError
from sfumato.promise.unit import Neighbours
from sfumato.schema import Attribute, Kind, Role, Schema

SCHEMA = Schema(
    {
        "age": Attribute("age", Role.OTHER, Kind.INTEGER, bounds=(0, 99)),
        "order": Attribute("order", Role.OTHER, Kind.NUMBER, bounds=(-1, 1)),
        "sex": Attribute("sex", Role.OTHER, Kind.CATEGORY, categories=("F", "M")),
        "day": Attribute("day", Role.OTHER, Kind.DATE),
    }
)
WORDS = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET WITH AS ( ) ( ) , , * + - / = < > <> . ; :: AND OR NOT IN IS NULL
BETWEEN LIKE CASE WHEN THEN ELSE END CAST COUNT(*) COUNT SUM AVG MEDIAN QUANTILE HISTOGRAM MIN MAX VAR_POP DISTINCT
EXTRACT INTERVAL DATE age order sex day rides t n 1 2 0.5 'F' 'x' "age" "order" DESC ASC NULLS FIRST LAST OVER
FILTER UNION ALL JOIN ON USING LATERAL EXISTS ARRAY[1] -- /* */ $1 ? @x {x} TRUE ROW VALUES ROLLUP FETCH ROWS ONLY
"""
CLAUSES = st.sampled_from(
    [
        "SELECT COUNT(*) FROM rides",
        "SELECT age, COUNT(*) AS n FROM rides GROUP BY age",
        "SELECT AVG(age * 2) FROM (SELECT age FROM rides) AS t",
        "WITH t AS (SELECT * FROM rides) SELECT sex AS s, SUM(age) FROM t GROUP BY s",
    ]
)


def read(text: str) -> None:
    try:
        compile_query(parse_sql(text, "rides", SCHEMA.columns), SCHEMA, sf.ProtectRows(), Neighbours.PRESENCE)
    except SfumatoError as error:
        assert len(str(error)) < 600  # noqa: PT017


@settings(max_examples=400, deadline=None)
@given(words=st.lists(st.sampled_from(WORDS.split()), max_size=30))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    read(" ".join(words))


@settings(max_examples=400, deadline=None)
@given(begin=CLAUSES, words=st.lists(st.sampled_from(WORDS.split()), max_size=8), place=st.integers(0, 60))
def test_a_question_with_words_put_in_is_read_or_refused(begin: str, words: list[str], place: int) -> None:
    read(f"{begin[:place]} {' '.join(words)} {begin[place:]}")
    read(f"{begin} {' '.join(words)}")


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    read(text)
    read(f"SELECT {text} FROM rides")
    read(f'SELECT age AS "{text}", COUNT(*) FROM rides GROUP BY 1 HAVING "{text}" > 3')


@pytest.mark.parametrize("text", ["SELECT COUNT(*) FROM rides WHERE age > 1e999", "SELECT SUM(age / 0) FROM rides"])
def test_numbers_that_no_double_holds_are_refused(text: str) -> None:
    with pytest.raises(SfumatoError):
        compile_query(parse_sql(text, "rides"), SCHEMA, sf.ProtectRows(), Neighbours.PRESENCE)
