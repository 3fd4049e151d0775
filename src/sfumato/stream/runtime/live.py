"""One line on a terminal that says how a stream is doing; nothing at all where nobody looks.

It is written over in place a few times a second, and shows what is public: records come, groups left, records held, ε.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TextIO

REFRESH = 0.25


@dataclass(frozen=True)
class Progress:
    """How far a stream has come.

    >>> Progress(records=10, rows=8, groups=2, held=2).held
    2
    """

    records: int
    rows: int
    groups: int
    held: int


class Live:
    """Draws the line; `epsilon` is shown where the publisher promises one.

    >>> import io
    >>> line = Live(1.0, io.StringIO())
    >>> line(Progress(records=10, rows=8, groups=2, held=2))
    >>> line.close()
    """

    def __init__(self, epsilon: float | None, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty()
        self._promise = "" if epsilon is None else f"  ε {epsilon:g}"
        self._start: tuple[float, int] | None = None
        self._last, self._width = 0.0, 0

    def __call__(self, progress: Progress) -> None:
        """Show how far the stream has come, unless the line is a moment old."""
        now = time.monotonic()
        if not self._shown or now - self._last < REFRESH:
            return
        if self._start is None:
            self._start = now, progress.records
        since, before = self._start
        rate = (progress.records - before) / (now - since) if now > since else 0.0
        self._last = now
        self._draw(
            f"{progress.records:,} records  {rate:,.0f}/s  {progress.groups:,} groups  {progress.held:,} held"
            f"{self._promise}"
        )

    def close(self) -> None:
        """Take the line away."""
        if self._width:
            self._draw("")
            self._stream.write("\r")
            self._stream.flush()

    def _draw(self, text: str) -> None:
        self._stream.write(f"\r{text:<{self._width}}")
        self._stream.flush()
        self._width = len(text)
