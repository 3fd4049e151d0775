"""Marks, formats, zones and times: every engine reads what a slow reading of the same cells reads."""

from __future__ import annotations

import csv
import datetime as dt
import itertools
from collections.abc import Callable
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import psycopg
import pytest

from sfumato.dp.questions.clock import time_words
from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.request import Binned, Count, QueryableRows, Request, Unknown
from sfumato.dp.rows import open_rows
from sfumato.promise.unit import ProtectRows
from sfumato.schema import Attribute, Kind, Role, Schema

BERLIN = "Europe/Berlin"
TIMES = [
    "2015-09-21 14:53:16",
    "2015-09-21T14:53:16.5",
    "2015-09-21 9:53",
    "2015-09-21",
    "2024-06-30T22:30:00Z",
    "2024-07-01 00:30:00+02:00",
    "2024-06-30 20:30-0200",
    "2024-10-27T00:30:00Z",
    "2024-10-27T01:30:00Z",
    "2024-03-31 02:30:00",
    "2024-01-05 10:00:00.123456789",
    "1969-12-31 23:59:59.999999",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59",
    "0001-01-01 00:00:00+15:00",
    "2015-02-30 10:00",
    "2015-09-21 24:00:00",
    "infinity",
    "now",
    "",
    "?",
]
WAGES = ["1.234,56", "2,5", "-7", "1.5", "12.34", ",5", "5,", "1e3", "1.234.567,8", "x", "", "?", "999", "0" * 90]
AMERICAN = [
    "9/21/2015 2:53 PM",
    "12/31/2024 12:05 AM",
    "12/31/2024 12:05 PM",
    "13/1/2024 1:00 PM",
    "1/2/24 1:00 AM",
    "?",
]
SHORT = ["31-Dec-24", "1-Feb-70", "30-Feb-70", "31-Dez-24", "31.12.2024", "?"]
Read = Callable[[str], float | None]
ROWS = ProtectRows()


def wall(text: str, zone: str | None) -> float | None:
    """Read one time slowly."""
    if text in {"", "?", "now", "infinity"} or "24:00" in text:
        return None
    day, _, clock = text.replace("T", " ").partition(" ")
    if len(clock.partition(":")[0]) == 1:
        clock = f"0{clock}"
    if "." in clock and len(clock.partition(".")[2]) > 6:
        clock = clock[: clock.index(".") + 7]
    try:
        moment = dt.datetime.fromisoformat(f"{day} {clock}" if clock else day)
    except ValueError:
        return None
    if moment.tzinfo is not None and zone is not None:
        try:
            moment = moment.astimezone(ZoneInfo(zone))
        except OverflowError:
            return None
    return (moment.replace(tzinfo=None) - dt.datetime(1970, 1, 1)) / dt.timedelta(seconds=1)


