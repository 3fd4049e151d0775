"""The calendar from year 1 to 9999 by days and seconds since 1970: parts, truncation and shifts of one day or time.

Every DATE that a condition computes lies on it, and what would leave it is missing, so that no engine's own calendar
ends before ours (ISO 8601: proleptic Gregorian, weeks from Monday; 0001-01-01 is one).
"""

from __future__ import annotations

import datetime as dt

from sfumato.dp.questions.expression import EPOCH, Domain
from sfumato.schema.times import LAST

DAY = 86_400  # seconds
FIRST_DAY, LAST_DAY = (dt.date.min - EPOCH).days, (dt.date.max - EPOCH).days
FIRST_SECOND, LAST_SECOND = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1
CLOCK = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600}  # units of a clock, in seconds
CYCLES = {"SECOND": 60, "MINUTE": 60, "HOUR": 24}  # how many of a unit make one of the next
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}  # units of whole months
PARTS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "ISODOW", "DOY", *CLOCK, "EPOCH")
PERIODS = ("MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
UNITS = {"month": 120_000, "day": 4_000_000, "second": 400_000_000_000}  # of a shift, and how many at most


def day_of(position: float, domain: Domain) -> dt.date:
    """Return the day of a date or a time, the nearest one of the calendar.

    >>> day_of(-1.0, Domain.TIMESTAMP)
    datetime.date(1969, 12, 31)
    """
    days = position if domain is Domain.DATE else position // 1 // DAY
    return EPOCH + dt.timedelta(days=int(min(max(days, FIRST_DAY), LAST_DAY)))


def days_since(day: dt.date) -> int:
    """Return a day as days since 1970.

    >>> days_since(dt.date(1970, 1, 3))
    2
    """
    return (day - EPOCH).days


def truncate(position: float, unit: str, domain: Domain) -> float:
    """Return the start of the period in which a date or a time lies.

    >>> truncate(40.0, "MONTH", Domain.DATE), truncate(3601.5, "HOUR", Domain.TIMESTAMP)
    (31.0, 3600.0)
    """
    if unit in CLOCK:
        return position // CLOCK[unit] * CLOCK[unit]
    day = day_of(position, domain)
    if unit == "WEEK":
        day -= dt.timedelta(days=day.weekday())
    elif unit in MONTHS:
        month = (day.year * 12 + day.month - 1) // MONTHS[unit] * MONTHS[unit]
        day = dt.date(month // 12, month % 12 + 1, 1)
    return float(days_since(day) * (1 if domain is Domain.DATE else DAY))


def add_months(day: dt.date, months: int) -> dt.date | None:
    """Return the day some months later, the last of its month where there is no such day; None off the calendar.

    >>> add_months(dt.date(2024, 1, 31), 1), add_months(dt.date(9999, 12, 1), 1)
    (datetime.date(2024, 2, 29), None)
    """
    month = day.year * 12 + day.month - 1 + months
    year, month = month // 12, month % 12 + 1
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        return None
    after = dt.date(year + month // 12, month % 12 + 1, 1) if (year, month) != (dt.MAXYEAR, 12) else None
    last = 31 if after is None else (after - dt.timedelta(days=1)).day
    return dt.date(year, month, min(day.day, last))


def shift(position: float, number: int, unit: str, domain: Domain) -> float | None:
    """Return a date or a time some units later, or None where that is off the calendar.

    >>> shift(30.0, 1, "month", Domain.DATE), shift(0.0, 90, "second", Domain.TIMESTAMP)
    (58.0, 90.0)
    """
    low, high = shiftable(number, unit, domain)
    if not low <= position <= high:
        return None
    if unit != "month":
        return float(position + number)
    day = day_of(position, domain)
    moved = add_months(day, number) or day
    return position + (days_since(moved) - days_since(day)) * (1 if domain is Domain.DATE else DAY)


def shiftable(number: int, unit: str, domain: Domain) -> tuple[int, int]:
    """Return the first and the last position from which a shift stays on the calendar.

    >>> shiftable(1, "day", Domain.DATE) == (FIRST_DAY, LAST_DAY - 1)
    True
    """
    size = 1 if domain is Domain.DATE else DAY
    first, last = (FIRST_DAY, LAST_DAY) if domain is Domain.DATE else (FIRST_SECOND, LAST_SECOND)
    if unit != "month":
        return max(first, first - number), min(last, last - number)
    earliest, latest = 12, dt.MAXYEAR * 12 + 11
    low, high = max(earliest, earliest - number), min(latest, latest - number)
    if low > high:
        return 1, 0
    after = high + 1
    end = LAST_DAY + 1 if after > latest else days_since(dt.date(after // 12, after % 12 + 1, 1))
    return days_since(dt.date(low // 12, low % 12 + 1, 1)) * size, end * size - 1


def cyclic_part(unit: str, position: float, domain: Domain) -> tuple[int, int]:
    """Return which cycle (a year, a month, a day …) a position lies in, and its part there.

    >>> cyclic_part("HOUR", 90_000.0, Domain.TIMESTAMP), cyclic_part("MONTH", 31.0, Domain.DATE)
    ((1, 1), (1970, 2))
    """
    if unit in CLOCK:
        return divmod(int(position // CLOCK[unit]), CYCLES[unit])
    day = day_of(position, domain)
    if unit in {"DOW", "ISODOW"}:
        whole, place = divmod(days_since(day) - FIRST_DAY + (unit == "DOW"), 7)
        return whole, place + (unit == "ISODOW")
    return {
        "YEAR": (0, day.year),
        "QUARTER": (day.year, (day.month + 2) // 3),
        "MONTH": (day.year, day.month),
        "WEEK": day.isocalendar()[:2],
        "DAY": (day.year * 12 + day.month, day.day),
        "DOY": (day.year, day.timetuple().tm_yday),
    }[unit]


def part_bounds(unit: str) -> tuple[int, int]:
    """Return between which numbers a part of any date or time lies.

    >>> part_bounds("HOUR"), part_bounds("ISODOW"), part_bounds("WEEK")
    ((0, 23), (1, 7), (1, 53))
    """
    return {
        "QUARTER": (1, 4),
        "MONTH": (1, 12),
        "WEEK": (1, 53),
        "DAY": (1, 31),
        "DOW": (0, 6),
        "ISODOW": (1, 7),
        "DOY": (1, 366),
        "HOUR": (0, 23),
        "MINUTE": (0, 59),
        "SECOND": (0, 59),
    }[unit]


def periods(unit: str, low: float, high: float, domain: Domain, most: int) -> list[float] | None:
    """Return the starts of all periods between two positions, or None where there are more than `most`.

    >>> periods("MONTH", 0.0, 60.0, Domain.DATE, 10), periods("DAY", 0.0, 60.0, Domain.DATE, 10)
    ([0.0, 31.0, 59.0], None)
    """
    found, step = [], _step(unit) * (1 if domain is Domain.DATE else DAY)
    now = truncate(low, unit, domain)
    now = now if now >= low else truncate(now + step, unit, domain)
    while now <= high:
        found.append(now)
        if len(found) > most:
            return None
        after = truncate(now + step, unit, domain)
        if after <= now:  # the last period of the calendar
            break
        now = after
    return found


def is_run(starts: list[float], unit: str, domain: Domain) -> bool:
    """Return whether rising starts of periods follow one another without a gap.

    >>> is_run([0.0, 31.0], "MONTH", Domain.DATE), is_run([0.0, 59.0], "MONTH", Domain.DATE)
    (True, False)
    """
    return bool(starts) and periods(unit, starts[0], starts[-1], domain, len(starts)) == starts


def _step(unit: str) -> float:
    """Return a number of days that leads from the start of any period into the next one."""
    return {"MINUTE": 60 / DAY, "HOUR": 3600 / DAY, "DAY": 1, "WEEK": 7, "MONTH": 31, "QUARTER": 92, "YEAR": 366}[unit]


def moment(position: float) -> dt.datetime:
    """Return a time of the calendar.

    >>> moment(1.5)
    datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)
    """
    if position > LAST_SECOND:
        return dt.datetime.combine(dt.date.max, LAST)
    inside = max(position, float(FIRST_SECOND))
    return dt.datetime.combine(EPOCH, dt.time()) + dt.timedelta(microseconds=round(inside * 1_000_000))
