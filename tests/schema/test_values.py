"""Cells as values: marks, formats, zones and what is said where none fits."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import SchemaError
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.schema.detection import detect_format, detected
from sfumato.schema.kinds import detect
from sfumato.schema.times import bound_number, time_text, times_in, wall_time
from sfumato.schema.values import advice, detect_marks, parse_cells
from sfumato.table import Table

BERLIN = "Europe/Berlin"
HALF_PAST_MIDNIGHT = dt.datetime(2024, 7, 1, 0, 30, tzinfo=ZoneInfo(BERLIN))  # still June in UTC


def times(texts: list[str], **keys: str) -> list[dt.datetime | None]:
    cells = parse_cells(pl.Series("t", texts), Attribute("t", Role.QUASI, Kind.TIMESTAMP, **keys))  # type: ignore[arg-type]
    return [None if value is None else wall_time(value) for value in cells.values.to_list()]


def numbers(texts: list[str], kind: Kind = Kind.NUMBER, **keys: str) -> list[float | None]:
    cells = parse_cells(pl.Series("n", texts), Attribute("n", Role.QUASI, kind, **keys))  # type: ignore[arg-type]
    found: list[float | None] = cells.values.to_list()
    return found


def test_times_of_iso_8601_are_read() -> None:
    texts = ["2015-09-21 14:53:16", "2015-09-21T14:53:16.5", "2015-09-21 14:53", "2015-09-21", "2015-02-30 10:00", "?"]
    noon = dt.datetime(2015, 9, 21, 14, 53, 16)
    assert times(texts) == [
        noon,
        noon.replace(microsecond=500_000),
        noon.replace(second=0),
        dt.datetime(2015, 9, 21),
        None,
        None,
    ]


def test_a_moment_is_shown_in_the_declared_zone_and_else_in_its_own() -> None:
    texts = ["2024-06-30T22:30:00Z", "2024-07-01 00:30:00+02:00", "2024-06-30 20:30-0200", "2024-07-01 00:30"]
    local = dt.datetime(2024, 7, 1, 0, 30)
    assert times(texts, zone=BERLIN) == [local] * 4
    assert times(texts)[:3] == [dt.datetime(2024, 6, 30, 22, 30), local, dt.datetime(2024, 6, 30, 20, 30)]


@pytest.mark.parametrize("stored", [BERLIN, "UTC"])
def test_half_past_midnight_in_berlin_is_not_the_day_before(stored: str) -> None:
    series = pl.Series("t", [HALF_PAST_MIDNIGHT]).dt.convert_time_zone(stored)
    days = parse_cells(series, Attribute("t", Role.QUASI, Kind.DATE, zone=BERLIN)).values
    assert days.to_list() == [bound_number(dt.date(2024, 7, 1))]


def test_a_zoned_column_has_its_own_days() -> None:
    series = pl.Series("t", [HALF_PAST_MIDNIGHT]).dt.convert_time_zone(BERLIN)
    assert parse_cells(series, Attribute("t", Role.QUASI, Kind.DATE)).values.to_list() == [19905]
    assert detected(Attribute("t", Role.QUASI), series).zone == BERLIN


def test_the_two_hours_of_a_fold_are_one_on_the_wall_and_a_gap_stays_as_written() -> None:
    assert (
        times(["2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z"], zone=BERLIN) == [dt.datetime(2024, 10, 27, 2, 30)] * 2
    )
    assert times(["2024-03-31 02:30:00"], zone=BERLIN) == [dt.datetime(2024, 3, 31, 2, 30)]


@given(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)))
def test_a_time_written_is_the_time_read(moment: dt.datetime) -> None:
    number = bound_number(moment)
    assert times([time_text(number), moment.isoformat()]) == [moment, moment]


@given(
    st.datetimes(dt.datetime(1990, 1, 2), dt.datetime(2035, 12, 30)),
    st.sampled_from([BERLIN, "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]),
    st.integers(-15 * 60, 15 * 60),
)
def test_moments_fall_on_the_wall_clock_that_python_says(moment: dt.datetime, zone: str, minutes: int) -> None:
    moment = moment.replace(tzinfo=dt.timezone(dt.timedelta(minutes=minutes)))
    assert times([moment.isoformat()], zone=zone) == [moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)]


@pytest.mark.parametrize(
    "text, form, wanted",
    [
        ("31.12.2024", "%d.%m.%Y", "2024-12-31 00:00:00"),
        ("1.2.2024", "%d.%m.%Y", "2024-02-01 00:00:00"),
        ("12/31/2024 2:05 PM", "%m/%d/%Y %I:%M %p", "2024-12-31 14:05:00"),
        ("12/31/2024 12:05 AM", "%m/%d/%Y %I:%M %p", "2024-12-31 00:05:00"),
        ("12/31/2024 12:05 PM", "%m/%d/%Y %I:%M %p", "2024-12-31 12:05:00"),
        ("31-Dec-24", "%d-%b-%y", "2024-12-31 00:00:00"),
        ("31 December 1969", "%d %B %Y", "1969-12-31 00:00:00"),
        ("20241231T2359", "%Y%m%dT%H%M", "2024-12-31 23:59:00"),
        ("31.12.2024 23:59:58.25", "%d.%m.%Y %H:%M:%S.%f", "2024-12-31 23:59:58.250000"),
        ("31.12.2024 23:00 +0100", "%d.%m.%Y %H:%M %z", "2024-12-31 23:00:00"),
    ],
)
def test_formats(text: str, form: str, wanted: str) -> None:
    (found,) = times([text], format=form)
    assert found is not None
    assert found.isoformat(sep=" ") == wanted


@pytest.mark.parametrize(
    "text", ["31/12/2024", "2024-12-31", "32.12.2024", "29.02.2023", " 31.12.2024", "31.12.2024 10:00"]
)
def test_a_cell_in_another_format_cannot_be_read(text: str) -> None:
    assert times([text], format="%d.%m.%Y") == [None]


def test_hours_of_a_half_day_beyond_twelve_cannot_be_read() -> None:
    assert times(["12/31/2024 14:05 PM", "12/31/2024 0:05 AM"], format="%m/%d/%Y %I:%M %p") == [None, None]


def test_a_format_with_a_clock_in_a_column_of_dates_leaves_the_clock_out() -> None:
    day = Attribute("t", Role.QUASI, Kind.DATE, format="%d.%m.%Y %H:%M %z", zone=BERLIN)
    cells = parse_cells(pl.Series("t", ["30.06.2024 22:30 +0000"]), day)
    assert cells.values.to_list() == [bound_number(dt.date(2024, 7, 1))]


def test_decimal_commas_and_thousands() -> None:
    assert numbers(["1.234,56", "2,5", "-7", "1.5", "1.23,4", "12.34.567"], decimal=",", thousands=".") == [
        1234.56,
        2.5,
        -7,
        None,
        None,
        None,
    ]
    assert numbers(["1 234", "1\u202f234,5"], decimal=",", thousands=" ") == [1234, 1234.5]
    assert numbers(["1'234.5"], thousands="'") == [1234.5]
    assert numbers(["1,234", "12"], Kind.INTEGER, thousands=",") == [1234, 12]


@given(st.floats(-1e9, 1e9).map(lambda value: round(value, 2)), st.sampled_from([",.", ", ", ".,", ".'"]))
def test_a_number_written_with_marks_is_the_number_read(value: float, marks: str) -> None:
    text = f"{value:,.2f}".replace(",", "T").replace(".", marks[0]).replace("T", marks[1])
    assert numbers([text], decimal=marks[0], thousands=marks[1]) == [value]


def test_several_missing_marks() -> None:
    column = Attribute("n", Role.QUASI, Kind.INTEGER, missing=("", "NA", "-", "999"))
    cells = parse_cells(pl.Series("n", ["1", "NA", "-", "999", "x", None]), column)
    assert cells.missing.to_list() == [False, True, True, True, False, True]
    assert cells.failed.to_list() == [False, False, False, False, True, False]


@pytest.mark.parametrize(
    "texts, kind",
    [
        (["2015-09-21 14:53:16", "2016-01-01 00:00:00"], Kind.TIMESTAMP),
        (["2015-09-21T14:53:16Z", "2016-01-01T10:00:00.25+02:00"], Kind.TIMESTAMP),
        (["2015-09-21", "2016-01-01"], Kind.DATE),
        (["2015-09-21 14:53:16", "later"], Kind.CATEGORY),
        (["14:53", "15:10"], Kind.CATEGORY),
    ],
)
def test_texts_tell_their_type(texts: list[str], kind: Kind) -> None:
    assert detect(pl.Series(texts)) is kind


def test_what_two_readings_fit_is_not_guessed() -> None:
    assert detect_marks(pl.Series(["1,234", "5,678"])) is None
    assert detect_format(pl.Series(["01/02/2024", "11/12/2024"])) is None
    assert detected(Attribute("n", Role.QUASI), pl.Series(["1,234", "5,678"])).kind is Kind.CATEGORY
    assert detected(Attribute("n", Role.QUASI), pl.Series(["01/02/2024"])).kind is Kind.CATEGORY


def test_an_inferred_schema_pins_what_was_found() -> None:
    frame = pl.DataFrame(
        {
            "lohn": ["1.234,50", "99,00"],
            "tag": ["31.12.2024", "01.02.2024"],
            "start": ["2015-09-21 14:53:16", "2016-01-01 08:00:00"],
            "us": ["12/31/2024 9:05 PM", "1/2/2024 9:05 AM"],
        }
    )
    found = Schema.infer(Table(frame)).columns
    assert (found["lohn"].kind, found["lohn"].decimal, found["lohn"].thousands) == (Kind.NUMBER, ",", ".")
    assert found["lohn"].bounds == (99.0, 1234.5)
    assert (found["tag"].kind, found["tag"].format) == (Kind.DATE, "%d.%m.%Y")
    assert found["tag"].bounds == (dt.date(2024, 2, 1), dt.date(2024, 12, 31))
    assert found["start"].bounds == (dt.datetime(2015, 9, 21, 14, 53, 16), dt.datetime(2016, 1, 1, 8))
    assert (found["us"].kind, found["us"].format) == (Kind.TIMESTAMP, "%m/%d/%Y %I:%M %p")


@pytest.mark.parametrize(
    "cells, kind, wanted",
    [
        (["2015-09-21 14:53:16"], Kind.DATE, 'type = "timestamp"'),
        (["31.12.2024"], Kind.DATE, 'format = "%d.%m.%Y"'),
        (["31.12.2024 10:00"], Kind.DATE, 'type = "timestamp", format = "%d.%m.%Y %H:%M"'),
        (["2,5"], Kind.NUMBER, 'decimal = ","'),
        (["1,234"], Kind.NUMBER, 'decimal = "," or thousands = ","'),
        (["lots"], Kind.NUMBER, None),
        (["5"], Kind.NUMBER, None),
    ],
)
def test_advice_says_what_to_declare(cells: list[str], kind: Kind, wanted: str | None) -> None:
    assert advice(pl.Series("c", cells), Attribute("c", Role.QUASI, kind)) == wanted


def test_bounds_of_timestamps(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        '[columns.start]\nrole = "quasi"\ntype = "timestamp"\nzone = "Europe/Berlin"\n'
        "bounds = [2015-01-01T00:00:00Z, 2015-12-31]\n"
    )
    schema = Schema.from_toml(path)
    low, high = schema.columns["start"].bounds or (0, 0)
    assert (str(low), str(high)) == ("2015-01-01 01:00:00", "2015-12-31 23:59:59.999999")
    path.write_text(schema.to_toml())
    assert Schema.from_toml(path) == schema


@pytest.mark.parametrize(
    "keys, sentence",
    [
        ({"zone": "Berlin"}, "zone must be a time zone like 'Europe/Berlin'; found 'Berlin'"),
        ({"decimal": ";"}, "decimal must be '.' or ','; found ';'"),
        ({"decimal": ",", "thousands": ","}, "decimal and thousands are both ','"),
        ({"format": "%d.%m.%Q"}, "found '%Q'"),
        ({"format": "%m.%Y"}, "must have a day, a month and a year"),
        ({"format": "%d'%m'%Y"}, "may have letters"),
        ({"format": "%d.%m.%Y %I:%M"}, "needs %I and %p together"),
    ],
)
def test_keys_that_make_no_sense_are_refused(keys: dict[str, str], sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence.replace("(", r"\(")):
        Attribute("x", Role.QUASI, Kind.TIMESTAMP, **keys)  # type: ignore[arg-type]


def test_typed_times_are_whole_microseconds() -> None:
    moments = pl.Series([dt.datetime(2024, 1, 1, 0, 0, 0, 5)])
    assert {times_in(moments.cast(pl.Datetime(unit))).to_list()[0] % 1000 for unit in ("us", "ns")} == {5}
