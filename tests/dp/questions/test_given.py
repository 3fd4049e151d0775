"""Keys and candidates that the analyst gives: fitted to the column's type and bounds, or refused before any payment."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.questions.candidates import positions_of, read_candidates
from sfumato.dp.questions.given_keys import declared_by, read_keys
from sfumato.dp.questions.request import Cell
from sfumato.errors import InputError, ParameterError, SfumatoError
from sfumato.schema import Attribute, Kind, Role

HOUR = Attribute("hour", Role.OTHER, Kind.INTEGER, bounds=(0, 23))
FARE = Attribute("fare", Role.OTHER, Kind.NUMBER, bounds=(0, 100))
DAY = Attribute("day", Role.OTHER, Kind.DATE, bounds=(dt.date(2025, 1, 1), dt.date(2025, 12, 31)))
START = Attribute("start", Role.OTHER, Kind.TIMESTAMP)
SIZE = Attribute("size", Role.OTHER, Kind.ORDINAL, categories=("small", "mid", "large"))
CITY = Attribute("city", Role.OTHER, missing=("", "?"))


@pytest.mark.parametrize(
    "attribute, values, wanted",
    [
        (HOUR, [17, "8", 9.0], (8, 9, 17)),
        (FARE, ["0.5", 2, 1e1], (0.5, 2.0, 10.0)),
        (DAY, [dt.date(2025, 2, 1), "2025-01-31"], ("2025-01-31", "2025-02-01")),
        (START, [dt.datetime(2025, 2, 1, 8), "2025-01-31 14:30"], ("2025-01-31 14:30:00", "2025-02-01 08:00:00")),
        (SIZE, ["large", "small"], ("small", "large")),
        (CITY, ["b", "a, c", "é"], ("a, c", "b", "é")),
    ],
)
def test_keys_take_the_form_and_order_of_their_column(
    attribute: Attribute, values: list[Cell], wanted: tuple[Cell, ...]
) -> None:
    assert declared_by(sf.Keys(attribute.name, values), attribute).cells == wanted


@pytest.mark.parametrize(
    "attribute, values, wanted",
    [
        (HOUR, [24], "'24' of 'hour' lies beyond its declared bounds"),
        (HOUR, [1.5], "'1.5' of 'hour' is not of type integer"),
        (HOUR, ["x" * 100], "is not of type integer"),
        (HOUR, [1, "1"], "have '1' twice"),
        (FARE, ["nan"], "not of type number"),
        (FARE, ["1e400"], "not of type number"),
        (DAY, ["2026-01-01"], "beyond its declared bounds"),
        (DAY, ["1.1.2025"], "not of type date"),
        (START, ["noon"], "not of type timestamp"),
        (SIZE, ["Small"], "no declared category 'Small'"),
        (CITY, [1], "'1' of 'city' is not a text"),
        (CITY, ["?"], "mark of a missing value"),
        (FARE, [place / 1000 for place in range(10_001)], "is given 10001 keys"),
    ],
)
def test_keys_that_a_column_cannot_have_are_refused(attribute: Attribute, values: list[Cell], wanted: str) -> None:
    with pytest.raises(InputError, match=wanted):
        declared_by(sf.Keys(attribute.name, values), attribute)


@pytest.mark.parametrize("values", ["AB", [], [None], [True], [[1]], [b"x"]])
def test_keys_are_a_list_of_values(values: object) -> None:
    with pytest.raises(ParameterError):
        sf.Keys("city", values)  # type: ignore[arg-type]


def test_bounds_that_are_not_public_refuse_no_key() -> None:
    taken = Attribute("hour", Role.OTHER, Kind.INTEGER, bounds=(0, 3), public=False)
    assert declared_by(sf.Keys("hour", [9]), taken).cells == (9,)


def test_keys_come_from_a_column_of_a_public_file(tmp_path: Path) -> None:
    pl.DataFrame({"city": ["b", "a", "b"], "zip": [1, 2, 3]}).write_parquet(tmp_path / "cities.parquet")
    pl.DataFrame({"name": ["02139", "1"]}).write_csv(tmp_path / "zips.csv")
    assert read_keys("city", str(tmp_path / "cities.parquet")).values == ("b", "a")
    assert read_keys("zip", str(tmp_path / "zips.csv")).values == ("02139", "1")
    assert sf.Keys.from_file("code", tmp_path / "cities.parquet", of="zip").values == ("1", "2", "3")
    with pytest.raises(InputError, match="has the columns city, zip"):
        read_keys("code", str(tmp_path / "cities.parquet"))
    with pytest.raises(SfumatoError, match=r"none\.csv"):
        read_keys("code", str(tmp_path / "none.csv"))
    pl.DataFrame({"city": ["b", None]}).write_parquet(tmp_path / "holes.parquet")
    with pytest.raises(InputError, match="missing values"):
        sf.Keys.from_file("city", tmp_path / "holes.parquet")


def test_dates_go_by_days_weeks_and_months() -> None:
    assert sf.dates("2024-02-28", "2024-03-01") == [dt.date(2024, 2, 28), dt.date(2024, 2, 29), dt.date(2024, 3, 1)]
    assert sf.dates("2025-12-29", dt.date(2026, 1, 12), step="week") == [
        dt.date(2025, 12, 29),
        dt.date(2026, 1, 5),
        dt.date(2026, 1, 12),
    ]
    assert sf.dates("2025-11-15", "2026-02-14", step="month") == [
        dt.date(2025, 11, 15),
        dt.date(2025, 12, 15),
        dt.date(2026, 1, 15),
    ]
    assert sf.dates("2024-01-01", "2026-12-31", step="year") == [dt.date(year, 1, 1) for year in (2024, 2025, 2026)]
    assert len(sf.dates("2024-01-01", "2025-12-31", step="quarter")) == 8


@pytest.mark.parametrize(
    "start, end, step, wanted",
    [
        ("2026-02-01", "2026-01-01", "day", "earlier one first"),
        ("2026-01-31", "2026-03-01", "month", "28th"),
        ("2026-01-01", "2026-03-01", "hour", "the step is"),
        ("x", "2026-03-01", "day", "write it as"),
    ],
)
def test_dates_that_make_no_range_are_refused(start: str, end: str, step: str, wanted: str) -> None:
    with pytest.raises(ParameterError, match=wanted):
        sf.dates(start, end, step)


def test_candidates_are_sorted_and_of_one_type() -> None:
    assert read_candidates("fare", [3, "1", 2.5, 1]) == (1.0, 2.5, 3.0)
    assert read_candidates("day", ["2025-01-02", dt.date(2025, 1, 1)]) == ("2025-01-01", "2025-01-02")
    assert positions_of("day", ("1970-01-02",), Kind.DATE) == (1.0,)
    assert positions_of("start", ("1970-01-01 00:01",), Kind.TIMESTAMP) == (60.0,)
    for wrong in ([], "12", [1, "2025-01-01"], [float("nan")], ["inf"], [True], [None], list(range(1001)), [1e16]):
        with pytest.raises(ParameterError):
            read_candidates("fare", wrong)
    for values, kind in (((1.0,), Kind.DATE), (("2025-01-01",), Kind.NUMBER), ((1.0,), None), ((1.0,), Kind.CATEGORY)):
        with pytest.raises(InputError, match="no values of type"):
            positions_of("fare", values, kind)


def test_keys_and_candidates_are_given_by_the_names_of_the_answer() -> None:
    asked = sf.quantile("fare", "0.5").by(sf.col("start").date().named("day"), "city")
    given = asked.with_keys({"DAY": ["2025-01-01"]}).with_candidates({"fare": [1, 2]})
    assert given.keys == (sf.Keys("CAST(start AS DATE)", ["2025-01-01"]), "city")
    assert given.aggregates[0].candidates == (1.0, 2.0)
    with pytest.raises(ParameterError, match="'hour', by which the question does not group"):
        asked.with_keys({"hour": [1]})
    with pytest.raises(ParameterError, match="'age', of which no quantile"):
        asked.with_candidates({"age": [1]})
    with pytest.raises(ParameterError, match="cuts into bins"):
        sf.histogram("fare", 3).with_keys({"fare": [1]})
    with pytest.raises(ParameterError, match="keys are given for 2 columns"):
        sf.count().by("a", "b", keys=[1])
