"""Real data, written as offices write them: the release and the answers are those of the tidy file."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter

from sfumato import Reading, Schema, Table, read
from sfumato.cli.main import run
from sfumato.schema.values import parse_cells

ROWS = 3000


@pytest.fixture
def house(data: Callable[[str], Path]) -> Table:
    return Table(read(data("household_power_20061216_20061230.csv")).frame.head(ROWS))


def european(frame: pl.DataFrame) -> pl.DataFrame:
    """The same table with decimal commas, days first, and NA for what is missing."""
    numbers = [name for name in frame.columns if name != "Datetime"]
    days = pl.col("Datetime").str.to_datetime("%Y-%m-%d %H:%M:%S").dt.strftime("%d.%m.%Y %H:%M")
    return frame.with_columns(pl.col(numbers).cast(pl.String).str.replace(".", ",", literal=True).fill_null("NA"), days)


def test_a_european_export_holds_the_same_numbers(house: Table, tmp_path: Path) -> None:
    text = european(house.frame).rename({"Voltage": "Spannung für Köln"}).write_csv(separator=";")
    (tmp_path / "house.csv").write_bytes(text.replace("\n", "\r\n").encode("cp1252"))
    table = read(tmp_path / "house.csv")
    assert (table.reading.delimiter, table.reading.encoding) == (";", "windows-1252")
    names = [name for name in table.names if name != "Datetime"]
    marks = Reading(decimal=",", missing=("NA",), date_format="%d.%m.%Y %H:%M")
    settled = Schema.from_roles(quasi=list(table.names)).read_as(marks).settled(table)
    for name, plain in zip(names, [name for name in house.names if name != "Datetime"], strict=True):
        cells = parse_cells(table.column(name), settled.columns[name])
        assert not cells.failed.any()
        assert cells.values.cast(pl.Float64).equals(house.column(plain).cast(pl.Float64).alias(name))
    assert str(settled.columns["Datetime"].kind) == "timestamp"


@pytest.mark.long
@pytest.mark.parametrize("form", ["utf-16", "tabs", "single quotes", "xlsx"])
def test_adult_is_released_alike_however_it_is_written(
    data: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    adult = pl.read_csv(data("adult_test.csv"), infer_schema=False).head(ROWS)
    plain = adult.write_csv()
    (tmp_path / "plain.csv").write_text(plain)
    content = {
        "utf-16": plain.encode("utf-16"),
        "tabs": adult.write_csv(separator="\t").encode(),
        "single quotes": adult.write_csv(quote_char="'", quote_style="always").encode(),
        "xlsx": workbook(adult),
    }[form]
    messy = "messy.xlsx" if form == "xlsx" else "messy.csv"
    (tmp_path / messy).write_bytes(content)
    roles = ["--quasi", "age,sex,race,education", "--sensitive", "occupation", "--other", "drop", "--k", "5"]
    for name, file in (("a", "plain.csv"), ("b", messy)):
        command = ["anonymize", file, "-o", f"{name}.parquet", *roles, "--keep-order", "--missing", "?"]
        assert run(command) == 0
    first, second = (pl.read_parquet(f"{name}.parquet") for name in "ab")
    assert first.equals(second)


def workbook(frame: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    with xlsxwriter.Workbook(content) as book:
        sheet = book.add_worksheet("adult")
        sheet.write_row(0, 0, frame.columns)
        for place, row in enumerate(frame.rows(), start=1):
            for column, cell in enumerate(row):
                if cell.isdecimal():
                    sheet.write_number(place, column, int(cell))
                else:
                    sheet.write_string(place, column, cell)
    return content.getvalue()
