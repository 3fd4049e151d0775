"""One row of a benchmark: ours against a reference in the same run, as a ratio with its goal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """A measured ratio; `at_most` says on which side of the goal it must lie."""

    name: str
    ours: str
    reference: str
    ratio: float
    goal: float
    at_most: bool

    @property
    def met(self) -> bool:
        """Whether the goal is reached."""
        return self.ratio <= self.goal if self.at_most else self.ratio >= self.goal


def best(work: Callable[[], object], repeat: int = 5) -> float:
    """Return the shortest of a few runs in seconds, after one run that is not counted."""
    work()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_kib() -> int:
    """Return the most KiB this process has held; `getrusage` would count those of its parent too."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
