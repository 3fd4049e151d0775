"""The options that say how many cells may fail, and what a command tells the steward of the cells it has read."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.cli.terminal import single_line
from sfumato.core.files import Staging, fill, refuse_output, write_durably

if TYPE_CHECKING:
    from sfumato.local.intake import SilentRows
    from sfumato.schema import Schema
    from sfumato.table import ParseReport
    from sfumato.table.parse_report import Fate

STEWARD = "(for the steward)"


@Parameter(name="*", group="Cells")
@dataclass(frozen=True, kw_only=True)
class IntakeOptions:
    """How cells that cannot be read are met.

    Attributes:
        max_failed: Share of a column's filled cells that may be no value of its type; 0.01 unless named here or in the
            schema. More are refused, fewer are treated as missing.
        parse_report: JSON file for what became of the cells, column by column; do not publish it.
    """

    max_failed: Annotated[float | None, Parameter(metavar="SHARE")] = None
    parse_report: Annotated[Path | None, Parameter(metavar="FILE")] = None

    def declared(self, schema: Schema) -> Schema:
        """Return the schema with the share that was named on the command line."""
        if self.parse_report is not None:
            refuse_output(self.parse_report, replaceable=False)
        return schema if self.max_failed is None else replace(schema, failed=self.max_failed)

    def tell(self, report: ParseReport | None, fate: Fate) -> None:
        """Print what the steward must know of the cells, and write all of it if a file is named."""
        self.say(report, fate)
        if report is not None and self.parse_report is not None:
            write_durably(self.parse_report, _as_text(report).encode())

    def tell_tables(self, reports: Mapping[str, ParseReport | None], fate: Fate) -> None:
        """The same for several tables; a file then holds a report for each, by its name."""
        if len(reports) == 1:
            self.tell(next(iter(reports.values())), fate)
            return
        for name, report in reports.items():
            lines = [] if report is None else report.lines(fate)
            sys.stderr.writelines(f"sfumato: table {name}: {single_line(line)} {STEWARD}\n" for line in lines)
        if self.parse_report is not None:
            found = {name: report.as_json() for name, report in reports.items() if report is not None}
            write_durably(self.parse_report, (json_text.dumps(found, indent=2, ensure_ascii=False) + "\n").encode())

    def say(self, report: ParseReport | None, fate: Fate) -> None:
        """Print what the steward must know of the cells."""
        lines = [] if report is None else report.lines(fate)
        sys.stderr.writelines(f"sfumato: {single_line(line)} {STEWARD}\n" for line in lines)

    def stage(self, staging: Staging, report: ParseReport | None) -> None:
        """Write what became of the cells, if a file is named; it appears with the command's other files."""
        if report is not None and self.parse_report is not None:
            fill(staging.place(self.parse_report, secret=True), _as_text(report))


def _as_text(report: ParseReport) -> str:
    return json_text.dumps(report.as_json(), indent=2, ensure_ascii=False) + "\n"


@Parameter(name="*", group="Cells")
@dataclass(frozen=True, kw_only=True)
class SilentOptions(IntakeOptions):
    """How rows that cannot be reported are met.

    Attributes:
        max_failed: Share of the rows that may have no value of the domain or within the bounds; 0.01 unless named. More
            are refused, fewer have no report. One row alone is refused only where this is named.
        parse_report: JSON file for what became of the cells; do not publish it.
    """

    def check(self) -> None:
        """Refuse a file for the parse report that exists, before anything is done."""
        if self.parse_report is not None:
            refuse_output(self.parse_report, replaceable=False)

    def tell_silent(self, others: SilentRows) -> None:
        """Print what the steward must know of the rows without a report, and write all of it if a file is named."""
        from sfumato.local.intake import IN_REPORTS

        self.tell(others.cells, IN_REPORTS)
        sys.stderr.writelines(f"sfumato: {single_line(line)} {STEWARD}\n" for line in others.lines())
