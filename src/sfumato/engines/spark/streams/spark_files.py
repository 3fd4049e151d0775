"""What Spark has written into its part of a checkpoint: which micro-batches are done, and which offsets they have.

Spark logs a micro-batch's offsets before it reads them, and the micro-batch when it is done (Armbrust et al. 2018,
"Structured Streaming", section 6.1).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SPARK = "spark"


def batches_done(checkpoint: Path) -> int | None:
    """Return the number of the last micro-batch that is done; None where none is.

    >>> batches_done(Path("no-such-folder")) is None
    True
    """
    found = (checkpoint / SPARK / "commits").glob("*")
    return max((int(file.name) for file in found if file.name.isdigit()), default=None)


def kept_offsets(file: Path) -> dict[str, Any]:
    """Return the offsets of the one source of a query, from a file of Spark's logs."""
    last = file.read_text(encoding="utf-8").strip().splitlines()[-1]
    found: dict[str, Any] = json.loads(last[last.index("{") :])
    return found
