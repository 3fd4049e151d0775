"""Spreadsheets in and out: sheets are chosen by name, codes stay codes, and what leaves is a real workbook."""

from __future__ import annotations

import builtins
import datetime as dt
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fastexcel
import polars as pl
import pytest
import xlsxwriter

from sfumato import Reading, read
from sfumato.cli.main import run
from sfumato.errors import InputError, MissingExtraError
from sfumato.table.io import write

Sheets = dict[str, Sequence[Sequence[Any]]]
PEOPLE: list[list[Any]] = [
    ["zip", "age", "smokes", "born"],
    *([f"0213{row % 3}", 30 + row % 4, row % 2 == 0, dt.date(1990, 1, 1 + row)] for row in range(12)),
]


@pytest.fixture
def give(tmp_path: Path) -> Callable[[Sheets], Path]:
    """Return a function that writes a workbook of sheets and returns its path."""

    def put(sheets: Sheets) -> Path:
        path = tmp_path / "in.xlsx"
        with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as book:
            for name, rows in sheets.items():
                sheet = book.add_worksheet(name)
                for place, row in enumerate(rows):
                    sheet.write_row(place, 0, row)
        return path

    return put


def test_cells_keep_their_types_and_codes_stay_text(give: Callable[[Sheets], Path]) -> None:
    rows: list[list[Any]] = [
        ["zip", "age", "cost", "smokes", "born", "seen", "woke", "mixed", "empty"],
        ["02139", 31, 1.5, True, dt.date(1990, 5, 1), dt.datetime(2026, 1, 1, 8, 30), dt.time(6, 15), 5, None],
        ["10115", 47, 2, False, None, None, dt.time(7, 0), "old", None],
    ]
    table = read(give({"people": rows}))
    assert table.frame.rows() == [(*rows[1][:7], "5", None), (*rows[2][:7], "old", None)]
    kinds = [pl.String, pl.Int64, pl.Float64, pl.Boolean, pl.Date, pl.Datetime("us"), pl.Time, pl.String, pl.String]
    assert list(table.frame.schema.values()) == kinds
    assert (table.guesses, table.reading.sheet) == ((), "people")


def test_a_sheet_is_named_or_the_only_one(give: Callable[[Sheets], Path]) -> None:
    assert read(give({"a": PEOPLE, "b": [["x"], [1]]}), reading=Reading(sheet="b")).names == ("x",)
    with pytest.raises(InputError, match="has several sheets that hold something, 'a', 'b'; name one of them"):
        read(give({"a": PEOPLE, "b": [["x"], [1]], "c": []}))
    with pytest.raises(InputError, match="has no sheet 'B'; there are 'a', 'b'"):
        read(give({"a": PEOPLE, "b": []}), reading=Reading(sheet="B"))
    table = read(give({"notes": [], "people": PEOPLE}))
    assert table.guesses == ("sheet 'people' (the only one of 2 that holds something)",)


@pytest.mark.parametrize(
    "rows, sentence",
    [
        ([], "is empty"),
        ([["age", "age"], [1, 2]], "two columns are called 'age'"),
        ([["age", None, "sex"], [1, 2, "F"]], "column 2 has no name"),
        ([["age", "sex"]], "has a header and no rows"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused(
    give: Callable[[Sheets], Path], rows: Sequence[Sequence[Any]], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        read(give({"one": rows}))


def test_a_file_that_only_begins_like_a_spreadsheet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.xlsx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InputError, match=r"begins like a spreadsheet and cannot be read as one"):
        read(tmp_path / "in.xlsx")


def test_the_command_line_reads_and_writes_workbooks(
    give: Callable[[Sheets], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    give({"notes": [["x"], [1]], "people": PEOPLE})
    roles = ["--quasi", "age,zip", "--other", "keep", "--k", "2"]
    assert run(["anonymize", "in.xlsx", "-o", "out.xlsx", *roles]) == 2
    assert "several sheets" in capsys.readouterr().err
    assert run(["anonymize", "in.xlsx", "--sheet", "people", "-o", "out.xlsx", *roles]) == 0
    assert (tmp_path / "out.xlsx").read_bytes()[:2] == b"PK"
    found = fastexcel.read_excel(tmp_path / "out.xlsx").load_sheet(0).to_polars()
    assert found.schema["smokes"] == pl.Boolean
    assert sorted(found["born"].dt.date()) == [row[3] for row in PEOPLE[1:]]
    assert found.schema["zip"] == pl.String
    assert run(["check", "out.xlsx", "--quasi", "age,zip", "--require", "k=2"]) == 0


def test_texts_that_look_like_formulas_stay_texts_and_files_are_alike(tmp_path: Path) -> None:
    odd = pl.DataFrame(
        {
            "a": ["=1+1", "@x", "https://x.org"],
            "big": [2**60 + 1, -5, None],
            "real": [float("inf"), 0.1, 1e300],
            "old": [dt.date(1850, 1, 1), dt.date(2020, 1, 1), None],
        }
    )
    write(odd, tmp_path / "a.xlsx")
    write(odd, tmp_path / "b.xlsx")
    found = read(tmp_path / "a.xlsx").frame
    assert found["a"].to_list() == odd["a"].to_list()
    assert found["big"].to_list() == [str(2**60 + 1), "-5", None]
    assert found["real"].to_list()[0] == "inf"
    assert found["old"][0] == "1850-01-01"
    hashes = {hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("a.xlsx", "b.xlsx")}
    assert len(hashes) == 1


def test_without_the_extra_one_sentence_names_it(
    give: Callable[[Sheets], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, there = give({"people": PEOPLE}), builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name in {"fastexcel", "xlsxwriter"}:
            raise ImportError(name)
        return there(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[excel\]'"):
        read(path)
    with pytest.raises(MissingExtraError, match=r"pip install 'sfumato\[excel\]'"):
        write(pl.DataFrame({"a": [1]}), tmp_path / "out.xlsx")
