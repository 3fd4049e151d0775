"""The report's section on how the cells were read: missing, no value of the type, outside of what is declared.

A release is no better than the reading of its file; the steward sees both on one page (van den Burg, Nazabal & Sutton
2019, "Wrangling messy CSV files by detecting row and type patterns").
"""

from __future__ import annotations

from sfumato.report.page.markup import element, grid, join
from sfumato.report.page.page import Section
from sfumato.report.page.words import count
from sfumato.table.parse_report import CellCount, ColumnReport, ParseReport

LEAD = "Cells that are no value of their column’s type were treated as missing. Rows are numbered from 1."
HEADER = ["Column", "Type", "Cells", "Missing", "No value of the type", "Outside of what is declared"]


def intake_sections(report: ParseReport | None) -> list[Section]:
    """Return the section on how the cells were read; none where every cell was read and lies inside.

    >>> age = ColumnReport("age", "integer", 100, failed=CellCount(1, (7,)))
    >>> [section.heading for section in intake_sections(ParseReport({"age": age}))]
    ['How cells were read']
    >>> intake_sections(ParseReport({}))
    []
    """
    told = [] if report is None else [entry for entry in report.columns.values() if _matters(entry)]
    if not told:
        return []
    rows = [
        [entry.column, entry.kind, count(entry.cells), *map(_found, (entry.missing, entry.failed, entry.outside))]
        for entry in told
    ]
    return [Section("How cells were read", join([element("p", LEAD), grid("Cells by column", HEADER, rows)]))]


def _matters(entry: ColumnReport) -> bool:
    return bool(entry.missing.cells or entry.failed.cells or entry.outside.cells)


def _found(found: CellCount) -> str:
    if not found.rows:
        return count(found.cells)
    more = ", …" if found.cells > len(found.rows) else ""
    return f"{count(found.cells)} (rows {', '.join(map(count, found.rows))}{more})"
