"""What Spark counted of a job, from its event log: bytes shuffled, spilled and sent to every executor.

Beside it, from Java's own log, the memory that was still in use after each time it was tidied up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BROADCAST, SIZE = "BroadcastExchange", "data size"


def counted(folder: Path) -> dict[str, int]:
    """Return the bytes of all tasks in the event logs of a folder, and the bytes of the largest broadcast."""
    found = {"shuffle_bytes": 0, "spilled_bytes": 0, "broadcast_bytes": 0}
    sizes: set[int] = set()
    for event in _events(folder):
        metrics = event.get("Task Metrics") or {}
        found["shuffle_bytes"] += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
        found["spilled_bytes"] += metrics.get("Disk Bytes Spilled", 0)
        sizes.update(_broadcasts(event.get("sparkPlanInfo") or {}))
        for number, value in event.get("accumUpdates", []):
            if number in sizes:
                found["broadcast_bytes"] = max(found["broadcast_bytes"], value)
    return found


def most_kept(log: Path) -> int:
    """Return the most MiB that were in use after a collection of garbage; what lay about before is no measure.

    With a heap that may grow, the memory that a process holds tells when Java tidied up, not what it needed.
    """
    left = [
        int(after) for after in re.findall(r"Pause (?:Young|Full).* \d+M->(\d+)M\(", log.read_text(encoding="utf-8"))
    ]
    return max(left, default=0)


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of all logs, one after the other."""
    for log in sorted(folder.rglob("*")):
        if log.is_file() and log.name[0] != "." and not log.name.startswith("appstatus"):  # marks and checksums
            with log.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)


def _broadcasts(plan: dict[str, Any]) -> Iterator[int]:
    """Yield the numbers under which the broadcasts of a plan tell their sizes."""
    if plan.get("nodeName") == BROADCAST:
        yield from (metric["accumulatorId"] for metric in plan["metrics"] if metric["name"] == SIZE)
    for child in plan.get("children", []):
        yield from _broadcasts(child)
