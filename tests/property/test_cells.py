"""Whatever is written as a published cell reads back as what it stands for."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import calendar, cells
from sfumato.core.cells import Cell

MARK = "n/a"
PIECES = ["a", "F", "1", "2", "-", ".", "..", ",", ", ", "{", "}", "[", "]", '"', "*", "?", " ", "\n", "'", "é", "s"]
WORDS = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join)
    | st.text(min_size=1, max_size=6)
    | st.sampled_from(["{F, M}", "[1-2]", "[a..b]", "[1-2]?", "*", "021**", "31?", '"x"', "2025-01", "2025-Q1?", MARK])
).filter(lambda word: word != MARK)
INTEGERS = st.integers(-(10**20), 10**20)
DECIMALS = st.floats(allow_nan=False, allow_infinity=False)
DAYS = st.dates()
TIMES = st.datetimes()
PAIRS: st.SearchStrategy[tuple[Any, Any]] = (
    st.tuples(INTEGERS, INTEGERS) | st.tuples(DECIMALS, DECIMALS) | st.tuples(DAYS, DAYS)
)


@given(PAIRS, st.booleans())
def test_ranges_of_numbers_and_days(values: tuple[Any, Any], missing: bool) -> None:
    low, high = sorted(values)
    region = Cell.between(str(low), str(high), missing=missing)
    text = cells.write(region, whole=isinstance(low, int), mark=MARK)
    assert cells.read(text, (MARK,)) == region
    limits = tuple(value.toordinal() if isinstance(value, dt.date) else value for value in (low, high))
    assert cells.read(text, (MARK,)).limits == limits


@given(TIMES, TIMES, st.booleans())
def test_ranges_of_times(one: dt.datetime, other: dt.datetime, missing: bool) -> None:
    low, high = sorted((one, other))
    region = Cell.between(low.isoformat(sep=" "), high.isoformat(sep=" "), missing=missing)
    found = cells.read(cells.write(region, mark=MARK), (MARK,))
    assert found == region
    assert found.limits == tuple((time - calendar.EPOCH) // calendar.MICROSECOND for time in (low, high))
    assert cells.read(cells.point_text(low.isoformat(sep=" "), missing=missing), (MARK,)).missing == missing


@given(TIMES, st.sampled_from(list(calendar.CLOCK_STEPS)), st.booleans())
def test_periods_hold_their_times(time: dt.datetime, step: str, missing: bool) -> None:
    label = calendar.CLOCK_STEPS[step](time)
    span = calendar.times_of(label)
    assert span is None or span[0] <= time <= span[1]
    assert span is not None or time.year < 10 or time.year > 9989
    if span is not None:
        text = cells.point_text(label, missing=missing)
        cell = cells.read(text, (MARK,)).on_clock()
        assert cell.ends == tuple(end.isoformat(sep=" ") for end in span)
        assert cell.missing == missing


@given(WORDS, WORDS, st.booleans())
def test_ranges_of_ordered_words(low: str, high: str, missing: bool) -> None:
    region = Cell.between(low, high, missing=missing)
    for known in (None, (low, high)):
        assert cells.read(cells.write(region, mark=MARK), (MARK,), known) == region


@given(st.lists(WORDS, max_size=5, unique=True), st.booleans())
def test_single_words_and_sets(words: list[str], missing: bool) -> None:
    if words or missing:
        region = Cell(words=tuple(words), missing=missing)
        assert cells.read(cells.write(region, mark=MARK), (MARK,)) == region


@given(WORDS, st.sampled_from(["", "?", MARK, "*", "{none}", "a, b", "[1-2]", '"']))
def test_a_missing_value_is_its_mark_whatever_the_mark(word: str, mark: str) -> None:
    assert cells.read(cells.write(Cell(missing=True), mark=mark), (mark,)) == Cell(missing=True)
    assert cells.read(cells.write(Cell(everything=True), mark=mark), (mark,)) == Cell(everything=True)
    if word != mark:
        both = Cell(words=(word,), missing=True)
        assert cells.read(cells.write(both, mark=mark), (mark,)) == both


@given(st.lists(st.text("0123456789AB", min_size=1, max_size=4), min_size=1, max_size=3, unique=True), WORDS)
def test_masked_codes(codes: list[str], word: str) -> None:
    masks = tuple(dict.fromkeys(cells.masked_text(code + "7", len(code)) for code in codes))
    for region in (Cell(masks=masks), Cell(words=(word,), masks=masks)):
        assert cells.read(cells.write(region, mark=MARK), (MARK,)) == region
    assert all(cells.is_under_mask(cells.masked_text(code + "7", len(code)), code + "3") for code in codes)


@given(WORDS)
def test_a_value_is_written_as_it_is_unless_it_looks_like_something_else(word: str) -> None:
    text = cells.literal(word)
    assert cells.read(text, ()) == Cell(words=(word,))
    assert text == word or cells.read(word, ()) != Cell(words=(word,))


@given(DAYS, st.sampled_from(list(calendar.PERIODS)))
def test_calendar_labels_hold_their_day(day: dt.date, step: str) -> None:
    days = calendar.days_of(calendar.PERIODS[step](day))
    assert days is None or days[0] <= day <= days[1]
    assert days is not None or day.year < 10 or day.year > 9989  # the calendar of Python ends there


@given(st.lists(st.tuples(INTEGERS | DECIMALS, st.booleans()), min_size=1, max_size=5))
def test_limits_in_columns_become_the_same_cells(rows: list[tuple[Any, bool]]) -> None:
    rows = [(value, missing) for value, missing in rows if isinstance(value, float) or abs(value) < 2**62]
    for kind in (int, float):
        part = [row for row in rows if isinstance(row[0], kind)]
        if part:
            ends = [sorted((value, abs(value))) for value, _ in part]
            frame = pl.DataFrame(
                {
                    "x_min": [low for low, _ in ends],
                    "x_max": [high for _, high in ends],
                    "x_missing": [missing for _, missing in part],
                }
            )
            found = [cells.read(text) for text in cells.column_text(frame, "x")]
            assert [cell.limits for cell in found] == [tuple(pair) for pair in ends]
            assert [cell.missing for cell in found] == [missing for _, missing in part]
