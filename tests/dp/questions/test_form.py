"""The JSON form of questions: there and back, and what is no form."""

from __future__ import annotations

import datetime as dt

import msgspec
import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.questions.form import QuestionForm, read_form, write_form
from sfumato.dp.questions.query import Query
from sfumato.errors import ParameterError, SfumatoError

RIDES = sf.per_person(rides=sf.count(), total=sf.sum("fare"), zone=sf.first("zone", order="start")).where("fare > 1")
QUESTIONS = [
    sf.count(),
    sf.count("fare").where("hour > 7").by("station", "hour"),
    sf.mean("fare").clip(0, 64).also(sf.variance("fare")).named("m", "v"),
    sf.sum("fare").clip(0.5, 64.25),
    sf.max("start").clip("2026-01-01", "2026-12-31"),
    sf.quantile("fare", "0.9", candidates=[5, 10, 20.5]).by("station"),
    sf.median("start", candidates=["2026-01-01", "2026-06-01"]),
    sf.histogram("age", 8),
    sf.histogram("start", [dt.date(2026, 1, 1), dt.date(2026, 7, 1)]),
    sf.count().by("hour", keys=[7, 8]).by("station", keys=["A", "B"]),
    sf.count().by((sf.col("fare") * 2).named("twice")).having("count > 3").sorted("count", descending=True),
    sf.bounds("fare", 0.5),
    sf.mean("rides").of(RIDES).where("total < 60").top(3),
    sf.count().of("members").joined("loans", on=["member", ("a", "b")], how="left").limit(3, offset=2),
    sf.count_distinct("rider").by(sf.col("start").hour()),
]


@pytest.mark.parametrize("place", range(len(QUESTIONS)))
def test_a_question_comes_back_as_it_was(place: int) -> None:
    asked: Query = QUESTIONS[place]
    sent = msgspec.json.encode(write_form(asked))
    assert read_form(msgspec.json.decode(sent, type=QuestionForm)) == asked


def test_a_public_table_is_not_sent() -> None:
    public = sf.PublicTable.of(pl.DataFrame({"a": [1]}), "t")
    with pytest.raises(ParameterError, match="public table"):
        write_form(sf.count().joined(public, on="a"))


@pytest.mark.parametrize(
    "text",
    [
        '{"aggregates": [{"function": "quantile", "column": "a"}]}',
        '{"aggregates": [{"function": "mean", "column": "a", "level": "1/2"}]}',
        '{"aggregates": [{"function": "count", "column": "a"}]}',
        '{"aggregates": [{"function": "mean"}]}',
        '{"aggregates": [{"function": "quantile", "column": "a", "level": "1e999999"}]}',
        '{"aggregates": [{"function": "mean", "column": "a", "clip": [1, 1]}]}',
        '{"aggregates": [{"function": "count"}], "by": [{"column": "a", "bins": 0}]}',
        '{"aggregates": [{"function": "count"}], "by": [{"column": "a", "bins": [3, 1]}]}',
        '{"aggregates": [{"function": "count"}], "by": [{"column": "a", "bins": 3, "keys": [1]}]}',
        '{"aggregates": [{"function": "count"}], "by": [{"column": "a", "keys": []}]}',
        '{"aggregates": [{"function": "count"}], "people": {"features": []}}',
    ],
)
def test_what_is_no_question_is_refused(text: str) -> None:
    with pytest.raises(SfumatoError):
        read_form(msgspec.json.decode(text, type=QuestionForm))


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"aggregates": []}',
        '{"aggregates": [{"function": "drop"}]}',
        '{"aggregates": [{"function": "count", "code": "1"}]}',
        '{"aggregates": [{"function": "count"}], "limit": -1}',
        '{"aggregates": [{"function": "mean", "column": "a", "clip": [1]}]}',
    ],
)
def test_what_is_no_form_is_not_decoded(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=QuestionForm)
