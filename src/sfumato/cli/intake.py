"""The options that say how many cells may fail, and what a command tells the steward of the cells it has read."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sfumato.core.files import refuse_output, write_durably

if TYPE_CHECKING:
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
        if report is None:
            return
        sys.stderr.writelines(f"sfumato: {line} {STEWARD}\n" for line in report.lines(fate))
        if self.parse_report is not None:
            content = json_text.dumps(report.as_json(), indent=2, ensure_ascii=False) + "\n"
            write_durably(self.parse_report, content.encode())
