from __future__ import annotations

import datetime as dt
import gzip
import os
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sfumato.dp.questions.predicate import parse_predicate
from sfumato.dp.questions.request import (
    Binned,
    ColumnGrid,
    Count,
    Declared,
    Key,
    Persons,
    PositionCounts,
    Present,
    Request,
    Total,
    Unknown,
)
from sfumato.dp.rows import open_rows, table_name
from sfumato.dp.rows.collect import UNREADABLE
from sfumato.dp.rows.duckdb import DuckRows
from sfumato.dp.rows.file import FileRows
from sfumato.errors import InputError, ParameterError
from sfumato.promise.unit import ProtectPersons, ProtectRows
from sfumato.schema import Attribute, Kind, Role, Schema

SCHEMA = Schema(
    {
        "rider": Attribute("rider", Role.IDENTIFIER),
        "hour": Attribute("hour", Role.QUASI, Kind.INTEGER, bounds=(0, 23)),
        "fare": Attribute("fare", Role.OTHER, Kind.NUMBER, bounds=(0.0, 10.0), missing=("", "-1", "-1.0")),
        "day": Attribute("day", Role.OTHER, Kind.DATE),
        "zip": Attribute("zip", Role.QUASI, Kind.CATEGORY),
    }
)
FRAME = pl.DataFrame(
    {
        "rider": [1, 1, 2, None],
        "hour": [7, 7, 8, 9],
        "fare": [2.5, -1.0, None, 99.0],
        "day": [dt.date(2020, 1, 1), None, dt.date(2020, 1, 2), dt.date(2020, 1, 1)],
        "zip": ["02139", "10115", None, "02139"],
    }
)
FARES = ColumnGrid("fare", 0.0, 10.0, 20)
HOURS = Declared("hour", (7, 8, 9, 10))
ROWS = ProtectRows()


def write(path: Path, suffix: str) -> Path:
    path /= f"rides{suffix}"
    if suffix == ".parquet":
        FRAME.write_parquet(path)
    elif suffix == ".jsonl":
        FRAME.write_ndjson(path)
    elif suffix == ".arrow":
        FRAME.write_ipc(path)
    elif suffix == ".csv.gz":
        path.write_bytes(gzip.compress(FRAME.write_csv().encode()))
    else:
        path.write_text(FRAME.write_csv(separator=";" if suffix == ".txt" else ","), encoding="utf-8")
    return path


