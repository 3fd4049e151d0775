"""Tumbling windows over arrivals: records wait until a window is full; rows leave with their window's number.

Windows hold disjoint records, so what a window costs the whole stream costs (parallel composition, McSherry 2009).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.stream.base import Integers, Numbers, Published


class Tumbling:
    """The records that wait for their window, and the numbers of the rows and windows that have left.

    >>> windows = Tumbling(2)
    >>> windows.one(1.0), windows.one(2.0).tolist()
    (None, [1.0, 2.0])
    >>> windows.many(np.array([3.0, 4.0, 5.0])).tolist(), windows.rest().tolist()
    ([[3.0, 4.0]], [5.0])
    """

    def __init__(self, size: int, *, linked: bool = False) -> None:
        self.size = size
        self.nothing = Published.empty(linked=linked)
        self.waiting: list[float] = []
        self.seq = self.group = 0
        self._linked = linked

    def one(self, record: float) -> Numbers | None:
        """The full window that a record completes, or None."""
        self.waiting.append(float(record))
        return self.rest() if len(self.waiting) == self.size else None

    def many(self, batch: Numbers) -> Numbers:
        """The full windows that the records of a batch complete, one in a row."""
        values = np.asarray(batch, dtype=np.float64).reshape(-1)
        if self.waiting:
            values = np.concatenate([self.rest(), values])
        full = len(values) // self.size * self.size
        self.waiting = values[full:].tolist()
        return np.ascontiguousarray(values[:full]).reshape(-1, self.size)

    def rest(self) -> Numbers:
        """The records that wait, which wait no longer."""
        values = np.array(self.waiting, dtype=np.float64)
        self.waiting = []
        return values

    def published(self, windows: Sequence[Numbers] | Numbers) -> Published:
        """The rows of windows that leave now, one window after the other."""
        if len(windows) == 0:
            return self.nothing
        sizes: Integers = np.array([len(window) for window in windows], dtype=np.int64)
        group = np.repeat(np.arange(self.group, self.group + len(sizes)), sizes)
        seq = np.arange(self.seq, self.seq + len(group))
        self.seq += len(group)
        self.group += len(sizes)
        values = windows.reshape(-1) if isinstance(windows, np.ndarray) else np.concatenate(windows)
        return Published(values, group, np.repeat(sizes, sizes), seq, seq if self._linked else None)

    def plain(self) -> dict[str, int]:
        """The counters, as they stand in a state."""
        return {"seq": self.seq, "group": self.group}

    def held(self) -> Numbers:
        """The records that wait, as they stand in a state."""
        return np.array(self.waiting, dtype=np.float64)

    def restore(self, waiting: Numbers, seq: int, group: int) -> None:
        """Go on with these."""
        self.waiting, self.seq, self.group = waiting.tolist(), seq, group