def wage(text: str) -> float | None:
    """Read one number with a decimal comma slowly."""
    whole, _, _rest = text.lstrip("+-").partition(",")
    groups = whole.split(".")
    grouped = len(groups) == 1 or (len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
    if text in {"999", "?", ""} or not grouped or len(text) > 80:
        return None
    try:
        return float(text.replace(".", "").replace(",", "."))
    except ValueError:
        return None


def american(text: str) -> float | None:
    """Read one time of a half day slowly."""
    try:
        if len(text.split(maxsplit=1)[0].split("/")[2]) != 4:
            return None
        return (dt.datetime.strptime(text, "%m/%d/%Y %I:%M %p") - dt.datetime(1970, 1, 1)).total_seconds()
    except (ValueError, IndexError):
        return None


def short(text: str) -> float | None:
    """Read one named month slowly."""
    try:
        return float((dt.datetime.strptime(text, "%d-%b-%y") - dt.datetime(1970, 1, 1)).days)
    except ValueError:
        return None


MISSING = ("", "?", "999")
CASES: dict[str, tuple[Attribute, list[str], Read]] = {
    "times": (Attribute("x", Role.OTHER, Kind.TIMESTAMP, missing=MISSING), TIMES, lambda text: wall(text, None)),
    "zoned": (
        Attribute("x", Role.OTHER, Kind.TIMESTAMP, missing=MISSING, zone=BERLIN),
        TIMES,
        lambda text: wall(text, BERLIN),
    ),
    "wages": (Attribute("x", Role.OTHER, Kind.NUMBER, missing=MISSING, decimal=",", thousands="."), WAGES, wage),
    "american": (Attribute("x", Role.OTHER, Kind.TIMESTAMP, format="%m/%d/%Y %I:%M %p"), AMERICAN, american),
    "short": (Attribute("x", Role.OTHER, Kind.DATE, format="%d-%b-%y"), SHORT, short),
}


@pytest.fixture(params=["csv", "frame", "parquet", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[list[str], Schema], QueryableRows]:
    def rows_of(cells: list[str], schema: Schema) -> QueryableRows:
        frame = pl.DataFrame({"x": cells})
        if request.param == "csv":
            with (tmp_path / "x.csv").open("w", newline="") as file:
                csv.writer(file).writerows([["x", "y"], *([cell, "1"] for cell in cells)])
            return open_rows(tmp_path / "x.csv", schema)
        if request.param == "frame":
            return open_rows(frame, schema)
        if request.param == "parquet":
            frame.write_parquet(tmp_path / "x.parquet")
            return open_rows(tmp_path / "x.parquet", schema)
        address = request.getfixturevalue("postgres")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS written_cells")
            connection.execute("CREATE TABLE written_cells (x text)")
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO written_cells VALUES (%s)", [(cell,) for cell in cells])
        return open_rows(f"{address}#written_cells", schema)

    return rows_of


@pytest.mark.parametrize("case", list(CASES))
def test_engines_read_what_a_slow_reading_reads(
    opened: Callable[[list[str], Schema], QueryableRows], case: str
) -> None:
    attribute, cells, read = CASES[case]
    rows = opened(cells, Schema({"x": attribute}))
    found = rows.collect(Request((Count(),), ROWS, (Unknown("x"),)))
    values = [value for cell in cells if (value := read(cell)) is not None]
    assert len(values) >= 2
    shown: list[object] = [
        time_words(value)
        if attribute.kind is Kind.TIMESTAMP
        else ((dt.date(1970, 1, 1) + dt.timedelta(days=value)).isoformat() if attribute.kind is Kind.DATE else value)
        for value in sorted(set(values))
    ]
    assert [key for (key,) in found.cells] == shown
    assert list(found.columns[0]) == [values.count(value) for value in sorted(set(values))]


CONDITIONS: dict[str, Callable[[float], bool]] = {
    "x >= '2016-01-01 08:00'": lambda time: time >= wall("2016-01-01 08:00", None),  # type: ignore[operator]
    "x = '2015-09-21T14:53:16.5'": lambda time: time == wall("2015-09-21 14:53:16.5", None),
    "x BETWEEN DATE '2015-09-21' AND '2024-07-01 00:30'": lambda time: (
        wall("2015-09-21", None) <= time <= wall("2024-07-01 00:30", None)  # type: ignore[operator]
    ),
    "x < TIMESTAMP '1970-01-01 00:00:00'": lambda time: time < 0,
    "x IN ('2024-06-30T22:30:00Z', '2015-09-21')": lambda time: (
        time in {wall("2024-07-01 00:30", None), wall("2015-09-21", None)}
    ),
    "CAST(x AS DATE) = '2024-07-01'": lambda time: time // 86400 == 19905,
}


@pytest.mark.parametrize("condition", list(CONDITIONS))
def test_conditions_on_times(opened: Callable[[list[str], Schema], QueryableRows], condition: str) -> None:
    schema = Schema({"x": CASES["zoned"][0]})
    rows = opened(TIMES, schema)
    holds = CONDITIONS[condition]
    wanted = sum(holds(value) for cell in TIMES if (value := wall(cell, BERLIN)) is not None)
    assert 0 < wanted < len(TIMES)
    (counts,) = rows.collect(Request((Count(),), ROWS, (), parse_predicate(condition, schema))).columns
    assert list(counts) == [wanted]


def test_times_are_binned(opened: Callable[[list[str], Schema], QueryableRows]) -> None:
    schema = Schema({"x": CASES["zoned"][0]})
    edges = (0.0, 1442793600.0, 1719784800.0, 2e9)  # 2015-09-21, 2024-06-30 22:00
    found = opened(TIMES, schema).collect(Request((Count(),), ROWS, (Binned("x", edges),)))
    values = [value for cell in TIMES if (value := wall(cell, BERLIN)) is not None]
    wanted = [sum(low <= value < high for value in values) for low, high in itertools.pairwise(edges)]
    assert list(found.columns[0]) == wanted


@pytest.mark.parametrize("declared", [None, BERLIN, "America/New_York"])
@pytest.mark.parametrize("kind", [Kind.DATE, Kind.TIMESTAMP])
@pytest.mark.parametrize("source", ["frame", "parquet", "arrow"])
def test_moments_have_the_days_and_hours_of_their_zone(
    tmp_path: Path, source: str, kind: Kind, declared: str | None
) -> None:
    moments = [dt.datetime(2024, 6, 30, 22, 30, tzinfo=dt.UTC), dt.datetime(2024, 12, 31, 23, 30, tzinfo=dt.UTC)]
    frame = pl.DataFrame({"x": pl.Series(moments).dt.convert_time_zone(BERLIN)})
    path = tmp_path / f"x.{source}"
    _ = {"frame": lambda: None, "parquet": lambda: frame.write_parquet(path), "arrow": lambda: frame.write_ipc(path)}[
        source
    ]()
    schema = Schema({"x": Attribute("x", Role.OTHER, kind, zone=declared)})
    rows = open_rows(frame if source == "frame" else path, schema)
    local = [moment.astimezone(ZoneInfo(declared or BERLIN)).replace(tzinfo=None) for moment in moments]
    wanted = [str(time.date() if kind is Kind.DATE else time) for time in local]
    found = rows.collect(Request((Count(),), ROWS, (Unknown("x"),)))
    assert [key for (key,) in found.cells] == wanted


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
def test_stored_times_of_a_server(postgres: str, kind: str) -> None:
    cells = ["infinity", "-infinity", "0001-01-01", "2024-06-30 22:30:00", "10000-01-01", "0044-03-15 BC", None]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("DROP TABLE IF EXISTS written_cells")
        connection.execute(f"CREATE TABLE written_cells (x {kind})".encode())
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO written_cells VALUES (%s)", [(cell,) for cell in cells])
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.TIMESTAMP, zone=BERLIN)})
    found = open_rows(f"{postgres}#written_cells", schema).collect(Request((Count(),), ROWS, (Unknown("x"),)))
    local = "2024-06-30 22:30:00" if kind == "timestamp" else "2024-07-01 00:30:00"
    first = "0001-01-01 00:00:00" if kind == "timestamp" else "0001-01-01 00:53:28"
    assert [key for (key,) in found.cells] == [first, local]
