"""The command that proposes a schema file for a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def schema(table: Annotated[Path, Parameter(name="IN", allow_leading_hyphen=True)], /) -> int:
    """Propose a schema file: roles, types and bounds, with comments; bounds are marked as inferred.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input.
    """
    from sfumato.io import read
    from sfumato.propose import propose

    sys.stdout.write(propose(read(table)))
    return 0
