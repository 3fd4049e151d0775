"""Tumbling windows over arrivals: records wait until a window is full; rows leave with their window's number.

Windows hold disjoint records, so what a window costs the whole stream costs (parallel composition, McSherry 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.stream.base import Integers, Numbers, Published


class Tumbling:
    """The records that wait for their window, and the numbers of the rows and windows that have left.

    `width` is the number of attributes of a record, 0 for plain numbers.

    >>> windows = Tumbling(2)
    >>> windows.one(1.0), windows.one(2.0).tolist()
    (None, [1.0, 2.0])
    >>> windows.many(np.array([3.0, 4.0, 5.0])).tolist(), windows.rest().tolist()
    ([[3.0, 4.0]], [5.0])
    """

    def __init__(self, size: int, *, width: int = 0, linked: bool = False) -> None:
        self.size = size
        self.nothing = Published.empty(width, linked=linked)
        self.waiting: list[Any] = []
        self.seq = self.group = 0
        self._shape = (width,) if width else ()
        self._linked = linked

    def one(self, record: Any) -> Numbers | None:
        """The full window that a record completes, or None."""
        self.waiting.append(tuple(map(float, record)) if self._shape else float(record))
        return self.rest() if len(self.waiting) == self.size else None

    def many(self, batch: Any) -> Numbers:
        """The full windows that the records of a batch complete, one behind the other."""
        values = np.asarray(batch, dtype=np.float64).reshape(-1, *self._shape)
        if self.waiting:
            values = np.concatenate([self.rest(), values])
        full = len(values) // self.size
        self.waiting = values[full * self.size :].tolist()
        return np.ascontiguousarray(values[: full * self.size]).reshape(full, self.size, *self._shape)

    def rest(self) -> Numbers:
        """The records that wait, which wait no longer."""
        values = self.held()
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
        values = np.concatenate(list(windows))
        return Published(values, group, np.repeat(sizes, sizes), seq, seq if self._linked else None)

    def plain(self) -> dict[str, int]:
        """The counters, as they stand in a state."""
        return {"seq": self.seq, "group": self.group}

    def held(self) -> Numbers:
        """The records that wait, as they stand in a state."""
        return np.array(self.waiting, dtype=np.float64).reshape(-1, *self._shape)

    def restore(self, waiting: Numbers, seq: int, group: int) -> None:
        """Go on with these."""
        self.waiting, self.seq, self.group = waiting.tolist(), seq, group