@pytest.fixture(params=[".csv", ".csv.gz", ".txt", ".parquet", ".jsonl", ".arrow", "polars", "pandas"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "polars":
        return FRAME
    return FRAME.to_pandas() if request.param == "pandas" else write(tmp_path, request.param)


def asked(data: Any, *measures: Any, keys: tuple[Key, ...] = (), where: str = "TRUE", unit: Any = ROWS) -> list[Any]:
    request = Request(measures, unit, keys, parse_predicate(where, SCHEMA), b"secret")
    tallies = open_rows(data, SCHEMA).collect(request)
    return [[n if isinstance(n, int) else n.tolist() for n in column] for column in tallies.columns]


def test_every_source_gives_the_same(data: Any) -> None:
    assert asked(data, Count(), Present(FARES), Total(FARES), keys=(HOURS,)) == [
        [2, 1, 1, 0],
        [1, 0, 1, 0],
        [5, 0, 20, 0],
    ]
    assert asked(data, Count(), where="zip = '02139' AND day = '2020-01-01'") == [[2]]
    assert asked(data, Count(), where="fare IS NULL") == [[2]]
    assert asked(data, Count(), keys=(Declared("day", ("2020-01-01", "2020-01-02")),)) == [[2, 1]]


def test_unknown_keys_come_as_found_and_missing_ones_in_no_group(data: Any) -> None:
    rows = open_rows(data, SCHEMA)
    found = rows.collect(Request((Count(),), ROWS, (Unknown("zip"),)))
    assert (found.cells, found.columns) == ([("02139",), ("10115",)], [[2, 1]])
    days = rows.collect(Request((Count(),), ROWS, (Unknown("day"),)))
    assert days.cells == [("2020-01-01",), ("2020-01-02",)]


def test_a_row_without_a_person_is_left_out(data: Any) -> None:
    unit = ProtectPersons("rider", rows=5, groups=5)
    assert asked(data, Count(), Persons(), keys=(HOURS,), unit=unit) == [[2, 1, 0, 0], [1, 1, 0, 0]]
    assert asked(data, Count(), Persons(), unit=ProtectPersons("rider", rows=1, groups=1)) == [[2], [2]]


def test_ladders_have_every_position_of_every_group() -> None:
    ladder = asked(FRAME, PositionCounts(ColumnGrid("fare", 0.0, 10.0, 4)), keys=(HOURS,))[0]
    assert ladder == [[0, 1, 0, 0, 0], [0] * 5, [0, 0, 0, 0, 1], [0] * 5]
    assert asked(FRAME, PositionCounts(ColumnGrid("fare", 0.0, 10.0, 4)), Count()) == [[[0, 1, 0, 0, 1]], [4]]


@pytest.mark.parametrize("edges", [(0.0, 2.5, 5.0), (0.0, 0.1, 2.5, 5.0)])
def test_a_bin_holds_its_lower_edge_and_the_last_its_upper(edges: tuple[float, ...]) -> None:
    frame = pl.DataFrame({"x": [0.0, 0.0999, 0.1, 2.4999, 2.5, 5.0, 5.0001, -0.1, None]})
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.NUMBER)})
    tallies = open_rows(frame, schema).collect(Request((Count(),), ROWS, (Binned("x", edges),)))
    assert list(tallies.columns[0]) == ([4, 2] if len(edges) == 3 else [2, 2, 2])
    with pytest.raises(ParameterError, match="rising"):
        open_rows(frame, schema).collect(Request((Count(),), ROWS, (Binned("x", (1.0, 1.0)),)))


def test_many_even_bins_agree_with_their_edges() -> None:
    edges = tuple(place / 10 for place in range(-300, 301))
    frame = pl.DataFrame({"x": list(edges)})
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.NUMBER)})
    tallies = open_rows(frame, schema).collect(Request((Count(),), ROWS, (Binned("x", edges),)))
    assert list(tallies.columns[0]) == [1] * 599 + [2]


def test_sums_are_exact_beyond_64_bits() -> None:
    steps = 2**40
    frame = pl.DataFrame({"x": [1.0, 0.0, 1.0] * 400})
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.NUMBER)})
    grid = ColumnGrid("x", 0.0, 1.0, steps)
    tallies = open_rows(frame, schema).collect(Request((Total(grid, -1, 2), Total(grid, 3, 1)), ROWS))
    assert tallies.columns == [[800 * (steps + 1) ** 2 + 400], [800 * (steps - 3) - 1200]]
    with pytest.raises(ParameterError, match="128 bits"):
        open_rows(frame, schema).collect(Request((Total(ColumnGrid("x", 0.0, 1.0, 2**53), 0, 2),), ROWS))


@pytest.mark.parametrize("values", [[1e308, -1e308, 5e-324, float("nan"), float("inf"), None, 2.0]])
def test_no_double_of_a_file_can_fail(tmp_path: Path, values: list[float | None]) -> None:
    pl.DataFrame({"x": values}).write_parquet(tmp_path / "x.parquet")
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.NUMBER, bounds=(0.0, 4.0))})
    where = parse_predicate("x / x >= 1 OR x * x * x < 1 OR CAST(x AS INTEGER) = 3", schema)
    grid = ColumnGrid("x", 0.0, 4.0, 4)
    tallies = open_rows(tmp_path / "x.parquet", schema).collect(Request((Count(), Total(grid)), ROWS, (), where))
    assert tallies.columns == [[2], [2]]


def test_integers_are_read_as_the_table_door_reads_them(tmp_path: Path) -> None:
    cells = ["7", "07", "+7", "7.0", "7e0", " 7", "x", "9223372036854775807", "9223372036854775808", "-7"]
    path = tmp_path / "x.csv"
    path.write_text("x,y\n" + "".join(f"{cell},1\n" for cell in cells), encoding="utf-8")
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.INTEGER)})
    keys = (Declared("x", (7, -7, 2**63 - 1)),)
    tallies = open_rows(path, schema).collect(Request((Count(),), ROWS, keys))
    assert tallies.columns == [[3, 1, 1]]
    read = pl.Series(cells).cast(pl.Int64, strict=False)
    assert [int((read == cell).sum()) for (cell,) in tallies.cells] == tallies.columns[0]


