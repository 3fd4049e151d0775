"""One row of a benchmark: ours against a reference in the same run, as a ratio with its goal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


class NotMeasuredError(Exception):
    """Something that a row needs is not there; the text is the reason in one line."""


@dataclass(frozen=True)
class Row:
    """A measured ratio; `at_most` says on which side of the goal it must lie.

    A row without a ratio could not be measured, and its reference says why.
    """

    name: str
    ours: str
    reference: str
    ratio: float | None
    goal: float | None
    at_most: bool

    @classmethod
    def missing(cls, name: str, reason: str) -> Row:
        """Return the row of something that could not be measured."""
        return cls(name, "", f"not measured: {reason}", None, None, at_most=False)

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None where nothing was measured."""
        if self.ratio is None or self.goal is None:
            return None
        return self.ratio <= self.goal if self.at_most else self.ratio >= self.goal


@dataclass(frozen=True)
class Part:
    """What is measured together: its title, shown while it runs, and the function that returns its rows."""

    title: str
    rows: Callable[[], Iterable[Row]]


def data_folder() -> Path:
    """Return the folder of the real data sets."""
    if "SFUMATO_DATA" not in os.environ:
        raise NotMeasuredError("real data are needed, and SFUMATO_DATA names no folder")
    return Path(os.environ["SFUMATO_DATA"])


def once(work: Callable[[], object]) -> float:
    """Return the seconds of a single run, for what takes long."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(work: Callable[[], object], repeat: int = 5) -> float:
    """Return the shortest of a few runs in seconds, after one run that is not counted."""
    work()
    return min(once(work) for _ in range(repeat))


def within(name: str, seconds: float, limit: float) -> Row:
    """Return a row against a limit in seconds."""
    return Row(name, f"{seconds:.2f} s", f"limit, {limit:g} s", seconds / limit, 1, at_most=True)


def peak_kib() -> int:
    """Return the most KiB this process has held; `getrusage` would count those of its parent too."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
