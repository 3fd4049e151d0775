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
import polars as pl

from sfumato.errors import ParameterError
from sfumato.schema import Kind
from sfumato.schema.kinds import numbers_in
from sfumato.schema.written import Written
from sfumato.stream.base import Numbers
from sfumato.stream.publishers.castle.columns import encode_persons
from sfumato.stream.runtime.batch import Batch, Texts, WantedColumns, number
from sfumato.stream.screens.base import OnBad, Screen, Screened, text_flags

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
class TimeForm:
    """How times are written, and the zone whose clock on the wall they count by; UTC where none is declared.

    A time that names its own zone is told by the clock of the declared one; seconds since 1970 are UTC.

    >>> TimeForm(zone="Europe/Berlin").seconds(["2016-09-01T00:30", "2016-08-31T22:30Z", "1472682600"]).tolist()
    [1472689800.0, 1472689800.0, 1472689800.0]
    >>> TimeForm("%d.%m.%Y %H:%M").seconds(["01.09.2016 00:00", "2016-09-01"]).tolist()
    [1472688000.0, nan]
    """

    format: str | None = None
    zone: str | None = None

    def seconds(self, cells: Texts) -> Numbers:
        """Return the seconds since 1970 that each cell tells, on that clock; NaN where it tells none."""
        if self == PLAIN_FORM:
            return np.array([seconds(text) for text in cells], dtype=np.float64)
        texts = pl.Series([None if text is None else text.strip() for text in cells], dtype=pl.String)
        kind = Kind.TIMESTAMP
        found = numbers_in(texts, kind, Written(format=self.format, zone=self.zone)).cast(pl.Float64) / 1e6
        if self.format is None:
            days = numbers_in(texts, Kind.DATE).cast(pl.Float64) * UNITS["d"]
            found = found.zip_with(found.is_not_null(), days)
            found = found.zip_with(found.is_not_null(), self._since_1970(cells))
        return found.fill_null(math.nan).to_numpy()

    def _since_1970(self, cells: Texts) -> pl.Series:
        plain = pl.Series([number(text) for text in cells], dtype=pl.Float64).fill_nan(None)
        moments = (1e6 * plain).round().cast(pl.Int64, strict=False).cast(pl.Datetime("us", "UTC"))
        wall = moments.dt.convert_time_zone(self.zone or "UTC").dt.replace_time_zone(None)
        return wall.cast(pl.Int64).cast(pl.Float64) / 1e6


PLAIN_FORM = TimeForm()


@dataclass(frozen=True)
class MarkedScreen:
    """Screens what is published and adds to each record who it is of and when it came, as publishers take them.

    `time` names the column of event times; without it, `timed` takes the moment at which a record is read. `arrives`
    adds that moment behind the time.

    >>> from sfumato.stream.screens.base import NumberScreen
    >>> screen = MarkedScreen(NumberScreen({"hours": (0.0, 10.0)}), time="day")
    >>> screen(Batch(1, {"hours": np.array([4.0])}, {"day": ["1970-01-02"]}), 0).values.tolist()
    [[4.0, 86400.0]]
    """

    inner: Screen
    person: str | None = None
    time: str | None = None
    timed: bool = True
    arrives: bool = False
    form: TimeForm = PLAIN_FORM

    @property
    def on_bad(self) -> OnBad:
        """What becomes of bad records."""
        return self.inner.on_bad

    @property
    def wanted(self) -> WantedColumns:
        """The columns to read."""
        texts = tuple(name for name in (self.person, self.time) if name is not None)
        inner = self.inner.wanted
        return WantedColumns(inner.numbers, (*inner.texts, *texts), inner.marks)

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
            times = now if self.time is None else self.form.seconds(batch.texts[self.time])
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
