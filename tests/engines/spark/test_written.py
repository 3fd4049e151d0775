"""Times, zones and marks on Spark: what the single machine reads, in questions and in tables."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.calendar import times_of
from sfumato.core.cells import read
from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.request import Count, Request, Unknown
from sfumato.dp.rows import open_rows
from sfumato.engines.spark import anonymize
from sfumato.engines.spark import tables as door
from sfumato.engines.spark.queries import SparkRows
from sfumato.hierarchy.builders import times
from sfumato.promise.unit import ProtectRows
from sfumato.schema import Attribute, Kind, Role, Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BERLIN = "Europe/Berlin"
TIMES = [
    "2015-09-21 14:53:16",
    "2015-09-21T14:53:16.5",
    "2015-09-21 9:53",
    "2015-09-21",
    "2024-06-30T22:30:00Z",
    "2024-06-30 20:30-0200",
    "2024-10-27T01:30:00Z",
    "2024-03-31 02:30:00",
    "2024-01-05 10:00:00.123456789",
    "1969-12-31 23:59:59.999999",
    "2015-02-30 10:00",
    "2015-09-21 24:00:00",
    "?",
]
WAGES = ["1.234,56", "2,5", "-7", "1.5", ",5", "1e3", "1.234.567,8", "x", "?", "999", "", "5,", "0"]
AMERICAN = ["9/21/2015 2:53 PM", "12/31/2024 12:05 AM", "12/31/2024 12:05 PM", "13/1/2024 1:00 PM", *["?"] * 9]
MOMENTS = [dt.datetime(2024, 6, 30, 22, 30, tzinfo=dt.UTC), dt.datetime(2024, 12, 31, 23, 30, tzinfo=dt.UTC)]
SCHEMA = Schema(
    {
        "time": Attribute("time", Role.OTHER, Kind.TIMESTAMP, missing=("", "?")),
        "zoned": Attribute("zoned", Role.OTHER, Kind.TIMESTAMP, zone=BERLIN, missing=("", "?")),
        "wage": Attribute("wage", Role.OTHER, Kind.NUMBER, decimal=",", thousands=".", missing=("", "?", "999")),
        "american": Attribute("american", Role.OTHER, Kind.TIMESTAMP, format="%m/%d/%Y %I:%M %p"),
        "moment": Attribute("moment", Role.OTHER, Kind.TIMESTAMP, zone=BERLIN),
        "day": Attribute("day", Role.OTHER, Kind.DATE, zone=BERLIN),
    }
)


@pytest.mark.long
def test_questions_read_what_duckdb_reads(spark: SparkSession, tmp_path: Path) -> None:
    moments = pl.Series([*MOMENTS, *[None] * 11], dtype=pl.Datetime("us", "UTC"))
    columns = {"time": TIMES, "zoned": TIMES, "wage": WAGES, "american": AMERICAN, "moment": moments, "day": moments}
    pl.DataFrame(columns).write_parquet(tmp_path / "x.parquet")
    on_spark = SparkRows.of_folder(tmp_path, SCHEMA, spark.sparkContext.master)
    embedded = open_rows(tmp_path / "x.parquet", SCHEMA)
    for name in columns:
        request = Request((Count(),), ProtectRows(), (Unknown(name),))
        one, other = on_spark.collect(request), embedded.collect(request)
        assert one.cells == other.cells, name
        assert list(one.columns[0]) == list(other.columns[0]), name
        assert len(one.cells) >= 2
    assert other.cells == [("2024-07-01",), ("2025-01-01",)]
    where = parse_predicate("zoned >= '2024-07-01 00:30' AND CAST(zoned AS DATE) < '2024-10-27'", SCHEMA)
    assert list(on_spark.collect(Request((Count(),), ProtectRows(), (), where)).columns[0]) == [2]


@pytest.mark.long
@pytest.mark.parametrize("by_hours", [True, False])
@pytest.mark.parametrize("counted", [True, False])
def test_tables_hold_the_true_times(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, *, by_hours: bool, counted: bool
) -> None:
    monkeypatch.setattr(door, "_few_kinds", lambda *_: counted)
    monkeypatch.setattr(door, "MOST_KINDS", 1)
    starts = [dt.datetime(2015, 9, 21, 6, 0, 7) + dt.timedelta(minutes=37 * row) for row in range(60)]
    texts = [start.isoformat(sep=" ") for start in starts]
    frame = pl.DataFrame({"start": texts, "trip": [f"t{row}" for row in range(60)]})
    hours = [dt.datetime(2015, 9, day, hour) for day in range(21, 25) for hour in range(24)]
    tree = times(hours, ["hour", "day"]) if by_hours else None
    start = Attribute("start", Role.QUASI, Kind.TIMESTAMP, hierarchy=tree)
    schema = Schema({"start": start, "trip": Attribute("trip", Role.SENSITIVE, Kind.CATEGORY)})
    rows = spark.createDataFrame(frame.to_arrow()).repartition(2)
    release = anonymize(rows, sf.Mondrian(), schema, [sf.KAnonymity(5)])
    for cell, trip in pl.DataFrame(release.frame.toArrow()).rows():
        shown = read(cell).on_clock()
        low, high = shown.ends or (shown.words[0], shown.words[0])
        first, last = times_of(low), times_of(high)
        assert first is not None
        assert last is not None
        assert first[0] <= starts[int(trip[1:])] <= last[1]