def test_stored_numbers_declared_as_categories_and_the_reverse(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1.0, 2.5, 1.0], "b": [7, 8, 7], "c": [True, False, True], "d": ["1", "x", "2"]})
    frame.write_parquet(tmp_path / "x.parquet")
    kinds = {"a": Kind.CATEGORY, "b": Kind.CATEGORY, "c": Kind.CATEGORY, "d": Kind.INTEGER}
    schema = Schema({name: Attribute(name, Role.OTHER, kind) for name, kind in kinds.items()})
    rows = open_rows(tmp_path / "x.parquet", schema)
    keys = [Declared("a", ("1", "2.5")), Declared("b", ("7",)), Declared("c", ("true",)), Declared("d", (1, 2))]
    assert [rows.collect(Request((Count(),), ROWS, (key,))).columns[0] for key in keys] == [[2, 1], [2], [2], [1, 1]]


def test_a_date_declared_as_a_category_is_its_iso_text(data: Any) -> None:
    schema = Schema({"day": Attribute("day", Role.OTHER, Kind.CATEGORY)})
    found = open_rows(data, schema).collect(Request((Count(),), ROWS, (Unknown("day"),)))
    wanted = ["2020-01-01", "2020-01-02"]
    assert [cell for (cell,) in found.cells] in (wanted, [f"{day} 00:00:00" for day in wanted])  # pandas has no dates


def test_a_stored_type_that_contradicts_the_declared_one_is_refused() -> None:
    schema = Schema({"day": Attribute("day", Role.OTHER, Kind.INTEGER)})
    with pytest.raises(InputError, match="column 'day' holds dates"):
        open_rows(FRAME, schema).collect(Request((Count(),), ROWS, (Unknown("day"),)))
    with pytest.raises(InputError, match="has no numbers to bin"):
        asked(FRAME, Count(), keys=(Binned("zip", (0.0, 1.0)),))
    with pytest.raises(InputError, match="'zip' has no numbers"):
        asked(FRAME, Present(ColumnGrid("zip", 0.0, 1.0, 1)))
    with pytest.raises(InputError, match="'seven' is no integer"):
        asked(FRAME, Count(), keys=(Declared("hour", ("seven",)),))


def test_no_line_of_a_file_can_make_an_answer_fail(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n1,2\n1\n1,2,3\r\n1,\xff\n1,4\n")
    schema = Schema({name: Attribute(name, Role.OTHER, Kind.INTEGER) for name in ("a", "b")})
    rows = open_rows(path, schema)
    of_b = rows.collect(Request((Count(),), ROWS, (Declared("b", (2, 4)),)))
    assert of_b.columns == [[2, 1]]


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbfa,b\n1,2\n1,3\n", b"a,b\r1,2\r1,3\r", b'a\tb\r\n1\t2\n1\t""\r\n', b'"a","b"\n1,"x\ny"\n1,x"y\n\n'],
)
def test_line_ends_quotes_and_byte_marks_are_understood(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    rows = open_rows(path, Schema({name: Attribute(name, Role.OTHER, Kind.TEXT) for name in ("a", "b")}))
    assert rows.collect(Request((Count(),), ROWS, (Declared("a", ("1",)),))).columns == [[2]]
    path.write_bytes(b"\n" + content.removeprefix(b"\xef\xbb\xbf"))
    with pytest.raises(InputError, match="begins with an empty line"):
        open_rows(path, Schema())


def test_errors_carry_no_cell(tmp_path: Path) -> None:
    path = tmp_path / "secret.parquet"
    FRAME.write_parquet(path)
    rows = open_rows(path, SCHEMA)
    path.write_bytes(b"PAR1 Alice has 02139 PAR1")
    with pytest.raises(InputError) as error:
        rows.collect(Request((Count(),), ROWS, (HOURS,)))
    assert str(error.value) == UNREADABLE
    assert error.value.__context__ is None
    assert "secret" in repr(rows)
    assert "7" not in repr(rows)


def test_missing_files_and_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_rows(tmp_path / "none.csv", SCHEMA)
    (tmp_path / "empty.csv").write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match="is empty"):
        open_rows(tmp_path / "empty.csv", SCHEMA)
    with pytest.raises(InputError, match="cannot be read"):
        open_rows(tmp_path, SCHEMA)
    with pytest.raises(InputError, match="have no column 'zip'"):
        open_rows(FRAME.drop("zip"), SCHEMA)
    with pytest.raises(InputError, match="schema has no column 'hourr'; did you mean 'hour'"):
        asked(FRAME, Count(), keys=(Unknown("hourr"),))


