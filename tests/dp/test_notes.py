"""What an answer says of itself: bounds, computed columns, the groups and rows that are not there; never the rows."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.dp.limits import derived_columns, key_columns
from sfumato.dp.mechanisms.threshold import Threshold
from sfumato.dp.notes import notes_of
from sfumato.dp.questions.compiled import compile_query
from sfumato.dp.questions.computed import DerivedColumn
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.query import Query, count, histogram
from sfumato.dp.stored_answer import KeyColumn, StoredAnswer
from sfumato.promise.cost import Accountant
from sfumato.promise.unit import Neighbours, ProtectRows
from sfumato.random import SeededNoise
from sfumato.schema import Schema

SCHEMA = Schema.from_text(
    """
[columns.age]
role = "other"
type = "integer"
bounds = [0, 99]
[columns.sex]
role = "other"
type = "category"
categories = ["F", "M"]
[columns.schooling]
role = "other"
type = "ordinal"
categories = ["low", "high"]
[columns.town]
role = "other"
type = "category"
"""
)
DRAWS = 4000


@pytest.mark.parametrize("accountant", list(Accountant))
def test_a_key_with_enough_units_is_there_as_often_as_said(accountant: Accountant) -> None:
    threshold = Threshold(Fraction(1, 2), Fraction(1, 10**6), accountant=accountant)
    enough = threshold.present_from(0.95)
    noise = SeededNoise(11)
    chances = [float(1 - threshold.mechanism.tail(units - threshold.least + 1)) for units in (enough - 1, enough)]
    assert chances[0] < 0.95 <= chances[1]
    for units, chance in zip((enough - 1, enough), chances, strict=True):
        there = len(threshold.keep([units] * DRAWS, noise))
        assert abs(there - chance * DRAWS) < 4 * (DRAWS * chance * (1 - chance)) ** 0.5


def test_keys_say_which_rows_are_in_no_group() -> None:
    def notes(query: Query, **facts: int) -> list[str]:
        compiled = compile_query(query, SCHEMA, ProtectRows(), Neighbours.PRESENCE)
        keys = key_columns(compiled, SCHEMA)
        stored = StoredAnswer(
            question="q",
            keys=[key.name for key in keys],
            cells=[],
            columns=[],
            epsilon="1",
            key_columns=keys,
            derived=derived_columns(compiled),
            **facts,  # type: ignore[arg-type]
        )
        return notes_of(stored)

    assert notes(count()) == []
    assert notes(histogram("age", [0, 18, 65])) == [
        "rows with a value of age outside [0, 65], or without one, are in no group"
    ]
    assert notes(histogram("age", 3).by("sex"))[0].startswith("rows with a value of sex that is not listed, or with a")
    assert notes(count().by("town"), threshold=20, present_from=25)[1:] == [
        "a key with 25 rows or more is there with 95 % probability; how many smaller ones are missing is not told",
        "rows without a value of town are in no group",
    ]
    decade = DerivedColumn("decade", "age / 10")
    derived = Query(count().aggregates, keys=(HistogramKey("decade", 3),), derived=(decade,))
    assert notes(derived)[0] == 'decade is computed: ("age" / 10)'


def test_an_answer_knows_which_keys_have_an_order() -> None:
    compiled = compile_query(count().by("schooling", "sex", "town"), SCHEMA, ProtectRows(), Neighbours.PRESENCE)
    assert key_columns(compiled, SCHEMA) == [
        KeyColumn(name="schooling", declared=True, ordered=True),
        KeyColumn(name="sex", declared=True, ordered=False),
        KeyColumn(name="town", declared=False, ordered=False),
    ]


def test_answers_of_earlier_ledgers_still_say_what_they_said() -> None:
    old = StoredAnswer(question="q", keys=["town"], cells=[], columns=[], epsilon="1", threshold=19)
    assert notes_of(old) == ["keys with fewer than about 19 rows are withheld (threshold)"]
