"""Cells that a spreadsheet would run as a formula, made harmless in text files by a `'` before them, and read back.

OWASP, "CSV Injection": a cell that begins with =, +, -, @, a tab or a line end may run a command where the file is
opened. What looks like a number, a range of numbers or a telephone number stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from sfumato.table.coded import Coded, Held
from sfumato.table.table import Table

Formulas = Literal["neutralise", "keep"]
STARTS = r"""^[\s\x{feff}\x{200b}'"]*[=+\-@＝＋－＠]|^'*[\t\r\n]"""
HARMLESS = r"^\s*(?:[+\-0-9.,:/%\s\x{a0}'’()]*|[+\-]?(?i:inf|infinity|nan))(?:[eE][+\-]?[0-9]+)?\s*$"
CUT = r"""([;|,\t\r\n])([\s"]*)('*[=@＝＠])"""  # where another delimiter than ours would begin a cell
MARKED_CUT = r"""([;|,\t\r\n])([\s"]*)'('*[=@＝＠])"""
MARK = "'"
MARKS = tuple(MARK + sign for sign in "=+-@＝＋－＠\t\r\n '\"\ufeff\u200b\xa0")
TEXTS = (pl.String, pl.Categorical, pl.Enum)


@dataclass(frozen=True)
class Neutralised:
    """A table whose cells no spreadsheet runs, and how many were changed in each column; names count as a cell."""

    frame: pl.DataFrame
    cells: Mapping[str, int]

    @property
    def columns(self) -> str:
        """The columns that were changed, in words."""
        return ", ".join(self.cells)


def neutralise_table(table: Table) -> tuple[Table, dict[str, int]]:
    """Return what `neutralise` does for a table: looked at once is each different text, where it is held so.

    >>> table, cells = neutralise_table(Table(pl.DataFrame({"note": ["=1+1", "fine"]}), delimiter=";"))
    >>> table.column("note").to_list(), cells, table.delimiter
    (["'=1+1", 'fine'], {'note': 1}, ';')
    """
    counts: dict[str, int] = {}
    columns: list[Held] = []
    for name, shown in zip(table.names, _marked(pl.Series(table.names, dtype=pl.String)), strict=True):
        column, number = _neutral(table.held(name))
        number += int(shown != name)
        if number:
            counts[name] = number
        columns.append(column.alias(shown))
    return (table.made_of(columns) if counts else table), counts


def _neutral(held: Held) -> tuple[Held, int]:
    """Return a column in which no cell is run, and how many would have been."""
    values = held.words if isinstance(held, Coded) else held
    if values.dtype not in TEXTS:
        return held, 0
    written = values.cast(pl.String)
    marked = _marked(written)
    if marked is written:
        return held, 0
    changed = (marked != written).fill_null(value=False)
    if isinstance(held, Coded):
        return Coded(marked, held.places), int(held.times[changed.to_numpy()].sum())
    return marked, int(changed.sum())


def neutralise(frame: pl.DataFrame) -> Neutralised:
    """Return a table in which a `'` stands before every cell, and every name, that a spreadsheet would run.

    >>> found = neutralise(pl.DataFrame({"note": ["=cmd()", "-5", "[-9--5]", "-cmd()", "x;=cmd()"]}))
    >>> found.frame["note"].to_list(), dict(found.cells)
    (["'=cmd()", '-5', '[-9--5]', "'-cmd()", "x;'=cmd()"], {'note': 3})
    """
    made, counts = neutralise_table(Table(frame))
    return Neutralised(made.frame, counts)


def restore(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table as it was before `neutralise`; a `'` that stands before anything else stays.

    >>> made = neutralise(pl.DataFrame({"=x": ["=cmd()", "'tis", "x;=y", None]})).frame
    >>> restore(made).to_dict(as_series=False)
    {'=x': ['=cmd()', "'tis", 'x;=y', None]}
    """
    columns = [_unmarked(column) for column in frame if column.dtype == pl.String]
    made = frame.with_columns(columns)
    made.columns = restore_names(frame.columns)
    return made


def restore_names(names: Sequence[str]) -> list[str]:
    """Return the names of columns as they were before `neutralise`.

    >>> restore_names(["'=x", "age"])
    ['=x', 'age']
    """
    found: list[str] = _unmarked(pl.Series(names, dtype=pl.String)).to_list()
    return found


def may_be_marked(data: bytes) -> bool:
    """Return whether a text may hold a cell that `neutralise` has changed; a quick look.

    >>> may_be_marked(b"a,'=b"), may_be_marked(b"a,'b")
    (True, False)
    """
    return MARK.encode() in data and any(mark.encode() in data for mark in MARKS)


def _marked(texts: pl.Series) -> pl.Series:
    """Return the texts, the very same object if none of them would be run."""
    different = texts.unique()
    if not (different.str.contains(CUT) | _run(different)).any():
        return texts
    cut = texts.str.contains(CUT)
    inner = texts.str.replace_all(CUT, "${1}${2}'${3}") if cut.any() else texts
    run = _run(inner)
    if not run.any():
        return inner
    return pl.select(pl.when(run).then(pl.lit(MARK) + inner).otherwise(inner).alias(texts.name)).to_series()


def _unmarked(texts: pl.Series) -> pl.Series:
    rest = texts.str.slice(1)
    marked = texts.str.starts_with(MARK) & _run(rest)
    outer = pl.select(pl.when(marked).then(rest).otherwise(texts).alias(texts.name)).to_series()
    return outer.str.replace_all(MARKED_CUT, "${1}${2}${3}")


def _run(texts: pl.Series) -> pl.Series:
    return texts.str.contains(STARTS) & ~texts.str.contains(HARMLESS)
