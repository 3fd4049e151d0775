"""When records come and how long things last: times as seconds, from a column or from the clock on the wall.

A time is a number of seconds since 1970 or an ISO 8601 text, in UTC unless it says otherwise; a record's own time is
event time, the moment it is read processing time (Akidau et al. 2015).
"""

from __future__ import annotations

import datetime as dt
import math
import re
import time
from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.stream.base import Numbers
from sfumato.stream.publishers.castle.columns import encode_persons
from sfumato.stream.runtime.batch import Batch, Texts, WantedColumns, number
from sfumato.stream.screens.base import NumberScreen, OnBad, Screened, text_flags

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def duration(text: str, *, zero: bool = False) -> float:
    """Return the seconds of a duration such as `10s`, `5m`, `2h`, `30d` or `1w`; `zero` says that 0s is one.

    >>> duration("30d"), duration("0.5s"), duration("0s", zero=True)
    (2592000.0, 0.5, 0.0)
    >>> duration("soon")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the duration 'soon' is not of the form 10s, 5m, 2h, 30d or 1w
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    if found is None or not (float(found[1]) > 0 or zero):
        raise ParameterError(f"the duration '{text}' is not of the form 10s, 5m, 2h, 30d or 1w")
    return float(found[1]) * UNITS[found[2]]


def seconds(text: str | None) -> float:
    """Return the seconds since 1970 that a text tells, NaN where it tells none.

    >>> seconds("2016-09-01"), seconds("2016-09-01T00:00:10Z"), seconds("12.5"), seconds("yesterday")
    (1472688000.0, 1472688010.0, 12.5, nan)
    """
    if text is None:
        return math.nan
    plain = number(text)
    if not math.isnan(plain):
        return plain
    try:
        moment = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        return math.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()


@dataclass(frozen=True)
class MarkedScreen:
    """Screens one number column and adds to each record who it is of and when it came, as publishers take them.

    `time` names the column of event times; without it, `timed` takes the moment at which a record is read. `arrives`
    adds that moment behind the time.

    >>> screen = MarkedScreen(NumberScreen({"hours": (0.0, 10.0)}), time="day")
    >>> screen(Batch(1, {"hours": np.array([4.0])}, {"day": ["1970-01-02"]}), 0).values.tolist()
    [[4.0, 86400.0]]
    """

    inner: NumberScreen
    person: str | None = None
    time: str | None = None
    timed: bool = True
    arrives: bool = False

    @property
    def on_bad(self) -> OnBad:
        """What becomes of bad records."""
        return self.inner.on_bad

    @property
    def wanted(self) -> WantedColumns:
        """The columns to read."""
        texts = tuple(name for name in (self.person, self.time) if name is not None)
        return WantedColumns(self.inner.wanted.numbers, texts, self.inner.marks)

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that rows leave under."""
        return self.inner.released

    def __call__(self, batch: Batch, first: int) -> Screened:
        """Return values, persons and times of a batch, one row for each record."""
        now, screened = np.full(batch.count, time.time()), self.inner(batch, first)
        parts, cells, persons = [screened.values], dict(screened.cells), None
        if self.person is not None:
            persons = self._persons(batch.texts[self.person])
            parts.append(persons)
            cells[self.person] = text_flags(batch, self.person, np.zeros(batch.count, dtype=np.bool_))
        if self.timed:
            times = now if self.time is None else _seconds_of(batch.texts[self.time])
            parts.append(times)
            if self.time is not None:
                cells[self.time] = text_flags(batch, self.time, np.isnan(times))
        if self.arrives:
            parts.append(now)
        return Screened(np.column_stack(parts), cells=cells, persons=persons)

    def _persons(self, cells: Texts) -> Numbers:
        """Return a number for each person, NaN where a record names none."""
        named = np.array([bool(cell and cell.strip()) for cell in cells], dtype=np.bool_)
        return np.where(named, encode_persons(cells), np.nan)


def _seconds_of(cells: Texts) -> Numbers:
    return np.array([seconds(text) for text in cells], dtype=np.float64)