@pytest.mark.parametrize("name", ["it's.csv", "a*b[1]?.csv", "ü.parquet", "%s {x}.csv"])
def test_odd_file_names_are_one_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "ab1c.csv").write_text(FRAME.write_csv(), encoding="utf-8")
    source = write(tmp_path, Path(name).suffix)
    assert asked(source.rename(tmp_path / name), Count()) == [[4]]


def test_a_pattern_does_not_run_longer_on_one_row() -> None:
    schema = Schema({"x": Attribute("x", Role.OTHER, Kind.TEXT)})
    rows = open_rows(pl.DataFrame({"x": ["a" * 20_000]}), schema)
    begun = time.monotonic()
    request = Request((Count(),), ROWS, (), parse_predicate(f"x LIKE '{'%a_' * 20}b'", schema))
    assert rows.collect(request).columns == [[0]]
    assert time.monotonic() - begun < 5


def test_the_engine_can_open_nothing_else(tmp_path: Path) -> None:
    other = write(tmp_path, ".csv")
    with FileRows(write(tmp_path, ".parquet"), SCHEMA).look() as scanned:
        held = (scanned, DuckRows.of_frame(FRAME, SCHEMA))
    for rows in held:
        for statement in (
            f"SELECT * FROM '{other}'",  # noqa: S608  # it must fail
            "SET enable_external_access = true",
            f"COPY (SELECT 1) TO '{other}'",
        ):
            with pytest.raises(InputError, match=UNREADABLE):
                rows._execute(statement, {})
    assert other.read_text(encoding="utf-8") == FRAME.write_csv()


def test_the_fingerprint_follows_the_content(tmp_path: Path) -> None:
    path = write(tmp_path, ".csv")
    rows = open_rows(path, SCHEMA)
    first = rows.fingerprint()
    assert rows.fingerprint() == first == open_rows(path, SCHEMA).fingerprint()
    path.write_text(FRAME.write_csv().replace("99.0", "98.0"), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert rows.fingerprint() != first
    path.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        rows.fingerprint()


def test_the_fingerprint_of_a_frame_follows_its_content() -> None:
    prints = [
        open_rows(frame, SCHEMA).fingerprint()
        for frame in (FRAME, FRAME.clone(), FRAME.with_columns(zip=pl.lit("")), FRAME.with_columns(zip=None), FRAME[:3])
    ]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def test_rows_are_called_by_their_file() -> None:
    assert table_name(Path("a") / "rides.csv.gz") == "rides"
    assert table_name(pd.DataFrame()) == "rows"


def test_ladders_of_many_groups_take_the_room_of_their_rows() -> None:
    frame = FRAME.head(1).select(pl.all().repeat_by(20_000).explode()).with_columns(zip=pl.int_range(20_000).cast(str))
    rows = open_rows(frame, SCHEMA)
    request = Request((PositionCounts(ColumnGrid("fare", 0.0, 10.0, 1000)),), ROWS, (Unknown("zip"),))
    tracemalloc.start()
    tallies = rows.collect(request)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80_000_000  # all of them side by side would be 160 MB
    ladder = tallies.columns[0][7]
    assert isinstance(ladder, np.ndarray)
    assert (ladder[250], ladder.sum(), len(tallies.columns[0])) == (1, 1, 20_000)
