"""The declared edges of windows in time: where the first begins, how long each lasts, where the last ends if one does.

Which window a time belongs to depends on that time and on public numbers alone, so that no record moves another one
(event time, Akidau et al. 2015).
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.parameters import Optional, Real, Validated
from sfumato.errors import ParameterError
from sfumato.stream.base import Integers, Numbers

FIRST, LAST = -62135596800.0, 253402300799.0  # the years 1 to 9999, which ISO 8601 can write
MOST_AT_ONCE = 100_000
MOMENT = Real(FIRST, LAST)
EXACT = 1e-9  # how near to a whole number of windows a span must be to be one
ENDLESS = 2**53
OUTSIDE = -1


@dataclass(frozen=True)
class WindowEdges(Validated):
    """Windows of `every` seconds from `start` on, up to `until` or without an end; the last one may be shorter.

    Times are seconds since 1970. A window holds the times from its start on and before its end.

    >>> days = WindowEdges(start=0.0, every=86400.0, until=3 * 86400.0)
    >>> days.count, days.places(np.array([-1.0, 0.0, 90000.0, 300000.0, np.nan])).tolist()
    (3, [-1, 0, 1, -1, -1])
    >>> days.start_of(2), days.ended(np.array([100000.0])).tolist(), days.begun(np.array([100000.0])).tolist()
    ('1970-01-03T00:00:00Z', [1], [2])
    """

    start: float
    every: float
    until: float | None = None

    RULES: ClassVar = {"start": MOMENT, "every": Real(0, above=True), "until": Optional(MOMENT)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.until is not None and self.until <= self.start:
            raise ParameterError(
                f"windows end at {iso(self.until)} and begin at {iso(self.start)}; give an end behind the start"
            )

    @property
    def count(self) -> int:
        """How many windows there are; a very large number where they have no end."""
        if self.until is None:
            return ENDLESS
        ratio = (self.until - self.start) / self.every
        near = round(ratio)
        return max(1, near if abs(ratio - near) <= EXACT * near else math.ceil(ratio))

    def places(self, times: Numbers) -> Integers:
        """Return the number of each time's window, -1 for a time that lies in none or is NaN."""
        inside = times >= self.start  # NaN is not
        inside &= times < (LAST if self.until is None else self.until)
        numbers = np.floor((np.where(inside, times, self.start) - self.start) / self.every)
        return np.where(inside, np.minimum(numbers, self.count - 1), OUTSIDE).astype(np.int64)

    def ended(self, moments: Numbers) -> Integers:
        """Return how many windows have ended at each moment."""
        numbers = np.clip(np.floor((moments - self.start) / self.every), 0, self.count).astype(np.int64)
        return numbers if self.until is None else np.where(moments >= self.until, self.count, numbers)

    def begun(self, moments: Numbers) -> Integers:
        """Return how many windows have begun at each moment."""
        return np.where(moments < self.start, 0, np.minimum(self.ended(moments) + 1, self.count))

    def start_of(self, number: int) -> str:
        """Return when a window begins, as ISO 8601 in UTC."""
        return iso(self.start + number * self.every)

    def end_of(self, number: int) -> str:
        """Return when a window ends, as ISO 8601 in UTC; the last one may be shorter.

        >>> WindowEdges(start=0.0, every=60.0, until=90.0).end_of(1)
        '1970-01-01T00:01:30Z'
        """
        return iso(min(self.start + (number + 1) * self.every, math.inf if self.until is None else self.until))


def iso(moment: float) -> str:
    """Return a moment in seconds since 1970 as ISO 8601 in UTC.

    >>> iso(1472688000.0), iso(0.25)
    ('2016-09-01T00:00:00Z', '1970-01-01T00:00:00.250000Z')
    """
    written = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=moment)
    return written.isoformat().replace("+00:00", "Z")
