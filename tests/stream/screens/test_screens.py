"""What becomes of bad records, and how times and durations are read."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.stream.publishers.castle import CASTLE
from sfumato.stream.runtime.batch import Batch
from sfumato.stream.screens.base import NumberScreen, OnBad
from sfumato.stream.screens.times import duration, seconds
from sfumato.stream.screens.tuples import TupleScreen


@pytest.mark.parametrize("text, wanted", [("10s", 10), ("5m", 300), ("2h", 7200), ("30d", 2592000), ("1.5w", 907200)])
def test_durations_are_seconds(text: str, wanted: float) -> None:
    assert duration(text) == wanted


@pytest.mark.parametrize("text", ["", "10", "s", "-1s", "0s", "1 fortnight"])
def test_a_duration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="is not of the form"):
        duration(text)


def test_times_are_seconds_whatever_they_are_written_as() -> None:
    assert seconds("2016-09-01T02:00:00+02:00") == seconds("2016-09-01") == 1472688000
    assert all(math.isnan(seconds(text)) for text in ("", None, "soon", "2016-13-01", "nan"))


def test_numbers_without_bounds_cannot_be_mapped_and_the_record_is_named() -> None:
    batch = Batch(2, {"hours": np.array([1.0, math.nan])}, written=lambda place: f"line {place}")
    with pytest.raises(InputError, match=r"record 41: 'line 1' has no number in 'hours'"):
        NumberScreen({"hours": None})(batch, 40)


def test_a_record_is_put_aside_whole_for_any_of_its_columns() -> None:
    batch = Batch(3, {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([5.0, 99.0, math.nan])}, written=str)
    screened = NumberScreen({"a": (0.0, 9.0), "b": (0.0, 9.0)}, OnBad("quarantine", Path("x")))(batch, 10)
    assert screened.values.tolist() == [[1.0, 5.0]]
    aside = [json.loads(line) for line in screened.aside.splitlines()]
    assert [(entry["record"], entry["reason"]) for entry in aside] == [
        (11, "'b' is out of bounds"),
        (12, "no number in 'b'"),
    ]


def tuples() -> CASTLE:
    age = Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 101))
    job = Attribute("job", Role.QUASI, Kind.CATEGORY, categories=("cook", "nurse"))
    return CASTLE(Schema({"age": age, "job": job}), k=2)


def test_tuples_are_clamped_mapped_put_aside_or_refused() -> None:
    batch = Batch(3, {"age": np.array([31.0, 200.0, 40.0])}, {"job": ["nurse", "cook", "king"]}, str)
    with pytest.raises(InputError, match="record 7: column 'job' is missing or not what the schema declares"):
        TupleScreen(tuples())(batch, 5)
    mapped = TupleScreen(tuples(), OnBad("default"))(batch, 5).values
    assert mapped.tolist() == [[31.0, 1.0], [50.0, 0.0], [40.0, 0.0]]
    screened = TupleScreen(tuples(), OnBad("quarantine", Path("x")))(batch, 5)
    assert screened.values.tolist() == [[31.0, 1.0]]
    assert [json.loads(line)["record"] for line in screened.aside.splitlines()] == [6, 7]
    assert TupleScreen(tuples())(Batch(1, {"age": np.array([-5.0])}, {"job": ["cook"]}), 0).values.tolist() == [[0, 0]]
