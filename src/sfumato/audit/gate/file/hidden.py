"""What a file carries beside its rows: columns that the card does not name, comments, authors, other metadata.

Spreadsheets name their author (ECMA-376, core properties), Parquet keeps keys that a writer added, a CSV may begin with
comments; all of it leaves with the rows.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import polars as pl

from sfumato.audit.gate.file.passed import told
from sfumato.release import Card, Finding
from sfumato.table import Table

SCHEMA_KEYS = frozenset({"ARROW:schema"})
PROPERTIES = re.compile(r"<(?:dc:creator|cp:lastModifiedBy|dc:title|dc:description|dc:subject)>([^<]+)<")
HEAD = 4096


def hidden_findings(card: Card, table: Table, path: Path) -> list[Finding]:
    """Return whether the file carries more than the rows that the card tells of."""
    named = {column.name for column in card.released.columns}
    more = [name for name in table.names if name not in named]
    reason = f"columns that the card does not name: {', '.join(more)}" if more else None
    columns = told("the file has no column that the card does not name", reason, {"columns": more}, "drop them")
    carried = _carried(path)
    reason = f"the file carries {', '.join(carried)}" if carried else None
    return [columns, told("the file carries nothing beside its rows", reason, {"found": carried}, "write it again")]


def _carried(path: Path) -> list[str]:
    """Return what a file carries beside its rows, in words."""
    if not path.is_file():
        return []
    if path.suffix == ".parquet":
        return [f"the key '{key}'" for key in pl.read_parquet_metadata(path) if key not in SCHEMA_KEYS]
    if path.suffix == ".xlsx" and zipfile.is_zipfile(path):
        return _properties(path)
    if path.suffix in {".csv", ".tsv", ".txt"}:
        with path.open("rb") as file:
            head = file.read(HEAD).decode("utf-8", errors="replace")
        return ["a comment"] if head.lstrip("\ufeff").startswith("#") else []
    return []


def _properties(path: Path) -> list[str]:
    """Return the properties of a spreadsheet that somebody filled in, and its comments."""
    with zipfile.ZipFile(path) as parts:
        names = parts.namelist()
        core = parts.read("docProps/core.xml").decode("utf-8", "replace") if "docProps/core.xml" in names else ""
    found = [f"the property '{text}'" for text in PROPERTIES.findall(core)]
    return [*found, *("comments" for name in names if "comments" in name.lower())]
