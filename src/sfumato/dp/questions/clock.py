"""Times as the query door holds them: seconds since 1970 on the wall clock, as doubles that all engines compute alike.

Microseconds are divided by a million once, and IEEE 754 rounds a division in one way, so that a time of a row and the
same time in a condition are the same double.
"""

from __future__ import annotations

import datetime as dt

from sfumato.schema.attribute import Bound
from sfumato.schema.times import bound_number, time_text

SECOND = 1_000_000  # microseconds


def seconds_of(time: dt.datetime | str | float) -> float:
    """Return a time of the wall clock as seconds since 1970, as every engine holds it.

    >>> seconds_of("1970-01-01 00:00:01.5"), seconds_of(dt.datetime(1970, 1, 2))
    (1.5, 86400.0)
    """
    if isinstance(time, str):
        time = dt.datetime.fromisoformat(time)
    return bound_number(time) / SECOND if isinstance(time, dt.datetime) else float(time)


def bound_position(limit: Bound) -> float:
    """Return a declared bound as cells are compared with: days of dates, seconds of timestamps, other numbers as such.

    >>> bound_position(dt.date(1970, 1, 2)), bound_position(dt.datetime(1970, 1, 2)), bound_position(3)
    (1.0, 86400.0, 3.0)
    """
    return seconds_of(limit) if isinstance(limit, dt.datetime) else float(bound_number(limit))


def time_words(seconds: float) -> str:
    """Return seconds since 1970 as a time.

    >>> time_words(1.5)
    '1970-01-01 00:00:01.500000'
    """
    return time_text(round(seconds * SECOND))
