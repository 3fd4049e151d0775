"""Spreadsheets: one sheet of a workbook in, and a table out as a real workbook of texts, numbers and dates.

Office Open XML (ISO/IEC 29500) keeps every number as a double and every day as a number with a format; whole numbers
and days are told from those here. A text is written as a text, so no cell of a release is ever run as a formula.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from sfumato.errors import InputError, MissingExtraError
from sfumato.schema.reading import Reading
from sfumato.table.formats import Format
from sfumato.table.formats.delimited import refuse_bad_names
from sfumato.table.formats.unpacking import refuse_large_workbook
from sfumato.table.table import Table, plain_columns

WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
MISSING = "spreadsheets need fastexcel and xlsxwriter; pip install 'sfumato[excel]'"
MOST_ROWS = 1_048_575
EXACT = 2**53  # up to here every integer is a double
NO_DAY = dt.date(1899, 12, 31)  # what a time of day without a day is kept as
MADE = dt.datetime(2000, 1, 1)  # noqa: DTZ001  # so that equal tables give equal files
DAY, MOMENT, HOUR = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss", "hh:mm:ss"


class XLSX(Format):
    r"""A workbook of Excel; one of its sheets holds the table, its names in the first row.

    >>> XLSX().claims(b"PK\x03\x04"), XLSX().endings
    (True, ('.xlsx',))
    """

    name: ClassVar = "xlsx"
    endings: ClassVar = (".xlsx",)

    def claims(self, start: bytes) -> bool:
        return start[:4] in WORKBOOKS

    def read(self, data: bytes, file: str) -> Table:
        return self.read_as(data, file, Reading())

    def read_as(self, data: bytes, file: str, reading: Reading) -> Table:
        book = _open(data, file)
        sheet, guesses = _choose_sheet(book, file, reading.sheet)
        names = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars().row(0)
        header = [name or "" for name in names]
        refuse_bad_names(header, file)
        frame = book.load_sheet(sheet, schema_sample_rows=None, skip_whitespace_tail_rows=True).to_polars()
        frame.columns = header
        typed = frame.select(_as_typed(column) for column in frame)
        return Table(plain_columns(typed), reading=replace(reading, sheet=sheet), guesses=guesses)

    def write(self, table: Table, path: Path) -> None:
        if table.rows > MOST_ROWS:
            raise InputError(f"a spreadsheet holds {MOST_ROWS} rows and the table has {table.rows}; write .csv instead")
        book = _new_book(path)
        sheet = book.add_worksheet("table")
        for place, name in enumerate(table.names):
            sheet.write_string(0, place, name)
        writers = [_cell_writer(column.dtype, book, sheet) for column in table.frame]
        for row, cells in enumerate(table.frame.iter_rows(), start=1):
            for place, cell in enumerate(cells):
                if cell is not None:
                    writers[place](row, place, cell)
        book.close()


def _open(data: bytes, file: str) -> Any:
    try:
        import fastexcel
    except ImportError as error:
        raise MissingExtraError(MISSING) from error
    refuse_large_workbook(data, file)
    logging.getLogger("fastexcel").setLevel(logging.ERROR)  # an empty column is a text, without a word
    try:
        return fastexcel.read_excel(data)
    except fastexcel.FastExcelError:
        raise InputError(f"file '{file}' begins like a spreadsheet and cannot be read as one; save it again") from None


def _choose_sheet(book: Any, file: str, wanted: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the sheet to read, and what is said about it; of several that hold something one must be named."""
    every = book.sheet_names
    listed = ", ".join(f"'{name}'" for name in every)
    if wanted is not None:
        if wanted not in every:
            raise InputError(f"file '{file}' has no sheet '{wanted}'; there are {listed}")
        return wanted, ()
    filled = [name for name in every if book.load_sheet(name, header_row=None, n_rows=1).width]
    if not filled:
        raise InputError(f"file '{file}' is empty; give a header line and rows")
    if len(filled) > 1:
        several = ", ".join(f"'{name}'" for name in filled)
        raise InputError(f"file '{file}' has several sheets that hold something, {several}; name one of them")
    said = () if len(every) == 1 else (f"sheet '{filled[0]}' (the only one of {len(every)} that holds something)",)
    return filled[0], said


def _as_typed(column: pl.Series) -> pl.Series:
    """Return a column with the type that its cells show: whole numbers, days, times of day."""
    if column.dtype.is_float() and column.null_count() < len(column):
        present = column.drop_nulls()
        whole = present.is_finite().all() and (present == present.round()).all() and (present.abs() <= EXACT).all()
        return column.cast(pl.Int64) if whole else column
    if column.dtype == pl.Datetime:
        moments = column.cast(pl.Datetime("us"))
        if (moments.dt.date() == NO_DAY).all():
            return moments.dt.time()
        return moments.dt.date() if (moments == moments.dt.truncate("1d")).all() else moments
    return column


def _new_book(path: Path) -> Any:
    try:
        import xlsxwriter
    except ImportError as error:
        raise MissingExtraError(MISSING) from error
    book = xlsxwriter.Workbook(str(path), {"constant_memory": True})
    book.set_properties({"created": MADE})
    return book


def _cell_writer(dtype: pl.DataType, book: Any, sheet: Any) -> Callable[[int, int, Any], object]:
    """Return what writes a cell of a type; what a spreadsheet cannot hold exactly is written as a text."""
    if dtype == pl.Boolean:
        writer: Callable[[int, int, Any], object] = sheet.write_boolean
        return writer
    if dtype.is_numeric() or dtype.is_decimal():
        return lambda row, place, cell: (
            sheet.write_number(row, place, cell) if _is_exact(cell) else sheet.write_string(row, place, str(cell))
        )
    dated = dtype in (pl.Date, pl.Time) or (dtype == pl.Datetime and getattr(dtype, "time_zone", None) is None)
    if dated:
        shown = book.add_format({"num_format": DAY if dtype == pl.Date else HOUR if dtype == pl.Time else MOMENT})
        return lambda row, place, cell: (
            sheet.write_datetime(row, place, cell, shown)
            if isinstance(cell, dt.time) or cell.year > 1900  # the year with which its days begin
            else sheet.write_string(row, place, cell.isoformat())
        )
    return lambda row, place, cell: sheet.write_string(row, place, str(cell))


def _is_exact(number: Any) -> bool:
    double = float(number)
    return double == number and abs(double) != float("inf")
