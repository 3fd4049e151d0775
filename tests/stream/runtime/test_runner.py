"""The parts of a stream's run, each on its own: times, screens, the live line, outlets, windows by the clock."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from sfumato.checks.publishers import publisher_checks
from sfumato.errors import InputError, ParameterError
from sfumato.random import SeededSource
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.stream.connectors.file.feed import Feed
from sfumato.stream.connectors.file.inlet import is_known, mark
from sfumato.stream.connectors.file.sink import Appended, OutputMark
from sfumato.stream.publishers.castle import CASTLE
from sfumato.stream.publishers.clock import ClockWindows
from sfumato.stream.runtime.batch import Batch
from sfumato.stream.runtime.hooks import Live, StreamProgress
from sfumato.stream.screens.base import NumberScreen, OnBad
from sfumato.stream.screens.times import duration, seconds
from sfumato.stream.screens.tuples import TupleScreen
from sfumato.stream.wrappers import MOST_AT_ONCE, TimedWindows


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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_live_line_is_drawn_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([1.0, 1.1, 2.0, 3.0])
    monkeypatch.setattr("sfumato.stream.runtime.hooks.time.monotonic", lambda: next(moments))
    shown, hidden = Terminal(), io.StringIO()
    line = Live(0.5, shown)
    for records in (1000, 1100, 3000):
        line(StreamProgress(records, records, 3, 7))
    drawn = shown.getvalue()
    assert drawn.count("\r") == 2  # the second news came too soon after the first
    assert drawn.rpartition("\r")[2].strip() == "3,000 records  2,000/s  3 groups  7 held  ε 0.5"
    line.close()
    assert shown.getvalue().rstrip("\r").rpartition("\r")[2].strip() == ""
    quiet = Live(None, hidden)
    quiet(StreamProgress(1, 1, 1, 1))
    quiet.close()
    assert hidden.getvalue() == ""


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


def test_an_outlet_is_cut_back_to_its_place_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "out"
    outlet = Appended(file)
    outlet.append(b"x" * 10_000)
    place = outlet.place
    outlet.append(b"y" * 10)
    assert Appended(file, place).place == place
    assert file.read_bytes() == b"x" * 10_000
    for wrong in (OutputMark(10_001, place.tail), OutputMark(9_999, place.tail)):
        file.write_bytes(b"x" * 9_000 + b"z" * 2_000)
        with pytest.raises(InputError, match="is not what the checkpoint left"):
            Appended(file, wrong)


def test_an_input_is_known_again_by_what_was_read_of_it(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_bytes(b"a" * 100_000)
    part, whole = mark(file, 90_000, grows=True), mark(file, 0, grows=False)
    assert is_known(file, part)
    assert is_known(file, whole)
    file.write_bytes(b"a" * 100_001)
    assert is_known(file, part)
    assert not is_known(file, whole)
    for changed in (b"b" + b"a" * 99_999, b"a" * 89_999 + b"b" * 10_001, b"a" * 89_999):
        file.write_bytes(changed)
        assert not is_known(file, part)


def test_a_record_without_an_end_is_refused_before_memory_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.stream.connectors.file.feed.LONGEST_RECORD", 1000)
    monkeypatch.setattr("sfumato.stream.connectors.file.inlet.PIECE", 100)
    (tmp_path / "in.csv").write_text('hours\n5\n"' + "6\n" * 2000)
    screen = NumberScreen({"hours": (0.0, 1.0)})
    with pytest.raises(InputError, match="a record of more than 4 MiB"):
        list(Feed(tmp_path / "in.csv", screen.wanted).batches())


def timed_records(seed: int, rows: int) -> npt.NDArray[np.float64]:
    draw = np.random.default_rng(seed)
    times = np.cumsum(draw.exponential(0.3, rows)) + draw.choice([0.0, -4.0], rows)
    return np.column_stack([draw.uniform(0, 100, rows), np.where(draw.random(rows) < 0.1, np.nan, times)])


TIMED = TimedWindows(ClockWindows(bounds=(0, 100), epsilon=1.0, most=500), every=7.0)


CHECKS = {check.name: check for check in publisher_checks(TIMED, timed_records, keeps_rows=False)}


@pytest.mark.parametrize("name", CHECKS)
def test_windows_by_the_clock_conform(name: str) -> None:
    CHECKS[name].run()


def test_a_clock_that_jumps_too_far_is_refused_and_stays() -> None:
    publisher = TimedWindows(ClockWindows(bounds=(0, 100), epsilon=1.0), every=1.0, rng=SeededSource(1))
    publisher.push_many(np.array([[5.0, 10.0]]))
    with pytest.raises(InputError, match="the clock jumps over"):
        publisher.push_many(np.array([[5.0, 20.0 + MOST_AT_ONCE]]))
    assert len(publisher.advance(10.5)) == 0
    assert publisher.held == 1
