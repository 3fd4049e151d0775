"""Days, times and periods as texts: the calendar of published cells, hour to decade.

Weeks, days and hours are written as in ISO 8601 (`2025-W05`, `2025-01-31`, `2025-01-31 14h` for its reduced
`2025-01-31T14`); times are those of a clock on the wall, without a zone.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TIME = re.compile(rf"{DAY.pattern}[ T][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]{{1,6}})?)?")
HOUR = re.compile(rf"(?P<day>{DAY.pattern}) (?P<hour>[01][0-9]|2[0-3])h")
PERIOD = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})|-W(?P<week>[0-9]{2})|-Q(?P<quarter>[1-4])|(?P<decade>s))?"
)
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # wall time has no zone
MICROSECOND = dt.timedelta(microseconds=1)
PERIODS: dict[str, Callable[[dt.date], str]] = {
    "week": lambda day: "{:04d}-W{:02d}".format(*day.isocalendar()[:2]),
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}
MONTHS = ("month", "quarter", "year", "decade")  # each within the next; a week lies in none of them
CLOCK_STEPS: dict[str, Callable[[dt.datetime], str]] = {
    "hour": lambda time: f"{time.date().isoformat()} {time.hour:02d}h",
    "day": lambda time: time.date().isoformat(),
    **PERIODS,
}


def day_of(text: str) -> dt.date | None:
    """Return a day written as in ISO 8601; None for any other text.

    >>> day_of("2024-02-29"), day_of("2025-02-29")
    (datetime.date(2024, 2, 29), None)
    """
    try:
        return dt.date.fromisoformat(text) if DAY.fullmatch(text) else None
    except ValueError:
        return None


def time_of(text: str) -> dt.datetime | None:
    """Return a time of the wall clock, written as in ISO 8601; None for any other text.

    >>> time_of("2024-02-29 14:30:00"), time_of("2024-02-29")
    (datetime.datetime(2024, 2, 29, 14, 30), None)
    """
    try:
        return dt.datetime.fromisoformat(text) if TIME.fullmatch(text) else None
    except ValueError:
        return None


def times_of(label: str) -> tuple[dt.datetime, dt.datetime] | None:
    """Return the first and the last microsecond of an hour, a day or a calendar label; a time is both itself.

    >>> [time.isoformat() for time in times_of("2024-02")]
    ['2024-02-01T00:00:00', '2024-02-29T23:59:59.999999']
    """
    time, day, hour = time_of(label), day_of(label), HOUR.fullmatch(label)
    if time is not None:
        return time, time
    if hour is not None:
        start = time_of(f"{hour['day']} {hour['hour']}:00")
        return None if start is None else (start, start + dt.timedelta(hours=1) - MICROSECOND)
    days = days_of(label) if day is None else (day, day)
    if days is None:
        return None
    return dt.datetime.combine(days[0], dt.time.min), dt.datetime.combine(days[1], dt.time.max)


def days_of(label: str) -> tuple[dt.date, dt.date] | None:
    """Return the first and the last day of a calendar label, or None if it is not one.

    >>> days_of("2025-Q1")
    (datetime.date(2025, 1, 1), datetime.date(2025, 3, 31))
    >>> days_of("2020s")[1].isoformat(), days_of("2024-02")[1].isoformat(), days_of("spring")
    ('2029-12-31', '2024-02-29', None)
    """
    found = PERIOD.fullmatch(label)
    if found is None:
        return None
    year, month, months = int(found["year"]), 1, 12
    if found["week"]:
        return _week(year, int(found["week"]))
    if found["month"]:
        month, months = int(found["month"]), 1
    elif found["quarter"]:
        month, months = 3 * int(found["quarter"]) - 2, 3
    elif found["decade"]:
        months = 120
    try:
        first = dt.date(year, month, 1)
        after = month - 1 + months
        return first, dt.date(year + after // 12, after % 12 + 1, 1) - dt.timedelta(days=1)
    except ValueError:
        return None


def _week(year: int, week: int) -> tuple[dt.date, dt.date] | None:
    try:
        return dt.date.fromisocalendar(year, week, 1), dt.date.fromisocalendar(year, week, 7)
    except (ValueError, OverflowError):
        return None
