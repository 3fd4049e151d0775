"""An axis of numbers, dates or times: where a value lies, and few round ticks whose labels do not touch.

Steps of 1, 2 and 5 times powers of ten for numbers, whole months and years for dates (Heckbert 1990, "Nice numbers for
graph labels").
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfumato.report.page.words import count

LETTER = 6.3  # pixels of an average letter at the size of tick labels
GAP = 12  # pixels between two labels
DAY = 86_400
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - public times have no zone
MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)
SECONDS = (60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY, 2 * DAY, 5 * DAY, 10 * DAY)
Value = int | float | str | None


@dataclass(frozen=True)
class Axis:
    """Values between `low` and `high`, drawn from one pixel to another; times count in seconds since 1970.

    >>> axis = Axis(0.0, 100.0, 50.0, 250.0)
    >>> axis.at(50), axis.ticks()
    (150.0, [(0.0, '0'), (20.0, '20'), (40.0, '40'), (60.0, '60'), (80.0, '80'), (100.0, '100')])
    """

    low: float
    high: float
    start: float
    end: float
    times: bool = False

    @classmethod
    def over(cls, numbers: Iterable[float], start: float, end: float, *, times: bool, zero: bool = True) -> Axis:
        """Return the axis that shows all numbers, and 0 unless they are times or it is not wanted."""
        found = [*numbers, *([0.0] if zero and not times else [])] or [0.0]
        low, high = min(found), max(found)
        room = 0.04 * (high - low)
        below, above = (room if times or not zero or end < 0 else 0.0 for end in (low, -high))
        return cls(low - below, high + above if high > low else low + 1.0, start, end, times)

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def ticks(self, *, upright: bool = False) -> list[tuple[float, str]]:
        """Return as many round values as their labels leave room for; `upright` where labels stand above each other."""
        for most in range(6, 1, -1):
            found = self._time_ticks(most) if self.times else self._number_ticks(most)
            taken = len(found) * 24 if upright else sum(len(label) * LETTER + GAP for _, label in found)
            if taken <= abs(self.end - self.start) + GAP:
                return found
        return found[:1]

    def _number_ticks(self, most: int) -> list[tuple[float, str]]:
        step = _nice_step((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(place * step, number_words(place * step, step)) for place in range(first, last + 1)]

    def _time_ticks(self, most: int) -> list[tuple[float, str]]:
        if self.high - self.low > 60 * DAY:
            return self._month_ticks(most)
        step = next((each for each in SECONDS if (self.high - self.low) / each <= most), SECONDS[-1])
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        form = "%Y-%m-%d" if step >= DAY else "%m-%d %H:%M"
        return [(place * step, _time(place * step).strftime(form)) for place in range(first, last + 1)]

    def _month_ticks(self, most: int) -> list[tuple[float, str]]:
        first, last = (12 * moment.year + moment.month - 1 for moment in (_time(self.low), _time(self.high)))
        step = next((each for each in MONTHS if (last - first) / each <= most), MONTHS[-1])
        months = range(-(-first // step) * step, last + 1, step)
        starts = [dt.datetime(month // 12, month % 12 + 1, 1) for month in months]  # noqa: DTZ001 - as EPOCH
        form = "%Y" if step % 12 == 0 else "%Y-%m"
        found = [((start - EPOCH).total_seconds(), start.strftime(form)) for start in starts]
        return [tick for tick in found if tick[0] >= self.low]


def number_of(value: Value) -> float | None:
    """Return a published value as a number: seconds since 1970 of a date or time, None where it is no such thing.

    >>> number_of("1970-01-02"), number_of(3), number_of("flu")
    (86400.0, 3.0, None)
    """
    if isinstance(value, str):
        try:
            return (dt.datetime.fromisoformat(value) - EPOCH).total_seconds()
        except (ValueError, TypeError):
            return None
    return None if value is None or not math.isfinite(value) else float(value)


def are_times(values: Sequence[Value]) -> bool:
    """Return whether published values are dates or times.

    >>> are_times(["2025-01-01"]), are_times(["flu"]), are_times([3])
    (True, False, False)
    """
    return bool(values) and all(isinstance(value, str) and number_of(value) is not None for value in values)


def number_words(value: float, step: float = 0.0) -> str:
    """Return a number as an axis or a tooltip shows it.

    >>> number_words(12000), number_words(0.30000000000000004, 0.1), number_words(2.5e9)
    ('12,000', '0.3', '2.5e+09')
    """
    if abs(value) >= 1e7:
        return f"{value:.3g}"
    if float(value).is_integer():
        return count(int(value))
    digits = max(0, -math.floor(math.log10(step))) if step else 4
    return f"{value:,.{digits}f}" if step else f"{value:,.{digits}g}"


def _nice_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least this."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(lead * power for lead in (1, 2, 5, 10) if lead * power >= least * (1 - 1e-9))


def _time(seconds: float) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=seconds)
