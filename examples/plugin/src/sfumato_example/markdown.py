r"""Tables in Markdown, as GitHub draws them: a header, a line of dashes, a line for every row.

A bar inside a cell is written as \|, a backslash as \\, a line break as \n; an empty cell is a missing value.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import polars as pl

from sfumato.errors import InputError
from sfumato.table import Table
from sfumato.table.formats import Format

DASHES = re.compile(r"\|(\s*:?-+:?\s*\|)+")
WRITTEN = {"\\": "\\\\", "|": "\\|", "\n": "\\n"}
READ = {"\\": "\\", "|": "|", "n": "\n"}


class Markdown(Format):
    r"""One Markdown table in a file of its own.

    >>> Markdown().read(b"| age | sex |\n|---|---|\n| 31 | F |\n", "people.md").frame.row(0)
    ('31', 'F')
    """

    name: ClassVar = "markdown"
    endings: ClassVar = (".md",)

    def read(self, data: bytes, file: str) -> Table:
        try:
            lines = [line.strip() for line in data.decode("utf-8").splitlines() if line.strip()]
        except UnicodeDecodeError:
            raise InputError(f"file '{file}' is not a text file in UTF-8") from None
        if not lines:
            raise InputError(f"file '{file}' is empty; give a header, a line of dashes and rows")
        if len(lines) < 3 or not DASHES.fullmatch(lines[1]):
            raise InputError(f"file '{file}' holds no Markdown table; give a header, a line of dashes and rows")
        header, *rows = (_cells(line) for line in (lines[0], *lines[2:]))
        for number, row in enumerate(rows, start=1):
            if len(row) != len(header):
                raise InputError(f"file '{file}' row {number}: {len(row)} cells; wanted {len(header)}")
        columns = {name: [row[place] or None for row in rows] for place, name in enumerate(header)}
        if len(columns) < len(header) or not all(columns):
            raise InputError(f"file '{file}': a column has no name, or two have the same; name every column")
        return Table(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))

    def write(self, table: Table, path: Path) -> None:
        texts = table.frame.select(pl.all().cast(pl.String).fill_null(""))
        lines = [_line(texts.columns), "|" + "---|" * texts.width, *(_line(row) for row in texts.iter_rows())]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join("".join(WRITTEN.get(letter, letter) for letter in cell) for cell in cells) + " |"


def _cells(line: str) -> list[str]:
    """Return the cells of a line, their escapes undone."""
    cells, cell, letters = [], "", iter(line.removeprefix("|").removesuffix("|") if line.startswith("|") else line)
    for letter in letters:
        if letter == "|":
            cells.append(cell.strip())
            cell = ""
        else:
            following = next(letters, "") if letter == "\\" else letter
            cell += READ.get(following, following) if letter == "\\" else letter
    return [*cells, cell.strip()]
